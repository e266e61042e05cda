"""
Waiting for what a cluster does in its own time.
"""

import time
from collections.abc import Callable
from typing import TypeVar

from tests.patience import Deadline

T = TypeVar("T")

POLL_SECONDS = 0.1


def eventually(look: Callable[[], T], *, within_seconds: float = 30.0) -> T:
    """
    Look again and again until nothing is wrong.

    Args:
        look: Asserts what is awaited; what it returns is returned.
        within_seconds: Afterwards the last assertion error goes to the caller. A slow machine
            gets more.
    """
    deadline = Deadline(within_seconds)
    while True:
        try:
            return look()
        except AssertionError as error:
            if deadline.has_passed():
                error.add_note(f"still so after {deadline.waited_seconds:.0f} s")
                raise
        time.sleep(POLL_SECONDS)


def throughout(look: Callable[[], object], *, seconds: float) -> None:
    """
    Look again and again, for a while; the first thing wrong goes to the caller.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        look()
        time.sleep(POLL_SECONDS)
