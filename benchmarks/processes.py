"""
What a command costs: CPU time and memory of its process.
"""

import os
import statistics
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

# In an interpreter with nothing in it: the kernel counts the memory of a parent as its child's.
_MEASURE = """\
import os, sys
child = os.fork()
if not child:
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    os.execvp(sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(child, 0)
cpu_seconds = usage.ru_utime + usage.ru_stime
print(os.waitstatus_to_exitcode(status), cpu_seconds, usage.ru_maxrss)
"""


class Cost(NamedTuple):
    """
    The cost of one run, or the medians of several.

    Attributes:
        cpu_seconds: User and system time, all threads together.
        peak_mib: The most memory that the process had at once.
    """

    cpu_seconds: float
    peak_mib: float


def cost_of(
    command: Sequence[str],
    *,
    variables: Mapping[str, str] | None = None,
    may_exit_with: Collection[int] | None = None,
) -> Cost:
    """
    Run a command without output, and return its cost.

    Args:
        may_exit_with: Exit codes besides 0; None allows each.

    Raises:
        SystemExit: It ended with another exit code.
    """
    # An installed program has its bytecode, so Python may write it here.
    inherited = {n: text for n, text in os.environ.items() if n != "PYTHONDONTWRITEBYTECODE"}
    ran = subprocess.run(  # noqa: S603 - commands of this folder
        [sys.executable, "-I", "-S", "-c", _MEASURE, *command],
        stdout=subprocess.PIPE,
        env={**inherited, **(variables or {})},
        check=True,
    )
    exit_code, cpu_seconds, peak_kib = ran.stdout.split()
    if may_exit_with is not None and int(exit_code) not in {0, *may_exit_with}:
        raise SystemExit(f"exit code {int(exit_code)}: {' '.join(command)}")
    return Cost(float(cpu_seconds), int(peak_kib) / 1024)


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
