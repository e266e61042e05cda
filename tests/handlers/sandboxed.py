"""
A sandbox in a thread of its own: Kopf waits for all tasks of its loop, those of a server too.
"""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from espalier.sandbox import Sandbox
from tests.patience import PACE

PATIENCE_SECONDS = 20
NAMESPACE = "espalier-system"


@contextmanager
def sandbox_running() -> Iterator[Sandbox]:
    """
    Run a sandbox with the operator's namespace.
    """
    made: list[tuple[Sandbox, asyncio.AbstractEventLoop, asyncio.Event]] = []
    ready = threading.Event()

    async def serve() -> None:
        # Bookmarks come often, since a watch is logged when it fails to send one.
        async with Sandbox(bookmark_seconds=0.1, namespaces=("default", NAMESPACE)) as server:
            stop = asyncio.Event()
            made.append((server, asyncio.get_running_loop(), stop))
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert ready.wait(PACE.scaled(PATIENCE_SECONDS))
    server, loop, stop = made[0]
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(PACE.scaled(PATIENCE_SECONDS))
