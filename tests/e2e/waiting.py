"""
Wait until a cluster reaches a state.
"""

import time
from collections.abc import Callable
from typing import TypeVar

from tests.patience import Deadline

T = TypeVar("T")

POLL_SECONDS = 0.1


def eventually(look: Callable[[], T], *, within_seconds: float = 30.0) -> T:
    """
    Call a function until it raises no AssertionError, and return its result.

    Args:
        look: Asserts the expected state.
        within_seconds: The time limit, longer on a slow machine; after it the last AssertionError
            is raised.
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
    Call a function again and again for some time; raise its first AssertionError.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        look()
        time.sleep(POLL_SECONDS)
