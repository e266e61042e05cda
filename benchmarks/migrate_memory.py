"""
The memory and the CPU time of a running process, as Linux counts them.
"""

import os
import re
from pathlib import Path


def peak_mib(pid: int | str = "self") -> float:
    """
    Return the peak resident memory of a process.

    ``getrusage`` is no alternative: a child's figure includes its parent's memory at the fork.
    """
    return _field(pid, "VmHWM")


def resident_mib(pid: int | str = "self") -> float:
    """
    Return the present resident memory of a process.
    """
    return _field(pid, "VmRSS")


def cpu_seconds(pid: int) -> float:
    """
    Return the CPU time of a process so far, user and system.
    """
    # The name may have any character, so count from behind it: 12th and 13th are user and system.
    text = Path("/proc", str(pid), "stat").read_text(encoding="utf-8").rpartition(")")[2]
    user, system = text.split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _field(pid: int | str, name: str) -> float:
    text = Path("/proc", str(pid), "status").read_text(encoding="ascii", errors="replace")
    found = re.search(rf"^{name}:\s+(\d+) kB$", text, re.MULTILINE)
    if found is None:
        raise SystemExit(f"the kernel does not report {name} of process {pid}")
    return int(found[1]) / 1024
