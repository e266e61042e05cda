"""
Calls that are made again, and work that goes on beside other work.
"""

import asyncio

import pytest

from espalier.engine.flowcontrol.calls import MAX_ATTEMPTS as MAX_CALLS
from espalier.engine.flowcontrol.calls import retry_while_unavailable, run_with_watchers
from espalier.errors import (
    ClusterError,
    TransientError,
)
from tests.fakes.clock import FakeClock
from tests.fakes.faults import busy, conflict


async def test_patience_has_an_end() -> None:
    calls = []

    async def call() -> None:
        calls.append(1)
        raise busy()

    with pytest.raises(TransientError):
        await retry_while_unavailable(call, FakeClock())
    assert len(calls) == MAX_CALLS


async def test_a_companion_that_fails_ends_the_work() -> None:
    cleaned = []

    async def work() -> None:
        try:
            await asyncio.sleep(100)
        finally:
            cleaned.append("work")

    async def companion() -> None:
        await asyncio.sleep(1)
        raise conflict()

    with pytest.raises(ClusterError):
        await run_with_watchers(work(), companion())
    assert cleaned == ["work"]
