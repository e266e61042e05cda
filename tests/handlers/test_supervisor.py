import asyncio
from collections.abc import AsyncIterator, Hashable
from dataclasses import replace

import pytest

from espalier.crd import Condition, Definition
from espalier.engine.runs.outcome import RunOutcome
from espalier.errors import EspalierError, TransientError
from espalier.handlers.status_writer import StatusReporter
from espalier.handlers.supervisor import Supervisor, pause_seconds
from espalier.handlers.tasks import Guard
from espalier.paths import JSON
from tests.fakes.clock import FakeClock, settled
from tests.handlers.world import FakeDefinitions, FakeEvents, definition_of

WIDGETS = definition_of(labels={"espalier.dev/mode": "enforce"})

PROVED = RunOutcome(definition=WIDGETS, is_proved=True)
TENDED = RunOutcome(definition=WIDGETS, is_proved=True, watches_on=True)
STOPPED = RunOutcome(definition=WIDGETS)
FAILED = RunOutcome(definition=WIDGETS, retries=True)

NAME = WIDGETS.name


class FakeWork:
    """
    Runs until it is told the verdict, and keeps a log.
    """

    def __init__(self) -> None:
        self.log: list[str] = []
        self.running = 0
        self.verdicts: dict[str, asyncio.Queue[RunOutcome | EspalierError | ValueError]] = {}
        self.reported_before: tuple[Condition, ...] = ()
        self.tending: asyncio.Queue[EspalierError | None] = asyncio.Queue()

    def key_of(self, definition: Definition) -> Hashable:
        return (definition.versions, tuple(definition.labels.items()))

    async def run(self, definition: Definition) -> RunOutcome:
        self.log.append(f"run {definition.resource_version}")
        self.running += 1
        try:
            verdict = await self.told(definition.name).get()
        except asyncio.CancelledError:
            self.log.append("cancelled")
            raise
        finally:
            self.running -= 1
        if isinstance(verdict, Exception):
            raise verdict
        return verdict

    async def keep_pruned(
        self, definition: Definition, *, reported: tuple[Condition, ...] = ()
    ) -> None:
        self.log.append(f"tend {definition.resource_version}")
        self.reported_before = reported
        try:
            failure = await self.tending.get()
            if failure is not None:
                raise failure
        finally:
            self.log.append("tended")

    def told(self, name: str) -> asyncio.Queue[RunOutcome | EspalierError | ValueError]:
        return self.verdicts.setdefault(name, asyncio.Queue())


class SupervisorUnderTest:
    def __init__(self) -> None:
        self.work = FakeWork()
        self.clock = FakeClock()
        self.definitions = FakeDefinitions()
        self.nudged: list[str] = []
        self.stopped = False
        self.guard = Guard(self.stop)
        reporter = StatusReporter(
            self.definitions, FakeEvents(), self.clock, self.guard, progress_seconds=10
        )
        self.supervisor = Supervisor(
            self.work,
            self.definitions,
            reporter,
            clock=self.clock,
            guard=self.guard,
            nudge=self.nudged.append,
            max_runs=2,
        )

    def stop(self) -> None:
        self.stopped = True

    async def see(self, definition: Definition) -> None:
        self.definitions.found[definition.name] = definition
        await self.supervisor.reconcile(definition.name, definition)
        await settled()

    async def tell(self, verdict: RunOutcome | EspalierError | ValueError) -> None:
        self.work.told(NAME).put_nowait(verdict)
        await settled()


@pytest.fixture
async def world() -> AsyncIterator[SupervisorUnderTest]:
    made = SupervisorUnderTest()
    yield made
    await made.supervisor.close()
    await made.guard.close()


def with_another_schema(definition: Definition, resource_version: str = "2") -> Definition:
    (version,) = definition.versions
    schema: dict[str, JSON] = {"type": "object", "description": "another"}
    return replace(
        definition,
        resource_version=resource_version,
        versions=(replace(version, schema=schema),),
    )


async def test_a_definition_without_the_label_is_not_touched(world: SupervisorUnderTest) -> None:
    await world.see(definition_of())

    assert world.work.log == []
    assert world.definitions.applied == []


async def test_the_label_starts_the_work_once(world: SupervisorUnderTest) -> None:
    await world.see(WIDGETS)
    await world.see(replace(WIDGETS, resource_version="2"))

    assert world.work.log == ["run 1"]


async def test_a_finished_run_is_left_alone_until_its_key_changes(
    world: SupervisorUnderTest,
) -> None:
    await world.see(WIDGETS)
    await world.tell(PROVED)
    await world.see(replace(WIDGETS, resource_version="2"))
    await world.clock.advance(3600)
    assert world.work.log == ["run 1"]

    await world.see(with_another_schema(WIDGETS, "3"))

    assert world.work.log == ["run 1", "run 3"]


