"""
Wheels of the tree, for an index in a folder: they are installed as a release would be.
"""

import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path

from tests.docs.reading import ROOT

PACKAGE = ROOT / "operator"


def release(folder: Path, version: str) -> str:
    """
    Pack the package as a release of this version, and return the digest of the wheel.
    """
    files = {
        str(path.relative_to(PACKAGE)): path.read_bytes()
        for path in (PACKAGE / "espalier").rglob("*.py")
    }
    return wheel(folder, "espalier", version, files)


def wheel(folder: Path, name: str, version: str, files: Mapping[str, bytes]) -> str:
    """
    Write a pure wheel, and return its digest.
    """
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nRequires-Dist: click\n"
    tag = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    packed = dict(files)
    packed[f"{info}/METADATA"] = metadata.encode()
    packed[f"{info}/WHEEL"] = tag.encode()
    record = "".join(f"{path},,\n" for path in [*packed, f"{info}/RECORD"])
    packed[f"{info}/RECORD"] = record.encode()
    target = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(target, "w") as archive:
        for path, content in packed.items():
            archive.writestr(path, content)
    return hashlib.sha256(target.read_bytes()).hexdigest()
