"""
What the tests of the pool have computed in worker processes.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from espalier.engine.ports import WorkItem


@dataclass(frozen=True, slots=True)
class Task:
    """
    One of the functions below.
    """

    name: str
    variant: str = ""

    @property
    def digest(self) -> str:
        return f"{self.name} {self.variant}"

    def prepare(self) -> Callable[[Any], object]:
        return _FUNCTIONS[self.name]


def _spin(_: object) -> object:
    while True:
        pass


def _allocate(size_bytes: int) -> int:
    return len(bytearray(size_bytes))


def _die(_: object) -> object:
    os.kill(os.getpid(), signal.SIGKILL)
    return None


def _depth(value: object) -> int:
    depth = 0
    while isinstance(value, list) and value:
        value = value[0]
        depth += 1
    return depth


def _shout(text: str) -> str:
    sys.stdout.write(text)
    sys.stdout.flush()
    return text


def _surroundings(_: object) -> dict[str, object]:
    return {
        "process": os.getpid(),
        "threads": threading.active_count(),
        "modules": sorted(
            {"aiohttp", "asyncio", "kopf", "click", "multiprocessing"} & set(sys.modules)
        ),
        "handlers": [
            str(number)
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGPROF)
            if signal.getsignal(number) is not signal.SIG_DFL
        ],
    }


_FUNCTIONS: dict[str, Callable[[Any], object]] = {
    "allocate": _allocate,
    "depth": _depth,
    "die": _die,
    "echo": lambda value: value,
    "shout": _shout,
    "spin": _spin,
    "surroundings": _surroundings,
}


def item(name: str, data: bytes = b"[]") -> WorkItem:
    return WorkItem(name, data)
