"""
Read JSON that is nested too deeply for the interpreter's normal stack.

An API server accepts 10,000 levels, so that anyone who may create an object can use them. The other
objects on the page of such an object must still be read.
"""

import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

MAX_LEVELS = 20_000
"""
The deepest nesting that is read; an API server sends less.

From Python 3.14 on, decoders stop where the stack ends, and not at a number of levels.
"""

_STACK_BYTES = 256 * 1024 * 1024  # about 13 KB for each level; a decoder needs a tenth of that

_Result = TypeVar("_Result")

_alone = threading.Lock()


def with_large_stack(work: Callable[[], _Result]) -> _Result:
    """
    Run a short function in a thread with a large stack, and wait for its result.

    Raises:
        Exception: Any exception of the function; RecursionError if the stack is too small as well.
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


def with_large_stack_if_needed(work: Callable[[], _Result]) -> _Result:
    """
    Run a function; run it again in a thread with a large stack if the nesting is too deep.

    Raises:
        Exception: Any exception of the function; RecursionError if the stack is too small as well.
    """
    try:
        return work()
    except RecursionError:
        return with_large_stack(work)
