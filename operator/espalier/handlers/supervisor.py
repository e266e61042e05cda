"""
Starts, restarts and ends the work on each definition that carries the label.

The supervisor compares what a definition asks for with the work on it, whenever a caller asks it to
reconcile. The key of the work identifies what the work is for. If the key has changed, the work
starts over; if it has not, running or finished work is left alone. Work on one definition never
delays the work on another one.
"""

import asyncio
import logging
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Protocol

from espalier.crd import Condition, Definition
from espalier.engine.flowcontrol import backoff as retrying
from espalier.engine.ports.clock import Clock
from espalier.engine.ports.definitions import Definitions
from espalier.engine.runs.outcome import RunOutcome
from espalier.engine.status.conditions import Reason
from espalier.errors import EspalierError, NotFoundError
from espalier.handlers.status_writer import OWN_CONDITIONS, StatusReporter
from espalier.handlers.tasks import Guard, cancel, stop
from espalier.names import MODE

logger = logging.getLogger(__name__)

# These end without a change of the definition, and no event reports that: a person grants a right,
# another process releases its lease, a webhook comes up again.
_LONGEST_PAUSES: Mapping[str, float] = {
    Reason.FORBIDDEN: retrying.FORBIDDEN_PAUSE_SECONDS,
    Reason.PENDING: 15.0,
    Reason.OTHER_MIGRATION: 15.0,
    Reason.SERVERS_BEHIND: 15.0,
    Reason.WEBHOOK_UNAVAILABLE: 60.0,
}


class DefinitionWork(Protocol):
    """
    What is to be done for a definition.
    """

    def key_of(self, definition: Definition) -> Hashable:
        """
        Return what identifies the purpose of a run on this definition.
        """

    async def run(self, definition: Definition) -> RunOutcome:
        """
        Work on the definition once, and report progress and the outcome.

        Raises:
            EspalierError: The work failed; it may be tried again.
        """

    async def keep_pruned(
        self, definition: Definition, *, reported: tuple[Condition, ...] = ()
    ) -> None:
        """
        Prune new objects; returns only when the definition must be looked at anew.

        Args:
            reported: The conditions that a failed run has reported.

        Raises:
            EspalierError: The objects cannot be listed, watched or written.
        """


@dataclass(slots=True, kw_only=True)
class _Charge:
    """
    One definition that is worked on, or was.
    """

    uid: str
    key: Hashable
    mode: str
    generation: int
    task: asyncio.Task[None] | None = None
    proved: bool = False
    rests: bool = False

    def is_undone_by(self, definition: Definition) -> bool:
        """
        Whether the definition may have been another, unseen, since the objects were proved.
        """
        finished = self.rests or (self.task is not None and self.task.done())
        stored = {version.name for version in definition.versions if version.storage}
        has_moved = set(definition.stored_versions) != stored
        return finished and self.proved and (has_moved or self.has_missed(definition))

    def has_missed(self, definition: Definition) -> bool:
        """
        Whether there was a generation in between that was not seen.
        """
        return definition.generation > self.generation + 1


