"""
Wall clocks of running processes that can be stepped, by a library that is preloaded into them.

Only programs that ask the C library for the time can be stepped: Python does, and Go asks the
kernel, so that API servers and etcd keep the clock of the machine.
"""

import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).with_name("clock.c")
NANOSECONDS = 1_000_000_000
MOST_SECONDS = 12 * 3600.0
"""Within the validity of the test certificates, which a process with another clock checks too."""


class Clock:
    """
    The wall clock of one process and of its children.

    Args:
        library: As ``build`` made it.
        file: Where the offset is kept.
    """

    def __init__(self, library: Path, file: Path) -> None:
        self._file = file
        self.environment = {"LD_PRELOAD": str(library), "SOAK_CLOCK": str(file)}
        self.step(0)

    def step(self, seconds: float) -> None:
        """
        Let the clock be that far from the clock of the machine, at once.
        """
        # In place: the file is mapped into the processes.
        with self._file.open("r+b" if self._file.exists() else "wb") as file:
            file.write(int(seconds * NANOSECONDS).to_bytes(8, sys.byteorder, signed=True))


def build(folder: Path) -> Path | None:
    """
    Compile the library into a folder; None if this machine cannot.
    """
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        return None
    library = folder / "clock.so"
    command = [compiler, "-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-o", str(library)]
    subprocess.run([*command, str(SOURCE)], check=True)
    return library
