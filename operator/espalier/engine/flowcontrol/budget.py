"""
What a process may ask of the API server: bytes a second, writes a second, writes at a time.

All that write share one budget. Each run waits in a queue of its own, a share. The next turn goes
to the share that has had the least: start-time fair queueing. A share that wanted nothing for a
while saves nothing up, and what it leaves goes to the others.

A write is charged when it begins, by the size that its object is taken to have, since charging it
at its end would let everything that is under way through for nothing. What changed nothing in etcd
is credited again. A quarter of a second of bytes may be taken in advance: by that much writes that
change nothing, as in a verifying pass, run ahead of their credit.

Source:
    P. Goyal, H. Vin, H. Cheng: Start-time Fair Queueing, SIGCOMM 1996.
"""

import asyncio
from collections import deque
from dataclasses import dataclass, field

from espalier.engine.flowcontrol.rates import NO_TIME_SECONDS, Charge, Rate
from espalier.engine.ports.clock import Clock

DEFAULT_BYTES_PER_SECOND = 3 * 1024 * 1024
"""etcd keeps every revision until it compacts, five minutes' worth; its quota is 2 GiB."""

DEFAULT_TOTAL_IN_FLIGHT = 96
"""Two runs' worth. API Priority and Fairness has 243 seats for everybody's controllers."""

ADVANCE_SECONDS = 0.25


@dataclass(slots=True)
class BudgetFigures:
    """
    What has come of a budget since the start of the process.

    Attributes:
        written_bytes: Of writes that changed something, by the sizes of sampled objects.
        throttled_seconds: How long writes were held back, by the cause: by the rate of ``bytes`` or
            of ``writes``; since the server asked for a pause, ``retry_after``; and since fewer
            writes at a time were tried after the server had struggled, ``overload``. What is known
            in advance is counted in advance.
    """

    written_bytes: float = 0.0
    throttled_seconds: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys(("bytes", "writes", "retry_after", "overload"), 0.0)
    )


@dataclass(slots=True, eq=False)
class _Waiter:
    cost_bytes: float | None
    charge: asyncio.Future[Charge]


