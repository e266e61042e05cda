"""
The bundle: what is in it, and that it installs without a network.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from espalier import __version__
from tests.release.bundle import NAME, SUMS, digest_of, fill, pack, release_notes, sums
from tests.release.lock import ROOT

INSTALL_SECONDS = 900.0
DEFINITION = ROOT / "docs" / "examples" / "widgets-structural.yaml"


def small_wheel(folder: Path) -> Path:
    folder.mkdir(parents=True)
    path = folder / f"espalier-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("espalier.dist-info/METADATA", f"Name: espalier\nVersion: {__version__}\n")
    return path


def test_it_has_all_parts_and_their_digests(tmp_path: Path) -> None:
    own = small_wheel(tmp_path / "bundle" / "wheels")
    image = tmp_path / "image.tar"
    image.write_bytes(b"an image")

    fill(tmp_path / "bundle", image=image)

    parts = {path.name for path in (tmp_path / "bundle").iterdir()}
    assert parts == {
        "LICENSE",
        "RELEASE-NOTES.md",
        "SECURITY.md",
        SUMS,
        "THIRD-PARTY-NOTICES.txt",
        "charts",
        "docs",
        f"espalier-{__version__}.cdx.json",
        "requirements-espalier.lock",
        "image",
        "manifests",
        "requirements.lock",
        "wheels",
    }
    pins = (tmp_path / "bundle" / "requirements-espalier.lock").read_text()
    assert pins == f"espalier=={__version__} --hash=sha256:{digest_of(own)}\n"
    listed = (tmp_path / "bundle" / SUMS).read_text()
    assert f"{hashlib.sha256(b'an image').hexdigest()}  image/espalier-{__version__}.tar" in listed


def test_a_changed_file_is_found(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    (tmp_path / SUMS).write_text(sums(tmp_path))
    check = ["sha256sum", "--check", "--quiet", SUMS]
    assert subprocess.run(check, cwd=tmp_path, check=False).returncode == 0

    (tmp_path / "a").write_text("b")

    changed = subprocess.run(check, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert changed.returncode == 1
    assert "a: FAILED" in changed.stdout


def test_the_same_files_make_the_same_bytes(tmp_path: Path) -> None:
    for name in ("first", "second"):
        folder = tmp_path / name / "bundle"
        folder.mkdir(parents=True)
        (folder / "b").write_text("b")
        (folder / "a").write_text("a")
        os.utime(folder / "a", (len(name), len(name)))
        pack(folder, tmp_path / f"{name}.tar")

    assert digest_of(tmp_path / "first.tar") == digest_of(tmp_path / "second.tar")


def test_the_release_notes_are_a_section_of_the_changelog() -> None:
    notes = release_notes()

    assert notes.startswith(f"# Espalier {__version__}\n\n### ")
    assert "\n## " not in notes


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    bundle = os.environ.get("ESPALIER_BUNDLE")
    if bundle is None:
        pytest.skip("a bundle is 46 MiB of wheels: make bundle makes it, and runs this test")
    folder = tmp_path_factory.mktemp("bundle")
    with tarfile.open(bundle) as opened:
        opened.extractall(folder, filter="data")
    return folder / NAME


@pytest.mark.timeout(INSTALL_SECONDS)
def test_it_installs_without_a_network(unpacked: Path, tmp_path: Path) -> None:
    unshare = shutil.which("unshare")
    if os.geteuid() != 0 or unshare is None:
        pytest.skip(
            "a process without a network needs root and unshare: run make bundle as root on Linux"
        )
    python, espalier = tmp_path / "venv" / "bin" / "python", tmp_path / "venv" / "bin" / "espalier"
    definition = shutil.copy(DEFINITION, tmp_path)
    script = f"""
        set -e
        ! {sys.executable} -c 'import socket; socket.create_connection(("192.0.2.1", 443), 3)'
        sha256sum --check --quiet {SUMS}
        {sys.executable} -m venv {tmp_path / "venv"}
        {python} -m pip install --quiet --no-compile --no-index --find-links wheels \\
            --require-hashes -r requirements.lock -r requirements-espalier.lock
        {python} -m pip check
        {espalier} version
        {espalier} check {definition}
    """

    ended = subprocess.run(
        [unshare, "--net", "/bin/sh", "-c", script],
        cwd=unpacked,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=INSTALL_SECONDS,
    )

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "Network is unreachable" in ended.stderr
    assert "No broken requirements found." in ended.stdout
    assert f"espalier {__version__}" in ended.stdout
