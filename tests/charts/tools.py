"""
Find Helm and kubeconform, or build them from Go modules into the user's cache folder.

The versions stand only in ``go.mod`` beside this file.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import pytest

MODULE = Path(__file__).parent
BUILD_SECONDS = 1800.0

TOOLS: Mapping[str, str] = {
    "helm": "helm.sh/helm/v3/cmd/helm",
    "kubeconform": "github.com/yannh/kubeconform/cmd/kubeconform",
}


class ToolsError(Exception):
    """
    There is no suitable Go, or a build failed; the message is one line.
    """


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """
    Return the folder of the built programs, of this ``go.sum``.
    """
    home = environment.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    digest = hashlib.sha256((MODULE / "go.sum").read_bytes()).hexdigest()[:12]
    return Path(home) / "espalier" / "chart" / digest


def program(name: str) -> str | None:
    """
    Return a built program, or one from the PATH; None if there is neither.
    """
    built = cache_folder() / name
    return str(built) if built.is_file() else shutil.which(name)


def helm() -> str:
    """
    Return Helm, or skip the test.
    """
    found = program("helm")
    if found is None:
        pytest.skip("Helm is missing: make chart builds it (needs Go)")
    return found


def kubeconform() -> tuple[str, Path]:
    """
    Return kubeconform and a folder of schemas of Kubernetes, or skip the test.
    """
    found = program("kubeconform")
    if found is None:
        pytest.skip("kubeconform is missing: make chart builds it (needs Go)")
    package = find_spec("kubernetes_validate")
    if package is None or package.origin is None:
        pytest.skip("the schemas of Kubernetes are missing: make chart installs them")
    return found, Path(package.origin).parent / "kubernetes-json-schema"


def build() -> None:
    """
    Build what is not built yet.

    Raises:
        ToolsError: There is no Go, or the build failed.
    """
    folder = cache_folder()
    for tool, package in TOOLS.items():
        if not (folder / tool).is_file():
            sys.stderr.write(f"Building {tool}, which takes minutes ...\n")
            _build(tool, package, folder)


def _build(tool: str, package: str, folder: Path) -> None:
    go = shutil.which("go")
    if go is None:
        raise ToolsError(f"No {tool}: install Go, or put {tool} into the PATH")
    folder.mkdir(parents=True, exist_ok=True)
    stamps = " ".join(f"-X {name}={value}" for name, value in _stamps(tool).items())
    command = [go, "build", "-trimpath", "-buildvcs=false", "-mod=readonly"]
    command += ["-ldflags", f"-s -w {stamps}"]
    with tempfile.TemporaryDirectory(dir=folder) as fresh:
        made = Path(fresh) / tool
        ended = subprocess.run(
            [*command, "-o", str(made), package],
            cwd=MODULE,
            env={**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"},
            capture_output=True,
            text=True,
            check=False,
            timeout=BUILD_SECONDS,
        )
        if ended.returncode:
            raise ToolsError(f"go build of {tool} failed: {ended.stderr.strip()[-500:]}")
        made.rename(folder / tool)


def _stamps(tool: str) -> dict[str, str]:
    if tool == "kubeconform":
        return {"main.version": _version_of("github.com/yannh/kubeconform")}
    helm = "helm.sh/helm/v3"
    minor = _version_of("k8s.io/client-go").split(".")[1]
    # The Kubernetes that charts are rendered and linted for; without them it is 1.20.
    return {
        f"{helm}/internal/version.version": _version_of(helm),
        f"{helm}/pkg/chartutil.k8sVersionMajor": "1",
        f"{helm}/pkg/chartutil.k8sVersionMinor": minor,
        f"{helm}/pkg/lint/rules.k8sVersionMajor": "1",
        f"{helm}/pkg/lint/rules.k8sVersionMinor": minor,
    }


def _version_of(module: str) -> str:
    text = (MODULE / "go.mod").read_text(encoding="utf-8")
    found = re.search(rf"\s{re.escape(module)} (v\S+)", text)
    if found is None:
        raise ToolsError(f"go.mod does not require {module}")
    return found[1]
