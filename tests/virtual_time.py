"""
An event loop whose time passes only when everybody waits for it: an hour takes no time at all.

A folder of tests runs in virtual time if its ``conftest.py`` imports the hook.
"""

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

import pytest

T = TypeVar("T")


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


def pytest_asyncio_loop_factories(
    item: pytest.Item,
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """
    Give each test a loop of its own, in virtual time unless it is marked ``real_time``.
    """
    if item.get_closest_marker("real_time"):
        return {"real time": asyncio.new_event_loop}
    return {"virtual time": VirtualLoop}


def play(life: Coroutine[Any, Any, T]) -> T:
    """
    Run one life of a process on a loop of its own: whatever it began ends with it.
    """
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(life)
