import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import nullcontext
from dataclasses import replace

import pytest

from espalier.crd import Condition, Definition
from espalier.engine.coordination.buckets import Buckets
from espalier.engine.flowcontrol.sightings import Sightings
from espalier.engine.runs.outcome import RunOutcome
from espalier.errors import MalformedDefinitionError, TransientError
from espalier.handlers.application import FAILED_RESYNC_SECONDS, Espalier
from espalier.handlers.settings import Settings
from espalier.handlers.status_writer import StatusReporter
from espalier.handlers.structural_condition import StructuralKeeper
from espalier.handlers.supervisor import Supervisor
from espalier.handlers.tasks import Guard
from espalier.handlers.workqueue import WorkQueue
from espalier.observe.recorder import Recorder
from tests.fakes.clock import FakeClock, settled
from tests.fakes.replicas import Rivals
from tests.handlers.test_structural_condition import UNTYPED
from tests.handlers.world import FakeDefinitions, FakeEvents, definition_of

LABELS = {"espalier.dev/mode": "enforce"}


class FakeWork:
    def __init__(self) -> None:
        self.log: list[str] = []

    def key_of(self, definition: Definition) -> Hashable:
        return definition.versions

    async def run(self, definition: Definition) -> RunOutcome:
        self.log.append(definition.name)
        return RunOutcome(definition=definition, is_proved=True)

    async def keep_pruned(
        self, definition: Definition, *, reported: tuple[Condition, ...] = ()
    ) -> None:
        raise AssertionError(definition.name, reported)


class UnreadableDefinitions(FakeDefinitions):
    """
    Fails to read, once for each failure.
    """

    def __init__(self, *failures: Exception) -> None:
        super().__init__()
        self.unreadable = list(failures)

    async def get_definition(self, name: str) -> Definition:
        if self.unreadable:
            raise self.unreadable.pop(0)
        return await super().get_definition(name)


class EndlessWork(FakeWork):
    """
    Runs until it is cancelled, and then takes a while to give back what it holds.
    """

    def __init__(self) -> None:
        super().__init__()
        self.may_give_back = asyncio.Event()

    async def run(self, definition: Definition) -> RunOutcome:
        self.log.append("run")
        try:
            await asyncio.Event().wait()
        finally:
            self.log.append("stopped")
            await self.may_give_back.wait()
            self.log.append("gave back")
        return RunOutcome(definition=definition)


class HangingDefinitions(FakeDefinitions):
    """
    Takes long to read, once it is told to.
    """

    def __init__(self) -> None:
        super().__init__()
        self.may_read = asyncio.Event()
        self.may_read.set()
        self.reads: list[str] = []

    async def get_definition(self, name: str) -> Definition:
        self.reads.append(name)
        await self.may_read.wait()
        return await super().get_definition(name)


class OperatorUnderTest:
    def __init__(
        self,
        definitions: FakeDefinitions | None = None,
        work: FakeWork | None = None,
        buckets: Buckets | None = None,
        *,
        keeps_structural: bool = True,
    ) -> None:
        self.definitions = definitions or FakeDefinitions()
        self.work = work or FakeWork()
        self.clock = FakeClock()
        self.guard = Guard(lambda: None)
        self.queue = WorkQueue(self.clock)
        self.sightings = Sightings(self.clock)
        self.recorder = Recorder(self.clock)
        reporter = StatusReporter(
            self.definitions, FakeEvents(), self.clock, self.guard, progress_seconds=10
        )
        self.buckets = buckets or Rivals(1).replica("self").buckets
        self.espalier = Espalier(
            Settings(),
            definitions=self.definitions,
            sightings=self.sightings,
            clock=self.clock,
            guard=self.guard,
            queue=self.queue,
            reporter=reporter,
            keeper=StructuralKeeper(self.definitions, self.clock, grace_seconds=30)
            if keeps_structural
            else None,
            supervisor=Supervisor(
                self.work,
                self.definitions,
                reporter,
                clock=self.clock,
                guard=self.guard,
                nudge=self.queue.nudge,
                max_runs=4,
                owns=self.buckets.owns,
            ),
            recorder=self.recorder,
            serve=lambda _: nullcontext(),
            buckets=self.buckets,
        )

    def add(self, definition: Definition) -> None:
        self.definitions.found[definition.name] = definition


