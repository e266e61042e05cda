"""
Stories of legacy definitions: archive first, then prune, then watch over what is new.
"""

import asyncio
from dataclasses import replace

import pytest

from espalier.crd import Definition, Version
from espalier.engine import Reason, RunOutcome, RunSettings, keep_pruned, run
from espalier.engine.controller.loop import MAX_AT_ONCE
from espalier.engine.ports import ObjectKey
from espalier.errors import ArchiveFullError, RejectedError
from espalier.paths import JSON
from tests.fakes.cluster import FakeCluster
from tests.fakes.faults import Killed, busy, conflict, expired, rejected
from tests.fakes.widgets import legacy_widgets, widgets
from tests.virtual_time import play

SETTINGS = RunSettings(settle_seconds=0, page_size=2, max_in_flight=4)

GARBAGE: dict[str, JSON] = {
    "spec": {"size": 1, "junk": {"a": [1]}, "ports": [{"port": 1, "proto": "TCP"}, {"port": 2}]},
    "status": {"ready": True, "old": "x"},
    "stray": 1,
}
CLEAN: dict[str, JSON] = {
    "spec": {"size": 1, "ports": [{"port": 1}, {"port": 2}]},
    "status": {"ready": True},
}


async def run_on(cluster: FakeCluster) -> RunOutcome:
    assert cluster.definition is not None
    return await run(cluster.definition, cluster.ports, SETTINGS, cluster)


def a_cluster(objects: int = 5, definition: Definition | None = None) -> FakeCluster:
    cluster = FakeCluster(definition or legacy_widgets())
    for number in range(objects):
        cluster.put(f"w{number}", GARBAGE, version="v1")
    return cluster


def content(cluster: FakeCluster, name: str) -> dict[str, JSON]:
    return {k: v for k, v in cluster.raw(name).items() if k not in ("apiVersion", "kind")}


async def test_garbage_goes_to_the_archive_and_out_of_the_objects() -> None:
    cluster = a_cluster()
    outcome = await run_on(cluster)
    assert outcome.is_proved
    assert outcome.watches_on
    assert [content(cluster, f"w{n}") for n in range(5)] == [CLEAN] * 5
    assert [entry.key.name for entry in cluster.archived] == ["w0", "w1", "w2", "w3", "w4"]
    assert cluster.archived[0].patch == (
        {"op": "test", "path": "/spec/ports", "value": [{"port": 1}, {"port": 2}]},
        {"op": "add", "path": "/spec/junk", "value": {"a": [1]}},
        {"op": "add", "path": "/spec/ports/0/proto", "value": "TCP"},
        {"op": "add", "path": "/status/old", "value": "x"},
        {"op": "add", "path": "/stray", "value": 1},
    )


async def test_each_page_is_archived_before_its_first_write() -> None:
    cluster = a_cluster()
    await run_on(cluster)
    archived: set[str] = set()
    for call, name in cluster.calls:
        if call == "archive":
            archived |= set(name.split("+"))
        if call.startswith("replace"):
            assert name in archived
    assert archived == {"w0", "w1", "w2", "w3", "w4"}


async def test_a_full_archive_means_that_the_page_is_not_pruned() -> None:
    cluster = a_cluster()

    def fill_up(call: str, name: str) -> None:
        if call == "archive" and name == "w2+w3":
            raise ArchiveFullError("64 MiB are archived already")

    cluster.hooks.append(fill_up)
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.ARCHIVE_FULL
    assert not outcome.watches_on
    assert [content(cluster, f"w{n}") for n in range(5)] == [CLEAN, CLEAN] + [GARBAGE] * 3


async def test_objects_that_cannot_be_archived_fail_while_all_others_are_pruned() -> None:
    cluster = a_cluster()

    def refuse(call: str, name: str) -> None:
        if call == "archive" and "w2" in name:
            left = frozenset({ObjectKey("default", "w2")})
            raise ArchiveFullError("its namespace has had its share", left=left)

    cluster.hooks.append(refuse)
    outcome = await run_on(cluster)

    assert outcome.reason == Reason.FAILED
    contents = [content(cluster, f"w{n}") for n in range(5)]
    assert contents == [CLEAN, CLEAN, GARBAGE, CLEAN, CLEAN]
    assert not outcome.is_proved
    assert "its namespace has had its share" in cluster.reports[-1][0].message


