"""
Time that passes only when everybody waits for it.
"""

import asyncio
import selectors
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

T = TypeVar("T")

START = datetime(2026, 1, 1, tzinfo=UTC)


class _Selector(selectors.SelectSelector):
    """
    Never waits: where a real one would, it turns the clock.
    """

    def __init__(self) -> None:
        super().__init__()
        self.now_seconds = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise RuntimeError("everybody waits, and nothing is going to happen")
            self.now_seconds += max(timeout, 0.0)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """
    An event loop in virtual time.
    """

    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now_seconds


def play(story: Coroutine[Any, Any, T]) -> T:
    """
    Run one life of a process on a loop of its own: whatever it began ends with it.
    """
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(story)


class FakeClock:
    """
    The engine's clock on a virtual loop.
    """

    def __init__(self) -> None:
        self.wall_offset_seconds = 0.0

    def monotonic_seconds(self) -> float:
        return asyncio.get_running_loop().time()

    def utc_timestamp(self) -> str:
        now = START + timedelta(seconds=int(self.monotonic_seconds() + self.wall_offset_seconds))
        return now.strftime("%Y-%m-%dT%H:%M:%SZ")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
