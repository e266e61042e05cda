"""
Stories of a lease that somebody else has: alive, dead, or just about to end.
"""

from dataclasses import replace

from espalier.engine import Reason, RunOutcome, RunSettings, run
from espalier.errors import LeaseLostError
from tests.fakes.cluster import FakeCluster
from tests.fakes.widgets import WIDGETS, widgets

SETTINGS = RunSettings(settle_seconds=0)
PATIENT = replace(SETTINGS, waits_for_lease=True)


class TakenCluster(FakeCluster):
    """
    Somebody holds its lease, and renews it for so many seconds.
    """

    def __init__(self, *, renewed_for_seconds: float) -> None:
        super().__init__(widgets())
        self.fill(3)
        self.renewed_for_seconds = renewed_for_seconds
        self.hooks.append(self.refuse)

    def refuse(self, call: str, _: str) -> None:
        if call != "acquire":
            return
        renewed_seconds = min(self.clock.monotonic_seconds(), self.renewed_for_seconds)
        left_seconds = renewed_seconds + self.duration_seconds - self.clock.monotonic_seconds()
        if left_seconds >= 0:
            raise LeaseLostError(WIDGETS, "host_7", left_seconds)


async def run_on(cluster: FakeCluster, settings: RunSettings) -> tuple[RunOutcome, float]:
    assert cluster.definition is not None
    outcome = await run(cluster.definition, cluster.ports, settings, cluster)
    return outcome, cluster.clock.monotonic_seconds()


async def test_the_lease_of_a_dead_holder_is_waited_for_and_taken_over() -> None:
    cluster = TakenCluster(renewed_for_seconds=0)
    outcome, ended_seconds = await run_on(cluster, PATIENT)
    assert outcome.is_proved
    assert 15 < ended_seconds <= 17
    (first, *_) = cluster.reports[0]
    assert (first.reason, first.message) == (
        Reason.PENDING,
        "waiting for the lease held by host_7",
    )
    assert cluster.count("list_metadata") > 0


async def test_a_holder_that_is_alive_is_not_waited_for_for_ever_and_nothing_is_done() -> None:
    cluster = TakenCluster(renewed_for_seconds=float("inf"))
    outcome, ended_seconds = await run_on(cluster, PATIENT)
    assert outcome.reason == Reason.PENDING
    assert "host_7" in outcome.conditions[0].message
    assert 15 <= ended_seconds <= 20
    assert cluster.count("load", "list_metadata", "rewrite") == 0


async def test_who_tries_again_later_does_not_wait() -> None:
    cluster = TakenCluster(renewed_for_seconds=0)
    outcome, ended_seconds = await run_on(cluster, SETTINGS)
    assert (outcome.reason, outcome.retries) == (Reason.PENDING, True)
    assert ended_seconds == 0
