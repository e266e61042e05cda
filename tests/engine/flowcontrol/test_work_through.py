"""
Several items at a time, ended by an error or from outside.
"""

import asyncio

import pytest

from espalier.engine.flowcontrol.pacer import work_through
from espalier.errors import (
    RejectedError,
)
from tests.fakes.widgets import WIDGETS


async def test_the_first_error_is_reported_and_the_others_are_cancelled() -> None:
    cancelled = []

    async def act(item: int) -> None:
        if item == 0:
            await asyncio.sleep(0)
            raise ValueError("no item")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(item)
            raise

    with pytest.raises(ValueError, match="no item"):
        await work_through(range(3), act, workers=3)

    assert cancelled == [1, 2]


async def test_who_is_cancelled_stays_cancelled_though_an_act_fails_at_that_moment() -> None:
    began = asyncio.Event()

    async def act(_: int) -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise ValueError("gone") from None

    task = asyncio.create_task(work_through(range(1), act, workers=1))
    await began.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_one_error_ends_all_workers_and_is_raised_as_it_is() -> None:
    done = []

    async def act(number: int) -> None:
        if number == 3:
            raise RejectedError(verb="patch", resource=WIDGETS)
        await asyncio.sleep(1)
        done.append(number)

    with pytest.raises(RejectedError):
        await work_through(range(10), act, workers=4)
    assert done == []
