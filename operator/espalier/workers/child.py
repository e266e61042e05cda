"""
The program of a worker process.

It ends when its socket does, so it does not outlive the pool's process. While it computes it does
not look at its socket; it is then ended by a timer of its CPU time, whose signal no code catches:
so it is even while native code runs.
"""

import pickle
import resource
import signal
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import orjson

from espalier.workers import frames

STATM = Path("/proc/self/statm")

MAX_LEVELS = 20_000
"""The deepest nesting that is read; an API server sends less."""

DEEP_STACK_BYTES = 64 * 1024 * 1024


def serve(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """
    Answer frames until there are no more.
    """
    computations: dict[int, Callable[[Any], object]] = {}
    _send(outgoing, frames.READY)
    while header := incoming.read(frames.HEADER.size):
        kind, size = frames.HEADER.unpack(header)
        content = memoryview(incoming.read(size))
        number, seconds = frames.NUMBER.unpack_from(content)
        rest = content[frames.NUMBER.size :]
        if kind == frames.FORGET:
            computations.pop(number, None)
            continue
        signal.setitimer(signal.ITIMER_PROF, seconds)
        if kind == frames.COMPUTATION:
            computations[number] = pickle.loads(rest).prepare()  # noqa: S301 - from our own pool
            answer, result = frames.READY, b""
        else:
            answer, result = _answer(computations[number], rest)
        signal.setitimer(signal.ITIMER_PROF, 0)
        _send(outgoing, answer, result)


def _answer(compute: Callable[[Any], object], data: memoryview) -> tuple[bytes, bytes]:
    try:
        return frames.RESULT, pickle.dumps(compute(_decoded(data)))
    except MemoryError:
        return frames.NO_MEMORY, b""
    except RecursionError:
        return frames.TOO_DEEP, b""


def _decoded(data: memoryview) -> object:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        # The fast decoder reads 1024 levels only.
        return _decoded_deep(bytes(data))


def _decoded_deep(data: bytes) -> object:
    found: list[object] = []
    usual_levels, usual_bytes = sys.getrecursionlimit(), threading.stack_size(DEEP_STACK_BYTES)
    sys.setrecursionlimit(MAX_LEVELS)
    try:
        thread = threading.Thread(target=lambda: found.append(msgspec.json.decode(data)))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(usual_bytes)
        sys.setrecursionlimit(usual_levels)
    return found[0]


def _send(outgoing: BinaryIO, answer: bytes, result: bytes = b"") -> None:
    outgoing.write(frames.frame(answer, frames.RESIDENT.pack(_resident_bytes()), result))
    outgoing.flush()


def _resident_bytes() -> int:
    """
    Measure the memory of this process; 0 where that cannot be known.
    """
    try:
        fields = STATM.read_bytes().split()
    except OSError:
        return 0
    return int(fields[1]) * resource.getpagesize()


def main(descriptor: int, max_memory_bytes: int) -> None:
    """
    Serve on an inherited socket, with bounded memory.
    """
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_DATA, (max_memory_bytes, max_memory_bytes))
    with socket.socket(fileno=descriptor) as channel:
        serve(channel.makefile("rb"), channel.makefile("wb"))


if __name__ == "__main__":
    try:
        main(int(sys.argv[1]), int(sys.argv[2]))
    except (BrokenPipeError, ConnectionResetError):
        # The pool's process is gone.
        sys.exit(1)
