"""
A lease that other processes want too: taken for each burst of writes, released between bursts.

A waiting process asks for it once a second. So a burst is short, and the rest between two bursts
is long enough for another process to take the lease, however much work is left.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from espalier.engine.coordination.lease import ASK_AGAIN_SECONDS, LeaseHolder
from espalier.engine.coordination.run_context import RunContext
from espalier.engine.flowcontrol.calls import retry_while_unavailable, run_with_watchers
from espalier.engine.flowcontrol.pacer import Pacer
from espalier.engine.policy.plan import Plan
from espalier.errors import ClusterError, LeaseLostError

logger = logging.getLogger(__name__)

BURST_SECONDS = 8.0
"""After so long a burst is cut off; others wait for the lease no longer than 20 seconds."""

REST_SECONDS = 2.0
"""Between two bursts."""

T = TypeVar("T")


class LeaseBursts:
    """
    Does bursts of work under the lease of a definition, one at a time.

    Attributes:
        pacer: Of the writes; while it lets none begin, the lease is not held.
    """

    def __init__(self, context: RunContext[Plan], pacer: Pacer) -> None:
        ports, definition = context.ports, context.planned.definition
        self._leases = ports.leases
        self._clock = ports.clock
        self._definition = definition
        self._gate = context.gate
        self._holder = LeaseHolder(ports.leases, ports.clock, definition)
        self.pacer = pacer
        self._lock = asyncio.Lock()
        self._rests_until_seconds = float("-inf")

    def portion(self, most: int) -> int:
        """
        Return how many objects can be written within half a burst, at the rate that is allowed.

        Args:
            most: The upper bound of the result.
        """
        writes_per_second = self.pacer.writes_per_second
        if writes_per_second is None:
            return most
        return max(1, min(most, int(writes_per_second * BURST_SECONDS / 2)))

    def portions(self, items: Sequence[T]) -> list[Sequence[T]]:
        """
        Split items into portions, each for one burst.
        """
        size = self.portion(max(len(items), 1))
        return [items[start : start + size] for start in range(0, len(items), size)]

    async def spend(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """
        Do work as soon as no other process holds the lease.

        The work is cancelled when its time is up or the lease is lost. The next call must be able
        to go on with the rest.

        Raises:
            ClusterError: The lease cannot be taken for another reason.
        """
        async with self._lock:
            await self._clock.sleep(
                max(self._rests_until_seconds - self._clock.monotonic_seconds(), 0.0)
            )
            await self.pacer.until_allowed()
            await self._take()
            self._gate.under(self._holder)
            try:
                await run_with_watchers(
                    work(), self._holder.renew(), self._holder.expire(), self._end_burst()
                )
            except LeaseLostError as error:
                logger.info("A burst of work is cut off.", extra=self._extra(error))
            finally:
                self._gate.under(None)
                self._rests_until_seconds = self._clock.monotonic_seconds() + REST_SECONDS
                await self._give_back()

    async def _take(self) -> None:
        has_waited = False
        while True:
            try:
                await retry_while_unavailable(self._holder.take, self._clock)
            except LeaseLostError as error:
                if not has_waited:
                    logger.info(
                        "Pruning of new objects waits for the lease.", extra=self._extra(error)
                    )
                has_waited = True
                await self._clock.sleep(ASK_AGAIN_SECONDS)
            else:
                return

    async def _end_burst(self) -> None:
        await self._clock.sleep(BURST_SECONDS)
        raise LeaseLostError(self._definition.name, "a waiting process")

    async def _give_back(self) -> None:
        try:
            await self._leases.release(self._definition)
        except ClusterError as error:
            # It runs out by itself.
            logger.warning("Could not release a lease.", extra=self._extra(error))

    def _extra(self, error: Exception) -> dict[str, str]:
        return {"crd": self._definition.name, "error": str(error)}
