import asyncio
import math
import random
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count

import pytest

from espalier.engine.flowcontrol.budget import Budget
from espalier.engine.flowcontrol.pacer import Pacer, work_through
from espalier.engine.settings import RunSettings, pacer_of
from espalier.errors import ConflictError, TransientError
from tests.fakes.clock import FakeClock
from tests.fakes.cluster import FakeCluster
from tests.fakes.widgets import widgets

BYTES_PER_SECOND = 3 * 1024 * 1024
WINDOW_SECONDS = 10.0
KIB = 1024


@dataclass
class Log:
    """
    What was written, and when.
    """

    clock: FakeClock
    writes: list[tuple[float, int]] = field(default_factory=list)
    under_way: int = 0
    most_under_way: int = 0

    async def write(self, pacer: Pacer, size_bytes: int, *, takes_seconds: float = 0.05) -> None:
        async with pacer.turn() as turn:
            self.under_way += 1
            self.most_under_way = max(self.most_under_way, self.under_way)
            try:
                await self.clock.sleep(takes_seconds)
            finally:
                self.under_way -= 1
            self.writes.append((self.clock.monotonic_seconds(), size_bytes))
            turn.succeeded(written=True)

    async def write_for(self, seconds: float, pacer: Pacer, size_bytes: int) -> None:
        pacer.sampled([size_bytes])
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await work_through(
                    count(), lambda _: self.write(pacer, size_bytes), workers=pacer.max_in_flight
                )

    def most_in_a_window(self) -> int:
        return max(
            sum(size for at, size in self.writes if start <= at < start + WINDOW_SECONDS)
            for start, _ in self.writes
        )

    @property
    def total_bytes(self) -> int:
        return sum(size for _, size in self.writes)


def pacer_with(budget: Budget, clock: FakeClock) -> Pacer:
    return Pacer(clock, max_in_flight=48, budget=budget)


@pytest.mark.parametrize("sizes_kib", [(256,) * 4, (16, 40, 256, 1200)])
async def test_four_runs_keep_to_the_budget_in_each_window(
    sizes_kib: tuple[int, ...],
) -> None:
    async def story() -> tuple[int, int]:
        cluster = FakeCluster(widgets())
        clock = cluster.clock
        budget = Budget(clock, bytes_per_second=BYTES_PER_SECOND)
        ports = replace(cluster.ports, budget=budget)
        log = Log(clock)
        await asyncio.gather(
            *(log.write_for(60, pacer_of(RunSettings(), ports), size * KIB) for size in sizes_kib)
        )
        return log.most_in_a_window(), log.total_bytes

    most_bytes, total_bytes = await story()
    assert most_bytes <= 1.1 * WINDOW_SECONDS * BYTES_PER_SECOND
    # And all of it is used.
    assert total_bytes >= 0.95 * 60 * BYTES_PER_SECOND


async def test_runs_share_the_bytes_equally_however_large_their_objects_are() -> None:
    async def story() -> tuple[int, int]:
        clock = FakeClock()
        budget = Budget(clock, bytes_per_second=BYTES_PER_SECOND)
        small, large = Log(clock), Log(clock)
        await asyncio.gather(
            small.write_for(60, pacer_with(budget, clock), 16 * KIB),
            large.write_for(60, pacer_with(budget, clock), 1024 * KIB),
        )
        return small.total_bytes, large.total_bytes

    small_bytes, large_bytes = await story()
    half = 60 * BYTES_PER_SECOND / 2
    assert 0.9 * half <= small_bytes <= 1.1 * half
    assert 0.9 * half <= large_bytes <= 1.1 * half


async def test_a_run_takes_what_another_leaves_and_gives_half_of_it_back() -> None:
    async def story() -> tuple[int, int]:
        clock = FakeClock()
        budget = Budget(clock, bytes_per_second=BYTES_PER_SECOND)
        first, second = Log(clock), Log(clock)

        async def come_later() -> None:
            await clock.sleep(30)
            await second.write_for(30, pacer_with(budget, clock), 64 * KIB)

        await asyncio.gather(first.write_for(60, pacer_with(budget, clock), 64 * KIB), come_later())
        alone = sum(size for at, size in first.writes if at < 30)
        return alone, second.total_bytes

    alone, later = await story()
    assert alone >= 0.95 * 30 * BYTES_PER_SECOND
    assert 0.9 * 15 * BYTES_PER_SECOND <= later <= 1.1 * 15 * BYTES_PER_SECOND


async def test_writes_a_second_are_shared_too() -> None:
    async def story() -> list[int]:
        clock = FakeClock()
        budget = Budget(clock, writes_per_second=20)
        logs = [Log(clock) for _ in range(4)]
        await asyncio.gather(*(log.write_for(30, pacer_with(budget, clock), KIB) for log in logs))
        return [len(log.writes) for log in logs]

    numbers = await story()
    assert sum(numbers) <= 20 * 30 + 1
    assert min(numbers) >= 0.9 * 20 * 30 / 4


async def test_the_number_of_writes_at_a_time_is_bounded_for_all_together() -> None:
    async def story() -> tuple[int, list[int]]:
        clock = FakeClock()
        budget = Budget(clock, bytes_per_second=1e12, max_in_flight=20)
        log = Log(clock)
        await asyncio.gather(*(log.write_for(20, pacer_with(budget, clock), KIB) for _ in range(4)))
        return log.most_under_way, [log.under_way]

    assert await story() == (20, [0])


