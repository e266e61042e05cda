"""
A coalescing, retrying work queue of names.

However often a name is put in, it is handed out once; while it is worked on, it is not handed out
again, but once more afterwards if it was put in meanwhile. A failed name comes back after a
growing pause. Only names are kept: the caller that takes one reads the object anew. Urgent names
are handed out before the others.
"""

import asyncio
import random
from collections import OrderedDict

from espalier.engine.ports.clock import Clock

FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 60.0


class WorkQueue:
    """
    The queue. All methods except ``take`` return at once; it belongs to one event loop.

    Attributes:
        retries: How many names have failed and were put in again.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting: OrderedDict[str, None] = OrderedDict()
        self._working: set[str] = set()
        # Those that come again, and whether that is urgent.
        self._again: dict[str, bool] = {}
        self._failures: dict[str, int] = {}
        self._delayed: dict[str, tuple[float, asyncio.Task[None]]] = {}
        self._filled = asyncio.Event()
        self.retries = 0

    @property
    def depth(self) -> int:
        """
        How many names wait.
        """
        return len(self._waiting)

    def nudge(self, name: str, *, is_urgent: bool = False) -> None:
        """
        Put a name in, unless it is waiting already; an urgent one goes to the head even then.
        """
        if name in self._working:
            self._again[name] = is_urgent or self._again.get(name, False)
            return
        self._waiting.setdefault(name)
        if is_urgent:
            self._waiting.move_to_end(name, last=False)
        self._filled.set()

    def nudge_later(self, name: str, *, after_seconds: float) -> None:
        """
        Put a name in after a while; of several such wishes for a name the earliest counts.
        """
        due = self._clock.monotonic_seconds() + after_seconds
        standing = self._delayed.get(name)
        if standing is not None:
            if standing[0] <= due:
                return
            standing[1].cancel()
        task = asyncio.create_task(self._delay(name, after_seconds), name=f"delay of {name}")
        self._delayed[name] = (due, task)

    async def take(self) -> str:
        """
        Wait for a name; ``done`` or ``retry`` must follow.
        """
        while not self._waiting:
            self._filled.clear()
            await self._filled.wait()
        name, _ = self._waiting.popitem(last=False)
        self._working.add(name)
        return name

    def done(self, name: str) -> None:
        """
        Report that the work on a name succeeded.
        """
        self._failures.pop(name, None)
        self._give_back(name)

    def retry(self, name: str) -> float:
        """
        Report that the work on a name failed.

        Returns:
            The pause in seconds after which the name comes back.
        """
        failures = self._failures.get(name, 0)
        self._failures[name] = failures + 1
        self.retries += 1
        # 2.0 ** 16 half seconds are far beyond the longest pause already.
        longest = min(FIRST_PAUSE_SECONDS * 2.0 ** min(failures, 16), LONGEST_PAUSE_SECONDS)
        # Jitter against many names returning at once; nothing secret depends on it.
        pause_seconds = longest * random.uniform(0.75, 1.0)  # noqa: S311
        self._give_back(name)
        self.nudge_later(name, after_seconds=pause_seconds)
        return pause_seconds

    async def close(self) -> None:
        """
        Forget the delayed names, and wait for their timers to end.
        """
        timers = [task for _, task in self._delayed.values()]
        self._delayed.clear()
        for timer in timers:
            timer.cancel()
        if timers:
            await asyncio.wait(timers)

    def _give_back(self, name: str) -> None:
        self._working.discard(name)
        if name in self._again:
            self.nudge(name, is_urgent=self._again.pop(name))

    async def _delay(self, name: str, after_seconds: float) -> None:
        await self._clock.sleep(after_seconds)
        del self._delayed[name]
        self.nudge(name)
