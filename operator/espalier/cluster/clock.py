"""
The real clock.
"""

import asyncio
import time


class SystemClock:
    """
    Time as the machine tells it; implements ``espalier.engine.ports.clock.Clock``.
    """

    def monotonic_seconds(self) -> float:
        """
        Seconds from an arbitrary start; never goes back.
        """
        return time.monotonic()

    def utc_timestamp(self) -> str:
        """
        The time of day as RFC 3339 in UTC with whole seconds.
        """
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())

    async def sleep(self, seconds: float) -> None:
        """
        Wait.
        """
        await asyncio.sleep(seconds)
