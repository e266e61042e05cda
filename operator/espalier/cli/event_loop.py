"""
The event loop of ``migrate``: uvloop, or asyncio's own on Windows.

SIGTERM ends the work as Ctrl-C does, so that a pod that is deleted leaves its lease to the next one
at once.
"""

import asyncio
import signal
import sys
import threading
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
    signals: list[signal.Signals] = []
    with asyncio.Runner(loop_factory=_LOOP) as runner:
        try:
            return runner.run(_until_terminated(main, signals.append))
        except asyncio.CancelledError:
            if not signals:
                raise
            raise KeyboardInterrupt from None


async def _until_terminated(
    main: Coroutine[Any, Any, T], note: Callable[[signal.Signals], None]
) -> T:
    task = asyncio.ensure_future(main)

    def terminate() -> None:
        note(signal.SIGTERM)
        task.cancel()

    # Other threads hear no signals; on Windows a process ends at once.
    hears = sys.platform != "win32" and threading.current_thread() is threading.main_thread()
    loop = asyncio.get_running_loop()
    if hears:
        loop.add_signal_handler(signal.SIGTERM, terminate)
    try:
        return await task
    finally:
        if hears:
            loop.remove_signal_handler(signal.SIGTERM)
