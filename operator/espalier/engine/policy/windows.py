"""
Times of day at which work is allowed, in UTC: ``22:00-06:00``.
"""

import re
from dataclasses import dataclass
from datetime import datetime

from espalier.engine.ports.clock import Clock

DAY_SECONDS = 24 * 60 * 60

LOOK_AGAIN_SECONDS = 30.0
"""The wall clock may be set meanwhile, so each wait is no longer than this before the next look."""

_TIME = r"(?:[01]\d|2[0-3]):[0-5]\d"
_WINDOW = re.compile(rf"(?P<start>{_TIME})-(?P<end>{_TIME})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Window:
    """
    A part of each day.

    Attributes:
        start_seconds: Since midnight.
        end_seconds: Likewise, and not in the window any more; before the start, if it is over
            midnight.
    """

    start_seconds: int
    end_seconds: int

    def opens_in_seconds(self, time_of_day_seconds: int) -> float:
        """
        Return how long it is until work is allowed; 0 if it is now.
        """
        if self._left_seconds(time_of_day_seconds) > 0:
            return 0.0
        return float((self.start_seconds - time_of_day_seconds) % DAY_SECONDS)

    def closes_in_seconds(self, time_of_day_seconds: int) -> float:
        """
        Return for how long work is still allowed; 0 if it is not.
        """
        return max(self._left_seconds(time_of_day_seconds), 0.0)

    def _left_seconds(self, now_seconds: int) -> float:
        length = (self.end_seconds - self.start_seconds) % DAY_SECONDS
        return float(length - (now_seconds - self.start_seconds) % DAY_SECONDS)

    def __str__(self) -> str:
        return f"{_time(self.start_seconds)}-{_time(self.end_seconds)}"


def read_window(text: str) -> Window | None:
    """
    Parse the value of the annotation; None if it is no window, or an empty one.
    """
    match = _WINDOW.fullmatch(text.strip())
    if match is None or match["start"] == match["end"]:
        return None
    return Window(_seconds(match["start"]), _seconds(match["end"]))


def time_of_day_seconds(clock: Clock) -> int:
    """
    Return the seconds since midnight, UTC.
    """
    now = datetime.fromisoformat(clock.utc_timestamp())
    return now.hour * 3600 + now.minute * 60 + now.second


async def until_closed(window: Window, clock: Clock) -> None:
    """
    Wait until work is not allowed any more.
    """
    while (left_seconds := window.closes_in_seconds(time_of_day_seconds(clock))) > 0:
        await clock.sleep(min(left_seconds, LOOK_AGAIN_SECONDS))


def _seconds(text: str) -> int:
    hours, _, minutes = text.partition(":")
    return int(hours) * 3600 + int(minutes) * 60


def _time(seconds: int) -> str:
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}"
