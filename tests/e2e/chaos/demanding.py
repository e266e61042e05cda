"""
Checks, retries and output of the chaos test.
"""

import http.client
import sys
import time
from collections.abc import Callable
from typing import TypeVar

from tests.e2e.controlplane.api import ApiError

T = TypeVar("T")

AGAIN_SECONDS = 1.0


class ChaosError(Exception):
    """
    A condition that must hold does not hold.
    """


def demand(holds: object, otherwise: str) -> None:
    """
    Raise an error unless a condition holds.

    Raises:
        ChaosError: The condition does not hold; the message explains it.
    """
    if not holds:
        raise ChaosError(otherwise)


def insist(call: Callable[[], T]) -> T:
    """
    Make a call, and repeat it while the server is busy or unreachable.
    """
    while True:
        try:
            return call()
        except (ApiError, OSError, http.client.HTTPException):
            time.sleep(AGAIN_SECONDS)


def say(text: str) -> None:
    """
    Print a line without buffering.
    """
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
