"""
Stories of new objects of a legacy definition: they are archived and pruned within seconds.
"""

import asyncio
from dataclasses import replace

import pytest

from espalier.engine import Reason, keep_pruned
from espalier.engine.controller.loop import MAX_AT_ONCE
from espalier.engine.ports import ObjectKey
from espalier.errors import ArchiveFullError, RejectedError
from espalier.paths import JSON
from tests.engine.legacy.garbage import CLEAN, GARBAGE, SETTINGS, a_cluster, content, run_on
from tests.fakes.cluster import FakeCluster
from tests.fakes.faults import busy, conflict, expired
from tests.fakes.widgets import legacy_widgets


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
