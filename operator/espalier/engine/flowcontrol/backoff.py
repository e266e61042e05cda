"""
How long to wait before trying again: pure functions.
"""

import zlib

FIRST_CALL_PAUSE_SECONDS = 0.5
LONGEST_CALL_PAUSE_SECONDS = 30.0

FIRST_RUN_PAUSE_SECONDS = 5.0
LONGEST_RUN_PAUSE_SECONDS = 900.0

FORBIDDEN_PAUSE_SECONDS = 60.0
"""A person grants a right, and no event reports that."""

# 2.0 ** 32 times any pause is longer than the longest one.
_MOST_DOUBLINGS = 32


def call_pause_seconds(attempt: int, *, asked_seconds: float | None = None) -> float:
    """
    Return how long to wait before one call to the API server is made again.

    Args:
        attempt: How often it has failed, from 1.
        asked_seconds: What the server asked for by Retry-After; it is honoured, up to a bound.
    """
    grown = _grown(FIRST_CALL_PAUSE_SECONDS, attempt)
    wanted = grown if asked_seconds is None else max(asked_seconds, 0.0)
    return min(wanted, LONGEST_CALL_PAUSE_SECONDS)


def jittered_seconds(seconds: float, name: str) -> float:
    """
    Stretch a pause by up to a half, differently for each name, so that not all come at once.
    """
    return seconds * (1.0 + zlib.crc32(name.encode("utf-8", "surrogatepass")) / 2**33)


def run_pause_seconds(attempt: int) -> float:
    """
    Return how long to wait before a run that failed is tried again.

    Args:
        attempt: How often it has failed in a row, from 1.
    """
    return min(_grown(FIRST_RUN_PAUSE_SECONDS, attempt), LONGEST_RUN_PAUSE_SECONDS)


def _grown(first_seconds: float, attempt: int) -> float:
    return first_seconds * 2.0 ** min(max(attempt, 1) - 1, _MOST_DOUBLINGS)