async def test_a_storage_version_that_moved_and_moved_back_unseen_starts_over(
    world: SupervisorUnderTest,
) -> None:
    await world.see(WIDGETS)
    await world.tell(PROVED)

    await world.see(replace(WIDGETS, resource_version="4", stored_versions=("v1", "v2")))

    assert world.work.log == ["run 1", "run 4"]


async def test_another_key_ends_the_run_before_the_next_begins(world: SupervisorUnderTest) -> None:
    await world.see(WIDGETS)
    await world.see(with_another_schema(WIDGETS))

    assert world.work.log == ["run 1", "cancelled", "run 2"]


async def test_another_mode_starts_over(world: SupervisorUnderTest) -> None:
    await world.see(WIDGETS)
    await world.see(replace(WIDGETS, labels={"espalier.dev/mode": "observe"}))

    assert world.work.log == ["run 1", "cancelled", "run 1"]


async def test_the_label_off_ends_the_work_and_takes_the_conditions_away(
    world: SupervisorUnderTest,
) -> None:
    await world.see(WIDGETS)
    await world.see(definition_of(resource_version="2"))

    assert world.work.log == ["run 1", "cancelled"]
    assert world.definitions.applied == [("espalier", ())]

    await world.see(definition_of(resource_version="3"))
    assert world.definitions.applied == [("espalier", ())]


async def test_conditions_left_by_an_earlier_process_are_taken_away(
    world: SupervisorUnderTest,
) -> None:
    left = Condition(
        type="espalier.dev/StoredObjectsValid", status="Unknown", reason="NotChecked", message=""
    )

    await world.see(definition_of(conditions=(left,)))

    assert world.definitions.applied == [("espalier", ())]


async def test_the_label_back_on_begins_anew(world: SupervisorUnderTest) -> None:
    await world.see(WIDGETS)
    await world.see(definition_of())
    await world.see(WIDGETS)

    assert world.work.log == ["run 1", "cancelled", "run 1"]


async def test_a_deleted_definition_ends_the_work_and_nothing_is_written(
    world: SupervisorUnderTest,
) -> None:
    await world.see(WIDGETS)

    await world.supervisor.reconcile(NAME, None)

    assert world.work.log == ["run 1", "cancelled"]
    assert world.definitions.applied == []
    assert world.supervisor.names == ()


async def test_a_definition_made_anew_under_its_name_is_another_one(
    world: SupervisorUnderTest,
) -> None:
    await world.see(WIDGETS)
    await world.tell(PROVED)

    await world.see(replace(WIDGETS, uid="uid-2", resource_version="9"))

    assert world.work.log == ["run 1", "run 9"]


async def test_a_failed_run_is_tried_again_after_growing_pauses(world: SupervisorUnderTest) -> None:
    await world.see(WIDGETS)
    await world.tell(TransientError(verb="list", resource="widgets", status=503))
    await world.clock.advance(4)
    assert world.work.log == ["run 1"]
    await world.clock.advance(1)
    assert world.work.log == ["run 1"] * 2

    await world.tell(FAILED)
    await world.clock.advance(9)
    assert world.work.log == ["run 1"] * 2
    await world.clock.advance(1)
    assert world.work.log == ["run 1"] * 3


async def test_what_fails_after_a_proof_is_tried_again_after_growing_pauses_too(
    world: SupervisorUnderTest,
) -> None:
    await world.see(WIDGETS)
    runs = 1
    for pause_before in (5, 10, 20):
        await world.tell(replace(PROVED, retries=True))
        await world.clock.advance(pause_before - 1)
        assert len(world.work.log) == runs
        await world.clock.advance(1)
        runs += 1
        assert len(world.work.log) == runs


@pytest.mark.parametrize(
    ("reason", "pauses"),
    [
        ("", [5, 10, 20, 40, 80, 900]),
        ("Failed", [5, 10, 20, 40, 80, 900]),
        ("Forbidden", [5, 10, 20, 40, 60, 60]),
        ("Pending", [5, 10, 15, 15, 15, 15]),
    ],
)
def test_what_a_person_or_another_process_ends_is_looked_for_more_often(
    reason: str, pauses: list[int]
) -> None:
    assert [pause_seconds(reason, attempt=n) for n in (1, 2, 3, 4, 5, 50)] == pauses


async def test_a_run_that_stopped_for_good_waits_for_another_definition(
    world: SupervisorUnderTest,
) -> None:
    await world.see(WIDGETS)
    await world.tell(STOPPED)
    await world.clock.advance(3600)

    assert world.work.log == ["run 1"]


async def test_another_try_reads_the_definition_anew(world: SupervisorUnderTest) -> None:
    await world.see(WIDGETS)
    await world.tell(FAILED)
    world.definitions.found[NAME] = replace(WIDGETS, resource_version="7")

    await world.clock.advance(10)

    assert world.work.log == ["run 1", "run 7"]


