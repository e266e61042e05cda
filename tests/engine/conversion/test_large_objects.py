"""
Large objects are compared in workers, and passed over where that takes too long.
"""

from dataclasses import replace

import pytest

from espalier.crd import Definition, Version
from espalier.engine import Scope, run, survey
from espalier.engine.conversion.lost_paths import (
    MAX_BYTES,
    LostPaths,
    PathComparer,
    PlainComparison,
    rewrite_comparison_of,
)
from espalier.engine.ports import NotComputed, ObjectKey
from espalier.engine.settings import RunSettings
from espalier.engine.status.path_counts import MAX_PATHS
from espalier.paths import JSON
from tests.fakes.cluster import FakeCluster
from tests.fakes.widgets import V1_SCHEMA, widgets
from tests.fakes.workers import OVERDUE, FakeWorkers

LARGE = "x" * MAX_BYTES
SETTINGS = RunSettings(settle_seconds=1, page_size=3, max_in_flight=2)


def narrowed() -> Definition:
    """
    Make a definition whose storage version lacks a field that the older one has.
    """
    old: dict[str, JSON] = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {"color": {"type": "string"}, "shade": {"type": "string"}},
            }
        },
    }
    return widgets(
        versions=(
            Version(name="v1alpha1", served=True, storage=False, schema=old),
            Version(name="v1", served=True, storage=True, schema=V1_SCHEMA),
        )
    )


def a_cluster(workers: FakeWorkers) -> FakeCluster:
    cluster = FakeCluster(narrowed())
    cluster.put("small", {"spec": {"color": "red"}}, managed=("color",))
    cluster.put("large", {"spec": {"color": LARGE}}, managed=("color",))
    cluster.workers = workers
    return cluster


async def test_a_large_object_that_takes_too_long_is_not_compared_in_a_survey() -> None:
    cluster = a_cluster(FakeWorkers(lambda _: True))
    assert cluster.definition is not None

    found = await survey(cluster.definition, cluster, cluster.clock, Scope(workers=cluster.workers))

    (loss,) = found.conversions
    assert loss.compared == 1
    assert [(one.path, one.first) for one in loss.unsettled.paths] == [
        (OVERDUE.reason, (ObjectKey("default", "large"),))
    ]


async def test_an_object_that_takes_too_long_to_compare_is_left_alone() -> None:
    cluster = a_cluster(FakeWorkers(lambda _: True))
    assert cluster.definition is not None

    outcome = await run(cluster.definition, cluster.ports, SETTINGS, cluster)

    assert outcome.reason == "WouldLoseData"
    assert "it takes too long to compare them (1 object)" in outcome.conditions[0].message
    assert {name for call, name in cluster.calls if call == "rewrite"} == {"small"}


async def test_a_large_object_that_is_compared_in_a_worker_is_rewritten() -> None:
    cluster = a_cluster(workers := FakeWorkers())
    assert cluster.definition is not None

    outcome = await run(cluster.definition, cluster.ports, SETTINGS, cluster)

    assert outcome.is_proved
    assert workers.batches


@pytest.mark.parametrize("name", ["plain", "rewrite"])
async def test_a_worker_and_the_event_loop_find_the_same(name: str) -> None:
    version = narrowed().versions[0]
    computation = PlainComparison() if name == "plain" else rewrite_comparison_of(version)
    shown: dict[str, JSON] = {"metadata": {"uid": "a"}, "spec": {"color": LARGE, "shade": "dark"}}
    kept: dict[str, JSON] = {"metadata": {"uid": "a"}, "spec": {"color": LARGE}}
    workers = FakeWorkers()

    here = await PathComparer(computation, None).lost(shown, kept)
    there = await PathComparer(computation, workers).lost(shown, kept)

    assert here == there == LostPaths(("spec.shade",))
    assert len(workers.batches) == 1


async def test_small_objects_are_compared_in_the_event_loop() -> None:
    workers = FakeWorkers()

    found = await PathComparer(PlainComparison(), workers).lost({"a": 1}, {"a": 2})

    assert found == LostPaths(("a",))
    assert workers.batches == []


async def test_the_paths_of_one_object_are_bounded() -> None:
    many: dict[str, JSON] = {f"{number}": number for number in range(MAX_PATHS + 1)}

    found = await PathComparer(PlainComparison(), None).lost(many, {})

    assert not isinstance(found, NotComputed)
    assert (len(found.paths), found.is_cut) == (MAX_PATHS, True)


async def test_an_object_with_more_losses_than_are_kept_is_left_alone() -> None:
    open_schema: dict[str, JSON] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    definition = narrowed()
    old = replace(definition.versions[0], schema=open_schema)
    cluster = FakeCluster(replace(definition, versions=(old, definition.versions[1])))
    cluster.put("many", {"spec": {f"f{number}": 1 for number in range(MAX_PATHS + 1)}})
    assert cluster.definition is not None

    outcome = await run(cluster.definition, cluster.ports, SETTINGS, cluster)

    assert outcome.reason == "WouldLoseData"
    assert cluster.count("rewrite") == 0
