"""
One worker process, as the pool sees it.
"""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections import OrderedDict
from dataclasses import dataclass

from espalier.workers import frames

MAX_COMPUTATIONS = 4
"""How many compiled computations a worker keeps."""

MIN_PREPARING_SECONDS = 30.0
"""The CPU time that a computation may take to be compiled, with all that it imports."""

WALL_FACTOR = 6.0
"""A worker that gets too little CPU time is given up after so many times the deadline."""

MIN_WALL_SECONDS = 30.0
STARTING_SECONDS = 120.0

CHUNK_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class SourceCode:
    """
    A pickled computation.
    """

    digest: str
    pickled: bytes


class WorkerEndedError(Exception):
    """
    A worker was ended without an answer.

    Attributes:
        is_overdue: By its deadline.
    """

    def __init__(self, *, is_overdue: bool) -> None:
        super().__init__(is_overdue)
        self.is_overdue = is_overdue


class WorkerProcess:
    """
    A worker.

    Args:
        deadline_seconds: The CPU time that an item may take.
    """

    def __init__(self, *, deadline_seconds: float, max_memory_bytes: int) -> None:
        self._deadline_seconds = deadline_seconds
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        self._socket = ours
        arguments = [str(theirs.fileno()), str(max_memory_bytes)]
        with theirs:
            # A session of its own, so that Ctrl-C in a terminal reaches the parent only.
            self._process = subprocess.Popen(  # noqa: S603 - this very interpreter
                [sys.executable, "-P", "-m", "espalier.workers.child", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        self._known: OrderedDict[str, int] = OrderedDict()
        self._next_number = 0
        self._is_started = False
        self.resident_bytes = 0
        self.idle_since = 0.0

    @property
    def process_id(self) -> int:
        """
        Its process id.
        """
        return self._process.pid

    def knows(self, digest: str) -> bool:
        """
        Report whether a computation is compiled there.
        """
        return digest in self._known

    async def prepare(self, source: SourceCode) -> int:
        """
        Have a computation compiled there; return its number.

        Raises:
            WorkerEndedError: The process ended.
        """
        if not self._is_started:
            await self._answered(STARTING_SECONDS)
            self._is_started = True
        known = self._known.get(source.digest)
        if known is not None:
            self._known.move_to_end(source.digest)
            return known
        if len(self._known) == MAX_COMPUTATIONS:
            _, forgotten = self._known.popitem(last=False)
            await self._send(frames.frame(frames.FORGET, frames.NUMBER.pack(forgotten, 0.0)))
        self._next_number += 1
        seconds = max(MIN_PREPARING_SECONDS, self._deadline_seconds)
        head = frames.NUMBER.pack(self._next_number, seconds)
        await self._ask(seconds, frames.COMPUTATION, head, source.pickled)
        self._known[source.digest] = self._next_number
        return self._next_number

    async def compute(self, number: int, data: bytes) -> tuple[bytes, bytes]:
        """
        Compute the result of one item by a computation that is compiled.

        Returns:
            The kind of the answer, and its content.

        Raises:
            WorkerEndedError: There is no answer, and will be none.
        """
        seconds = self._deadline_seconds
        return await self._ask(seconds, frames.ITEM, frames.NUMBER.pack(number, seconds), data)

    async def _ask(self, seconds: float, kind: bytes, *parts: bytes) -> tuple[bytes, bytes]:
        wall_seconds = max(MIN_WALL_SECONDS, seconds * WALL_FACTOR)
        return await self._answered(wall_seconds, frames.frame(kind, *parts))

    async def _answered(self, wall_seconds: float, question: bytes = b"") -> tuple[bytes, bytes]:
        try:
            async with asyncio.timeout(wall_seconds):
                await self._send(question)
                answer, size = frames.HEADER.unpack(await self._receive(frames.HEADER.size))
                content = await self._receive(size)
        except TimeoutError:
            raise WorkerEndedError(is_overdue=True) from None
        except (EOFError, OSError):
            self._process.kill()
            is_overdue = self._process.wait() == -signal.SIGPROF
            raise WorkerEndedError(is_overdue=is_overdue) from None
        (self.resident_bytes,) = frames.RESIDENT.unpack_from(content)
        return answer, content[frames.RESIDENT.size :]

    async def _send(self, data: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self._socket, data)

    async def _receive(self, size: int) -> bytes:
        loop = asyncio.get_running_loop()
        received = bytearray()
        while len(received) < size:
            part = await loop.sock_recv(self._socket, min(size - len(received), CHUNK_BYTES))
            if not part:
                raise EOFError
            received += part
        return bytes(received)

    def end(self) -> None:
        """
        End the process, whatever it does; it takes milliseconds.
        """
        self._socket.close()
        self._process.kill()
        self._process.wait()
