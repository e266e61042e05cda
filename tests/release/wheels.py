"""
The locked packages as wheels for this platform: fetched by digest, and read.
"""

import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from email.parser import Parser
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.release.lock import LOCK, ROOT

WHEELS = ROOT / "build" / "wheels"
_LICENSE_NAMES = ("LICENSE", "LICENCE", "COPYING", "NOTICE", "AUTHORS")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """
    What a wheel's metadata has about it.

    Attributes:
        name: As it is normalized.
        license: An SPDX expression if the wheel has one, else what its metadata has instead.
        texts: The texts of its licence files, by their names.
        requires: The names of what it needs here.
    """

    name: str
    version: str
    license: str
    texts: dict[str, str]
    requires: tuple[str, ...]


def fetch(folder: Path = WHEELS, lock: Path = LOCK) -> Path:
    """
    Download the wheels of a lock file, each checked by its digest, and return their folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--require-hashes", "--only-binary", ":all:", "--dest", str(folder)]
    subprocess.run([*command, "--requirement", str(lock)], check=True)
    return folder


def read_wheels(folder: Path = WHEELS) -> list[Wheel]:
    """
    Read all wheels of a folder, by name.
    """
    return sorted(map(read_wheel, folder.glob("*.whl")), key=lambda wheel: wheel.name)


def read_wheel(path: Path) -> Wheel:
    """
    Read the metadata of a wheel, and its licence files.
    """
    with zipfile.ZipFile(path) as opened:
        (name,) = (each for each in opened.namelist() if each.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(opened.read(name).decode("utf-8"))
        texts = {
            each.rpartition("/")[2]: opened.read(each).decode("utf-8", "replace").strip()
            for each in _license_files(opened.namelist(), name.removesuffix("METADATA"))
        }
    return Wheel(
        name=canonicalize_name(metadata["Name"]),
        version=metadata["Version"],
        license=_license_of(metadata),
        texts=texts,
        requires=tuple(_requires(metadata)),
    )


def _license_files(names: list[str], info: str) -> Iterator[str]:
    for name in sorted(names):
        file = name.rpartition("/")[2].upper()
        if name.startswith(info) and file.startswith(_LICENSE_NAMES):
            yield name


def _license_of(metadata: Message) -> str:
    expression: str | None = metadata["License-Expression"]
    if expression:
        return expression
    text: str = metadata["License"] or ""
    if text and "\n" not in text:
        return text
    classifiers = [
        each.rpartition(" :: ")[2]
        for each in metadata.get_all("Classifier", [])
        if each.startswith("License :: ")
    ]
    return ", ".join(classifiers)


def _requires(metadata: Message) -> Iterator[str]:
    for text in metadata.get_all("Requires-Dist", []):
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield canonicalize_name(requirement.name)


if __name__ == "__main__":
    fetch()
