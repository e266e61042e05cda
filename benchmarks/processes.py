"""
What a command costs: CPU time and memory of its process.
"""

import os
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple


class Cost(NamedTuple):
    """
    The cost of one run, or the medians of several.

    Attributes:
        cpu_seconds: User and system time, all threads together.
        peak_mib: The most memory that the process had at once.
    """

    cpu_seconds: float
    peak_mib: float


def cost_of(command: Sequence[str], *, variables: Mapping[str, str] | None = None) -> Cost:
    """
    Run a command without output, whatever its exit code, and return its cost.
    """
    process = subprocess.Popen(  # noqa: S603 - commands of this folder
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **(variables or {})},
    )
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def medians(costs: Sequence[Cost]) -> Cost:
    """
    Return the median CPU time and the median memory.
    """
    return Cost(*(statistics.median(column) for column in zip(*costs, strict=True)))


def installed_go_command(package: str, version: str) -> Path:
    """
    Build a Go command from its module, once; it is kept in the user's cache.
    """
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = base / "espalier" / "peers" / version
    binary = folder / package.rpartition("/")[2]
    if not binary.exists():
        print(f"Building {package}@{version} ...")
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(  # noqa: S603 - a fixed version of a known module
            ["go", "install", f"{package}@{version}"],  # noqa: S607 - Go is where the user has it
            env={**os.environ, "GOBIN": str(folder)},
            check=True,
        )
    return binary