@pytest.fixture
async def world() -> AsyncIterator[OperatorUnderTest]:
    made = OperatorUnderTest()
    yield made
    await made.espalier.stop()
    assert made.guard.failure is None


async def test_what_is_labelled_already_is_picked_up_at_the_start(world: OperatorUnderTest) -> None:
    world.add(definition_of(labels=LABELS))

    await world.espalier.start()
    await settled()

    assert world.work.log == ["widgets.example.com"]


async def test_a_nudge_reads_the_definition_anew(world: OperatorUnderTest) -> None:
    await world.espalier.start()
    await settled()
    world.add(definition_of(labels=LABELS))

    world.espalier.see("widgets.example.com", LABELS)
    await settled()

    assert world.work.log == ["widgets.example.com"]


async def test_the_settle_time_of_a_definition_begins_before_it_has_a_label(
    world: OperatorUnderTest,
) -> None:
    world.add(definition_of())
    await world.espalier.start()
    await world.clock.advance(100)
    labelled = definition_of(labels=LABELS)
    world.add(labelled)
    world.espalier.see("widgets.example.com", LABELS)
    await settled()

    assert world.sightings.see(labelled) == 0

    changed = replace(labelled, generation=labelled.generation + 1)
    world.add(changed)
    world.espalier.see("widgets.example.com", LABELS)
    await world.clock.advance(50)

    assert world.sightings.see(changed) == 100


async def test_a_definition_that_went_unseen_is_missed_at_the_next_resync(
    world: OperatorUnderTest,
) -> None:
    world.add(definition_of(labels=LABELS))
    await world.espalier.start()
    await settled()
    world.definitions.found.clear()

    await world.clock.advance(600)
    world.add(definition_of(labels=LABELS, uid="uid-2"))
    world.espalier.see("widgets.example.com", LABELS)
    await settled()

    assert world.work.log == ["widgets.example.com"] * 2


async def test_definitions_that_cannot_be_listed_are_listed_soon_again(
    world: OperatorUnderTest,
) -> None:
    world.add(definition_of(labels=LABELS))
    world.definitions.unlisted = [TransientError(verb="list", resource="crds", status=503)]
    await world.espalier.start()
    await settled()
    ready = [world.espalier.is_ready]
    assert world.work.log == []

    await world.clock.advance(FAILED_RESYNC_SECONDS)

    ready.append(world.espalier.is_ready)
    assert ready == [False, True]
    assert world.work.log == ["widgets.example.com"]


async def test_the_structural_condition_is_kept_without_a_label(world: OperatorUnderTest) -> None:
    world.add(definition_of(versions=(UNTYPED,)))
    await world.espalier.start()

    await world.clock.advance(29)
    assert world.definitions.applied == []
    await world.clock.advance(1)

    ((manager, (condition,)),) = world.definitions.applied
    assert (manager, condition.type) == ("espalier-structural", "NonStructuralSchema")
    assert world.work.log == []


async def test_the_condition_that_the_server_wrote_meanwhile_is_not_written(
    world: OperatorUnderTest,
) -> None:
    definition = definition_of(versions=(UNTYPED,))
    world.add(definition)
    await world.espalier.start()
    await settled()
    theirs = Condition(
        type="NonStructuralSchema",
        status="True",
        reason="Violations",
        message=(
            "spec.versions[0].schema.openAPIV3Schema.properties[spec].type: Required value: "
            "must not be empty for specified object fields"
        ),
    )
    world.definitions.found[definition.name] = replace(definition, conditions=(theirs,))

    await world.clock.advance(30)

    assert world.definitions.applied == []


