"""
The event loop of ``migrate``: uvloop, or asyncio's own on Windows.
"""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

if sys.platform == "win32":
    _LOOP: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
else:
    import uvloop

    _LOOP = uvloop.new_event_loop

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T]) -> T:
    """
    Run a coroutine to its end, as ``asyncio.run`` does, on the faster event loop.
    """
    with asyncio.Runner(loop_factory=_LOOP) as runner:
        return runner.run(main)
