"""
Single calls, and work that others watch over.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from espalier.engine.flowcontrol.backoff import call_pause_seconds
from espalier.engine.ports.clock import Clock
from espalier.errors import TransientError

MAX_ATTEMPTS = 7

T = TypeVar("T")


async def retry_while_unavailable(call: Callable[[], Awaitable[T]], clock: Clock) -> T:
    """
    Make a call again, after growing pauses, as long as the server is busy or away.

    Raises:
        TransientError: It stays so.
    """
    for attempt in range(1, MAX_ATTEMPTS):
        try:
            return await call()
        except TransientError as error:
            await clock.sleep(call_pause_seconds(attempt, asked_seconds=error.retry_after_seconds))
    return await call()


async def wait_for_any(clock: Clock, seconds: float, *events: asyncio.Event) -> None:
    """
    Wait for one of the events, but no longer than the time given.
    """
    waits: set[asyncio.Task[object]] = {asyncio.create_task(event.wait()) for event in events}
    waits.add(asyncio.create_task(_sleep(clock, seconds)))
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()


async def _sleep(clock: Clock, seconds: float) -> None:
    await clock.sleep(seconds)


async def run_with_watchers(
    work: Coroutine[Any, Any, T], *companions: Coroutine[Any, Any, None]
) -> T:
    """
    Do some work while companions run that never end by themselves but by an error.

    Raises:
        BaseException: What the work raised, or the first companion; the rest is cancelled.
    """
    main = asyncio.create_task(work)
    others = [asyncio.create_task(companion) for companion in companions]
    try:
        await asyncio.wait({main, *others}, return_when=asyncio.FIRST_COMPLETED)
        for other in others:
            if other.done() and not main.done():
                await other
        return await main
    finally:
        for task in (main, *others):
            task.cancel()
        await asyncio.gather(main, *others, return_exceptions=True)
