"""
Python's stack for deep expressions.

API servers parse up to 250 levels of each kind of nesting. The parts of an expression call each
other here, two or three calls for each level, and the grammar takes eight.
"""

import sys
from typing import Final

_FRAMES: Final = 4_000
"""
The most calls that are in each other.

A call takes up to 700 bytes of a thread's stack, which has 8 MiB. A value that an object's owner
nests on purpose must meet this limit before it fills the stack.
"""


def reserve() -> None:
    """
    Let the stack hold deep expressions.

    The limit is never lowered again: another thread may be within such an expression.
    """
    if sys.getrecursionlimit() < _FRAMES:
        sys.setrecursionlimit(_FRAMES)
