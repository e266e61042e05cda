"""
Make everything that an installation without a network needs: ``python -m tests.release.bundle``.

``dist/espalier-VERSION-bundle.tar`` has the wheels of the command line for this platform, the
manifests, the chart, the bill of materials, the notices, the release notes, and an image if one is
given. ``SHA256SUMS`` in it has the digest of each file.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from espalier import __version__
from tests.release.lock import BUILD_LOCK, LOCK, ROOT, read_lock
from tests.release.notices import NOTICES
from tests.release.sbom import sbom
from tests.release.wheels import WHEELS, fetch, read_wheels

NAME = f"espalier-{__version__}-bundle"
BUNDLE = ROOT / "dist" / f"{NAME}.tar"
SUMS = "SHA256SUMS"
_ONE_MEBIBYTE = 1024 * 1024
_SECTION = re.compile(r"^## \[([^\]]+)\].*?\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def main(arguments: Sequence[str]) -> None:
    """
    Make the bundle.
    """
    parser = argparse.ArgumentParser(prog="make bundle", description=__doc__)
    parser.add_argument("--image", type=Path, help="an OCI or Docker archive to put into it")
    given = parser.parse_args(arguments)
    shutil.rmtree(WHEELS, ignore_errors=True)
    fetch()
    with TemporaryDirectory() as name:
        folder = Path(name) / NAME
        shutil.copytree(WHEELS, folder / "wheels")
        build_wheel(folder / "wheels")
        fill(folder, image=given.image)
        BUNDLE.parent.mkdir(exist_ok=True)
        pack(folder, BUNDLE)
    sys.stdout.write(f"{BUNDLE}: {BUNDLE.stat().st_size / _ONE_MEBIBYTE:.0f} MiB\n")


def build_wheel(folder: Path) -> Path:
    """
    Build the package's own wheel with the locked tools, and return its path.
    """
    with TemporaryDirectory() as name:
        venv.create(name, with_pip=True)
        python = str(Path(name) / "bin" / "python")
        quiet = ["--quiet", "--disable-pip-version-check"]
        install = [python, "-m", "pip", "install", *quiet, "--require-hashes"]
        subprocess.run([*install, "--only-binary", ":all:", "-r", str(BUILD_LOCK)], check=True)
        build = [python, "-m", "pip", "wheel", *quiet, "--no-deps", "--no-build-isolation"]
        subprocess.run([*build, "--wheel-dir", str(folder), str(ROOT)], check=True)
    (made,) = folder.glob("espalier-*.whl")
    return made


def fill(folder: Path, *, image: Path | None = None) -> None:
    """
    Add everything but the wheels, which are there already, and write the digests.
    """
    (own,) = (folder / "wheels").glob("espalier-*.whl")
    pins = f"espalier=={__version__} --hash=sha256:{digest_of(own)}\n"
    (folder / "requirements-espalier.lock").write_text(pins, encoding="utf-8")
    for path in (LOCK, NOTICES, ROOT / "LICENSE", ROOT / "SECURITY.md"):
        shutil.copy(path, folder)
    for name in ("manifests", "charts", "docs"):
        shutil.copytree(ROOT / name, folder / name)
    if image is not None:
        (folder / "image").mkdir()
        shutil.copy(image, folder / "image" / f"espalier-{__version__}.tar")
    (folder / "RELEASE-NOTES.md").write_text(release_notes(), encoding="utf-8")
    document = sbom(read_lock(), read_wheels(folder / "wheels"))
    (folder / f"espalier-{__version__}.cdx.json").write_text(document, encoding="utf-8")
    (folder / SUMS).write_text(sums(folder), encoding="utf-8")


def release_notes() -> str:
    """
    Return the changelog's section of this version, or of what is not released yet.
    """
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = {found[1]: found[2].strip() for found in _SECTION.finditer(text)}
    notes = sections.get(__version__) or sections["Unreleased"]
    return f"# Espalier {__version__}\n\n{notes}\n"


def sums(folder: Path) -> str:
    """
    Return the digests of all files below a folder, as ``sha256sum`` writes and reads them.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != SUMS)
    return "".join(f"{digest_of(path)}  {path.relative_to(folder)}\n" for path in files)


def digest_of(path: Path) -> str:
    """
    Return the SHA-256 digest of a file.
    """
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def pack(folder: Path, archive: Path) -> None:
    """
    Write a folder as a tar: the same bytes for the same files.
    """
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        member.mtime = epoch
        member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
        return member

    with tarfile.open(archive, "w", format=tarfile.PAX_FORMAT) as opened:
        for path in sorted(folder.rglob("*")):
            opened.add(path, path.relative_to(folder.parent), recursive=False, filter=plain)


if __name__ == "__main__":
    main(sys.argv[1:])
