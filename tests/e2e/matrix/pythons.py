"""
Interpreters of the PATH, and of a newer Debian: ``python -m tests.e2e.matrix.pythons 3.14``.

Debian's newest packages need its newest libc. They are unpacked with it beside this system's own,
and the interpreter is told to load its libraries from there, so that what it starts is not changed.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.debian import folder_of, unpack

SUITE = "sid"
LIBRARIES = Path("usr", "lib", "x86_64-linux-gnu")
LOADER = "ld-linux-x86-64.so.2"
_DONE = "patched"
_WHEELS = re.compile(r"('WHEEL_PKG_DIR': ')[^']*(')")


def find(version: str) -> str | None:
    """
    Return the program of a version such as ``3.14``, from the PATH or from the cache.
    """
    folder = folder_of(f"python{version}-venv", SUITE)
    cached = folder / "usr" / "bin" / f"python{version}"
    return shutil.which(f"python{version}") or (str(cached) if (folder / _DONE).exists() else None)


def fetch(version: str) -> None:
    """
    Unpack an interpreter for amd64 from Debian's newest packages; needs root.

    Raises:
        SystemExit: This is no Debian, or its mirrors cannot be reached.
    """
    folder = unpack(f"python{version}-venv", SUITE)
    if (folder / _DONE).exists():
        return
    patchelf = str(unpack("patchelf") / "usr" / "bin" / "patchelf")
    libraries = str(folder / LIBRARIES)
    command = [patchelf, "--set-interpreter", f"{libraries}/{LOADER}"]
    # Not RUNPATH, which does not hold for the libraries that a library needs.
    command += ["--force-rpath", "--set-rpath", libraries]
    subprocess.run([*command, str(folder / "usr" / "bin" / f"python{version}")], check=True)
    for path in (folder / "usr" / "lib" / f"python{version}").glob("_sysconfigdata_*.py"):
        text = path.read_text(encoding="utf-8")
        text = _WHEELS.sub(rf"\g<1>{folder}/usr/share/python-wheels/\g<2>", text)
        path.write_text(text, encoding="utf-8")
    (folder / _DONE).touch()


if __name__ == "__main__":
    for each in sys.argv[1:]:
        fetch(each)
