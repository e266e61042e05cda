"""
Stories of the first objects behind a conversion webhook: what their rewrite loses stops the run.
"""

from dataclasses import replace

import pytest

from espalier.crd import Version
from espalier.engine import Reason, RunOutcome, RunSettings, run
from espalier.engine.ports import ObjectKey
from espalier.errors import ArchiveFullError
from espalier.paths import JSON
from tests.fakes.cluster import FakeCluster
from tests.fakes.widgets import widgets

SETTINGS = RunSettings(settle_seconds=1, page_size=50, max_in_flight=4)


def a_cluster(count: int = 40, **changes: object) -> FakeCluster:
    cluster = FakeCluster(widgets(**({"conversion": "Webhook"} | changes)))
    cluster.fill(count)
    return cluster


async def run_on(cluster: FakeCluster, settings: RunSettings = SETTINGS) -> RunOutcome:
    assert cluster.definition is not None
    return await run(cluster.definition, cluster.ports, settings, cluster)


def moved(cluster: FakeCluster) -> list[str]:
    return [key.name for key, one in cluster.etcd.items() if "v1alpha1" not in str(one.raw)]


def damaged(cluster: FakeCluster) -> list[str]:
    return [key.name for key, one in cluster.etcd.items() if one.raw["spec"] == {"color": "red"}]


async def test_what_only_a_write_loses_stops_the_run_at_the_first_object() -> None:
    cluster = a_cluster()
    cluster.lost_on_write = ("size",)
    outcome = await run_on(cluster)
    message = outcome.conditions[0].message
    assert outcome.reason == Reason.CONVERSION_LOSES_DATA
    assert str(outcome.reason) == "ConversionLosesData"
    assert moved(cluster) == damaged(cluster) == ["w000"]
    assert "the rewrite of default/w000 has removed from it what no comparison had shown" in message
    assert ".spec.size at v1, .spec.size at v1alpha1" in message
    assert "0 other objects had been rewritten before it" in message
    assert cluster.count("set_stored_versions") == 0


async def test_what_each_version_showed_before_is_in_the_archive() -> None:
    cluster = a_cluster()
    cluster.lost_on_write = ("size",)
    outcome = await run_on(cluster)
    kept = {(e.key.name, e.api_version): e.patch for e in cluster.archived}
    for version in ("v1alpha1", "v1"):
        patch = kept["w000", f"example.com/{version}"]
        assert {"op": "add", "path": "/spec/size", "value": 0} in patch
    assert "archive-" in outcome.conditions[0].message
    archived = [call for call, _ in cluster.calls].index("archive")
    assert archived < [call for call, _ in cluster.calls].index("rewrite")


async def test_no_later_run_writes_anything_until_the_definition_changes() -> None:
    cluster = a_cluster()
    cluster.lost_on_write = ("size",)
    await run_on(cluster)
    for _ in range(3):
        again = await run_on(cluster)
        assert again.reason == Reason.CONVERSION_LOSES_DATA
        assert again.retries
        assert ".spec.size at v1alpha1" in again.conditions[0].message
    assert moved(cluster) == ["w000"]
    cluster.lost_on_write = ()
    assert cluster.definition is not None
    cluster.change(generation=cluster.definition.generation + 1)
    assert (await run_on(cluster)).is_proved
    assert damaged(cluster) == ["w000"]


async def test_consent_to_exactly_this_loss_has_the_run_go_on() -> None:
    cluster = a_cluster()
    cluster.lost_on_write = ("size",)
    message = (await run_on(cluster)).conditions[0].message
    digest = message.partition("espalier.dev/loss=")[2].split()[0]
    assert cluster.definition is not None
    cluster.change(labels={**cluster.definition.labels, "espalier.dev/loss": digest})
    assert (await run_on(cluster)).is_proved
    assert len(damaged(cluster)) == 40


