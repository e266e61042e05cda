"""
A pool of worker processes; implements ``espalier.engine.ports.workers.Workers``.

A worker is started when there is an item for it, and ended when it has had none for a while. The
computations of several definitions share the workers by the time that they have taken, so that one
with slow objects does not hold up the others.
"""

import asyncio
import pickle
import sys
from collections import OrderedDict, defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from espalier.cluster.transport.deep_nesting import with_large_stack_if_needed
from espalier.cluster.transport.json_codec import encode_json
from espalier.engine.ports.workers import (
    Computation,
    NotComputed,
    ResultT,
    Workers,
    WorkItem,
)
from espalier.paths import JSON
from espalier.workers import DEFAULT_DEADLINE_SECONDS, DEFAULT_PROCESSES, frames
from espalier.workers.process import SourceCode, WorkerEndedError, WorkerProcess

IDLE_SECONDS = 20.0

MAX_MEMORY_BYTES = 160 * 1024 * 1024
"""What a worker may allocate."""

MAX_IDLE_BYTES = 96 * 1024 * 1024
"""A worker that takes more is not kept."""

MAX_GIVEN_UP = 10_000
"""How many items without a result are remembered."""

MAX_SOURCES = 8

TOO_DEEP = "it is nested too deeply"


class WorkerPool:
    """
    Computes items one by one in worker processes.

    Args:
        processes: How many there are at the most.
        deadline_seconds: The CPU time that an item may take.
        idle_seconds: How long a worker without work is kept.
    """

    def __init__(
        self,
        *,
        processes: int = DEFAULT_PROCESSES,
        deadline_seconds: float = DEFAULT_DEADLINE_SECONDS,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self._free = processes
        self._deadline_seconds = deadline_seconds
        self._idle_seconds = idle_seconds
        self._idle: list[WorkerProcess] = []
        self._busy: set[WorkerProcess] = set()
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []
        self._spent_seconds: defaultdict[str, float] = defaultdict(float)
        self._given_up: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._sources: OrderedDict[str, SourceCode] = OrderedDict()
        self._sweep: asyncio.TimerHandle | None = None

    @property
    def process_ids(self) -> list[int]:
        """
        The process ids of all workers.
        """
        return [worker.process_id for worker in (*self._idle, *self._busy)]

    def pack(self, value: Mapping[str, JSON] | Sequence[JSON]) -> bytes:
        """
        Encode an object or a list of any depth as JSON.
        """
        return encode_json(value)

    async def compute(
        self, computation: Computation[ResultT], items: Sequence[WorkItem]
    ) -> list[ResultT | NotComputed]:
        """
        Compute a result for each item, in the order of the items.
        """
        source = self._source_of(computation)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._answer(source, item)) for item in items]
        answers = (task.result() for task in tasks)
        return [
            one if isinstance(one, NotComputed) else pickle.loads(one)  # noqa: S301 - our own
            for one in answers
        ]

    def close(self) -> None:
        """
        End all workers.
        """
        if self._sweep is not None:
            self._sweep.cancel()
        for worker in (*self._idle, *self._busy):
            worker.end()
        self._idle, self._busy = [], set()

    def _source_of(self, computation: Computation[object]) -> SourceCode:
        digest = computation.digest
        source = self._sources.get(digest)
        if source is None:
            pickled = with_large_stack_if_needed(lambda: pickle.dumps(computation))
            source = self._sources[digest] = SourceCode(digest, pickled)
            if len(self._sources) > MAX_SOURCES:
                self._sources.popitem(last=False)
        self._sources.move_to_end(digest)
        return source

    async def _answer(self, source: SourceCode, item: WorkItem) -> bytes | NotComputed:
        """
        Return the pickled result of an item.
        """
        reason = self._given_up.get((source.digest, item.identity))
        if reason is not None:
            return NotComputed(reason)
        await self._take_turn(source.digest)
        try:
            answer, content = await self._ask_worker(source, item.data)
        except WorkerEndedError as error:
            overdue = f"it takes longer than {self._deadline_seconds:g} s"
            return self._give_up(source, item, overdue if error.is_overdue else "its worker ended")
        finally:
            self._pass_turn()
        if answer == frames.RESULT:
            return content
        needs = f"it needs more than {MAX_MEMORY_BYTES >> 20} MiB of memory"
        return self._give_up(source, item, needs if answer == frames.NO_MEMORY else TOO_DEEP)

    async def _ask_worker(self, source: SourceCode, data: bytes) -> tuple[bytes, bytes]:
        worker = self._worker_for(source.digest)
        self._busy.add(worker)
        is_kept = False
        try:
            number = await worker.prepare(source)
            # Whose objects end workers is to pay for that, and not who starts the next one.
            async with self._charged(source.digest):
                answer = await worker.compute(number, data)
            is_kept = worker.resident_bytes <= MAX_IDLE_BYTES
        finally:
            self._put_back(worker, is_kept=is_kept)
        return answer

    @asynccontextmanager
    async def _charged(self, digest: str) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        began_seconds = loop.time()
        try:
            yield
        finally:
            self._spent_seconds[digest] += loop.time() - began_seconds

    def _worker_for(self, digest: str) -> WorkerProcess:
        for worker in self._idle:
            if worker.knows(digest):
                self._idle.remove(worker)
                return worker
        if self._idle:
            return self._idle.pop()
        return WorkerProcess(
            deadline_seconds=self._deadline_seconds, max_memory_bytes=MAX_MEMORY_BYTES
        )

    def _put_back(self, worker: WorkerProcess, *, is_kept: bool) -> None:
        if worker not in self._busy:
            # The pool was closed.
            return
        self._busy.discard(worker)
        if not is_kept:
            worker.end()
            return
        loop = asyncio.get_running_loop()
        worker.idle_since = loop.time()
        self._idle.append(worker)
        if self._sweep is None:
            self._sweep = loop.call_later(self._idle_seconds, self._end_idle)

    def _end_idle(self) -> None:
        """
        End workers without work, and look again later if there are others.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() - self._idle_seconds
        for worker in [one for one in self._idle if one.idle_since <= until]:
            self._idle.remove(worker)
            worker.end()
        self._sweep = None
        if self._idle:
            self._sweep = loop.call_later(self._idle_seconds, self._end_idle)

    def _give_up(self, source: SourceCode, item: WorkItem, reason: str) -> NotComputed:
        self._given_up[source.digest, item.identity] = reason
        if len(self._given_up) > MAX_GIVEN_UP:
            self._given_up.popitem(last=False)
        return NotComputed(reason)

    async def _take_turn(self, digest: str) -> None:
        if self._free and not self._waiting:
            self._free -= 1
            return
        # One that comes anew is not ahead by all the time in which it had no work.
        least = min((self._spent_seconds[other] for other, _ in self._waiting), default=0.0)
        self._spent_seconds[digest] = max(self._spent_seconds[digest], least)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((digest, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._waiting.remove((digest, turn))
            else:
                self._pass_turn()
            raise

    def _pass_turn(self) -> None:
        """
        Let the item go on whose computation has taken the least time.
        """
        ready = [one for one in self._waiting if not one[1].done()]
        if not ready:
            self._free += 1
            if not self._busy:
                self._spent_seconds.clear()
            return
        chosen = min(ready, key=lambda one: self._spent_seconds[one[0]])
        self._waiting.remove(chosen)
        chosen[1].set_result(None)


@asynccontextmanager
async def worker_pool(
    *,
    processes: int = DEFAULT_PROCESSES,
    deadline_seconds: float = DEFAULT_DEADLINE_SECONDS,
) -> AsyncIterator[Workers | None]:
    """
    Have a pool, and end its workers afterwards; on Windows there is none.
    """
    if sys.platform == "win32":
        yield None
        return
    pool = WorkerPool(processes=processes, deadline_seconds=deadline_seconds)
    try:
        yield pool
    finally:
        pool.close()
