"""
Stories of whole runs on a definition whose objects the server prunes.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from espalier.crd import Definition
from espalier.engine import Ports, Reason, RunOutcome, RunSettings, run
from espalier.engine.ports.reporter import Reporter
from espalier.errors import ForbiddenError, LeaseLostError, UndecodableError
from espalier.paths import JSON
from tests.fakes.cluster import FakeCluster
from tests.fakes.faults import Killed, busy, conflict, expired, rejected
from tests.fakes.widgets import WIDGETS, widgets
from tests.virtual_time import play

SETTINGS = RunSettings(settle_seconds=30, page_size=4, max_in_flight=4)


def a_cluster(objects: int = 10, definition: Definition | None = None) -> FakeCluster:
    cluster = FakeCluster(definition or widgets())
    cluster.fill(objects)
    return cluster


async def run_on(cluster: FakeCluster, settings: RunSettings = SETTINGS) -> RunOutcome:
    ports: Ports = cluster.ports
    reporter: Reporter = cluster
    assert cluster.definition is not None
    return await run(cluster.definition, ports, settings, reporter)


def all_are_current(cluster: FakeCluster) -> bool:
    return all(
        stored.raw["apiVersion"] == "example.com/v1"
        and stored.raw["spec"] == {"size": int(key.name[1:]), "color": "red"}
        for key, stored in cluster.etcd.items()
    )


def stored_versions(cluster: FakeCluster) -> tuple[str, ...]:
    assert cluster.definition is not None
    return cluster.definition.stored_versions


async def test_a_run_rewrites_proves_trims_and_says_so() -> None:
    cluster = a_cluster()

    outcome = await run_on(cluster)

    assert outcome.is_proved
    assert not outcome.watches_on
    assert all_are_current(cluster)
    assert stored_versions(cluster) == ("v1",)
    assert cluster.reasons == ["Pending", "Rewriting", "Pending", "Rewriting", "Verified"]
    assert outcome.conditions[0].message == (
        "all 10 stored objects are in normal form at the storage version v1,"
        " for generation 1; storedVersions: v1"
    )
    assert (outcome.conditions[1].status, outcome.conditions[1].reason) == ("True", "Valid")
    assert cluster.holder == ""


async def test_the_verify_pass_waits_for_the_settle_time_and_the_rewrite_does_not() -> None:
    cluster = a_cluster(1)
    rewrites: list[float] = []

    def note(call: str, _: str) -> None:
        if call == "rewrite":
            rewrites.append(cluster.clock.monotonic_seconds())

    cluster.hooks.append(note)
    await run_on(cluster)
    first, last = rewrites
    assert first == 0.0
    assert last >= 30.0


async def test_a_run_that_was_proved_is_not_run_again() -> None:
    cluster = a_cluster()
    await run_on(cluster)
    cluster.calls.clear()
    assert (await run_on(cluster)).is_proved

    assert cluster.count("rewrite", "annotate", "replace_managed_fields") == 0


async def test_no_objects_are_proved_too() -> None:
    cluster = a_cluster(0)
    assert (await run_on(cluster)).is_proved
    assert stored_versions(cluster) == ("v1",)


async def test_one_bad_object_stops_the_trim_and_nothing_else() -> None:
    cluster = a_cluster()
    text = "spec.size: Invalid value: must be odd"
    cluster.fail("rewrite", rejected(text, text), name="w003", times=99)

    outcome = await run_on(cluster)

    assert outcome.reason == Reason.FAILED
    assert outcome.retries
    assert stored_versions(cluster) == ("v1alpha1", "v1")
    others = {key.name: s.raw["apiVersion"] for key, s in cluster.etcd.items()}
    assert others.pop("w003") == "example.com/v1alpha1"
    assert set(others.values()) == {"example.com/v1"}
    message = outcome.conditions[0].message
    assert "1 object: 422 Invalid, spec.size: Invalid value: must be odd (default/w003)" in message


async def test_conflicts_end_with_the_uid_alone() -> None:
    cluster = a_cluster(3)
    # Whoever writes it right before each of our patches makes all of them stale.
    writes = iter(range(6))

    def write_it(call: str, name: str) -> None:
        if (call, name) == ("rewrite", "w001") and next(writes, None) is not None:
            cluster.touch("w001")

    cluster.hooks.append(write_it)
    assert (await run_on(cluster)).is_proved
    assert all_are_current(cluster)


async def test_a_deleted_object_is_never_created_again() -> None:
    cluster = a_cluster(5)

    def delete(call: str, name: str) -> None:
        if (call, name) == ("rewrite", "w002"):
            cluster.delete("w002")
            cluster.hooks.clear()

    cluster.hooks.append(delete)
    assert (await run_on(cluster)).is_proved
    assert len(cluster.etcd) == 4


async def test_an_object_of_the_same_name_is_read_anew() -> None:
    cluster = a_cluster(2)

    def swap(call: str, name: str) -> None:
        if (call, name) == ("rewrite", "w001"):
            version = cluster.etcd[cluster.put("w001", {"spec": {"size": 1}}, uid="new")].version
            assert version
            cluster.hooks.clear()

    cluster.hooks.append(swap)
    assert (await run_on(cluster)).is_proved
    assert all_are_current(cluster)


@pytest.mark.parametrize("fresh", ["default/w003", None])
async def test_an_expired_token_ends_nothing(fresh: str | None) -> None:
    cluster = a_cluster()
    lists = iter(range(100))

    def expire(call: str, _: str) -> None:
        # The third page of each pass.
        if call == "list_metadata" and next(lists) % 4 == 2:
            raise expired(fresh)

    cluster.hooks.append(expire)
    assert (await run_on(cluster)).is_proved

    assert all_are_current(cluster)


async def test_a_patch_that_nobody_answered_counts_as_a_rewrite() -> None:
    cluster = a_cluster(1)
    verifies = {"pass": 0}

    def fail_once(call: str, _: str) -> None:
        if call == "list_metadata":
            verifies["pass"] += 1
            if verifies["pass"] == 3:
                # The first verify pass finds it out of form, and the answer is lost.
                cluster.put("w000", {"spec": {"size": 0}})
                cluster.fail_after("rewrite", busy())

    cluster.hooks.append(fail_once)
    assert (await run_on(cluster)).is_proved
    # survey, rewrite, a verify pass that does not count, one that does; then managedFields
    assert verifies["pass"] == 5


@pytest.mark.parametrize(
    ("call", "page"),
    [(call, n) for call in ("list_metadata", "rewrite", "get_definition") for n in (1, 2, 3)]
    + [("rewrite", 5), ("rewrite", 8), ("set_stored_versions", 1), ("save", 1), ("save", 3)],
)
async def test_a_schema_changed_at_any_time_is_the_one_that_is_proved(call: str, page: int) -> None:
    cluster = a_cluster(4)
    alpha, v1 = widgets().versions
    blue: dict[str, JSON] = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "size": {"type": "integer"},
                    "color": {"type": "string", "default": "red"},
                    "shape": {"type": "string", "default": "round"},
                },
            },
            "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
        },
    }
    seen = iter(range(1, 1000))

    def change(name: str, _: str) -> None:
        if name == call and next(seen) == page:
            cluster.change(versions=(alpha, replace(v1, schema=blue)))

    cluster.hooks.append(change)
    assert (await run_on(cluster)).is_proved
    shapes = [stored.raw["spec"] for stored in cluster.etcd.values()]
    assert all(isinstance(spec, dict) and spec["shape"] == "round" for spec in shapes)


async def test_a_storage_version_flipped_back_before_the_trim_is_not_trimmed_away() -> None:
    cluster = a_cluster(2)
    alpha, v1 = widgets().versions

    def flip(call: str, _: str) -> None:
        if call == "set_stored_versions":
            cluster.change(
                versions=(replace(alpha, storage=True), replace(v1, storage=False)),
                labels={**widgets().labels, "espalier.dev/loss": "accept"},
            )
            cluster.hooks.clear()

    cluster.hooks.append(flip)
    assert (await run_on(cluster)).is_proved
    assert stored_versions(cluster) == ("v1alpha1",)
    assert {s.raw["apiVersion"] for s in cluster.etcd.values()} == {"example.com/v1alpha1"}


async def test_stored_versions_that_change_during_the_verify_pass_start_it_over() -> None:
    cluster = a_cluster(2)

    def add_name(call: str, _: str) -> None:
        if call == "get_definition" and cluster.count("rewrite") == 4:
            cluster.change(stored_versions=("v1alpha1", "v1beta1", "v1"))
            cluster.hooks.clear()

    cluster.hooks.append(add_name)
    outcome = await run_on(cluster)
    assert not outcome.is_proved
    assert stored_versions(cluster) == ("v1alpha1", "v1beta1", "v1")


async def test_a_condition_written_meanwhile_only_delays_the_trim() -> None:
    cluster = a_cluster(1)
    cluster.fail("set_stored_versions", conflict())
    assert (await run_on(cluster)).is_proved
    assert cluster.count("set_stored_versions") == 2


async def test_a_trim_that_nobody_answered_is_found_done() -> None:
    cluster = a_cluster(1)
    cluster.fail_after("set_stored_versions", busy())
    assert (await run_on(cluster)).is_proved
    assert cluster.count("set_stored_versions") == 1


async def test_the_label_taken_off_in_the_middle_ends_the_run() -> None:
    cluster = a_cluster()

    def off(call: str, name: str) -> None:
        if (call, name) == ("rewrite", "w005"):
            cluster.change(labels={})

    cluster.hooks.append(off)
    outcome = await run_on(cluster)
    assert outcome.conditions == ()
    assert not outcome.is_proved
    assert stored_versions(cluster) == ("v1alpha1", "v1")


async def test_a_definition_that_is_gone_ends_the_run() -> None:
    cluster = a_cluster()

    def remove(call: str, name: str) -> None:
        if (call, name) == ("rewrite", "w005"):
            cluster.definition = None

    cluster.hooks.append(remove)
    assert await run_on(cluster) == RunOutcome(definition=None)


def changed_in_mid_run(**changes: object) -> FakeCluster:
    """
    Make a cluster whose definition changes when half of the objects are rewritten.
    """
    cluster = a_cluster()

    def change(call: str, name: str) -> None:
        if (call, name) == ("rewrite", "w005"):
            cluster.hooks.clear()
            cluster.change(**changes)

    cluster.hooks.append(change)
    return cluster


async def test_a_definition_that_is_being_deleted_in_mid_run_is_left_alone() -> None:
    cluster = changed_in_mid_run(deleting=True)
    outcome = await run_on(cluster)
    assert (outcome.reason, outcome.retries) == (Reason.PENDING, True)
    assert "is being deleted" in outcome.conditions[0].message
    assert cluster.count("rewrite") <= 8
    assert stored_versions(cluster) == ("v1alpha1", "v1")


async def test_a_definition_deleted_and_created_anew_in_mid_run_is_another_one() -> None:
    cluster = changed_in_mid_run(uid="crd-2")
    assert await run_on(cluster) == RunOutcome(definition=None)
    assert cluster.count("set_stored_versions") == 0


async def test_a_definition_that_is_not_structural_any_more_in_mid_run_stops_it() -> None:
    alpha, v1 = widgets().versions
    # A property without a type.
    loose: dict[str, JSON] = {"type": "object", "properties": {"spec": {"type": "object"}, "x": {}}}
    cluster = changed_in_mid_run(versions=(alpha, replace(v1, schema=loose)))
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.NON_STRUCTURAL
    assert not outcome.is_proved
    assert cluster.count("rewrite") <= 8
    assert stored_versions(cluster) == ("v1alpha1", "v1")


async def test_a_lost_lease_stops_the_run_before_the_next_page() -> None:
    cluster = a_cluster()
    cluster.hooks.append(_slow(cluster))
    calls = iter(range(100))

    def lose(call: str, _: str) -> None:
        if call == "acquire" and next(calls) == 1:
            raise LeaseLostError(WIDGETS, "somebody-else")

    cluster.hooks.append(lose)
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.PENDING
    assert "somebody-else" in outcome.conditions[0].message
    assert stored_versions(cluster) == ("v1alpha1", "v1")


async def test_a_lease_that_cannot_be_renewed_stops_the_run_before_it_runs_out() -> None:
    cluster = a_cluster()
    acquires = iter(range(100))

    def refuse(call: str, _: str) -> None:
        if call == "acquire" and next(acquires) > 0:
            raise busy()

    cluster.hooks.append(refuse)
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.PENDING
    assert stored_versions(cluster) == ("v1alpha1", "v1")

    assert cluster.clock.monotonic_seconds() < 15.0


async def test_one_renewal_that_is_refused_costs_no_lease() -> None:
    cluster = a_cluster()
    cluster.hooks.append(_slow(cluster))
    acquires = iter(range(100))

    def refuse(call: str, _: str) -> None:
        if call == "acquire" and next(acquires) == 1:
            raise busy()

    cluster.hooks.append(refuse)
    assert (await run_on(cluster)).is_proved


def _slow(cluster: FakeCluster) -> Callable[[str, str], None]:
    # The server is busy often enough for leases to be renewed in between.
    def slow(call: str, _: str) -> None:
        if call == "list_metadata" and cluster.count("list_metadata") % 2:
            raise busy(retry_after_seconds=6)

    return slow


async def test_missing_rights_stop_a_run_before_it_writes() -> None:
    cluster = a_cluster()
    cluster.missing = ("patch widgets",)

    outcome = await run_on(cluster)

    assert outcome.reason == Reason.FORBIDDEN
    assert outcome.retries
    assert outcome.conditions[0].message == (
        "the operator may not patch widgets.example.com. Grant it:"
        " kubectl create clusterrole espalier-widgets.example.com"
        " --verb=get,list,watch,patch,update"
        " --resource=widgets.example.com,widgets.example.com/status"
        " && kubectl label clusterrole espalier-widgets.example.com"
        " rbac.espalier.dev/aggregate-to-operator=true"
    )
    assert cluster.count("rewrite", "try_rewrite", "list_metadata") == 0


async def test_the_right_to_trim_is_asked_for_before_anything_is_written() -> None:
    cluster = a_cluster()
    cluster.missing = ("patch/status customresourcedefinitions",)
    assert (await run_on(cluster)).reason == Reason.FORBIDDEN
    assert cluster.count("rewrite") == 0


async def test_a_right_taken_away_meanwhile_stops_after_the_page() -> None:
    cluster = a_cluster()

    def revoke(call: str, _: str) -> None:
        if call == "rewrite":
            cluster.missing = ("patch widgets",)
            raise ForbiddenError(verb="patch", resource=WIDGETS, status=403, reason="Forbidden")

    cluster.hooks.append(revoke)
    assert (await run_on(cluster)).reason == Reason.FORBIDDEN
    assert cluster.count("rewrite") == 4


async def test_admission_that_changes_objects_stops_before_the_first_write() -> None:
    cluster = a_cluster()

    def mutate(obj: object) -> None:
        assert isinstance(obj, dict)
        obj["spec"]["color"] = "green"

    cluster.admission = mutate
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.ADMISSION_MUTATES
    assert "spec.color" in outcome.conditions[0].message
    assert "green" not in outcome.conditions[0].message
    assert cluster.count("rewrite") == 0


async def test_undecodable_objects_stop_and_are_named() -> None:
    cluster = a_cluster()
    keys = ("/example.com/widgets/default/w001",)
    cluster.fail(
        "list_metadata",
        UndecodableError(verb="list", resource=WIDGETS, status=500, keys=keys),
        times=99,
    )
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.UNDECODABLE
    assert "default/w001" in outcome.conditions[0].message


async def test_a_server_that_stays_away_fails_the_run_which_is_tried_again() -> None:
    cluster = a_cluster()
    cluster.fail("list_metadata", busy(), times=99)
    outcome = await run_on(cluster)
    assert (outcome.reason, outcome.retries) == (Reason.FAILED, True)


async def test_read_only_writes_nothing() -> None:
    cluster = a_cluster()
    outcome = await run_on(cluster, replace(SETTINGS, is_read_only=True))
    assert outcome.reason == Reason.OBSERVED
    assert outcome.again_seconds == 3600
    assert outcome.conditions[0].message == (
        "the operator is read-only. 10 stored objects, read at version v1. A rewrite would fill in"
        " defaults in 10 objects: spec.color (10 objects: default/w000, default/w001,"
        " default/w002, default/w003, default/w004 and 5 more). Enforcing would trim"
        " storedVersions (v1alpha1, v1) to v1"
    )
    assert {call for call, _ in cluster.calls} == {
        "get_definition",
        "missing_verbs",
        "load",
        "list_objects",
    }


async def until_done(cluster: FakeCluster) -> None:
    cluster.kill_at = None
    assert (await run_on(cluster)).is_proved
    assert all_are_current(cluster)
    assert stored_versions(cluster) == ("v1",)


@pytest.mark.parametrize("after_effect", [False, True])
def test_a_process_killed_at_any_call_loses_nothing_and_finishes_later(
    *, after_effect: bool
) -> None:
    async def story(kill_at: int) -> bool:
        cluster = a_cluster(6)
        cluster.kill_at, cluster.is_killed_after_effect = kill_at, after_effect
        try:
            await run_on(cluster)
        except Killed:
            assert len(cluster.etcd) == 6
            trimmed = stored_versions(cluster) == ("v1",)
            assert all_are_current(cluster) or not trimmed
            await until_done(cluster)
            return True
        return False

    kills = 0
    while play(story(kills + 1)):
        kills += 1
    assert kills > 20


def test_a_run_cancelled_at_any_call_gives_the_lease_back_and_finishes_later() -> None:
    async def story(cancel_at: int) -> bool:
        cluster = a_cluster(6)
        task = asyncio.create_task(run_on(cluster))
        calls = iter(range(1, 10_000))

        def cancel(_: str, __: str) -> None:
            if next(calls) == cancel_at:
                task.cancel()

        cluster.hooks.append(cancel)
        await asyncio.wait({task})
        cluster.hooks.clear()
        if not task.cancelled():
            return False
        assert cluster.holder == ""
        await until_done(cluster)
        return True

    cancelled = 0
    while play(story(cancelled + 1)):
        cancelled += 1
    assert cancelled > 20


async def test_a_killed_run_goes_on_where_it_was() -> None:
    slow = replace(SETTINGS, writes_per_second=2)

    cluster = a_cluster(40)

    def stop(call: str, _: str) -> None:
        if call == "list_metadata" and cluster.count("rewrite") >= 20:
            raise Killed

    cluster.hooks.append(stop)
    with pytest.raises(Killed):
        await run_on(cluster, slow)
    cluster.hooks.clear()
    cluster.calls.clear()
    await until_done(cluster)
    again = [name for call, name in cluster.calls if call == "rewrite"]
    # What is left of the rewrite pass, from the page that was saved last; then a verify pass.
    assert again[0] >= "w008"
    assert len(again) <= 32 + 40


async def test_a_storage_version_moved_there_and_back_in_the_verify_pass_is_not_trimmed() -> None:
    cluster = a_cluster(8)
    assert cluster.definition is not None
    versions = cluster.definition.versions
    moved = tuple(replace(version, storage=not version.storage) for version in versions)

    def flip_flop(call: str, name: str) -> None:
        if (call, name) == ("rewrite", "w007") and cluster.clock.monotonic_seconds() >= 30:
            cluster.hooks.clear()
            cluster.change(versions=moved)
            cluster.touch("w000", {"apiVersion": "example.com/v1alpha1"})
            cluster.change(versions=versions)

    cluster.hooks.append(flip_flop)
    outcome = await run_on(cluster)

    assert outcome.is_proved
    assert all_are_current(cluster)


async def test_a_new_generation_during_the_verify_pass_is_settled_anew() -> None:
    cluster = a_cluster(1)

    def rotate(call: str, _: str) -> None:
        if call == "rewrite" and cluster.clock.monotonic_seconds() >= 30:
            cluster.hooks.clear()
            assert cluster.definition is not None
            cluster.change(generation=cluster.definition.generation + 1)

    cluster.hooks.append(rotate)
    assert (await run_on(cluster)).is_proved

    assert cluster.clock.monotonic_seconds() >= 60.0


async def test_a_generation_that_came_in_mid_run_with_the_same_purpose_is_the_one_told() -> None:
    cluster = a_cluster()
    rotations = iter([1])

    def rotate(call: str, name: str) -> None:
        if (call, name) == ("rewrite", "w005") and next(rotations, None):
            assert cluster.definition is not None
            cluster.change(generation=cluster.definition.generation + 1)

    cluster.hooks.append(rotate)
    outcome = await run_on(cluster)
    assert outcome.is_proved
    assert "for generation 2; storedVersions: v1" in outcome.conditions[0].message
    assert cluster.count("acquire") <= 20
