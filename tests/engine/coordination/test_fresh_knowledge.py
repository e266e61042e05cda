"""
Stories of runs that lose sight of their definition or of their lease: no write is begun then.
"""

from espalier.crd import Definition
from espalier.engine import Reason, RunOutcome, RunSettings, run
from espalier.engine.coordination.definition_guard import MAX_AGE_SECONDS
from espalier.engine.coordination.lease import RENEW_AGAIN_AFTER_SECONDS, RENEWALS_PER_LEASE
from espalier.engine.ports import Endpoint, WritePermit
from espalier.engine.ports.records import Written
from espalier.errors import LeaseLostError
from tests.fakes.cluster import FakeCluster
from tests.fakes.faults import busy
from tests.fakes.widgets import widgets

WRITES_PER_SECOND = 10.0
SETTINGS = RunSettings(settle_seconds=1, writes_per_second=WRITES_PER_SECOND, max_in_flight=4)


class TimedCluster(FakeCluster):
    """
    Notes when each write begins, on the clock of the run.
    """

    def __init__(self, definition: Definition) -> None:
        super().__init__(definition)
        self.fill(600)
        self.began: list[float] = []
        self.acquires = 0
        self.hooks.append(self._note)

    def _note(self, call: str, _: str) -> None:
        if call == "rewrite":
            self.began.append(self.clock.monotonic_seconds())

    def after(self, seconds: float) -> list[float]:
        return [began for began in self.began if began > seconds]


class SlowLeases(TimedCluster):
    """
    Answers no renewal.
    """

    async def acquire(self, definition: Definition) -> None:
        self.acquires += 1
        if self.acquires > 1:
            await self.clock.sleep(1000)
        await super().acquire(definition)


async def run_on(cluster: FakeCluster) -> RunOutcome:
    assert cluster.definition is not None
    return await run(cluster.definition, cluster.ports, SETTINGS, cluster)


async def test_no_write_begins_five_seconds_after_the_definition_could_be_read_last() -> None:
    cluster = TimedCluster(widgets())
    gone_at = 20.0

    def go_away(call: str, _: str) -> None:
        is_read = call in ("get_definition", "get_resource_version")
        if is_read and cluster.clock.monotonic_seconds() >= gone_at:
            raise busy()

    cluster.hooks.append(go_away)
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.FAILED
    assert len(cluster.began) > 100
    assert cluster.after(gone_at + MAX_AGE_SECONDS) == []
    assert len(cluster.began) < 300


async def test_no_write_begins_after_a_renewal_has_failed() -> None:
    cluster = TimedCluster(widgets())
    failed_at: list[float] = []

    def refuse(call: str, _: str) -> None:
        if call == "acquire" and cluster.count("acquire") > 1:
            failed_at.append(cluster.clock.monotonic_seconds())
            raise busy()

    cluster.hooks.append(refuse)
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.PENDING
    assert len(cluster.began) > 10
    assert cluster.after(failed_at[0]) == []


async def test_writes_go_on_once_the_lease_is_renewed_again() -> None:
    cluster = TimedCluster(widgets())
    failed_at: list[float] = []

    def refuse(call: str, _: str) -> None:
        if call == "acquire" and cluster.count("acquire") in (2, 3):
            failed_at.append(cluster.clock.monotonic_seconds())
            raise busy()

    cluster.hooks.append(refuse)
    outcome = await run_on(cluster)
    assert outcome.is_proved
    paused = [began for began in cluster.began if failed_at[0] < began < failed_at[1]]
    assert paused == []


async def test_no_write_begins_while_a_renewal_is_late() -> None:
    cluster = SlowLeases(widgets())
    outcome = await run_on(cluster)
    late_at = cluster.duration_seconds / RENEWALS_PER_LEASE + RENEW_AGAIN_AFTER_SECONDS
    assert outcome.reason == Reason.PENDING
    assert len(cluster.began) > 10
    assert cluster.after(late_at + 0.01) == []


async def test_a_lease_that_another_process_took_stops_the_run() -> None:
    cluster = TimedCluster(widgets())
    taken_at: list[float] = []

    def take(call: str, _: str) -> None:
        if call == "acquire" and cluster.count("acquire") > 1:
            taken_at.append(cluster.clock.monotonic_seconds())
            raise LeaseLostError("widgets.example.com", "other")

    cluster.hooks.append(take)
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.PENDING
    assert cluster.after(taken_at[0]) == []


async def test_a_permit_that_was_given_before_does_not_hold_while_the_lease_is_in_doubt() -> None:
    cluster = TimedCluster(widgets())
    given: list[WritePermit] = []
    inner = cluster.rewrite

    async def note(resource: Endpoint, permit: WritePermit) -> Written:
        assert permit.may_begin()
        given.append(permit)
        return await inner(resource, permit)

    cluster.rewrite = note  # type: ignore[method-assign]  # what the run writes is looked at
    cluster.hooks.append(lambda call, _: _refuse_later(cluster, call))
    await run_on(cluster)
    assert given
    assert not given[0].may_begin()


def _refuse_later(cluster: FakeCluster, call: str) -> None:
    if call == "acquire" and cluster.count("acquire") > 1:
        raise busy()