async def test_a_loss_that_only_later_namespaces_have_stops_the_run_at_the_first_one() -> None:
    cluster = a_cluster()
    for number in range(5):
        key = cluster.put(f"x{number}", {"spec": {"size": 1, "note": "x"}})
        cluster.etcd[ObjectKey("other", key.name)] = cluster.etcd.pop(key)
    noted: dict[str, JSON] = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {"size": {"type": "integer"}, "note": {"type": "string"}},
            }
        },
    }
    versions = (
        Version(name="v1alpha1", served=True, storage=False, schema=noted),
        Version(name="v1", served=True, storage=True, schema=noted),
    )
    cluster.change(versions=versions)
    cluster.lost_on_write = ("note",)
    outcome = await run_on(cluster, replace(SETTINGS, page_size=10))
    message = outcome.conditions[0].message
    assert outcome.reason == Reason.CONVERSION_LOSES_DATA
    assert "the rewrite of other/x0 has removed" in message
    assert cluster.count("rewrite") <= 2
    assert cluster.raw("w005")["apiVersion"] == "example.com/v1alpha1"


@pytest.mark.parametrize("count", [3, 40])
async def test_a_webhook_that_loses_nothing_is_asked_for_ten_objects_only(count: int) -> None:
    cluster = a_cluster(count)
    assert (await run_on(cluster)).is_proved
    assert len({entry.key for entry in cluster.archived}) == min(count, 10)
    assert len(moved(cluster)) == count
    assert cluster.count("rewrite") == 2 * count


async def test_what_was_shown_before_the_write_stops_nothing() -> None:
    bare: dict[str, JSON] = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"width": {"type": "integer"}}}},
    }
    old = widgets().versions[0]
    new = Version(name="v1", served=True, storage=True, schema=bare)
    cluster = a_cluster(versions=(old, new))
    outcome = await run_on(cluster)
    assert outcome.is_proved
    assert "spec.size (40 objects" in outcome.conditions[0].message


@pytest.mark.parametrize(
    "changes",
    [{"conversion": "None"}, {"conversion": "Webhook", "stored_versions": ("v1",)}],
    ids=["without a webhook", "at one stored version"],
)
async def test_where_nothing_is_converted_nothing_is_archived(changes: dict[str, object]) -> None:
    cluster = FakeCluster(widgets(**changes))
    cluster.fill(40)
    assert (await run_on(cluster)).is_proved
    assert cluster.archived == []


async def test_an_older_version_that_is_not_served_is_compared_at_the_storage_version() -> None:
    old, new = widgets().versions
    cluster = a_cluster(versions=(replace(old, served=False), new))
    cluster.lost_on_write = ("size",)
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.CONVERSION_LOSES_DATA
    assert ".spec.size at v1." in outcome.conditions[0].message
    assert len(damaged(cluster)) == 1


async def test_what_another_client_writes_meanwhile_is_no_loss() -> None:
    cluster = a_cluster()

    def write(call: str, name: str) -> None:
        if call == "rewrite":
            cluster.touch(name, {"spec": {"size": 7}})

    cluster.hooks.append(write)
    outcome = await run_on(cluster)
    assert outcome.reason != Reason.CONVERSION_LOSES_DATA


async def test_nothing_is_written_if_it_cannot_be_archived() -> None:
    cluster = a_cluster()
    cluster.fail("archive", ArchiveFullError("the archive is full"), name="", times=99)
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.ARCHIVE_FULL
    assert moved(cluster) == []


async def test_objects_of_an_interrupted_run_do_not_stand_for_the_others() -> None:
    cluster = a_cluster(0)
    for number in range(15):
        cluster.put(f"a{number:03d}", {"spec": {"size": 1, "color": "red"}}, version="v1")
    cluster.fill(20)
    cluster.lost_on_write = ("size",)
    outcome = await run_on(cluster, replace(SETTINGS, page_size=10))
    assert outcome.reason == Reason.CONVERSION_LOSES_DATA
    assert len(damaged(cluster)) == 1