@pytest.mark.parametrize(
    ("failure", "runs"),
    [
        (TransientError(verb="get", resource="crd", status=503), 1),
        (MalformedDefinitionError(("spec",), "must be an object"), 0),
    ],
    ids=["a busy server is asked again", "what makes no sense is left until it changes"],
)
async def test_a_failed_reading_never_ends_the_worker(failure: Exception, runs: int) -> None:
    world = OperatorUnderTest(UnreadableDefinitions(failure))
    world.add(definition_of(labels=LABELS))
    await world.espalier.start()

    await world.clock.advance(1)

    assert len(world.work.log) == runs
    world.espalier.see("widgets.example.com", LABELS)
    await settled()
    assert len(world.work.log) == 1
    await world.espalier.stop()


@pytest.mark.parametrize("labels", [{}, {"espalier.dev/mode": "observe"}])
async def test_taking_the_label_off_stops_a_run_without_a_turn_of_the_queue(
    labels: dict[str, str],
) -> None:
    definitions, work = HangingDefinitions(), EndlessWork()
    world = OperatorUnderTest(definitions, work)
    world.add(definition_of(labels=LABELS))
    await world.espalier.start()
    await settled()
    # A resync puts a thousand others before it, and both workers are stuck with the first ones.
    for number in range(1000):
        world.add(definition_of(f"others{number}.example.com"))
    definitions.may_read.clear()
    await world.clock.advance(Settings().resync_seconds)
    stuck = len(definitions.reads)

    world.add(definition_of(labels=labels))
    world.espalier.see("widgets.example.com", labels)
    await asyncio.sleep(0)

    assert work.log == ["run", "stopped"]
    assert len(definitions.reads) == stuck
    definitions.may_read.set()
    await settled()
    # The next turn was its own, and waited for it to give back what it held.
    assert definitions.reads[stuck] == "widgets.example.com"
    assert work.log == ["run", "stopped"]
    work.may_give_back.set()
    await settled()
    assert work.log[:3] == ["run", "stopped", "gave back"]
    assert work.log[3:] == ["run"] * bool(labels)
    assert world.definitions.applied[:1] == ([] if labels else [("espalier", ())])
    await world.espalier.stop()


async def test_an_event_that_was_overtaken_only_has_the_work_start_over() -> None:
    work = EndlessWork()
    work.may_give_back.set()
    world = OperatorUnderTest(work=work)
    world.add(definition_of(labels=LABELS))
    await world.espalier.start()
    await settled()

    world.espalier.see("widgets.example.com", {})
    world.espalier.see("widgets.example.com", LABELS)
    await settled()

    assert work.log == ["run", "stopped", "gave back", "run"]
    await world.espalier.stop()


async def test_an_event_with_the_same_label_stops_nothing() -> None:
    work = EndlessWork()
    work.may_give_back.set()
    world = OperatorUnderTest(work=work)
    world.add(definition_of(labels=LABELS))
    await world.espalier.start()
    await settled()

    world.espalier.see("widgets.example.com", {**LABELS, "team": "b"})
    await settled()

    assert work.log == ["run"]
    await world.espalier.stop()


async def test_stopping_waits_for_the_work_to_give_back_what_it_holds() -> None:
    work = EndlessWork()
    world = OperatorUnderTest(work=work)
    world.add(definition_of(labels=LABELS))
    await world.espalier.start()
    await settled()

    stopping = asyncio.create_task(world.espalier.stop())
    await settled()
    assert (work.log, stopping.done()) == (["run", "stopped"], False)
    work.may_give_back.set()
    await stopping

    assert work.log == ["run", "stopped", "gave back"]


async def test_stopping_does_not_interrupt_work_that_was_halted_and_gives_back() -> None:
    work = EndlessWork()
    world = OperatorUnderTest(work=work)
    world.add(definition_of(labels=LABELS))
    await world.espalier.start()
    await settled()
    world.espalier.see("widgets.example.com", {})
    await settled()

    stopping = asyncio.create_task(world.espalier.stop())
    await settled()
    work.may_give_back.set()
    await stopping

    assert work.log == ["run", "stopped", "gave back"]


async def test_stopping_leaves_no_task_behind(world: OperatorUnderTest) -> None:
    world.add(definition_of(versions=(UNTYPED,), labels=LABELS))
    await world.espalier.start()
    await settled()

    await world.espalier.stop()

    await world.clock.advance(3600)
    assert world.definitions.applied == []