async def test_writes_that_change_nothing_take_no_bytes() -> None:
    async def story() -> float:
        clock = FakeClock()
        pacer = pacer_with(Budget(clock, bytes_per_second=BYTES_PER_SECOND), clock)
        pacer.sampled([5 * KIB])

        async def write(number: int) -> None:
            with suppress(ConflictError):
                async with pacer.turn() as turn:
                    await clock.sleep(0.02)
                    if number % 2:
                        raise ConflictError(verb="patch", resource="widgets")
                    turn.succeeded(written=False)

        await work_through(range(10_000), write, workers=48)
        return clock.monotonic_seconds()

    # By their bytes they would take 16 s.
    assert await story() < 8


async def test_writes_without_an_answer_count_as_written() -> None:
    async def story() -> float:
        clock = FakeClock()
        pacer = pacer_with(Budget(clock, bytes_per_second=100 * KIB), clock)
        pacer.sampled([100 * KIB])
        for _ in range(10):
            with suppress(TransientError):
                async with pacer.turn():
                    raise TransientError(verb="patch", resource="widgets")
        return clock.monotonic_seconds()

    assert await story() >= 8


async def test_who_goes_away_while_waiting_keeps_nobody_from_a_turn() -> None:
    async def story() -> int:
        clock = FakeClock()
        budget = Budget(clock, bytes_per_second=BYTES_PER_SECOND, max_in_flight=2)
        leaving, staying = Log(clock), Log(clock)
        gone = asyncio.create_task(leaving.write_for(60, pacer_with(budget, clock), 512 * KIB))
        stays = asyncio.create_task(staying.write_for(20, pacer_with(budget, clock), 512 * KIB))
        for _ in range(5):
            await clock.sleep(1)
        gone.cancel()
        await asyncio.wait([gone])
        await stays
        return sum(size for at, size in staying.writes if at > 6)

    assert await story() >= 0.9 * 14 * BYTES_PER_SECOND


async def test_to_wait_without_a_turn_takes_none() -> None:
    async def story() -> list[float]:
        clock = FakeClock()
        budget = Budget(clock, bytes_per_second=100 * KIB, max_in_flight=1)
        pacer = pacer_with(budget, clock)
        pacer.sampled([100 * KIB])
        moments = []
        for _ in range(3):
            await pacer.until_allowed()
            moments.append(clock.monotonic_seconds())
            await Log(clock).write(pacer, 100 * KIB, takes_seconds=0)
        return moments

    assert await story() == [0.0, 0.75, 1.75]


class ClockThatRuns(FakeClock):
    """
    Shows a later time at each look, and sleeps for whole milliseconds, as uvloop does.
    """

    def __init__(self) -> None:
        super().__init__()
        self._random = random.Random(1)  # noqa: S311 - not for secrets
        self._passed_seconds = 0.0

    def monotonic_seconds(self) -> float:
        self._passed_seconds += self._random.uniform(0, 3e-4)
        return super().monotonic_seconds() + self._passed_seconds

    async def sleep(self, seconds: float) -> None:
        await super().sleep(math.floor(seconds * 1000) / 1000)


async def test_a_rate_that_becomes_free_between_two_looks_at_the_clock_stops_nothing() -> None:
    clock = ClockThatRuns()
    pacer = pacer_with(Budget(clock, writes_per_second=120), clock)
    log = Log(clock)

    await work_through(
        range(200), lambda _: log.write(pacer, KIB, takes_seconds=0), workers=pacer.max_in_flight
    )

    assert len(log.writes) == 200


async def test_a_turn_without_a_write_takes_no_bytes() -> None:
    clock = FakeClock()
    pacer = pacer_with(Budget(clock, bytes_per_second=100 * KIB), clock)
    pacer.sampled([100 * KIB])
    for _ in range(10):
        async with pacer.turn():
            pass
    log = Log(clock)
    await log.write(pacer, 100 * KIB, takes_seconds=0)

    assert clock.monotonic_seconds() == 0


@pytest.mark.parametrize(("part", "at_most"), [(0.5, 0.55), (0.25, 0.3)])
async def test_a_part_of_the_budget_is_kept_to_while_others_have_the_rest(
    part: float, at_most: float
) -> None:
    clock = FakeClock()
    log = Log(clock)
    budget = Budget(clock, bytes_per_second=BYTES_PER_SECOND, writes_per_second=100)
    budget.reduce(part)
    await log.write_for(60, pacer_with(budget, clock), 16 * KIB)

    assert log.total_bytes <= at_most * 60 * 100 * 16 * KIB
    assert len(log.writes) >= 0.9 * part * 60 * 100
    budget.reduce(1)
    assert budget.writes_per_second == 100


async def test_what_was_written_counts_by_its_size_though_the_rate_was_reduced_meanwhile() -> None:
    clock = FakeClock()
    budget = Budget(clock, bytes_per_second=1000)
    pacer = pacer_with(budget, clock)
    pacer.sampled([500])
    async with pacer.turn() as turn:
        budget.reduce(0.5)
        turn.succeeded(written=True)
    assert budget.figures.written_bytes == 500


class CountingClock(FakeClock):
    """
    Counts the sleeps.
    """

    def __init__(self) -> None:
        super().__init__()
        self.sleeps = 0

    async def sleep(self, seconds: float) -> None:
        self.sleeps += 1
        await super().sleep(seconds)


async def test_a_task_waits_for_the_rate_once_for_each_write_and_not_for_what_ends_meanwhile() -> (
    None
):
    budget = Budget(clock := CountingClock(), bytes_per_second=1000)
    pacer = pacer_with(budget, clock)
    pacer.sampled([500])
    log = Log(FakeClock())
    await work_through(range(40), lambda _: log.write(pacer, 500, takes_seconds=0.7), workers=20)
    assert len(log.writes) == 40
    assert clock.sleeps <= 41
