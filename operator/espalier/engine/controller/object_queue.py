"""
Which objects of a legacy definition are due for pruning after its run, and which ones must wait.

An object whose removed fields another client keeps writing, as a GitOps tool does, is left alone
for growing pauses. The queue calls nothing except the clock and the log.
"""

import asyncio
import logging
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from espalier.crd import Condition
from espalier.engine.ports import ObjectKey
from espalier.engine.ports.clock import Clock
from espalier.engine.status import conditions
from espalier.engine.status.conditions import Reason
from espalier.engine.status.text import enumerated
from espalier.plurals import counted

logger = logging.getLogger(__name__)

PATIENCE = 3
"""How often in a row an object is pruned at once when its fields come back."""

FIRST_PAUSE_SECONDS = 60.0
LONGEST_PAUSE_SECONDS = 3600.0
QUIET_SECONDS = 600.0
"""After so long without unknown fields, beyond its pause, an object is no longer contested."""

UNREADABLE = "the API server cannot read what is stored"


class Trouble(NamedTuple):
    """
    Why an object is not pruned.

    Attributes:
        is_contested: Whether its removed fields come back again and again.
    """

    reason: Reason
    text: str
    is_contested: bool = False


@dataclass(slots=True)
class Contention:
    """
    How often in a row an object had to be pruned, or could not be.
    """

    times: int = 0
    last_seconds: float = float("-inf")

    @property
    def pause_seconds(self) -> float:
        """
        How long to leave the object alone since the last time.
        """
        if self.times < PATIENCE:
            return 0.0
        doublings = min(self.times - PATIENCE, 10)
        return min(FIRST_PAUSE_SECONDS * 2.0**doublings, LONGEST_PAUSE_SECONDS)

    def is_over(self, now: float) -> bool:
        """
        Report whether the object has been quiet for long enough.
        """
        return now - self.last_seconds > self.pause_seconds + QUIET_SECONDS


