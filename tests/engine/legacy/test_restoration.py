"""
What pruning removed comes back, where nothing speaks against it, and nowhere else.
"""

import re
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from espalier.crd import Definition
from espalier.engine import RestoreReport, RunSettings, restore, run
from espalier.engine.legacy.inverse_patches import added, additions, expected_lists, find, invert
from espalier.engine.legacy.pruner import Pruner
from espalier.engine.ports import ObjectKey
from espalier.engine.ports.archive import ArchiveEntry
from espalier.engine.ports.servers import NotSentError
from espalier.errors import ForbiddenError, TransientError
from espalier.paths import JSON
from espalier.schema.values import copy_json, equal_json
from tests.engine.legacy.garbage import CLEAN, GARBAGE, content
from tests.fakes.cluster import FakeCluster
from tests.fakes.faults import busy, conflict
from tests.fakes.permits import gate_of
from tests.fakes.widgets import legacy_widgets, widgets

SETTINGS = RunSettings(settle_seconds=0)
KEY = ObjectKey("default", "a")


async def pruned(definition: Definition | None = None) -> FakeCluster:
    cluster = FakeCluster(definition or legacy_widgets())
    cluster.put("a", GARBAGE, version="v1")
    await prune(cluster)
    return cluster


async def prune(cluster: FakeCluster) -> None:
    cluster.change(labels=widgets().labels)
    assert cluster.definition is not None
    assert (await run(cluster.definition, cluster.ports, SETTINGS, cluster)).is_proved
    cluster.change(labels={})


async def restored(cluster: FakeCluster) -> RestoreReport:
    assert cluster.definition is not None
    entries: AsyncIterator[ArchiveEntry] = cluster.entries(cluster.definition)
    return await restore(cluster.definition, entries, cluster, cluster.clock, gate_of(cluster))


def refusals(report: RestoreReport) -> dict[str, str]:
    return {refusal.pointer: refusal.reason for refusal in report.refused}


async def test_everything_comes_back() -> None:
    cluster = await pruned()
    assert content(cluster, "a") == CLEAN
    report = await restored(cluster)
    assert content(cluster, "a") == GARBAGE
    assert report.restored == {KEY: ["/spec/junk", "/spec/ports/0/proto", "/status/old", "/stray"]}
    assert report.refused == []


async def test_large_objects_come_back_at_the_rate_of_a_process() -> None:
    cluster = FakeCluster(legacy_widgets())
    for number in range(12):
        cluster.put(f"w{number}", {**GARBAGE, "stray": "x" * 1_000_000}, version="v1")
    await prune(cluster)
    begun_seconds = cluster.clock.monotonic_seconds()
    report = await restored(cluster)
    assert len(report.restored) == 12
    assert cluster.clock.monotonic_seconds() - begun_seconds >= 3


async def test_a_second_time_there_is_nothing_to_do() -> None:
    cluster = await pruned()
    await restored(cluster)
    writes = cluster.count("replace", "replace/status")
    report = await restored(cluster)
    assert (report.restored, report.refused, report.present) == ({}, [], 4)
    assert cluster.count("replace", "replace/status") == writes


async def test_the_newest_value_wins_and_older_entries_of_lists_still_apply() -> None:
    cluster = await pruned()
    newer: dict[str, JSON] = {"size": 1, "junk": "newer", "ports": [{"port": 1}, {"port": 2}]}
    cluster.touch("a", {"spec": newer})
    await prune(cluster)
    report = await restored(cluster)
    spec = cluster.raw("a")["spec"]
    assert isinstance(spec, dict)
    assert spec["junk"] == "newer"
    assert spec["ports"] == [{"port": 1, "proto": "TCP"}, {"port": 2}]
    assert refusals(report) == {"/spec/junk": "there is another value by now"}
    assert [entry.patch[-1]["value"] for entry in cluster.archived] == [1, "newer"]


async def test_two_entries_of_one_list_both_come_back() -> None:
    cluster = await pruned()
    ports: JSON = [{"port": 1}, {"port": 2, "name": "web"}]
    cluster.touch("a", {"spec": {"size": 1, "ports": ports}})
    await prune(cluster)
    report = await restored(cluster)
    assert report.refused == []
    spec = cluster.raw("a")["spec"]
    assert isinstance(spec, dict)
    assert spec["ports"] == [{"port": 1, "proto": "TCP"}, {"port": 2, "name": "web"}]


async def test_a_restore_that_was_interrupted_between_two_entries_of_one_list_goes_on() -> None:
    cluster = await pruned()
    ports: JSON = [{"port": 1}, {"port": 2, "name": "web"}]
    cluster.touch("a", {"spec": {"size": 1, "ports": ports}})
    await prune(cluster)
    archived, cluster.archived = cluster.archived, cluster.archived[-1:]
    await restored(cluster)

    cluster.archived = archived
    report = await restored(cluster)

    assert report.refused == []
    spec = cluster.raw("a")["spec"]
    assert isinstance(spec, dict)
    assert spec["ports"] == [{"port": 1, "proto": "TCP"}, {"port": 2, "name": "web"}]


async def test_a_status_that_was_refused_once_is_reported_as_restored_with_the_rest() -> None:
    cluster = await pruned()
    cluster.fail("replace/status", conflict())
    report = await restored(cluster)
    assert content(cluster, "a") == GARBAGE
    assert report.refused == []
    assert sum(map(len, report.restored.values())) + report.present == 4


