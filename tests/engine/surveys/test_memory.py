"""
How much of a page is in memory at a time while objects are validated and annotated.
"""

from dataclasses import replace
from typing import Any

from espalier.crd import Version
from espalier.engine import RunSettings, Scope, run, survey
from espalier.engine.ports.records import size_of
from espalier.engine.surveys.validation import MAX_NOTED_BYTES
from espalier.paths import JSON
from tests.engine.surveys.test_overdue_objects import SIZES
from tests.fakes.cluster import FakeCluster
from tests.fakes.widgets import ENFORCE, widgets
from tests.fakes.workers import FakeWorkers

FIELDS: dict[str, JSON] = {f"f:{'x' * 90}{number:010}": {} for number in range(2_000)}
"""The managedFields of one object, some 200 KB."""


class Page(list[dict[str, JSON]]):
    """
    Counts what was decoded and is not annotated yet.
    """

    waiting_bytes = 0
    most_bytes = 0

    def __iter__(self):  # type: ignore[no-untyped-def]  # noqa: ANN204 - a test's own page
        for index in range(len(self)):
            obj = self[index]
            size_bytes = size_of({"managedFields": obj["metadata"]["managedFields"]})  # type: ignore[call-overload,index]
            assert size_bytes is not None
            Page.waiting_bytes += size_bytes
            Page.most_bytes = max(Page.most_bytes, Page.waiting_bytes)
            yield obj


class Measured(FakeCluster):
    async def list_objects(self, *args: Any, **kwargs: Any) -> Any:
        page = await super().list_objects(*args, **kwargs)
        Page.waiting_bytes = 0
        return replace(page, objects=Page(page.objects))

    async def annotate(self, *args: Any, **kwargs: Any) -> Any:
        Page.waiting_bytes = 0
        return await super().annotate(*args, **kwargs)


async def test_the_metadata_that_waits_for_annotations_is_bounded() -> None:
    version = Version(name="v1", served=True, storage=True, schema=SIZES)
    cluster = Measured(widgets(versions=(version,), stored_versions=("v1",), labels=ENFORCE))
    for number in range(12):
        key = cluster.put(f"w{number:02}", {"spec": {"sizes": [-1]}}, version="v1")
        entry: JSON = {"manager": "tenant", "fieldsV1": {"f:spec": FIELDS}}
        cluster.etcd[key].managed_fields.append(entry)
    assert cluster.definition is not None

    await run(cluster.definition, cluster.ports, RunSettings(settle_seconds=1), cluster)

    assert cluster.count("annotate") == 12
    # What was noted, and the object at hand.
    assert MAX_NOTED_BYTES < Page.most_bytes < MAX_NOTED_BYTES + 500_000


async def test_what_managers_own_is_not_sent_to_workers() -> None:
    version = Version(name="v1", served=True, storage=True, schema=SIZES)
    cluster = FakeCluster(widgets(versions=(version,), stored_versions=("v1",)))
    key = cluster.put("large", {"spec": {"sizes": [1] * 5_000}}, version="v1")
    entry: JSON = {"manager": "tenant", "fieldsV1": {"f:spec": FIELDS}}
    cluster.etcd[key].managed_fields.append(entry)
    workers = FakeWorkers()
    assert cluster.definition is not None

    await survey(cluster.definition, cluster, cluster.clock, Scope(workers=workers))

    assert len(workers.sizes) == 1
    assert max(workers.sizes) < 20_000