class Supervisor:
    """
    Holds one task for each labelled definition.
    """

    def __init__(  # noqa: PLR0913 - its collaborators, each named
        self,
        work: DefinitionWork,
        definitions: Definitions,
        reporter: StatusReporter,
        *,
        clock: Clock,
        guard: Guard,
        nudge: Callable[[str], None],
        max_runs: int,
        owns: Callable[[str], bool] = lambda _: True,
    ) -> None:
        self._work = work
        self._definitions = definitions
        self._reporter = reporter
        self._clock = clock
        self._guard = guard
        self._nudge = nudge
        self._turns = asyncio.Semaphore(max_runs)
        self._owns = owns
        self._charges: dict[str, _Charge] = {}

    async def reconcile(self, name: str, definition: Definition | None) -> None:
        """
        Bring the work on a definition in line with it; never called twice at a time for a name.

        Args:
            definition: As just read; None if it is gone.

        Raises:
            ClusterError: The conditions could not be taken away; call again.
        """
        charge = self._charges.get(name)
        if charge is not None and (definition is None or definition.uid != charge.uid):
            await self._end(name)
            await self._reporter.forget(charge.uid)
            charge = None
        if definition is None:
            return
        if MODE not in definition.labels:
            await self._release(definition)
            return
        key = self._key_of(definition)
        if charge is not None:
            if charge.key == key and not charge.is_undone_by(definition):
                await self._follow(charge, definition)
                return
            logger.info("The work starts over: its purpose changed.", extra={"crd": name})
            await self._end(name)
        if not self._owns(name):
            # Meanwhile another replica is responsible, or will be.
            return
        charge = _Charge(
            uid=definition.uid,
            key=key,
            mode=definition.labels[MODE],
            generation=definition.generation,
        )
        charge.task = self._guard.start(self._drive(definition, charge), name=f"work on {name}")
        self._charges[name] = charge

    def halt(self, name: str, labels: Mapping[str, str]) -> None:
        """
        End the work on a definition at once if another mode is asked for, or none.

        ``reconcile`` must follow: it begins the work anew, if that is asked for after all.

        Args:
            labels: As an event showed them.
        """
        charge = self._charges.get(name)
        if charge is None or charge.task is None or labels.get(MODE) == charge.mode:
            return
        logger.info("The work is halted: its label changed.", extra={"crd": name})
        charge.key = None
        cancel(charge.task)

    @property
    def names(self) -> tuple[str, ...]:
        """
        The definitions that are worked on, or were.
        """
        return tuple(self._charges)

    async def put_down(
        self, belongs: Callable[[str], bool], *, may_write: bool, patience_seconds: float
    ) -> None:
        """
        End the work on some of the definitions, and leave their conditions as they are.

        Args:
            belongs: Reports by its name whether a definition is one of them.
            may_write: Whether to write their last conditions.
            patience_seconds: How long to wait for that.
        """
        charges = [self._charges.pop(name) for name in self.names if belongs(name)]
        tasks = [charge.task for charge in charges if charge.task is not None]
        for task in tasks:
            cancel(task)
        if tasks:
            await asyncio.wait(tasks)
        await asyncio.gather(
            *(
                self._reporter.leave(
                    charge.uid, may_write=may_write, patience_seconds=patience_seconds
                )
                for charge in charges
            )
        )

    async def close(self) -> None:
        """
        End all work, and wait for it to give back what it holds.
        """
        tasks = [charge.task for charge in self._charges.values() if charge.task is not None]
        self._charges.clear()
        for task in tasks:
            cancel(task)
        if tasks:
            await asyncio.wait(tasks)

    async def _follow(self, charge: _Charge, definition: Definition) -> None:
        """
        Note a generation that changes nothing that the work is about.
        """
        if charge.proved and definition.generation == charge.generation + 1:
            await self._reporter.affirm(definition)
        charge.generation = max(charge.generation, definition.generation)

    async def _end(self, name: str) -> None:
        charge = self._charges.pop(name, None)
        if charge is not None and charge.task is not None:
            await stop(charge.task)

    async def _release(self, definition: Definition) -> None:
        worked_on = definition.name in self._charges
        await self._end(definition.name)
        if worked_on or any(c.type in OWN_CONDITIONS for c in definition.conditions):
            try:
                await self._reporter.withdraw(definition)
            except NotFoundError:
                return
            logger.info("The work ended: the label is gone.", extra={"crd": definition.name})

    def _key_of(self, definition: Definition) -> Hashable:
        return (MODE in definition.labels, self._work.key_of(definition))

    async def _drive(self, definition: Definition, charge: _Charge) -> None:
        attempt = 0
        while True:
            attempt += 1
            reason, again_seconds = "", None
            try:
                outcome = await self._run(definition)
                charge.proved, reason = outcome.is_proved, outcome.reason
                if outcome.definition is not None:
                    charge.generation = max(charge.generation, outcome.definition.generation)
                again_seconds = None if outcome.watches_on else outcome.again_seconds
                if not outcome.retries:
                    attempt = 1
                if outcome.watches_on:
                    again_seconds = await self._keep_pruned(definition, outcome, attempt=attempt)
                elif again_seconds is None and not outcome.retries:
                    return
            except EspalierError as error:
                logger.warning(
                    "The work on a definition stopped; trying again later.",
                    extra={"crd": definition.name, "error": str(error), "attempt": attempt},
                )
            if again_seconds is None:
                again_seconds = pause_seconds(reason, attempt=attempt)
            if again_seconds > 0:
                charge.rests = True
                await self._clock.sleep(again_seconds)
                charge.rests = False
            fresh = await self._reread(definition)
            if fresh is None or self._key_of(fresh) != charge.key:
                # The queue reads it anew and compares: it may be gone, or have another purpose.
                self._nudge(definition.name)
                return
            definition = fresh

    async def _run(self, definition: Definition) -> RunOutcome:
        async with self._turns:
            return await self._work.run(definition)

    async def _keep_pruned(
        self, definition: Definition, outcome: RunOutcome, *, attempt: int
    ) -> float | None:
        """
        Prune new objects; after a run that failed, only until the run is due again.

        Returns:
            0 if the run is due again; None if pruning ended before.
        """
        definition = outcome.definition or definition
        if not outcome.retries:
            await self._work.keep_pruned(definition)
            return None
        again_seconds = pause_seconds(outcome.reason, attempt=attempt)
        pruning = asyncio.ensure_future(
            self._work.keep_pruned(definition, reported=outcome.conditions[:1])
        )
        resting = asyncio.ensure_future(self._clock.sleep(again_seconds))
        try:
            await asyncio.wait({pruning, resting}, return_when=asyncio.FIRST_COMPLETED)
            if not pruning.done():
                return 0.0
            await pruning
        finally:
            pruning.cancel()
            resting.cancel()
            await asyncio.gather(pruning, resting, return_exceptions=True)
        return None

    async def _reread(self, definition: Definition) -> Definition | None:
        """
        Read a definition anew; None if it is gone or another one. Other failures change nothing.
        """
        try:
            fresh = await self._definitions.get_definition(definition.name)
        except NotFoundError as error:
            return None if error.is_object else definition
        except EspalierError as error:
            logger.warning(
                "Could not read a definition anew.",
                extra={"crd": definition.name, "error": str(error)},
            )
            return definition
        return fresh if fresh.uid == definition.uid else None


def pause_seconds(reason: str, *, attempt: int) -> float:
    """
    Return how long to wait before the work on a definition is tried again.

    Args:
        reason: The reason of its condition; empty if an error ended the work.
        attempt: How often it has failed in a row, from 1.
    """
    longest = _LONGEST_PAUSES.get(reason, retrying.LONGEST_RUN_PAUSE_SECONDS)
    return min(retrying.run_pause_seconds(attempt), longest)
