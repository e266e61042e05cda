"""
Makes an answer once a second at the most, however many ask for it.

What is served is made in the event loop that also renews leases, and anyone who reaches a port may
ask as often as they like.
"""

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

FRESH_SECONDS = 1.0

ValueT = TypeVar("ValueT")


class Fresh(Generic[ValueT]):
    """
    Remembers what was made, for a second.
    """

    def __init__(self, make: Callable[[], ValueT]) -> None:
        self._make = make
        self._made: tuple[float, ValueT] | None = None

    def __call__(self) -> ValueT:
        """
        Return what was made last, or make it anew.
        """
        now_seconds = asyncio.get_running_loop().time()
        if self._made is None or now_seconds - self._made[0] >= FRESH_SECONDS:
            self._made = now_seconds, self._make()
        return self._made[1]
