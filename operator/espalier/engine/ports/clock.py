"""
The port to the clock.
"""

from typing import Protocol


class Clock(Protocol):
    """
    Time, as a port, so that tests need not wait.
    """

    def monotonic_seconds(self) -> float:
        """
        Seconds from an arbitrary start; never goes back.
        """

    def utc_timestamp(self) -> str:
        """
        The time of day as RFC 3339 in UTC with whole seconds: ``2026-01-02T03:04:05Z``.
        """

    async def sleep(self, seconds: float) -> None:
        """
        Wait.
        """
