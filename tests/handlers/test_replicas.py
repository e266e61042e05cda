"""
Two operators in one process, which share the definitions and the Leases.
"""

from collections.abc import AsyncIterator

import pytest

from espalier.engine.coordination.fenced_ports import FencedDefinitions
from espalier.engine.status.conditions import Reason, not_current
from espalier.errors import LeaseLostError
from espalier.handlers.status_writer import FencedEvents, StatusReporter
from tests.fakes.clock import settled
from tests.fakes.replicas import DURATION_SECONDS, Replica, Rivals
from tests.handlers.test_application import LABELS, EndlessWork, FakeWork, OperatorUnderTest
from tests.handlers.test_structural_condition import UNTYPED
from tests.handlers.world import FakeDefinitions, FakeEvents, definition_of

WIDGETS = definition_of(labels=LABELS)


class TwoReplicas:
    """
    The first one begins before the second one.
    """

    def __init__(self) -> None:
        self.rivals = Rivals(1)
        self.definitions = FakeDefinitions()
        self.replicas: list[Replica] = []
        self.operators: list[OperatorUnderTest] = []

    async def start(self, work: FakeWork) -> OperatorUnderTest:
        replica = self.rivals.replica(f"replica {len(self.replicas)}")
        self.replicas.append(replica)
        made = OperatorUnderTest(self.definitions, work, replica.buckets)
        self.operators.append(made)
        await made.espalier.start()
        await settled()
        return made


@pytest.fixture
async def world() -> AsyncIterator[TwoReplicas]:
    made = TwoReplicas()
    yield made
    for operator in made.operators:
        await operator.espalier.stop()
        assert operator.guard.failure is None


async def test_one_works_and_the_other_is_ready_and_writes_nothing(world: TwoReplicas) -> None:
    world.definitions.found[WIDGETS.name] = WIDGETS
    untyped = definition_of("others.example.com", uid="uid-2", versions=(UNTYPED,))
    world.definitions.found[untyped.name] = untyped
    first, second = await world.start(FakeWork()), await world.start(FakeWork())
    second.espalier.see(WIDGETS.name, LABELS)
    await world.rivals.clock.advance(100)

    assert (first.work.log, second.work.log) == ([WIDGETS.name], [])
    assert [first.espalier.is_ready, second.espalier.is_ready] == [True, True]
    # Structural conditions too are written by one of them.
    assert [manager for manager, _ in world.definitions.applied] == ["espalier-structural"]


async def test_when_the_working_one_is_stopped_the_other_reads_all_definitions_and_goes_on(
    world: TwoReplicas,
) -> None:
    world.definitions.found[WIDGETS.name] = WIDGETS
    work = EndlessWork()
    first, second = await world.start(work), await world.start(FakeWork())
    await world.rivals.clock.advance(10)

    stopping = first.espalier.stop()
    work.may_give_back.set()
    await stopping
    assert second.work.log == []
    await world.rivals.clock.advance(5)

    assert work.log == ["run", "stopped", "gave back"]
    assert second.work.log == [WIDGETS.name]


async def test_one_that_is_cut_off_has_ended_its_work_when_the_other_begins(
    world: TwoReplicas,
) -> None:
    world.definitions.found[WIDGETS.name] = WIDGETS
    work = EndlessWork()
    work.may_give_back.set()
    await world.start(work)
    second = await world.start(FakeWork())
    await world.rivals.clock.advance(10)

    world.replicas[0].cut_off()
    ended: list[str] = []
    while not second.work.log:
        ended = list(work.log)
        await world.rivals.clock.advance(0.5)

    assert ended == ["run", "stopped", "gave back"]
    # It comes back, and waits.
    world.replicas[0].cut_off(is_cut_off=False)
    await world.rivals.clock.advance(DURATION_SECONDS * 2)
    assert work.log == ended


async def test_what_is_reported_without_the_bucket_is_neither_written_nor_posted(
    world: TwoReplicas,
) -> None:
    first = await world.start(FakeWork())
    second = world.rivals.replica("second")
    events = FakeEvents()
    fenced = FencedDefinitions(world.definitions, second.buckets)
    reporter = StatusReporter(
        fenced,
        FencedEvents(events, second.buckets),
        first.clock,
        first.guard,
        progress_seconds=0,
    )
    await reporter.report(WIDGETS, not_current(Reason.PENDING, "x"))
    await FencedEvents(events, second.buckets).post_event(
        WIDGETS, type_="Normal", reason="Pending", message="x"
    )
    await first.clock.advance(100)

    with pytest.raises(LeaseLostError):
        await reporter.withdraw(WIDGETS)
    assert (world.definitions.applied, events.posted) == ([], [])


async def test_a_server_that_does_not_answer_holds_nobody_up_that_leaves(
    world: TwoReplicas,
) -> None:
    first = await world.start(FakeWork())
    reporter = StatusReporter(
        world.definitions, FakeEvents(), first.clock, first.guard, progress_seconds=0
    )
    world.definitions.gate.clear()
    await reporter.report(WIDGETS, not_current(Reason.PENDING, "x"))
    await settled()
    begun = first.clock.monotonic_seconds()

    await reporter.leave(WIDGETS.uid, may_write=True, patience_seconds=5)

    assert first.clock.monotonic_seconds() - begun <= 10
    world.definitions.gate.set()
    await first.clock.advance(100)
    assert world.definitions.applied == []


async def test_what_is_unwritten_is_written_by_one_that_leaves(world: TwoReplicas) -> None:
    first = await world.start(FakeWork())
    reporter = StatusReporter(
        world.definitions, FakeEvents(), first.clock, first.guard, progress_seconds=1000
    )
    for objects in (1, 2, 3):
        await reporter.report(WIDGETS, not_current(Reason.REWRITING, f"{objects} objects"))
        await settled()

    await reporter.leave(WIDGETS.uid, may_write=True, patience_seconds=5)

    written = [conditions[0].message for _, conditions in world.definitions.applied]
    assert written == ["1 objects", "3 objects"]
