"""
Stories of whole runs on a definition whose objects the server prunes.
"""

from dataclasses import replace

import pytest

from espalier.engine import Reason
from espalier.errors import UndecodableError
from tests.engine.runs.pruned import SETTINGS, a_cluster, all_are_current, run_on, stored_versions
from tests.fakes.faults import busy, expired, rejected
from tests.fakes.widgets import WIDGETS


async def test_a_run_rewrites_proves_trims_and_reports_it() -> None:
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
        # The third page of the rewriting pass, and of the first verify pass.
        if call == "list_metadata" and next(lists) in (2, 6):
            raise expired(fresh)

    cluster.hooks.append(expire)
    assert (await run_on(cluster)).is_proved

    assert all_are_current(cluster)


async def test_a_patch_without_an_answer_counts_as_a_rewrite() -> None:
    cluster = a_cluster(1)
    verifies = {"pass": 0}

    def fail_once(call: str, _: str) -> None:
        if call == "list_metadata":
            verifies["pass"] += 1
            if verifies["pass"] == 2:
                # The first verify pass finds it out of form, and the answer is lost.
                cluster.put("w000", {"spec": {"size": 0}})
                cluster.fail_after("rewrite", busy())

    cluster.hooks.append(fail_once)
    assert (await run_on(cluster)).is_proved
    # rewrite, a verify pass that does not count, one that does; then managedFields
    assert verifies["pass"] == 4


async def test_a_trim_without_an_answer_is_found_done() -> None:
    cluster = a_cluster(1)
    cluster.fail_after("set_stored_versions", busy())
    assert (await run_on(cluster)).is_proved
    assert cluster.count("set_stored_versions") == 1


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