class ObjectQueue:
    """
    Keeps which objects are to be pruned when, and which ones cannot be pruned.

    Args:
        crd: The definition's name, for the log.
    """

    def __init__(self, clock: Clock, crd: str) -> None:
        self._clock = clock
        self._crd = crd
        self._due: dict[ObjectKey, float] = {}
        self._news = asyncio.Event()
        self._contentions: dict[ObjectKey, Contention] = {}
        self._troubles: dict[ObjectKey, Trouble] = {}
        self._unreadable: dict[str, None] = {}

    @property
    def is_due(self) -> bool:
        """
        Whether an object is to be pruned now.
        """
        return any(True for _ in self._due_now())

    @property
    def has_unreadable(self) -> bool:
        """
        Whether there are objects that the server cannot read.
        """
        return bool(self._unreadable)

    @property
    def keys(self) -> Collection[ObjectKey]:
        """
        The objects that are due, contested or in trouble.
        """
        return self._due.keys() | self._contentions.keys() | self._troubles.keys()

    def is_put_off(self, key: ObjectKey) -> bool:
        """
        Report whether an object would have to wait if it had unknown fields now.
        """
        return self._free_at_seconds(key) > self._clock.monotonic_seconds()

    def add(self, key: ObjectKey, managers: Collection[str] = ()) -> None:
        """
        Queue an object for pruning, now or at the end of its pause.

        Args:
            managers: The field managers that wrote the removed fields again.
        """
        if self.is_put_off(key) and key not in self._troubles:
            by = f", put back by {enumerated(managers)}" if managers else ""
            self._troubles[key] = Trouble(
                Reason.FAILED, f"removed fields keep coming back{by}", is_contested=True
            )
            logger.warning(
                "Removed fields keep coming back; the object is left alone for a while.",
                extra={
                    "crd": self._crd,
                    "object": str(key),
                    "managers": enumerated(managers),
                    "seconds": self._contentions[key].pause_seconds,
                },
            )
        self._due[key] = max(self._free_at_seconds(key), self._clock.monotonic_seconds())
        self._news.set()

    def mark_clean(self, key: ObjectKey) -> None:
        """
        Record that an object has no unknown fields, or that Espalier must not prune it.

        A contested object stays named in the condition until it has been quiet for a while.
        """
        self._due.pop(key, None)
        self._readable(key)
        trouble = self._troubles.get(key)
        if trouble is not None and not (trouble.is_contested and key in self._contentions):
            del self._troubles[key]
            self._news.set()

    def forget(self, key: ObjectKey) -> None:
        """
        Record that an object is gone.
        """
        self._due.pop(key, None)
        self._contentions.pop(key, None)
        self._readable(key)
        if self._troubles.pop(key, None) is not None:
            self._news.set()

    def mark_unreadable(self, names: Iterable[str]) -> None:
        """
        Replace the recorded names, or places, of the objects that a list had to skip.
        """
        self._unreadable = dict.fromkeys(names)
        self._news.set()

    def take(self, most: int) -> list[ObjectKey]:
        """
        Take objects that are due now, at most as many as given.
        """
        keys = [key for key, _ in zip(self._due_now(), range(most), strict=False)]
        for key in keys:
            del self._due[key]
        return keys

    def pruned(self, key: ObjectKey) -> None:
        """
        Record that an object was pruned just now.
        """
        self._contend(key)
        trouble = self._troubles.get(key)
        is_named = trouble is not None and trouble.is_contested
        if not (is_named and self._contentions[key].times >= PATIENCE):
            self._troubles.pop(key, None)

    def mark_failed(self, key: ObjectKey, trouble: Trouble) -> None:
        """
        Record that an object could not be pruned; it is tried again later.
        """
        self._troubles[key] = trouble
        self._contend(key)
        pause_seconds = max(self._contentions[key].pause_seconds, FIRST_PAUSE_SECONDS)
        self._due[key] = self._clock.monotonic_seconds() + pause_seconds

    def put_off(self, key: ObjectKey, trouble: Trouble) -> None:
        """
        Leave an object alone until it changes; now and then it is looked at whether it did.
        """
        self._troubles[key] = trouble
        self._due[key] = self._clock.monotonic_seconds() + QUIET_SECONDS

    def forget_peaceful(self) -> None:
        """
        Forget the objects that have been quiet for long enough.
        """
        now = self._clock.monotonic_seconds()
        over = [
            key
            for key, contention in self._contentions.items()
            if key not in self._due and contention.is_over(now)
        ]
        for key in over:
            del self._contentions[key]
            self._troubles.pop(key, None)

    async def wait(self) -> None:
        """
        Wait until something is due, or there are news.
        """
        self._news.clear()
        now = self._clock.monotonic_seconds()
        wake_at = min(self._due.values(), default=now + QUIET_SECONDS)
        wake_at = min(wake_at, now + QUIET_SECONDS)
        sleeping = asyncio.ensure_future(self._clock.sleep(max(wake_at - now, 0.0)))
        hearing = asyncio.ensure_future(self._news.wait())
        try:
            await asyncio.wait({sleeping, hearing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeping.cancel()
            hearing.cancel()
            await asyncio.gather(sleeping, hearing, return_exceptions=True)

    def condition(self) -> tuple[Condition, ...] | None:
        """
        Return the conditions that name the objects in trouble; None if there are none.
        """
        troubles = {str(key): trouble for key, trouble in self._troubles.items()}
        for name in self._unreadable:
            troubles[name] = Trouble(Reason.UNDECODABLE, UNREADABLE)
        if not troubles:
            return None
        reasons = (trouble.reason for trouble in troubles.values())
        reason = next((r for r in reasons if r is not Reason.FAILED), Reason.FAILED)
        named = enumerated(f"{name} ({trouble.text})" for name, trouble in troubles.items())
        return conditions.not_current(
            reason, f"{counted(len(troubles), 'object')} cannot be kept in form: {named}"
        )

    def _due_now(self) -> Iterable[ObjectKey]:
        now = self._clock.monotonic_seconds()
        return (key for key, at in self._due.items() if at <= now)

    def _free_at_seconds(self, key: ObjectKey) -> float:
        contention = self._contentions.get(key)
        if contention is None:
            return float("-inf")
        return contention.last_seconds + contention.pause_seconds

    def _readable(self, key: ObjectKey) -> None:
        if str(key) in self._unreadable:
            del self._unreadable[str(key)]
            self._news.set()

    def _contend(self, key: ObjectKey) -> None:
        now = self._clock.monotonic_seconds()
        contention = self._contentions.setdefault(key, Contention())
        if contention.is_over(now):
            contention.times = 0
        contention.times += 1
        contention.last_seconds = now