@pytest.mark.parametrize(
    ("before", "emptied"),
    [
        ({"spec": {"junk": 1}}, "spec"),
        ({"spec": {"size": 1}, "status": {"junk": 1}}, "status"),
    ],
)
async def test_an_object_that_would_become_empty_stops_the_run_before_any_write(
    before: dict[str, JSON], emptied: str
) -> None:
    cluster = a_cluster()
    cluster.put("w4", before, version="v1")
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.WOULD_LOSE_DATA
    assert f"default/w4 would lose all of its {emptied}" in outcome.conditions[0].message
    assert cluster.count("replace", "replace/status", "rewrite", "archive") == 0
    assert [content(cluster, f"w{n}") for n in range(4)] == [GARBAGE] * 4


async def test_a_loss_that_is_accepted_is_archived_all_the_same() -> None:
    accepting = legacy_widgets(labels={**widgets().labels, "espalier.dev/loss": "accept"})
    cluster = FakeCluster(accepting)
    cluster.put("a", {"spec": {"junk": 1}}, version="v1")
    assert (await run_on(cluster)).is_proved
    assert content(cluster, "a") == {"spec": {}}
    assert cluster.archived[0].patch == ({"op": "add", "path": "/spec/junk", "value": 1},)


async def test_what_any_version_specifies_stays() -> None:
    plain = legacy_widgets().versions[0]
    other: dict[str, JSON] = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"junk": {"type": "object"}}}},
    }
    beta = Version(name="v1beta1", served=True, storage=False, schema=other)
    cluster = FakeCluster(legacy_widgets(versions=(plain, beta)))
    cluster.put("a", {"spec": {"size": 1, "junk": {}, "gone": 1}}, version="v1")
    assert (await run_on(cluster)).is_proved
    assert content(cluster, "a") == {"spec": {"size": 1, "junk": {}}}


async def test_a_value_of_the_wrong_type_stays() -> None:
    cluster = FakeCluster(legacy_widgets())
    odd: dict[str, JSON] = {"spec": {"size": {"a": 1}, "ports": {"b": 2}}}
    cluster.put("a", odd, version="v1")
    outcome = await run_on(cluster)
    assert outcome.is_proved
    assert "wrong type stay, with all they hold: 1 object (default/a)" in (
        outcome.conditions[0].message
    )
    assert content(cluster, "a") == odd


@pytest.mark.parametrize("call", ["replace", "replace/status"])
@pytest.mark.parametrize("after_effect", [False, True])
async def test_a_write_that_fails_once_is_made_again_from_a_fresh_object(
    call: str, *, after_effect: bool
) -> None:
    cluster = a_cluster(2)
    fail = cluster.fail_after if after_effect else cluster.fail
    fail(call, busy(), name="w1")
    assert (await run_on(cluster)).is_proved
    assert [content(cluster, f"w{n}") for n in range(2)] == [CLEAN] * 2


async def test_what_somebody_writes_meanwhile_is_archived_anew_before_it_goes() -> None:
    cluster = a_cluster(1)

    def write(call: str, _: str) -> None:
        if call == "replace":
            cluster.hooks.clear()
            cluster.touch("w0", {"spec": {"size": 7, "junk": "newer"}})

    cluster.hooks.append(write)
    assert (await run_on(cluster)).is_proved
    assert content(cluster, "w0") == {"spec": {"size": 7}, "status": {"ready": True}}
    newest = cluster.archived[-1]
    assert {"op": "add", "path": "/spec/junk", "value": "newer"} in newest.patch
    calls = [call for call, _ in cluster.calls]
    assert calls.index("archive", calls.index("replace")) < calls.index(
        "replace", calls.index("replace") + 1
    )


async def test_admission_that_puts_fields_back_is_a_failure_and_not_a_loop() -> None:
    cluster = a_cluster(1)

    def put_back(obj: dict[str, JSON]) -> None:
        if "junk" not in str(obj["spec"]):
            obj["stray"] = 2

    cluster.admission = put_back
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.FAILED
    assert "come back" in outcome.conditions[0].message


async def test_a_bad_object_never_stops_the_others() -> None:
    cluster = a_cluster()
    cluster.fail("replace", rejected(), name="w1", times=99)
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.FAILED
    assert "default/w1" in outcome.conditions[0].message
    assert content(cluster, "w1") == GARBAGE
    assert [content(cluster, f"w{n}") for n in (0, 2, 3, 4)] == [CLEAN] * 4


