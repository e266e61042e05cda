"""
How much memory a process has in RAM, as Linux counts it.
"""

import re
from pathlib import Path


def peak_mib(pid: int | str = "self") -> float:
    """
    Tell the most that a process ever had in RAM.

    ``getrusage`` would not do: a child's figure begins with what its parent had when it forked.
    """
    return _field(pid, "VmHWM")


def resident_mib(pid: int | str = "self") -> float:
    """
    Tell what a process has in RAM now.
    """
    return _field(pid, "VmRSS")


def _field(pid: int | str, name: str) -> float:
    text = Path("/proc", str(pid), "status").read_text(encoding="ascii", errors="replace")
    found = re.search(rf"^{name}:\s+(\d+) kB$", text, re.MULTILINE)
    if found is None:
        raise SystemExit(f"the kernel does not tell {name} of process {pid}")
    return int(found[1]) / 1024
