"""
A rate that writes are charged by: of bytes, or of writes.
"""

from typing import NamedTuple

from espalier.engine.ports.clock import Clock

NO_TIME_SECONDS = 1e-6
"""Below the resolution of a clock."""


class Charge(NamedTuple):
    """
    What one write has been charged.

    Attributes:
        seconds: Of the bytes' rate.
        until_seconds: From then on the rate has made up for it, so that nothing is left to credit.
        cost_bytes: What it takes the object's size to be.
    """

    seconds: float
    until_seconds: float
    cost_bytes: float = 0.0


class Rate:
    """
    A rate as a line of time: each charge takes a piece of it, one behind the other.

    Args:
        advance_seconds: How much may be taken in advance.
    """

    def __init__(self, clock: Clock, *, advance_seconds: float) -> None:
        self._clock = clock
        self._advance_seconds = advance_seconds
        self._taken_until_seconds = float("-inf")

    @property
    def pause_seconds(self) -> float:
        """
        How long until the next charge may be made.
        """
        now_seconds = self._clock.monotonic_seconds()
        pause_seconds = self._taken_until_seconds - self._advance_seconds - now_seconds
        return pause_seconds if pause_seconds > NO_TIME_SECONDS else 0.0

    def charge(self, seconds: float) -> float:
        """
        Take a piece, and return where it ends.
        """
        # What was not used is not saved up: a burst later would break the bound.
        start = max(self._taken_until_seconds, self._clock.monotonic_seconds())
        self._taken_until_seconds = start + seconds
        return self._taken_until_seconds

    def credit(self, charge: Charge) -> None:
        """
        Give back what is left of a charge.
        """
        left_seconds = charge.until_seconds - self._clock.monotonic_seconds()
        self._taken_until_seconds -= min(max(left_seconds, 0.0), charge.seconds)
