"""
Programs from Debian's packages, unpacked into a cache: ``python -m tests.debian NAME``.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "espalier" / "debian"
DOWNLOAD_SECONDS = 120.0


def program(package: str, path: str) -> str | None:
    """
    Return a program from the PATH or from the cache; None if it is in neither.

    Args:
        path: Inside the package, such as ``usr/bin/promtool``.
    """
    cached = CACHE / package / path
    return shutil.which(Path(path).name) or (str(cached) if cached.exists() else None)


def promtool() -> str:
    """
    Return Prometheus' own tool, or skip the test.
    """
    found = program("prometheus", "usr/bin/promtool")
    if found is None:
        pytest.skip("promtool is missing: install Prometheus, or run make monitoring on Debian")
    return found


def unpack(package: str) -> None:
    """
    Fetch a package of Debian, and unpack it into the cache, unless it is there.

    Raises:
        SystemExit: This is no Debian, or its mirrors cannot be reached.
    """
    if (CACHE / package).exists():
        return
    apt, dpkg = shutil.which("apt-get"), shutil.which("dpkg")
    if apt is None or dpkg is None:
        raise SystemExit(f"{package}: apt-get and dpkg are needed to unpack it")
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        got = subprocess.run(
            [apt, "download", "-qq", package],
            cwd=folder,
            check=False,
            timeout=DOWNLOAD_SECONDS,
        )
        if got.returncode:
            raise SystemExit(f"{package}: apt-get cannot download it; run apt-get update")
        for archive in Path(folder).glob("*.deb"):
            unpacked = Path(folder) / "unpacked"
            subprocess.run([dpkg, "-x", str(archive), str(unpacked)], check=True)
            unpacked.rename(CACHE / package)


if __name__ == "__main__":
    for each in sys.argv[1:]:
        unpack(each)
