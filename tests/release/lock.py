"""
The lock files: ``python -m tests.release.lock`` writes them, and others read them.

``requirements.lock`` has everything that runs, for every platform and every supported Python;
``requirements-build.lock`` has what builds the package in the image.
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.markers import Marker

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "requirements.lock"
BUILD_LOCK = ROOT / "requirements-build.lock"
BUILD_REQUIREMENTS = ("hatchling>=1.27", "hatch-fancy-pypi-readme>=25.1", "pip>=25.1")

_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)(?: ; ([^\\]+?))?(?: \\)?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Locked:
    """
    A package in a lock file.

    Attributes:
        marker: On which platforms and Pythons it is installed; empty for all.
        digests: The SHA-256 digests of all its files, in the order of the file.
    """

    name: str
    version: str
    marker: str
    digests: tuple[str, ...]

    @property
    def applies_here(self) -> bool:
        """
        Whether it is installed on this machine.
        """
        return not self.marker or Marker(self.marker).evaluate()


def read_lock(path: Path = LOCK) -> list[Locked]:
    """
    Read a lock file.

    Raises:
        ValueError: A line is neither a package, nor a digest, nor a comment.
    """
    found: list[Locked] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if digest := _HASH.match(text):
            last = found[-1]
            found[-1] = Locked(
                name=last.name,
                version=last.version,
                marker=last.marker,
                digests=(*last.digests, digest[1]),
            )
        elif pin := _PIN.match(text):
            found.append(Locked(name=pin[1], version=pin[2], marker=pin[3] or "", digests=()))
        else:
            raise ValueError(f"{path.name}: {line}")
    return found


def write(*flags: str) -> None:
    """
    Write both lock files; what is locked already stays as long as the ranges allow it.

    Args:
        flags: More flags of ``uv pip compile``, such as ``--upgrade``.
    """
    _compile(ROOT / "pyproject.toml", LOCK, flags)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "build.in"
        source.write_text("\n".join(BUILD_REQUIREMENTS) + "\n", encoding="utf-8")
        _compile(source, BUILD_LOCK, flags)


def _compile(source: Path, target: Path, flags: Sequence[str]) -> None:
    command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--universal"]
    command += ["--python-version", "3.11", "--generate-hashes", "--no-emit-index-url"]
    command += ["--no-annotate", "--custom-compile-command", "make lock"]
    command += [*flags, str(source), "--output-file", str(target)]
    subprocess.run(command, cwd=ROOT, check=True)


if __name__ == "__main__":
    write(*sys.argv[1:])
