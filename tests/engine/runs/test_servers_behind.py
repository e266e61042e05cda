"""
API servers that store another version although the settle time is over.
"""

from dataclasses import replace

import pytest

from espalier.engine import Reason
from espalier.engine.ports.servers import ServerBehindError, ServersSeen
from espalier.engine.runs.settling import MAX_LOOKS
from tests.engine.runs.pruned import SETTINGS, a_cluster, all_are_current, run_on, stored_versions
from tests.fakes.cluster import FakeCluster

ALL_BEHIND = ServersSeen(behind=8)
SOME_BEHIND = ServersSeen(behind=2, caught_up=6)
NONE_BEHIND = ServersSeen(caught_up=1)
BOTH = ("v1alpha1", "v1")


def trim_times(cluster: FakeCluster) -> list[float]:
    times: list[float] = []

    def note(call: str, _: str) -> None:
        if call == "set_stored_versions":
            times.append(cluster.clock.monotonic_seconds())

    cluster.hooks.append(note)
    return times


async def test_nothing_is_written_while_all_servers_are_behind() -> None:
    cluster = a_cluster()
    cluster.servers.extend([ALL_BEHIND] * 5)
    assert (await run_on(cluster)).is_proved
    assert all_are_current(cluster)
    names = [call for call, _ in cluster.calls]
    looks = [number for number, call in enumerate(names) if call == "look_for_servers_behind"]
    assert "rewrite" not in names[: looks[5]]
    behind = [one[0] for one in cluster.reports if one[0].reason == Reason.SERVERS_BEHIND]
    assert len(behind) == 5
    assert behind[0].status == "False"
    assert behind[0].message == (
        "an API server still stores another version than v1, as its discovery shows. Nothing is"
        " written through it, and storedVersions stays as it is until no server that is reached is"
        " behind"
    )


async def test_objects_are_rewritten_through_the_other_servers_but_nothing_is_trimmed() -> None:
    cluster = a_cluster()
    cluster.servers.extend([SOME_BEHIND] * (MAX_LOOKS + 2))
    outcome = await run_on(cluster)
    assert (outcome.reason, outcome.retries) == (Reason.SERVERS_BEHIND, True)
    assert not outcome.is_proved
    assert all_are_current(cluster)
    assert stored_versions(cluster) == BOTH


async def test_a_run_ends_if_servers_stay_behind_and_the_next_one_goes_on() -> None:
    cluster = a_cluster()
    cluster.servers.extend([ALL_BEHIND] * (MAX_LOOKS + 1))
    outcome = await run_on(cluster)
    assert (outcome.reason, outcome.retries) == (Reason.SERVERS_BEHIND, True)
    assert cluster.count("rewrite", "set_stored_versions") == 0
    assert (await run_on(cluster)).is_proved


async def test_the_settle_time_begins_anew_when_a_server_is_behind_after_it() -> None:
    cluster = a_cluster()
    trims = trim_times(cluster)
    cluster.servers.extend([NONE_BEHIND, ALL_BEHIND, ALL_BEHIND])
    assert (await run_on(cluster)).is_proved
    # 30 s, a look, 5 s, a look, and 30 s again.
    assert 65 <= trims[0] < 70


async def test_a_server_that_falls_behind_in_a_verify_pass_makes_it_no_proof() -> None:
    cluster = a_cluster()
    trims = trim_times(cluster)
    cluster.servers.extend([NONE_BEHIND, NONE_BEHIND, SOME_BEHIND])
    assert (await run_on(cluster)).is_proved
    assert 60 <= trims[0] < 65
    assert cluster.count("rewrite") == 30


async def test_writes_after_the_settle_time_are_no_proofs_if_a_server_was_behind() -> None:
    settings = replace(SETTINGS, settle_seconds=0, sample_least=0)
    trusted, doubted = a_cluster(), a_cluster()
    doubted.servers.extend([NONE_BEHIND, SOME_BEHIND])
    assert (await run_on(trusted, settings)).is_proved
    assert (await run_on(doubted, settings)).is_proved
    assert (trusted.count("rewrite"), doubted.count("rewrite")) == (10, 20)


async def test_passes_that_all_meet_such_servers_end_without_a_proof() -> None:
    cluster = a_cluster()
    cluster.servers.extend([NONE_BEHIND, *[NONE_BEHIND, SOME_BEHIND] * 5])
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.SERVERS_BEHIND
    assert stored_versions(cluster) == BOTH


@pytest.mark.parametrize("in_verify_pass", [False, True])
async def test_a_write_that_reaches_only_such_servers_ends_the_run(in_verify_pass: bool) -> None:  # noqa: FBT001
    cluster = a_cluster()

    def fall_behind(call: str, _: str) -> None:
        if call == "rewrite" and cluster.count("rewrite") == (15 if in_verify_pass else 5):
            raise ServerBehindError(verb="patch", resource="widgets.example.com")

    cluster.hooks.append(fall_behind)
    outcome = await run_on(cluster)
    assert (outcome.reason, outcome.retries) == (Reason.SERVERS_BEHIND, True)
    assert stored_versions(cluster) == BOTH
    cluster.hooks.clear()
    assert (await run_on(cluster)).is_proved
