"""
How many writes are under way at a time, and how fast they may come.

The number grows by one for each full round of successes and is halved when the server struggles:
when it asks for a pause, does not answer, or answers much more slowly than before. It grows back at
once to just below the number at which that happened, and further only after a while: a server that
takes so many at a time and no more would otherwise be overrun again within milliseconds, and each
time it asks for a pause of a second.

How fast writes may come, and how many there may be of all runs together, is a matter of the budget
that all pacers of a process draw from. The bytes a second bound what etcd must keep, so only writes
that changed something count. The writes a second bound what the server and admission have to do, so
all that are sent count.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from types import TracebackType
from typing import Self, TypeVar

from espalier.engine.flowcontrol.backoff import LONGEST_CALL_PAUSE_SECONDS
from espalier.engine.flowcontrol.budget import Budget
from espalier.engine.flowcontrol.rates import Charge
from espalier.engine.ports.clock import Clock
from espalier.engine.ports.servers import NotSentError, ServerBehindError
from espalier.errors import ClusterError, TransientError

FIRST_IN_FLIGHT = 16

# One overload fails many requests at once; it is one reason to slow down, not many.
HALVE_AT_MOST_EVERY_SECONDS = 1.0

# How long the number that was too many is not tried again.
TRY_AGAIN_AFTER_SECONDS = 10.0

# A round of answers so slow, and so much slower than the best one, means that the server is behind.
SLOW_SECONDS = 2.0
SLOWER_THAN_BEST = 4.0

# Stands for an object's size until some were sampled.
ASSUMED_OBJECT_BYTES = 4 * 1024

T = TypeVar("T")


class Pacer:
    """
    Hands out turns. It belongs to one event loop.

    Args:
        budget: What it has a share of; None for one of its own.
    """

    def __init__(self, clock: Clock, *, max_in_flight: int, budget: Budget | None = None) -> None:
        self._clock = clock
        self._max_in_flight = max_in_flight
        self._share = (budget or Budget(clock)).share()
        self._limit = min(FIRST_IN_FLIGHT, max_in_flight)
        self._in_flight = 0
        self._successes = self._all_successes = 0
        self._round_seconds = 0.0
        self._best_seconds = float("inf")
        self._halved_at_seconds = float("-inf")
        self._too_many = max_in_flight + 1
        self._has_grown = True
        self._not_before_seconds = float("-inf")
        self._object_bytes: float = ASSUMED_OBJECT_BYTES
        self._is_measured = False
        self._waiters: deque[asyncio.Future[None]] = deque()

    @property
    def limit(self) -> int:
        """
        How many turns there are at a time now.
        """
        return self._limit

    @property
    def max_in_flight(self) -> int:
        """
        How many turns there may ever be at a time.
        """
        return self._max_in_flight

    @property
    def successes(self) -> int:
        """
        How many writes have come to a good end.
        """
        return self._all_successes

    @property
    def writes_per_second(self) -> float | None:
        """
        How many writes may begin a second now; None for no bound.
        """
        return self._share.writes_per_second

    def turn(self) -> "Turn":
        """
        Wait for a turn, and hold it: an asynchronous context manager.
        """
        return Turn(self)

    async def begin(self) -> Charge:
        """
        Wait until there is a turn, and until the rates allow it.

        Returns:
            What the turn was charged; ``end`` takes it.
        """
        while self._in_flight >= self._limit:
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                # A woken waiter that is cancelled must pass its turn on to the others.
                self._wake()
                raise
        self._in_flight += 1
        if self._not_before_seconds <= self._clock.monotonic_seconds():
            charge = self._share.begin_now(self._object_bytes)
            if charge is not None:
                return charge
        try:
            return await self._begin_within_budget()
        except BaseException:
            self._leave()
            raise

    async def until_allowed(self) -> None:
        """
        Wait until the rates allow a write, without a turn.
        """
        await self._until_awaited()
        await self._share.until_free()

    def end(self, charge: Charge, *, may_have_written: bool) -> None:
        """
        Give a turn back.
        """
        if may_have_written:
            self._share.has_written(charge)
        else:
            self._share.credit(charge)
        self._share.end()
        self._leave()

    def now_seconds(self) -> float:
        """
        Seconds from an arbitrary start.
        """
        return self._clock.monotonic_seconds()

    def succeeded(self, *, calls: int, took_seconds: float) -> None:
        """
        Record an answer to a write; ``Turn.succeeded`` is for callers.

        Args:
            calls: How many writes it took, one after another.
        """
        self._round_seconds += took_seconds
        self._all_successes += 1
        self._successes += 1
        if self._successes >= self._limit:
            self._end_round()
        for _ in range(1, calls):
            self._share.charge_again(self._object_bytes)

    def struggled(self, error: TransientError) -> None:
        """
        Record that the server is busy or away: go slower, and wait if it asks for that.
        """
        now = self._clock.monotonic_seconds()
        if now - self._halved_at_seconds >= HALVE_AT_MOST_EVERY_SECONDS:
            self._halve(now)
        if error.retry_after_seconds is not None:
            asked = min(error.retry_after_seconds, LONGEST_CALL_PAUSE_SECONDS)
            before = max(self._not_before_seconds, now)
            self._not_before_seconds = max(self._not_before_seconds, now + asked)
            self._share.throttle("retry_after", max(now + asked - before, 0.0))

    @property
    def object_bytes(self) -> float:
        """
        The assumed size of an object.
        """
        return self._object_bytes

    def sampled(self, sizes_bytes: Iterable[int]) -> None:
        """
        Record the sizes of objects: the largest counts, and is forgotten slowly.
        """
        largest = max(sizes_bytes, default=None)
        if largest is None:
            return
        remembered = (self._object_bytes - largest) / 2 if self._is_measured else 0.0
        self._object_bytes = largest + max(remembered, 0.0)
        self._is_measured = True

    def _end_round(self) -> None:
        mean_seconds = self._round_seconds / self._successes
        self._successes, self._round_seconds = 0, 0.0
        if mean_seconds > max(SLOW_SECONDS, SLOWER_THAN_BEST * self._best_seconds):
            self._halve(self._clock.monotonic_seconds())
            return
        self._best_seconds = min(self._best_seconds, mean_seconds)
        self._grow()

    def _grow(self) -> None:
        is_too_soon = (
            self._clock.monotonic_seconds() < self._halved_at_seconds + TRY_AGAIN_AFTER_SECONDS
        )
        if self._limit + 1 >= self._too_many and is_too_soon:
            return
        self._limit = min(self._limit + 1, self._max_in_flight)
        self._has_grown = True

    def _halve(self, now_seconds: float) -> None:
        # An outage halves it several times; only the first limit shows what was too many.
        if self._has_grown:
            self._too_many = self._limit
        self._has_grown = False
        is_slow_until_seconds = self._halved_at_seconds + TRY_AGAIN_AFTER_SECONDS
        slow_seconds = now_seconds - max(is_slow_until_seconds, now_seconds)
        self._share.throttle("overload", slow_seconds + TRY_AGAIN_AFTER_SECONDS)
        self._halved_at_seconds = now_seconds
        self._successes, self._round_seconds = 0, 0.0
        self._limit = max(self._limit // 2, 1)

    async def _begin_within_budget(self) -> Charge:
        while True:
            await self._until_awaited()
            charge = await self._share.begin(self._object_bytes)
            if self._not_before_seconds <= self._clock.monotonic_seconds():
                return charge
            # The server asked for a pause meanwhile; others may use the turn.
            self._share.credit(charge)
            self._share.end()

    async def _until_awaited(self) -> None:
        while (pause := self._not_before_seconds - self._clock.monotonic_seconds()) > 0:
            await self._clock.sleep(pause)

    def _leave(self) -> None:
        self._in_flight -= 1
        self._wake()

    def _wake(self) -> None:
        free = self._limit - self._in_flight
        while free > 0 and self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                free -= 1


class Turn:
    """
    One turn. What is done in it without a call of ``succeeded`` was no write.
    """

    __slots__ = ("_begun_seconds", "_calls", "_charge", "_pacer", "_written")

    def __init__(self, pacer: Pacer) -> None:
        self._pacer = pacer
        self._begun_seconds = 0.0
        self._charge = Charge(0.0, 0.0)
        self._calls = 0
        self._written = False

    async def __aenter__(self) -> Self:
        self._charge = await self._pacer.begin()
        self._begun_seconds = self._pacer.now_seconds()
        return self

    def succeeded(self, *, written: bool, calls: int = 1) -> None:
        """
        Record an answer; ``written`` if it means a new revision in etcd.

        Args:
            calls: How many writes it took, one after another.
        """
        self._written, self._calls = written, calls

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None and self._calls:
            took_seconds = self._pacer.now_seconds() - self._begun_seconds
            self._pacer.succeeded(calls=self._calls, took_seconds=took_seconds)
        self._pacer.end(self._charge, may_have_written=self._may_have_written(error))

    def _may_have_written(self, error: BaseException | None) -> bool:
        return self._written if error is None else may_have_written(error)


def may_have_written(error: BaseException) -> bool:
    """
    Report whether a write that ended by an error may have changed something in etcd.
    """
    if isinstance(error, NotSentError | ServerBehindError):
        return False
    # A call without an answer may have written.
    return isinstance(error, TransientError) or not isinstance(error, ClusterError)


async def work_through(
    items: Iterable[T], act: Callable[[T], Awaitable[None]], *, workers: int
) -> None:
    """
    Do something for each item, several at a time; returns when all is done.

    Raises:
        BaseException: Whatever one of the acts raised; the others are cancelled then.
        CancelledError: The caller was cancelled, whatever the acts raised meanwhile.
    """
    waiting = iter(items)

    async def work() -> None:
        for item in waiting:
            await act(item)

    # A task group would forget that it was cancelled if an act fails at the same moment.
    tasks = [asyncio.create_task(work()) for _ in range(workers)]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in tasks:
            if task.done():
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
