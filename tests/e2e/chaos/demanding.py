"""
What chaos asks for, how it asks again, and what it says meanwhile.
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
    Something that must hold does not.
    """


def demand(holds: object, otherwise: str) -> None:
    """
    Give up unless something holds.

    Raises:
        ChaosError: With what is wrong.
    """
    if not holds:
        raise ChaosError(otherwise)


def insist(call: Callable[[], T]) -> T:
    """
    Make a call again as long as the server is busy or away.
    """
    while True:
        try:
            return call()
        except (ApiError, OSError, http.client.HTTPException):
            time.sleep(AGAIN_SECONDS)


def say(text: str) -> None:
    """
    Print a line at once.
    """
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
