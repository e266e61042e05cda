"""
Background tasks whose death is never silent.

A cluster's errors are handled inside the tasks. What escapes one is a bug: it is logged, it is
kept, and the whole operator stops with it, since an operator that works by half looks healthy.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine

logger = logging.getLogger(__name__)


class Guard:
    """
    Starts tasks, watches over them, and keeps the first failure.
    """

    def __init__(self, on_failure: Callable[[], None]) -> None:
        self._on_failure = on_failure
        self._tasks: set[asyncio.Task[None]] = set()
        self.failure: BaseException | None = None

    def start(self, work: Coroutine[None, None, None], *, name: str) -> asyncio.Task[None]:
        """
        Run a coroutine in the background.
        """
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def close(self) -> None:
        """
        Cancel what still runs, and wait for it to end.
        """
        while running := {task for task in self._tasks if not task.done()}:
            for task in running:
                cancel(task)
            await asyncio.wait(running)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        failure = task.exception()
        if failure is None:
            return
        logger.critical(
            "A task died of an unexpected error; the operator stops.",
            extra={"task": task.get_name()},
            exc_info=failure,
        )
        if self.failure is None:
            self.failure = failure
        self._on_failure()


async def stop(task: asyncio.Task[None]) -> None:
    """
    Cancel a task and wait until it has ended, whatever it ends with.
    """
    cancel(task)
    if not task.done():
        await asyncio.wait({task})


def cancel(task: asyncio.Task[None]) -> None:
    """
    Cancel a task, but not again: a second time would interrupt how it gives back what it holds.
    """
    if not task.cancelling():
        task.cancel()
