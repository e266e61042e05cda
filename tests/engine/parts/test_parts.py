"""
Parts of a definition: each rewrites its own objects, and none proves or trims anything.
"""

from dataclasses import replace

import pytest

from espalier.crd import Definition
from espalier.engine import Reason, RunOutcome, ShownLoss
from espalier.engine.ports import ObjectKey, Part
from tests.engine.parts.stories import (
    SETTINGS,
    a_cluster,
    finish,
    names_in,
    old_objects,
    rewritten,
    run_part,
    stored_versions,
)
from tests.fakes.faults import Killed, rejected
from tests.fakes.parts import PartsCluster
from tests.fakes.widgets import ENFORCE, legacy_widgets, widgets
from tests.virtual_time import play

QUICK = replace(SETTINGS, settle_seconds=1)
MIGRATE = "espalier.dev/migrate"


@pytest.mark.parametrize("has_sharded_lists", [False, True])
async def test_each_object_is_rewritten_by_one_part_and_all_are_then_proved(
    *, has_sharded_lists: bool
) -> None:
    cluster = a_cluster()
    cluster.has_sharded_lists = has_sharded_lists
    for number in range(3):
        cluster.calls.clear()
        outcome = await run_part(cluster, number)
        assert outcome.reason == Reason.PARTIAL
        assert not outcome.is_proved
        assert sorted(rewritten(cluster)) == names_in(cluster, Part(number, 3))
        assert cluster.count("set_stored_versions") == 0
    assert old_objects(cluster) == []
    assert stored_versions(cluster) == ("v1alpha1", "v1")

    outcome = await finish(cluster)

    assert outcome.is_proved
    assert outcome.totals is not None
    assert (outcome.totals.rewritten, outcome.totals.unchanged) == (0, 20)
    assert cluster.count("set_stored_versions") == 1
    assert stored_versions(cluster) == ("v1",)


async def test_the_message_of_a_part_has_its_objects_and_the_next_command() -> None:
    cluster = a_cluster(1)
    holder = next(n for n in range(3) if names_in(cluster, Part(n, 3)))

    outcome = await run_part(cluster, holder)

    assert outcome.conditions[0].message == (
        f"part {holder}/3 is done: 1 object rewritten, or found current, at the storage version v1,"
        " for generation 1. storedVersions stays as it is: v1alpha1, v1. Once all parts are done:"
        " espalier migrate widgets.example.com --finish"
    )


async def test_a_part_that_is_done_is_not_begun_again() -> None:
    cluster = a_cluster()
    first = await run_part(cluster, 0)
    cluster.calls.clear()

    again = await run_part(cluster, 0)

    assert again.conditions == first.conditions
    assert cluster.count("rewrite", "try_rewrite", "list_metadata", "save_part") == 0


async def test_what_is_proved_already_needs_no_part() -> None:
    cluster = a_cluster()
    for number in range(3):
        await run_part(cluster, number)
    await finish(cluster)
    cluster.calls.clear()

    assert (await run_part(cluster, 1)).is_proved
    assert (await finish(cluster)).is_proved
    assert cluster.count("rewrite", "save_part", "load_part") == 0


async def test_a_part_goes_on_from_its_own_checkpoint_and_leaves_the_whole_one_alone() -> None:
    cluster = a_cluster(40)

    def kill(call: str, _: str) -> None:
        if call == "list_metadata" and cluster.count("rewrite") >= 6:
            raise Killed

    cluster.hooks.append(kill)
    slow = replace(SETTINGS, writes_per_second=1)
    with pytest.raises(Killed):
        await run_part(cluster, 0, count=2, settings=slow)
    cluster.hooks.clear()
    whole = dict(cluster.documents)
    before = rewritten(cluster)
    cluster.calls.clear()
    await run_part(cluster, 0, count=2)

    mine = names_in(cluster, Part(0, 2))
    assert set(before) | set(rewritten(cluster)) == set(mine)
    assert len(rewritten(cluster)) < len(mine)
    assert cluster.documents == whole


async def test_a_part_with_an_object_that_fails_is_not_done_and_is_tried_again_as_a_whole() -> None:
    cluster = a_cluster()
    mine = names_in(cluster, Part(1, 3))
    cluster.fail("rewrite", rejected(), name=mine[0], times=99)

    outcome = await run_part(cluster, 1)

    assert outcome.reason == Reason.FAILED
    assert outcome.totals is not None
    assert [key.name for key, _ in outcome.totals.failed] == [mine[0]]
    cluster.faults.clear()
    cluster.calls.clear()
    assert (await run_part(cluster, 1)).reason == Reason.PARTIAL
    assert sorted(rewritten(cluster)) == mine


