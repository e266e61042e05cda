"""
Run the real operator in a thread with an event loop of its own.

When Kopf stops, it cancels every task of its event loop, so nothing else may run in that loop.
"""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from espalier import cluster
from espalier.handlers.settings import Settings
from espalier.handlers.startup import run_operator


class _StopSignal:
    """
    Stop the operator from another thread, before or after it has started.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_set = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._flag: asyncio.Event | None = None

    def bind(self) -> asyncio.Event:
        """
        Return the stop flag for the running event loop.
        """
        flag = asyncio.Event()
        with self._lock:
            self._loop, self._flag = asyncio.get_running_loop(), flag
            if self._is_set:
                flag.set()
        return flag

    def unbind(self) -> None:
        """
        Forget the event loop, which is about to end.
        """
        with self._lock:
            self._loop = self._flag = None

    def set(self) -> None:
        """
        Set the stop flag, or remember to set it once there is one.
        """
        with self._lock:
            self._is_set = True
            if self._loop is not None and self._flag is not None:
                self._loop.call_soon_threadsafe(self._flag.set)


@asynccontextmanager
async def operator_running(
    kubeconfig: Path, settings: Settings
) -> AsyncIterator["asyncio.Task[None]"]:
    """
    Run the operator while the block runs.

    Yields:
        The task of the operator's thread; it ends early only if the operator failed.
    """
    signal = _StopSignal()
    task = asyncio.create_task(
        asyncio.to_thread(asyncio.run, _operate(kubeconfig, settings, signal))
    )
    try:
        yield task
    finally:
        signal.set()
        await asyncio.wait([task])


async def _operate(kubeconfig: Path, settings: Settings, signal: _StopSignal) -> None:
    stop_flag = signal.bind()
    try:
        async with cluster.connect(kubeconfig) as connected:
            await run_operator(settings, connected, stop_flag=stop_flag)
    finally:
        signal.unbind()
