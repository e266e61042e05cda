"""
A supervisor with work that a test ends when it likes.
"""

import asyncio
from collections.abc import AsyncIterator, Hashable
from dataclasses import replace

import pytest

from espalier.crd import Condition, Definition
from espalier.engine.runs.outcome import RunOutcome
from espalier.errors import EspalierError
from espalier.handlers.status_writer import StatusReporter
from espalier.handlers.supervisor import Supervisor
from espalier.handlers.tasks import Guard
from espalier.paths import JSON
from tests.fakes.clock import FakeClock, settled
from tests.handlers.world import FakeDefinitions, FakeEvents, definition_of

WIDGETS = definition_of(labels={"espalier.dev/mode": "enforce"})


PROVED = RunOutcome(definition=WIDGETS, is_proved=True)


TENDED = RunOutcome(definition=WIDGETS, is_proved=True, watches_on=True)


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
async def supervised() -> AsyncIterator[SupervisorUnderTest]:
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
