"""
The frames between the pool and a worker: a kind, a length, and a content.

The pool sends a computation under a number, asks to forget one, or sends an item. The worker
is ready first, then once a computation is compiled, and answers an item with its result.
"""

import struct
from typing import Final

COMPUTATION: Final = b"C"
FORGET: Final = b"F"
ITEM: Final = b"I"

READY: Final = b"Y"
RESULT: Final = b"R"
NO_MEMORY: Final = b"M"
TOO_DEEP: Final = b"D"

HEADER: Final = struct.Struct("!cQ")
"""The kind, and the length of the content."""

NUMBER: Final = struct.Struct("!Qd")
"""Before a computation or an item: the computation's number, and the seconds of CPU time."""

RESIDENT: Final = struct.Struct("!Q")
"""Before each answer's content: the bytes of memory that the worker takes."""


def frame(kind: bytes, *parts: bytes) -> bytes:
    """
    Make a frame.
    """
    return b"".join((HEADER.pack(kind, sum(map(len, parts))), *parts))