async def test_an_object_that_cannot_be_read_keeps_each_part_from_its_end() -> None:
    cluster = a_cluster()
    next(iter(cluster.etcd.values())).is_broken = True

    for number in range(3):
        outcome = await run_part(cluster, number)
        assert outcome.reason == Reason.UNDECODABLE

    assert (await finish(cluster)).reason == Reason.PARTS_UNFINISHED


async def test_what_would_be_lost_stops_a_part_and_its_own_digest_is_the_consent() -> None:
    cluster = a_cluster(generation=2)
    lossy = names_in(cluster, Part(2, 3))[0]
    uid = cluster.etcd[ObjectKey("default", lossy)].uid
    cluster.put(lossy, {"spec": {"size": 1, "gone": "x"}}, managed=("size", "gone"), uid=uid)

    stopped = await run_part(cluster, 2)

    assert stopped.reason == Reason.WOULD_LOSE_DATA
    assert lossy in old_objects(cluster)
    for number in range(2):
        assert (await run_part(cluster, number)).reason == Reason.PARTIAL
    refused = await finish(cluster)
    assert refused.reason == Reason.PARTS_UNFINISHED
    assert "part 2/3 is not done" in refused.conditions[0].message

    digest = stopped.conditions[0].message.partition("espalier.dev/loss=")[2][:16]
    assert cluster.definition is not None
    cluster.change(labels={**cluster.definition.labels, "espalier.dev/loss": digest})
    assert (await run_part(cluster, 2)).reason == Reason.PARTIAL
    assert (await finish(cluster)).is_proved


async def test_a_part_that_begins_anew_by_a_consent_counts_each_object_once() -> None:
    cluster = a_cluster(40, generation=2)
    mine = names_in(cluster, Part(0, 2))
    uid = cluster.etcd[ObjectKey("default", mine[-1])].uid
    cluster.put(mine[-1], {"spec": {"size": 1, "gone": "x"}}, managed=("size", "gone"), uid=uid)

    def kill(call: str, _: str) -> None:
        if call == "list_metadata" and cluster.count("rewrite") >= 6:
            raise Killed

    cluster.hooks.append(kill)
    with pytest.raises(Killed):
        await run_part(cluster, 0, count=2, settings=replace(SETTINGS, writes_per_second=1))
    cluster.hooks.clear()
    # As a dry run of all objects has shown it.
    assert cluster.definition is not None
    digest = ShownLoss(frozenset({"v1.spec.gone", "v1alpha1.spec.gone"})).digest
    cluster.definition = replace(
        cluster.definition, labels={**cluster.definition.labels, "espalier.dev/loss": digest}
    )

    outcome = await run_part(cluster, 0, count=2)

    assert outcome.reason == Reason.PARTIAL, outcome.conditions[0].message
    assert old_objects(cluster) == names_in(cluster, Part(1, 2))
    assert cluster.parts[0]["part"]["objects"] == len(mine)  # type: ignore[index, call-overload]


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        (legacy_widgets(), "preserves unknown fields"),
        (widgets(annotations={"espalier.dev/namespaces": "a"}), "espalier.dev/namespaces"),
        (
            widgets(labels={**ENFORCE, "espalier.dev/migrate": "false"}),
            "espalier.dev/migrate=false",
        ),
    ],
    ids=["legacy", "namespaces", "migrate"],
)
async def test_what_cannot_be_divided_is_refused_before_anything_is_written(
    definition: Definition, expected: str
) -> None:
    cluster = PartsCluster(definition)
    cluster.fill(4)

    for outcome in (await run_part(cluster, 0), await finish(cluster)):
        assert outcome.reason == Reason.PARTS_UNFINISHED
        assert expected in outcome.conditions[0].message
    assert cluster.count("rewrite", "replace", "archive", "save", "save_part") == 0


@pytest.mark.parametrize(("first_kill", "after_effect"), [(1, False), (2, True)])
def test_parts_killed_at_one_call_after_another_lose_nothing_and_are_finished_later(
    first_kill: int, *, after_effect: bool
) -> None:
    async def story(kill_at: int) -> bool:
        cluster = a_cluster(4)
        cluster.kill_at, cluster.is_killed_after_effect = kill_at, after_effect
        try:
            await everything(cluster)
        except Killed:
            assert len(cluster.etcd) == 4
            assert old_objects(cluster) == [] or stored_versions(cluster) != ("v1",)
            cluster.kill_at = None
            assert (await everything(cluster)).is_proved
            assert stored_versions(cluster) == ("v1",)
            return True
        return False

    async def everything(cluster: PartsCluster) -> RunOutcome:
        for number in range(2):
            await run_part(cluster, number, count=2, settings=QUICK)
        return await finish(cluster, QUICK)

    kill_at = first_kill
    while play(story(kill_at)):
        # Each story takes a while; the two series of them have no call in common.
        kill_at += 3
    assert kill_at > 30
