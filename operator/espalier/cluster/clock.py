"""
The system clock.
"""

import asyncio
import time


class SystemClock:
    """
    The time of the machine; implements ``espalier.engine.ports.clock.Clock``.
    """

    def monotonic_seconds(self) -> float:
        """
        Return the seconds since an arbitrary start; the value never decreases.
        """
        return time.monotonic()

    def utc_timestamp(self) -> str:
        """
        Return the time as RFC 3339 in UTC with whole seconds.
        """
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())

    async def sleep(self, seconds: float) -> None:
        """
        Wait for a number of seconds.
        """
        await asyncio.sleep(seconds)
