"""
The clock of a virtual loop.
"""

import asyncio
from datetime import UTC, datetime, timedelta

START = datetime(2026, 1, 1, tzinfo=UTC)


class FakeClock:
    """
    Implements ``espalier.engine.ports.clock.Clock``.
    """

    def __init__(self) -> None:
        self.wall_offset_seconds = 0.0

    def monotonic_seconds(self) -> float:
        return asyncio.get_running_loop().time()

    def utc_timestamp(self) -> str:
        now = START + timedelta(seconds=int(self.monotonic_seconds() + self.wall_offset_seconds))
        return now.strftime("%Y-%m-%dT%H:%M:%SZ")

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def advance(self, seconds: float) -> None:
        """
        Let the time pass, and let all tasks do what can be done by then.
        """
        await settled()
        await asyncio.sleep(seconds)
        await settled()


async def settled() -> None:
    """
    Let all tasks of the loop run until they wait.
    """
    for _ in range(50):
        await asyncio.sleep(0)