@pytest.mark.parametrize(
    "found",
    [None, replace(WIDGETS, uid="uid-2"), with_another_schema(WIDGETS), definition_of()],
    ids=["gone", "made anew", "another schema", "label off"],
)
async def test_another_try_on_what_is_another_definition_is_left_to_the_queue(
    world: SupervisorUnderTest, found: Definition | None
) -> None:
    await world.see(WIDGETS)
    await world.tell(FAILED)
    del world.definitions.found[NAME]
    if found is not None:
        world.definitions.found[NAME] = found

    await world.clock.advance(10)

    assert world.work.log == ["run 1"]
    assert world.nudged == [NAME]


async def test_runs_wait_for_their_turn_and_tending_takes_none(world: SupervisorUnderTest) -> None:
    others = [definition_of(f"{n}.example.com", labels=WIDGETS.labels) for n in "abc"]
    for definition in others:
        await world.see(definition)
    assert world.work.running == 2

    world.work.told("a.example.com").put_nowait(TENDED)
    await settled()
    assert world.work.running == 2
    world.work.told("b.example.com").put_nowait(TENDED)
    await settled()

    assert world.work.running == 1
    assert world.work.log.count("tend 1") == 2


SAID = Condition(type="c", status="False", reason="Failed", message="1 object")
HALF = RunOutcome(definition=WIDGETS, conditions=(SAID, SAID), watches_on=True, retries=True)


async def test_a_run_that_failed_is_tended_until_it_is_tried_again(
    world: SupervisorUnderTest,
) -> None:
    await world.see(WIDGETS)
    for attempt in (1, 2, 3):
        await world.tell(HALF)
        await world.clock.advance(pause_seconds("Failed", attempt=attempt) - 1)
        assert world.work.log[-1] == "tend 1"
        assert world.work.reported_before == (SAID,)
        await world.clock.advance(1)
        assert world.work.log[-2:] == ["tended", "run 1"]
    await world.tell(TENDED)
    await world.clock.advance(100_000)
    assert world.work.log[-1] == "tend 1"
    assert world.work.reported_before == ()


@pytest.mark.parametrize("failure", [None, TransientError(verb="list", resource="r")])
async def test_tending_that_ends_early_does_not_spare_the_pause(
    world: SupervisorUnderTest, failure: EspalierError | None
) -> None:
    await world.see(WIDGETS)
    await world.tell(HALF)
    world.work.tending.put_nowait(failure)
    await settled()
    assert world.work.log == ["run 1", "tend 1", "tended"]
    await world.clock.advance(pause_seconds("Failed", attempt=1) - 1)
    assert world.work.log[-1] == "tended"
    await world.clock.advance(1)
    assert world.work.log[-1] == "run 1"


async def test_the_label_off_ends_tending_too(world: SupervisorUnderTest) -> None:
    await world.see(WIDGETS)
    await world.tell(TENDED)

    await world.see(definition_of())

    assert world.work.log == ["run 1", "tend 1", "tended"]


async def test_the_label_off_ends_tending_after_a_failed_run_too(
    world: SupervisorUnderTest,
) -> None:
    await world.see(WIDGETS)
    await world.tell(HALF)

    await world.see(definition_of())

    assert world.work.log == ["run 1", "tend 1", "tended"]


async def test_a_bug_stops_the_operator_and_is_kept(
    world: SupervisorUnderTest, caplog: pytest.LogCaptureFixture
) -> None:
    await world.see(WIDGETS)
    bug = ValueError("a bug")

    await world.tell(bug)

    assert world.stopped
    assert world.guard.failure is bug
    assert "A task died of an unexpected error; the operator stops." in caplog.messages


async def test_a_run_that_wants_to_look_again_does_so_at_its_time(
    world: SupervisorUnderTest,
) -> None:
    await world.see(WIDGETS)
    await world.tell(RunOutcome(definition=WIDGETS, is_proved=True, again_seconds=3600))
    await world.clock.advance(3599)
    assert world.work.log == ["run 1"]
    await world.clock.advance(1)
    assert world.work.log == ["run 1", "run 1"]
    # That is no failure: pauses after one begin anew.
    await world.tell(FAILED)
    await world.clock.advance(pause_seconds("", attempt=2))
    assert world.work.log == ["run 1"] * 3


async def test_a_storage_version_that_moved_and_moved_back_is_seen_while_a_run_rests(
    world: SupervisorUnderTest,
) -> None:
    await world.see(WIDGETS)
    await world.tell(RunOutcome(definition=WIDGETS, is_proved=True, again_seconds=3600))
    await world.see(replace(WIDGETS, resource_version="2", stored_versions=("v0", "v1")))
    assert world.work.log == ["run 1", "run 2"]