@pytest.mark.parametrize("after_effect", [False, True])
def test_a_process_killed_at_any_call_has_archived_what_is_gone(*, after_effect: bool) -> None:
    async def story(kill_at: int) -> bool:
        cluster = a_cluster(3)
        cluster.kill_at, cluster.is_killed_after_effect = kill_at, after_effect
        try:
            await run_on(cluster)
        except Killed:
            for number in range(3):
                name = f"w{number}"
                archived = [e.patch for e in cluster.archived if e.key.name == name]
                if "junk" not in str(cluster.raw(name)):
                    assert any("/spec/junk" in str(patch) for patch in archived)
                if "old" not in str(cluster.raw(name)):
                    assert any("/status/old" in str(patch) for patch in archived)
            cluster.kill_at = None
            assert (await run_on(cluster)).is_proved
            assert [content(cluster, f"w{n}") for n in range(3)] == [CLEAN] * 3
            return True
        return False

    kills = 0
    while play(story(kills + 1)):
        kills += 1
    assert kills > 20


async def tended(cluster: FakeCluster) -> "asyncio.Task[None]":
    assert (await run_on(cluster)).is_proved
    assert cluster.definition is not None
    task = asyncio.create_task(keep_pruned(cluster.definition, cluster.ports, SETTINGS, cluster))
    await cluster.clock.sleep(5)
    cluster.reports.clear()
    return task


