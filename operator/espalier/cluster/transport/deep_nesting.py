"""
JSON that is nested more deeply than this interpreter reads by itself.

An API server takes 10,000 levels, and whoever may create one object can make them. One such object
must not cost the others on its page.
"""

import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

MAX_LEVELS = 20_000
"""More than an API server sends."""

_STACK_BYTES = 256 * 1024 * 1024  # some 13 KB a level, of which a decoder takes a tenth

_Result = TypeVar("_Result")

_alone = threading.Lock()


def with_room(work: Callable[[], _Result]) -> _Result:
    """
    Do some short work in a thread whose stack has room for deep nesting, and wait for it.

    Raises:
        Exception: Whatever the work raised; RecursionError where the room is not enough either.
    """
    with _alone:
        usual_levels, usual_bytes = sys.getrecursionlimit(), threading.stack_size(_STACK_BYTES)
        sys.setrecursionlimit(MAX_LEVELS)
        try:
            with ThreadPoolExecutor(max_workers=1) as pool:
                return pool.submit(work).result()
        finally:
            threading.stack_size(usual_bytes)
            sys.setrecursionlimit(usual_levels)


def with_room_if_needed(work: Callable[[], _Result]) -> _Result:
    """
    Do some work as it is, and with room if that meets deep nesting.

    Raises:
        Exception: Whatever the work raised; RecursionError where the room is not enough either.
    """
    try:
        return work()
    except RecursionError:
        return with_room(work)