async def test_what_changed_meanwhile_is_left_alone() -> None:
    cluster = await pruned()
    changed: dict[str, JSON] = {"size": 1, "ports": [{"port": 9}, {"port": 2}], "junk": 5}
    cluster.touch("a", {"spec": changed, "stray": "other"})
    report = await restored(cluster)
    assert cluster.raw("a")["spec"] == changed
    assert cluster.raw("a")["stray"] == "other"
    assert cluster.raw("a")["status"] == {"ready": True, "old": "x"}
    assert refusals(report) == {
        "/spec/junk": "there is another value by now",
        "/spec/ports/0/proto": "a list on the way to it has changed",
        "/stray": "there is another value by now",
    }


async def test_what_held_a_field_may_be_gone() -> None:
    cluster = await pruned()
    cluster.touch("a", {"status": None})
    assert refusals(await restored(cluster))["/status/old"] == "what held it is gone"


async def test_another_object_of_the_name_gets_nothing() -> None:
    cluster = await pruned()
    cluster.put("a", {"spec": {"size": 1}}, version="v1", uid="another")
    report = await restored(cluster)
    assert refusals(report) == {"": "another object has this name now"}
    assert content(cluster, "a") == {"spec": {"size": 1}}


async def test_a_deleted_object_is_not_created_again() -> None:
    cluster = await pruned()
    cluster.delete("a")
    assert "gone" in refusals(await restored(cluster))[""]
    assert cluster.etcd == {}


@pytest.mark.parametrize(
    ("change", "labels"),
    [
        pytest.param({"labels": widgets().labels}, ["espalier.dev/prune=false"], id="Espalier"),
        pytest.param({"preserve_unknown_fields": False}, [], id="the server prunes"),
    ],
)
async def test_what_would_be_removed_again_is_not_put_back(
    change: dict[str, object], labels: list[str]
) -> None:
    cluster = await pruned()
    cluster.change(**change)
    writes = cluster.count("replace", "replace/status")
    report = await restored(cluster)
    (reason,) = set(refusals(report).values())
    assert reason.startswith("it would be removed again, so specify it in the schema first")
    assert re.findall(r"espalier\.dev/\S+", reason) == labels
    assert cluster.count("replace", "replace/status") == writes
    assert content(cluster, "a") == CLEAN


@pytest.mark.parametrize("error", [conflict(), busy()])
@pytest.mark.parametrize("call", ["replace", "replace/status", "get_object"])
async def test_a_call_that_fails_once_is_made_again(call: str, error: Exception) -> None:
    cluster = await pruned()
    cluster.fail(call, error)
    assert (await restored(cluster)).refused == []
    assert content(cluster, "a") == GARBAGE


@pytest.mark.parametrize(
    ("error", "restored_by_us"),
    [(NotSentError(verb="update", resource="widgets"), 0), (busy(), 3)],
)
async def test_only_a_write_that_was_sent_may_have_put_back_what_is_there_then(
    error: TransientError, restored_by_us: int
) -> None:
    cluster = await pruned()
    cluster.fail("replace", error)

    def put_back(call: str, name: str) -> None:
        if call == "replace":
            cluster.hooks.remove(put_back)
            cluster.touch(name, GARBAGE)

    cluster.hooks.append(put_back)
    report = await restored(cluster)
    assert content(cluster, "a") == GARBAGE
    assert len(report.restored.get(KEY, ())) == restored_by_us
    assert report.present == 4 - restored_by_us


async def test_a_refused_write_is_reported() -> None:
    cluster = await pruned()
    cluster.fail(
        "replace",
        ForbiddenError(verb="update", resource="widgets", status=403, reason="Forbidden"),
    )
    assert refusals(await restored(cluster)) == {"": "403 Forbidden"}


NAMES = st.sampled_from(["spec", "status", "size", "ports", "port", "a", "b/c", "d~e", ""])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.fixed_dictionaries(
    {"apiVersion": st.just("example.com/v1"), "kind": st.just("Widget")},
    optional={
        "spec": st.dictionaries(NAMES, VALUES, max_size=4)
        | st.fixed_dictionaries(
            {"ports": st.lists(st.dictionaries(NAMES, VALUES, max_size=3), max_size=3)}
        ),
        "status": st.dictionaries(NAMES, VALUES, max_size=3),
        "junk": VALUES,
    },
)


@given(before=OBJECTS)
def test_pruning_carefully_and_then_the_inverse_patch_is_the_original(
    before: dict[str, JSON],
) -> None:
    kept = copy_json(before)
    careful = Pruner(legacy_widgets()).prune(before)
    patch = invert(before, careful.value, careful.removed)
    for pointer, value in expected_lists(patch).items():
        assert find(careful.value, pointer) == value
    assert equal_json(added(careful.value, additions(patch)), before)
    assert equal_json(before, kept)
    assert Pruner(legacy_widgets()).prune(careful.value).removed == ()


def test_a_list_above_a_removed_path_is_tested_once() -> None:
    before: JSON = {"spec": {"ports": [{"port": 1, "x": [1], "y": 2}]}}
    obj = before if isinstance(before, dict) else {}
    careful = Pruner(replace(legacy_widgets())).prune(obj)
    patch = invert(obj, careful.value, careful.removed)
    assert [operation["op"] for operation in patch] == ["test", "add", "add"]
