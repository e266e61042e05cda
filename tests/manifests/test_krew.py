"""
The krew plugin: a manifest as krew validates it, and an archive that is what the manifest says.

Source:
    krew, ``internal/index/validation/validate.go``.
"""

import hashlib
import io
import re
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from espalier import __version__
from tests.manifests.krew import LAUNCHER, MANIFEST, archive, manifest

PACKAGE = (
    f"espalier @ https://espalier.dev/releases/v{__version__}/"
    f"espalier-{__version__}-py3-none-any.whl"
)


def read() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))
    return document


def test_krew_accepts_the_manifest() -> None:
    document = read()
    spec = document["spec"]

    assert document["apiVersion"] == "krew.googlecontainertools.github.com/v1alpha2"
    assert document["kind"] == "Plugin"
    assert document["metadata"] == {"name": MANIFEST.stem}
    assert re.fullmatch(r"v[0-9]+\.[0-9]+\.[0-9]+(-[\w.]+)?", spec["version"])
    assert re.fullmatch(r"[^\r\n]+", spec["shortDescription"])
    # krew's reviewers ask for 50 characters, so that lists fit a terminal.
    assert len(spec["shortDescription"]) <= 50
    for platform in spec["platforms"]:
        assert set(platform) <= {"selector", "uri", "sha256", "bin", "files"}
        assert re.fullmatch(r"[a-f0-9]{64}", platform["sha256"])
        assert platform["uri"].startswith("https://")
        assert platform["bin"] == "kubectl-espalier"
        (expression,) = platform["selector"]["matchExpressions"]
        assert (expression["key"], expression["operator"]) == ("os", "In")
        assert expression["values"] == ["linux", "darwin"]


def test_the_manifest_is_of_the_packages_version_and_of_its_archive() -> None:
    document = read()

    assert document["spec"]["version"] == f"v{__version__}"
    assert f"version={__version__}\n" in LAUNCHER.read_text(encoding="utf-8")
    for platform in document["spec"]["platforms"]:
        assert f"/v{__version__}/" in platform["uri"]
        assert platform["sha256"] == hashlib.sha256(archive()).hexdigest()
    text = MANIFEST.read_text(encoding="utf-8")
    assert manifest(text.replace(f"v{__version__}", "v9.9.9"), archive()) == text


def test_the_archive_has_an_executable_and_a_license() -> None:
    with zipfile.ZipFile(io.BytesIO(archive())) as packed:
        modes = {one.filename: one.external_attr >> 16 & 0o777 for one in packed.infolist()}

    assert modes == {"kubectl-espalier": 0o755, "LICENSE": 0o644}


@pytest.mark.parametrize(
    ("installed", "expected"),
    [
        (["uvx", "pipx"], f"uvx --from {PACKAGE} kubectl-espalier status -o json"),
        (["pipx"], f"pipx run --spec {PACKAGE} kubectl-espalier status -o json"),
    ],
)
def test_the_plugin_runs_the_package(tmp_path: Path, installed: list[str], expected: str) -> None:
    for name in installed:
        (tmp_path / name).write_text('#!/bin/sh\necho "${0##*/} $*"\n')
        (tmp_path / name).chmod(0o755)

    ended = subprocess.run(  # noqa: S603 - the launcher itself
        ["/bin/sh", str(LAUNCHER), "status", "-o", "json"],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert ended.stdout == f"{expected}\n"


def test_the_plugin_reports_what_it_lacks(tmp_path: Path) -> None:
    ended = subprocess.run(  # noqa: S603 - the launcher itself
        ["/bin/sh", str(LAUNCHER)],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert "uv or pipx is needed" in ended.stderr
    assert ended.returncode == 2