async def ended(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_new_object_is_archived_and_pruned_within_seconds() -> None:
    cluster = a_cluster(1)
    task = await tended(cluster)
    cluster.put("new", GARBAGE, version="v1")
    await cluster.clock.sleep(2)
    assert content(cluster, "new") == CLEAN
    writes = cluster.count("replace")
    await cluster.clock.sleep(60)
    assert cluster.count("replace") == writes
    await ended(task)
    assert cluster.archived[-1].key.name == "new"
    assert cluster.reports == []


@pytest.mark.parametrize("gap", ["closed", "expired", "busy"])
async def test_a_watch_that_ends_loses_no_object(gap: str) -> None:
    cluster = a_cluster(1)
    task = await tended(cluster)
    if gap == "expired":
        cluster.fail("watch_objects", expired())
    if gap == "busy":
        cluster.fail("watch_objects", busy(), times=3)
    cluster.close_watches()
    await cluster.clock.sleep(0)
    cluster.put("new", GARBAGE, version="v1")
    await cluster.clock.sleep(20)
    assert content(cluster, "new") == CLEAN
    await ended(task)


async def test_an_object_that_keeps_coming_back_is_left_alone_for_a_while_and_named() -> None:
    cluster = a_cluster(1)
    task = await tended(cluster)
    for _ in range(20):
        cluster.touch("w0", {"stray": 1})
        await cluster.clock.sleep(1)
    assert cluster.count("replace") == 1 + 3
    assert cluster.reports[-1][0].reason == Reason.FAILED
    assert "default/w0" in cluster.reports[-1][0].message
    # Peace: it is pruned in the end, and the condition says so.
    await cluster.clock.sleep(3600)
    assert "stray" not in cluster.raw("w0")
    assert cluster.reports[-1][0].status == "True"
    await ended(task)


async def test_an_object_that_would_become_empty_is_left_alone_and_named() -> None:
    cluster = a_cluster(1)
    task = await tended(cluster)
    cluster.put("new", {"spec": {"junk": 1}}, version="v1")
    await cluster.clock.sleep(5)
    assert content(cluster, "new") == {"spec": {"junk": 1}}
    assert cluster.reports[-1][0].reason == Reason.WOULD_LOSE_DATA
    cluster.delete("new")
    await cluster.clock.sleep(5)
    assert cluster.reports[-1][0].status == "True"
    await ended(task)


async def test_tending_holds_few_objects_at_a_time() -> None:
    cluster = a_cluster(1)
    task = await tended(cluster)
    for number in range(2 * MAX_AT_ONCE):
        cluster.put(f"new{number}", GARBAGE, version="v1")
    cluster.calls.clear()
    await cluster.clock.sleep(10)
    assert all(content(cluster, f"new{n}") == CLEAN for n in range(2 * MAX_AT_ONCE))
    await ended(task)

    assert (
        max([name.count("+") + 1 for call, name in cluster.calls if call == "archive"])
        <= MAX_AT_ONCE
    )


async def test_what_is_written_while_the_server_begins_to_prune_is_not_removed_unarchived() -> None:
    late: dict[str, JSON] = {"spec": {"size": 7, "junk": "late"}}
    cluster = FakeCluster(legacy_widgets())
    cluster.put("w0", {"spec": {"size": 1}}, version="v1")

    def write_and_flip(call: str, _: str) -> None:
        if call == "rewrite":
            cluster.hooks.clear()
            cluster.touch("w0", late)
            cluster.change(preserve_unknown_fields=False, generation=2)

    cluster.hooks.append(write_and_flip)
    outcome = await run_on(cluster)

    assert outcome.reason == Reason.WOULD_LOSE_DATA
    assert content(cluster, "w0") == late


async def test_a_full_archive_puts_tending_off() -> None:
    cluster = a_cluster(1)
    task = await tended(cluster)
    cluster.fail("archive", ArchiveFullError("full"))
    cluster.put("new", GARBAGE, version="v1")
    await cluster.clock.sleep(5)
    assert content(cluster, "new") == GARBAGE
    assert cluster.reports[-1][0].reason == Reason.ARCHIVE_FULL
    await cluster.clock.sleep(120)
    assert content(cluster, "new") == CLEAN
    await ended(task)


@pytest.mark.parametrize(
    "change",
    [
        {"versions": (replace(legacy_widgets().versions[0], has_status=False),)},
        {"labels": {}},
        {"deleting": True},
    ],
)
async def test_tending_ends_when_the_definition_changes(change: dict[str, object]) -> None:
    cluster = a_cluster(1)
    task = await tended(cluster)
    cluster.change(**change)
    cluster.put("new", GARBAGE, version="v1")
    await asyncio.wait_for(task, 10)
    assert content(cluster, "new") == GARBAGE


async def test_tending_meets_conflicts_and_bad_objects() -> None:
    cluster = a_cluster(1)
    task = await tended(cluster)
    cluster.fail("replace", conflict(), name="new")
    cluster.fail(
        "replace",
        RejectedError(verb="update", resource="widgets", status=422, reason="Invalid"),
        name="bad",
    )
    cluster.put("new", GARBAGE, version="v1")
    cluster.put("bad", GARBAGE, version="v1")
    await cluster.clock.sleep(5)
    assert content(cluster, "new") == CLEAN
    assert "default/bad" in cluster.reports[-1][0].message
    await cluster.clock.sleep(120)
    assert content(cluster, "bad") == CLEAN
    await ended(task)


async def test_tending_looks_at_validity_now_and_then() -> None:
    cluster = a_cluster(1)
    task = await tended(cluster)
    cluster.touch("w0", {"spec": {"size": "large"}})
    await cluster.clock.sleep(SETTINGS.resurvey_seconds + 10)
    await ended(task)
    (current, valid) = cluster.reports[-1]
    assert current.status == "True"
    assert (valid.status, valid.reason) == ("False", "Invalid")
    assert "default/w0" in valid.message
    assert "espalier.dev/schema-violations" in cluster.etcd[ObjectKey("default", "w0")].annotations


async def test_tending_ends_when_the_window_closes() -> None:
    cluster = a_cluster(1)
    cluster.change(annotations={"espalier.dev/window": "00:00-00:02"})
    task = await tended(cluster)
    await asyncio.wait_for(task, 200)
    cluster.put("late", GARBAGE, version="v1")
    await cluster.clock.sleep(30)

    assert content(cluster, "late") != CLEAN


async def test_tending_leaves_other_namespaces_and_owned_objects_alone() -> None:
    cluster = a_cluster(0)
    cluster.change(
        annotations={"espalier.dev/namespaces": "default"},
        labels={"espalier.dev/mode": "enforce", "espalier.dev/skip-owned": "true"},
    )
    assert cluster.definition is not None
    outcome = await run_on(cluster)
    assert (outcome.reason, outcome.watches_on) == (Reason.PARTIAL, True)
    definition = cluster.definition
    task = asyncio.create_task(keep_pruned(definition, cluster.ports, SETTINGS, cluster))
    await cluster.clock.sleep(1)
    cluster.put("ours", GARBAGE, version="v1")
    elsewhere = cluster.put("elsewhere", GARBAGE, version="v1", owner="helm-controller")
    cluster.etcd[ObjectKey("other", "elsewhere")] = cluster.etcd.pop(elsewhere)
    cluster.put("owned", GARBAGE, version="v1", owner="kustomize-controller")
    await cluster.clock.sleep(30)
    await ended(task)
    pruned = {key.name for key, one in cluster.etcd.items() if "junk" not in str(one.raw)}
    assert "ours" in pruned
    assert "owned" not in pruned
