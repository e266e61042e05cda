"""
Writes Espalier's conditions and Events: at once when a state changes, seldom for mere progress.

The last report of a run is always written. A write that the server cannot take now is tried again
with growing pauses, always with the newest conditions. Nothing is written to a definition that was
deleted, or that has another uid.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from espalier.crd import Condition, Definition
from espalier.engine.flowcontrol.calls import wait_for_any
from espalier.engine.ports.clock import Clock
from espalier.engine.ports.definitions import Definitions
from espalier.engine.ports.progress import PassProgress
from espalier.engine.ports.state import WriteFence
from espalier.engine.status.conditions import NOT_CHECKED, Reason
from espalier.errors import (
    ClusterError,
    ConflictError,
    EspalierError,
    ForbiddenError,
    LeaseLostError,
    NotFoundError,
    RejectedError,
    TransientError,
)
from espalier.handlers.tasks import Guard, stop
from espalier.names import FIELD_MANAGER, STORED_OBJECTS_CURRENT, STORED_OBJECTS_VALID

logger = logging.getLogger(__name__)

OWN_CONDITIONS = (STORED_OBJECTS_CURRENT, STORED_OBJECTS_VALID)

FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 30.0

_ORDINARY_REASONS = frozenset({Reason.PENDING, Reason.REWRITING, Reason.OBSERVED, Reason.PARTIAL})


class Events(Protocol):
    """
    Posts Kubernetes Events. They are best effort: posting never raises.
    """

    async def post_event(
        self, definition: Definition, *, type_: str, reason: str, message: str
    ) -> None:
        """
        Post an Event on a definition; ``type_`` is ``Normal`` or ``Warning``.
        """


@dataclass(frozen=True, slots=True)
class FencedEvents:
    """
    Implements ``Events``: posts none for a definition that another replica is responsible for.
    """

    inner: Events
    fence: WriteFence

    async def post_event(
        self, definition: Definition, *, type_: str, reason: str, message: str
    ) -> None:
        """
        Post an Event, or do not.
        """
        try:
            await self.fence.confirm(definition.name)
        except EspalierError:
            return
        await self.inner.post_event(definition, type_=type_, reason=reason, message=message)


@dataclass(slots=True)
class _Slot:
    """
    The conditions of one definition that were reported, and those that were written.
    """

    definition: Definition
    wanted: tuple[Condition, ...]
    written: tuple[Condition, ...]
    written_at_seconds: float = float("-inf")
    affirmed_generation: int = 0
    gone: bool = False
    is_last: bool = False
    news: asyncio.Event = field(default_factory=asyncio.Event)
    withdrawn: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None


class StatusReporter:
    """
    Implements the engine's ``Reporter``, and removes the conditions of a definition again.
    """

    def __init__(
        self,
        definitions: Definitions,
        events: Events,
        clock: Clock,
        guard: Guard,
        *,
        progress_seconds: float,
    ) -> None:
        self._definitions = definitions
        self._events = events
        self._clock = clock
        self._guard = guard
        self._progress_seconds = progress_seconds
        self._slots: dict[str, _Slot] = {}

    async def report(
        self,
        definition: Definition,
        conditions: Sequence[Condition],
        progress: PassProgress | None = None,
    ) -> None:
        """
        Queue the conditions; they are written in the background.

        Both of Espalier's conditions are always applied. One that is not given keeps its last
        report, with the generation that it was about; without a report it is ``NotChecked``.
        """
        del progress  # The message of the first condition holds it already.
        slot = self._slot_of(definition)
        generation = max(definition.generation, slot.affirmed_generation)
        wanted = tuple(replace(one, observed_generation=generation) for one in conditions)
        if not any(condition.type == STORED_OBJECTS_VALID for condition in wanted):
            wanted = (*wanted, _reported_before(slot.wanted))
        self._want(slot, definition, wanted)

    async def affirm(self, definition: Definition) -> None:
        """
        Repeat for the next generation what was reported for the one before.

        Args:
            definition: Another generation, which differs in nothing that the conditions are about.
        """
        slot = self._slot_of(definition)
        slot.affirmed_generation = definition.generation
        before = definition.generation - 1
        wanted = tuple(
            replace(one, observed_generation=definition.generation)
            if one.observed_generation == before
            else one
            for one in slot.wanted
        )
        if wanted:
            self._want(slot, definition, wanted)

    def _slot_of(self, definition: Definition) -> _Slot:
        slot = self._slots.get(definition.uid)
        if slot is None:
            found = tuple(c for c in definition.conditions if c.type in OWN_CONDITIONS)
            slot = _Slot(definition=definition, wanted=found, written=found)
            self._slots[definition.uid] = slot
        return slot

    def _want(self, slot: _Slot, definition: Definition, wanted: tuple[Condition, ...]) -> None:
        if slot.gone or slot.withdrawn.is_set():
            return
        slot.definition, slot.wanted = definition, wanted
        slot.news.set()
        if slot.task is None or slot.task.done():
            slot.task = self._guard.start(self._publish(slot), name=f"status of {definition.name}")

    async def withdraw(self, definition: Definition) -> None:
        """
        Take Espalier's conditions off a definition, after whatever is being written now.

        Raises:
            TransientError: Not now; call again.
        """
        await self.forget(definition.uid)
        await self._definitions.apply_conditions(definition, (), field_manager=FIELD_MANAGER)

    async def leave(self, uid: str, *, may_write: bool, patience_seconds: float) -> None:
        """
        Stop writing for a definition, and leave its conditions as they are.

        Args:
            may_write: Whether to write what is unwritten first.
            patience_seconds: How long to wait for that, and then for the request under way.
        """
        slot = self._slots.pop(uid, None)
        if slot is None or slot.task is None:
            return
        if may_write:
            slot.is_last = True
            slot.news.set()
            await asyncio.wait({slot.task}, timeout=patience_seconds)
        slot.withdrawn.set()
        await asyncio.wait({slot.task}, timeout=patience_seconds)
        await stop(slot.task)

    async def forget(self, uid: str) -> None:
        """
        Stop writing for a definition, once the request that is under way has ended.
        """
        slot = self._slots.get(uid)
        if slot is None:
            return
        slot.withdrawn.set()
        # Not cancelled: a request that was sent may still be carried out after a later one.
        if slot.task is not None:
            await asyncio.wait({slot.task})
        self._slots.pop(uid, None)

    async def close(self, *, patience_seconds: float) -> None:
        """
        Write what is still unwritten, for no longer than the time given.
        """
        tasks = {slot.task for slot in self._slots.values() if slot.task is not None}
        self._progress_seconds = 0.0
        for slot in self._slots.values():
            slot.news.set()
        if tasks:
            await asyncio.wait(tasks, timeout=patience_seconds)

    async def _publish(self, slot: _Slot) -> None:
        failures = 0
        while not slot.withdrawn.is_set() and not _is_same_report(slot.wanted, slot.written):
            slot.news.clear()
            pause_seconds = self._pause_seconds(slot)
            if pause_seconds > 0:
                await wait_for_any(self._clock, pause_seconds, slot.news, slot.withdrawn)
                continue
            try:
                await self._write(slot)
                failures = 0
            except LeaseLostError:
                # The replica that is responsible now reports by itself.
                return
            except NotFoundError as error:
                self._give_up(slot, error)
                return
            except ConflictError as error:
                # Another uid, or so many writers at once that the server lost patience.
                if await self._is_replaced(slot.definition):
                    self._give_up(slot, error)
                    return
                failures += 1
                await self._after_failure(slot, error, failures)
            except RejectedError as error:
                logger.error(  # noqa: TRY400 - the server's message is enough
                    "The API server refuses a status; not trying again.",
                    extra={"crd": slot.definition.name, "error": str(error)},
                )
                return
            except (TransientError, ForbiddenError) as error:
                failures += 1
                await self._after_failure(slot, error, failures)

    def _give_up(self, slot: _Slot, error: ClusterError) -> None:
        slot.gone = True
        logger.info(
            "Wrote no status: the definition is gone or another one.",
            extra={"crd": slot.definition.name, "error": str(error)},
        )

    async def _is_replaced(self, definition: Definition) -> bool:
        try:
            found = await self._definitions.get_definition(definition.name)
        except NotFoundError:
            return True
        except EspalierError:
            return False
        return found.uid != definition.uid

    def _pause_seconds(self, slot: _Slot) -> float:
        if slot.is_last or _state(slot.wanted) != _state(slot.written):
            return 0.0
        due = slot.written_at_seconds + self._progress_seconds
        return due - self._clock.monotonic_seconds()

    async def _write(self, slot: _Slot) -> None:
        definition, before = slot.definition, slot.written
        now = self._clock.utc_timestamp()
        conditions = tuple(stamped(condition, before, now=now) for condition in slot.wanted)
        await self._definitions.apply_conditions(
            definition, conditions, field_manager=FIELD_MANAGER
        )
        slot.written = conditions
        slot.written_at_seconds = self._clock.monotonic_seconds()
        for condition in conditions:
            if condition.status != "Unknown" and _state((condition,)) - _state(before):
                await self._post(definition, condition)

    async def _post(self, definition: Definition, condition: Condition) -> None:
        ordinary = condition.status == "True" or condition.reason in _ORDINARY_REASONS
        await self._events.post_event(
            definition,
            type_="Normal" if ordinary else "Warning",
            reason=condition.reason,
            message=condition.message,
        )

    async def _after_failure(self, slot: _Slot, error: ClusterError, failures: int) -> None:
        pause_seconds = min(
            FIRST_PAUSE_SECONDS * 2.0 ** min(failures - 1, 8), LONGEST_PAUSE_SECONDS
        )
        if isinstance(error, TransientError) and error.retry_after_seconds is not None:
            pause_seconds = max(pause_seconds, error.retry_after_seconds)
        logger.warning(
            "Could not write a definition's status; trying again.",
            extra={
                "crd": slot.definition.name,
                "error": str(error),
                "pause_seconds": pause_seconds,
            },
        )
        # Not for news: a busy run must not cut the pauses short.
        await wait_for_any(self._clock, pause_seconds, slot.withdrawn)


def _reported_before(conditions: Sequence[Condition]) -> Condition:
    reported = (one for one in conditions if one.type == STORED_OBJECTS_VALID)
    return next(reported, NOT_CHECKED)


def stamped(condition: Condition, before: Sequence[Condition], *, now: str) -> Condition:
    """
    Set the time of a condition's last transition: the earlier one, if its status is the same.
    """
    for earlier in before:
        if earlier.type == condition.type and earlier.status == condition.status:
            return replace(condition, last_transition_time=earlier.last_transition_time or now)
    return replace(condition, last_transition_time=now)


def _state(conditions: Sequence[Condition]) -> frozenset[tuple[str, str, str]]:
    return frozenset((c.type, c.status, c.reason) for c in conditions)


def _is_same_report(left: Sequence[Condition], right: Sequence[Condition]) -> bool:
    return _contents(left) == _contents(right)


def _contents(conditions: Sequence[Condition]) -> set[tuple[str, str, str, str, int]]:
    # Clients believe a condition only of the generation that it is about.
    return {(c.type, c.status, c.reason, c.message, c.observed_generation) for c in conditions}
