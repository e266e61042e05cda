"""
Stories of runs that are killed, cancelled, or lose their lease or rights.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from espalier.engine import Reason
from espalier.errors import ForbiddenError, LeaseLostError
from tests.engine.runs.pruned import SETTINGS, a_cluster, all_are_current, run_on, stored_versions
from tests.fakes.cluster import FakeCluster
from tests.fakes.faults import Killed, busy
from tests.fakes.widgets import WIDGETS
from tests.virtual_time import play


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
