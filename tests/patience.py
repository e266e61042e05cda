"""
How long tests wait: longer on a machine that is slow or busy.

A reference call, a fixed piece of work in another process, is timed. Every patience of wall-clock
time grows by how much longer the call takes than on idle cores.
"""

import math
import subprocess
import sys
import time
from collections.abc import Callable

REFERENCE_WORK = "sum(n * n for n in range(2_000_000))"
"""It runs nothing of Espalier: a command that becomes faster must not make the tests impatient."""

REFERENCE_SECONDS = 0.15
"""How long the reference call takes on idle cores, and a little more."""

MAX_FACTOR = 12.0
"""Bounds how long a hang can last. A machine slower than that fails tests."""

FRESH_SECONDS = 60.0


def reference_call_seconds() -> float:
    """
    Make the reference call, and return how long that took.
    """
    began = time.monotonic()
    subprocess.run(  # noqa: S603 - this very interpreter
        [sys.executable, "-I", "-S", "-c", REFERENCE_WORK], check=True
    )
    return time.monotonic() - began


def factor_of(seconds: float) -> float:
    """
    Compare the duration of a reference call with the one on an idle machine.

    Returns:
        At least 1, and at most ``MAX_FACTOR``.
    """
    return min(max(seconds / REFERENCE_SECONDS, 1.0), MAX_FACTOR)


class Pace:
    """
    The factor of this machine.

    Args:
        measure: Makes a reference call and returns its duration.
        clock: Returns the seconds of a monotonic clock.
    """

    def __init__(
        self,
        measure: Callable[[], float] = reference_call_seconds,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._measure = measure
        self.clock = clock
        self._factor = 1.0
        self._measured_at: float | None = None

    def factor(self, *, fresh_seconds: float = FRESH_SECONDS) -> float:
        """
        Return the factor; measure it anew if the last measurement is too old.

        Args:
            fresh_seconds: How old a measurement may be.
        """
        if self._measured_at is None or self.clock() - self._measured_at >= fresh_seconds:
            self._factor = factor_of(self._measure())
            self._measured_at = self.clock()
        return self._factor

    def scaled(self, seconds: float) -> float:
        """
        Lengthen a patience by the factor that was measured last: this never holds up a test.
        """
        return seconds * self.factor(fresh_seconds=math.inf)


PACE = Pace()


class Deadline:
    """
    The end of a patience, which is put off as long as the machine is seen to be slow.

    Only a wait that takes longer than on an idle machine costs a measurement.

    Args:
        seconds: The patience on an idle machine.
    """

    def __init__(self, seconds: float, *, pace: Pace = PACE) -> None:
        self._seconds = seconds
        self._pace = pace
        self._begun = pace.clock()
        self._factor = 1.0

    def has_passed(self) -> bool:
        """
        Report whether the patience is at an end.
        """
        if self.waited_seconds <= self._seconds * self._factor:
            return False
        # The machine may have been slow at the beginning of the wait, or be slow at its end.
        for fresh_seconds in (FRESH_SECONDS, self._seconds):
            measured = self._pace.factor(fresh_seconds=fresh_seconds)
            self._factor = max(self._factor, measured)
        return self.waited_seconds > self._seconds * self._factor

    @property
    def waited_seconds(self) -> float:
        """
        How long it is since the beginning.
        """
        return self._pace.clock() - self._begun