class Budget:
    """
    Hands out turns to shares. It belongs to one event loop.

    Args:
        bytes_per_second: The most that is written to etcd.
        writes_per_second: The most writes; None for no bound.
        max_in_flight: The most writes at a time.

    Attributes:
        figures: What has come of it.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        bytes_per_second: float = DEFAULT_BYTES_PER_SECOND,
        writes_per_second: float | None = None,
        max_in_flight: int = DEFAULT_TOTAL_IN_FLIGHT,
    ) -> None:
        self._clock = clock
        self._whole_bytes_per_second = self._bytes_per_second = bytes_per_second
        self._whole_writes_per_second = self._writes_per_second = writes_per_second
        self._max_in_flight = max_in_flight
        self._in_flight = 0
        self._bytes = Rate(clock, advance_seconds=ADVANCE_SECONDS)
        self._writes = Rate(clock, advance_seconds=0.0)
        # Ordered by when they began to wait: of two that have had the same, the first comes first.
        self._waiting: dict[Share, None] = {}
        self._had_seconds = 0.0
        self._dispatcher: asyncio.Task[None] | None = None
        self._dispatches_at_seconds = float("inf")
        self._write_seconds = _seconds_of(writes_per_second)
        self.figures = BudgetFigures()

    @property
    def in_flight(self) -> int:
        """
        How many writes are under way now.
        """
        return self._in_flight

    @property
    def max_in_flight(self) -> int:
        """
        How many writes there may be at a time.
        """
        return self._max_in_flight

    @property
    def bytes_per_second(self) -> float:
        """
        The most that is written to etcd.
        """
        return self._bytes_per_second

    @property
    def writes_per_second(self) -> float | None:
        """
        How many writes each of those that write now may begin a second; None for no bound.
        """
        if self._writes_per_second is None:
            return None
        return self._writes_per_second / max(len(self._waiting), 1)

    def reduce(self, part: float) -> None:
        """
        Use a part of both rates from now on; the others are for other processes.

        Args:
            part: Above 0, and 1 for all of it.
        """
        self._bytes_per_second = self._whole_bytes_per_second * part
        if self._whole_writes_per_second is not None:
            self._writes_per_second = self._whole_writes_per_second * part
        self._write_seconds = _seconds_of(self._writes_per_second)
        self._dispatch()

    def share(self) -> "Share":
        """
        Make a queue for one who writes.
        """
        return Share(self)

    async def admit(self, share: "Share", cost_bytes: float | None) -> Charge:
        """
        Wait for a turn of a share, and charge it; None waits for one, and takes nothing.
        """
        charge = self.admit_now(share, cost_bytes)
        if charge is not None:
            return charge
        waiter = _Waiter(cost_bytes, asyncio.get_running_loop().create_future())
        if not share.waiters:
            share.rejoin(self._had_seconds)
            self._waiting[share] = None
        share.waiters.append(waiter)
        self._dispatch()
        try:
            return await waiter.charge
        except asyncio.CancelledError:
            self._withdraw(share, waiter)
            raise

    def admit_now(self, share: "Share", cost_bytes: float | None) -> Charge | None:
        """
        Charge a turn of a share if it need not wait for one; None if it must.
        """
        if self._waiting or not self._has_room(cost_bytes) or self._pause_seconds() > 0:
            return None
        share.rejoin(self._had_seconds)
        return self._begin(share, cost_bytes)

    def end(self) -> None:
        """
        Give a turn back.
        """
        self._in_flight -= 1
        if self._waiting:
            self._dispatch()

    def credit(self, share: "Share", charge: Charge) -> None:
        """
        Credit a write that changed nothing in etcd.
        """
        self._bytes.credit(charge)
        share.had_seconds -= max(charge.seconds - self._write_seconds, 0.0)
        if self._waiting:
            self._dispatch()

    def charge_again(self, share: "Share", cost_bytes: float) -> None:
        """
        Charge a further write of the same object.
        """
        self._charge(share, cost_bytes)
        self.figures.written_bytes += cost_bytes

    def has_written(self, charge: Charge) -> None:
        """
        Count a write that changed something in etcd, or may have.
        """
        self.figures.written_bytes += charge.cost_bytes

    def throttle(self, cause: str, seconds: float) -> None:
        """
        Count how long writes were held back; see ``BudgetFigures``.
        """
        self.figures.throttled_seconds[cause] += seconds

    def _begin(self, share: "Share", cost_bytes: float | None) -> Charge:
        if cost_bytes is None:
            return Charge(0.0, 0.0)
        self._in_flight += 1
        return self._charge(share, cost_bytes)

    def _charge(self, share: "Share", cost_bytes: float) -> Charge:
        seconds = cost_bytes / self._bytes_per_second
        share.had_seconds += max(seconds, self._write_seconds)
        if self._write_seconds:
            self._writes.charge(self._write_seconds)
        return Charge(seconds, self._bytes.charge(seconds), cost_bytes)

    def _has_room(self, cost_bytes: float | None) -> bool:
        return cost_bytes is None or self._in_flight < self._max_in_flight

    def _pause_seconds(self) -> float:
        pause_seconds = self._bytes.pause_seconds
        return (
            max(pause_seconds, self._writes.pause_seconds) if self._write_seconds else pause_seconds
        )

    def _dispatch(self) -> None:
        """
        Let those begin who may; have it done again when the rates allow the next.
        """
        while self._waiting:
            share = min(self._waiting, key=lambda one: one.had_seconds)
            waiter = share.waiters[0]
            if not self._has_room(waiter.cost_bytes):
                # The end of a write dispatches again.
                return
            # Asked once: time passes between two looks at the clock.
            pause_seconds = self._pause_seconds()
            if pause_seconds > 0:
                self._plan_dispatch(pause_seconds)
                return
            self._remove(share, waiter)
            self._had_seconds = max(self._had_seconds, share.had_seconds)
            if not waiter.charge.done():
                waiter.charge.set_result(self._begin(share, waiter.cost_bytes))
        if self._dispatcher is not None:
            self._dispatcher.cancel()
            self._dispatcher = None

    def _plan_dispatch(self, pause_seconds: float) -> None:
        """
        Dispatch after a pause, unless that happens before anyhow.
        """
        at_seconds = self._clock.monotonic_seconds() + pause_seconds
        if self._dispatcher is not None:
            if self._dispatches_at_seconds <= at_seconds + NO_TIME_SECONDS:
                return
            # A write was credited, so the next may begin sooner.
            self._dispatcher.cancel()
        self._dispatches_at_seconds = at_seconds
        self._dispatcher = asyncio.create_task(self._dispatch_later(pause_seconds))

    async def _dispatch_later(self, seconds: float) -> None:
        is_of_bytes = self._bytes.pause_seconds >= self._writes.pause_seconds
        begun_seconds = self._clock.monotonic_seconds()
        try:
            await self._clock.sleep(seconds)
        finally:
            held_seconds = self._clock.monotonic_seconds() - begun_seconds
            self.throttle("bytes" if is_of_bytes else "writes", held_seconds)
        self._dispatcher = None
        self._dispatch()

    def _withdraw(self, share: "Share", waiter: _Waiter) -> None:
        charge = waiter.charge
        if charge.done() and not charge.cancelled():
            # Its turn came at the same moment.
            if waiter.cost_bytes is not None:
                self.credit(share, charge.result())
                self.end()
        elif waiter in share.waiters:
            self._remove(share, waiter)
            self._dispatch()

    def _remove(self, share: "Share", waiter: _Waiter) -> None:
        share.waiters.remove(waiter)
        if not share.waiters:
            del self._waiting[share]


def _seconds_of(writes_per_second: float | None) -> float:
    return 1 / writes_per_second if writes_per_second is not None else 0.0


class Share:
    """
    The queue of one who writes; see ``Budget``.

    Attributes:
        had_seconds: How much of the budget it has had, on a scale that all shares have in common.
    """

    __slots__ = ("_budget", "had_seconds", "waiters")

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.had_seconds = 0.0
        self.waiters: deque[_Waiter] = deque()

    @property
    def writes_per_second(self) -> float | None:
        """
        How many writes it may begin a second; None for no bound.
        """
        return self._budget.writes_per_second

    def rejoin(self, had_seconds: float) -> None:
        """
        Begin to wait; ``had_seconds`` is what the runs that wait already have had at least.
        """
        self.had_seconds = max(self.had_seconds, had_seconds)

    async def begin(self, cost_bytes: float) -> Charge:
        """
        Wait for a turn to write so much.
        """
        return await self._budget.admit(self, cost_bytes)

    def begin_now(self, cost_bytes: float) -> Charge | None:
        """
        Begin to write so much if it is its turn; None if it must wait.
        """
        return self._budget.admit_now(self, cost_bytes)

    async def until_free(self) -> None:
        """
        Wait until it would be its turn, and take none.
        """
        await self._budget.admit(self, None)

    def end(self) -> None:
        """
        Give a turn back.
        """
        self._budget.end()

    def credit(self, charge: Charge) -> None:
        """
        Take back the bytes of a write that changed nothing in etcd.
        """
        self._budget.credit(self, charge)

    def charge_again(self, cost_bytes: float) -> None:
        """
        Charge a further write of the same object.
        """
        self._budget.charge_again(self, cost_bytes)

    def has_written(self, charge: Charge) -> None:
        """
        Count a write that changed something in etcd, or may have.
        """
        self._budget.has_written(charge)

    def throttle(self, cause: str, seconds: float) -> None:
        """
        Count how long writes were held back.
        """
        self._budget.throttle(cause, seconds)
