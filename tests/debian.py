"""
Programs from Debian's packages, unpacked into a cache: ``python -m tests.debian NAME [SUITE]``.

Without a suite, they are those of the Debian that runs. From another suite a package comes with
all that it depends on, since it cannot use the libraries of this one.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "espalier" / "debian"
DOWNLOAD_SECONDS = 120.0
SUITE_SECONDS = 600.0

# A copy of a mirror may be older than the week for which a list of sid says that it is valid. That
# it is signed by Debian is checked all the same.
_ANY_AGE = 'Acquire::Check-Valid-Until "false"'


def folder_of(package: str, suite: str = "") -> Path:
    """
    Return where a package is unpacked, or will be.
    """
    return CACHE / suite / package


def program(package: str, path: str, suite: str = "") -> str | None:
    """
    Return a program from the PATH or from the cache; None if it is in neither.

    Args:
        path: Inside the package, such as ``usr/bin/promtool``.
    """
    cached = folder_of(package, suite) / path
    return shutil.which(Path(path).name) or (str(cached) if cached.exists() else None)


def promtool() -> str:
    """
    Return Prometheus' own tool, or skip the test.
    """
    found = program("prometheus", "usr/bin/promtool")
    if found is None:
        pytest.skip("promtool is missing: install Prometheus, or run make monitoring on Debian")
    return found


def cosign() -> str:
    """
    Return the program that signs and verifies, or skip the test.
    """
    found = program("cosign", "usr/bin/cosign", "sid")
    if found is None:
        pytest.skip("cosign is missing: install it, or run make signing as root on Debian")
    asked = [found, "signing-config", "create"]
    if subprocess.run(asked, check=False, capture_output=True).returncode:
        pytest.skip("cosign is too old: version 3 is needed")
    return found


def docker_registry() -> str:
    """
    Return a registry for images, or skip the test.
    """
    found = program("docker-registry", "usr/bin/docker-registry")
    if found is None:
        pytest.skip("docker-registry is missing: install it, or run make signing on Debian")
    return found


def unpack(package: str, suite: str = "") -> Path:
    """
    Fetch a package of Debian, and unpack it into the cache, unless it is there.

    Args:
        suite: Such as ``sid``, for what this Debian does not have. Needs root.

    Returns:
        The folder.

    Raises:
        SystemExit: This is no Debian, or its mirrors cannot be reached.
    """
    folder = folder_of(package, suite)
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as name:
        made = Path(name) / "unpacked"
        if suite:
            _unpack_from(suite, package, made)
        else:
            _unpack_own(package, made)
        made.rename(folder)
    return folder


def _unpack_own(package: str, folder: Path) -> None:
    _run(
        ["apt-get", "download", "-qq", package],
        cwd=folder.parent,
        error=f"{package}: apt-get cannot download it; run apt-get update",
        seconds=DOWNLOAD_SECONDS,
    )
    (archive,) = folder.parent.glob("*.deb")
    _run(["dpkg", "-x", str(archive), str(folder)], error=f"{package}: dpkg cannot unpack it")


def _unpack_from(suite: str, package: str, folder: Path) -> None:
    mmdebstrap = unpack("mmdebstrap") / "usr" / "bin" / "mmdebstrap"
    command = [str(mmdebstrap), "--quiet", "--mode=root", "--variant=extract"]
    command += [f"--aptopt={_ANY_AGE}", f"--include={package}", suite, str(folder)]
    _run(command, error=f"{package}: mmdebstrap cannot unpack it from {suite}")


def _run(
    command: Sequence[str], *, error: str, cwd: Path = CACHE, seconds: float = SUITE_SECONDS
) -> None:
    name, *arguments = command
    found = shutil.which(name)
    if found is None:
        raise SystemExit(f"{error}: there is no {name}")
    if subprocess.run([found, *arguments], cwd=cwd, check=False, timeout=seconds).returncode:
        raise SystemExit(error)


if __name__ == "__main__":
    unpack(*sys.argv[1:])
