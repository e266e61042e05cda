"""
The pace of writes: how many are in flight, and how many in a second.
"""

import asyncio
from contextlib import suppress

import pytest

from espalier.engine.flowcontrol.budget import Budget
from espalier.engine.flowcontrol.pacer import TRY_AGAIN_AFTER_SECONDS, Pacer, work_through
from espalier.engine.ports.servers import NotSentError
from espalier.errors import RejectedError
from tests.fakes.clock import FakeClock
from tests.fakes.faults import busy, rejected


async def test_the_pace_halves_once_for_one_overload_and_grows_back() -> None:
    pacer = Pacer(FakeClock(), max_in_flight=20)
    limits = [pacer.limit]
    for _ in range(5):
        pacer.struggled(busy())
    limits.append(pacer.limit)
    await asyncio.sleep(1)
    for _ in range(9):
        pacer.struggled(busy())
        await asyncio.sleep(1)
    limits.append(pacer.limit)
    for _ in range(500):
        pacer.succeeded(calls=1, took_seconds=0.0)
    limits.append(pacer.limit)
    await asyncio.sleep(TRY_AGAIN_AFTER_SECONDS)
    for _ in range(500):
        pacer.succeeded(calls=1, took_seconds=0.0)

    assert [*limits, pacer.limit] == [16, 8, 1, 15, 20]


async def test_a_server_that_takes_few_at_a_time_is_kept_busy_and_seldom_overrun() -> None:
    clock = FakeClock()
    pacer = Pacer(clock, max_in_flight=16)
    under_way = refused = 0

    async def write(_: int) -> None:
        nonlocal under_way, refused
        while True:
            async with pacer.turn() as turn:
                if under_way == 6:
                    refused += 1
                    pacer.struggled(busy(retry_after_seconds=1))
                    continue
                under_way += 1
                await clock.sleep(0.05)
                under_way -= 1
                turn.succeeded(written=False)
            return

    await work_through(range(6000), write, workers=pacer.max_in_flight)
    took_seconds = clock.monotonic_seconds()
    # Without any refusal: 6000 in rounds of 6.
    assert took_seconds < 1.4 * 6000 / 6 * 0.05
    assert refused < 40


@pytest.mark.parametrize(
    ("size_bytes", "writes_per_second", "seconds"), [(1_000, 10.0, 10), (1_000_000, None, 100)]
)
async def test_writes_are_bounded_by_bytes_and_by_number(
    size_bytes: int, writes_per_second: float | None, seconds: float
) -> None:
    clock = FakeClock()
    budget = Budget(clock, bytes_per_second=1_000_000, writes_per_second=writes_per_second)
    pacer = Pacer(clock, max_in_flight=4, budget=budget)
    pacer.sampled([size_bytes])

    async def write(_: int) -> None:
        async with pacer.turn() as turn:
            turn.succeeded(written=True)

    await work_through(range(100), write, workers=pacer.max_in_flight)

    assert abs(clock.monotonic_seconds() - seconds) < 0.1 * seconds


async def test_writes_that_change_nothing_and_refused_ones_are_bounded_too() -> None:
    clock = FakeClock()
    budget = Budget(clock, bytes_per_second=1, writes_per_second=10)
    pacer = Pacer(clock, max_in_flight=4, budget=budget)

    async def write(number: int) -> None:
        with suppress(RejectedError):
            async with pacer.turn() as turn:
                if number % 2 == 0:
                    raise rejected()
                turn.succeeded(written=False)

    await work_through(range(100), write, workers=pacer.max_in_flight)

    assert abs(clock.monotonic_seconds() - 10) < 1


async def test_the_first_writes_keep_to_the_rate_too() -> None:
    clock = FakeClock()
    pacer = Pacer(clock, max_in_flight=4, budget=Budget(clock, writes_per_second=2))
    begun = []

    async def write(_: int) -> None:
        async with pacer.turn() as turn:
            begun.append(clock.monotonic_seconds())
            await clock.sleep(10)
            turn.succeeded(written=True)

    await work_through(range(4), write, workers=pacer.max_in_flight)

    assert [moment - begun[0] for moment in begun] == [0.0, 0.5, 1.0, 1.5]


async def test_never_more_turns_than_allowed() -> None:
    pacer = Pacer(FakeClock(), max_in_flight=3)
    busy_now, most = 0, 0

    async def act(_: int) -> None:
        nonlocal busy_now, most
        async with pacer.turn():
            busy_now += 1
            most = max(most, busy_now)
            await asyncio.sleep(1)
            busy_now -= 1

    await work_through(range(20), act, workers=8)

    assert most == 3


async def test_retry_after_holds_all_turns_back() -> None:
    clock = FakeClock()
    pacer = Pacer(clock, max_in_flight=3)
    pacer.struggled(busy(retry_after_seconds=9))

    async with pacer.turn():
        assert clock.monotonic_seconds() == 9


@pytest.mark.parametrize("error", [NotSentError(verb="patch", resource="x"), rejected()])
async def test_a_write_that_was_not_sent_or_was_refused_has_written_nothing(
    error: Exception,
) -> None:
    budget = Budget(FakeClock(), bytes_per_second=100)
    pacer = Pacer(FakeClock(), max_in_flight=1, budget=budget)
    with suppress(NotSentError, RejectedError):
        async with pacer.turn():
            raise error
    assert budget.figures.written_bytes == 0
    with suppress(type(busy())):
        async with pacer.turn():
            raise busy()
    assert budget.figures.written_bytes == pacer.object_bytes
