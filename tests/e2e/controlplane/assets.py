"""
Find or build the binaries of the control plane.

They are looked up in ``KUBEBUILDER_ASSETS``, then in the user's cache folder. If they are in
neither, they are built from Go modules into the cache folder. The version stands only in ``go.mod``
beside this file; those of older releases stand in the folder ``older``.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

MODULE = Path(__file__).parent
NEWEST = MODULE / "go.mod"
GIVEN = "KUBEBUILDER_ASSETS"
LEAST_GO = (1, 26)
PROGRESS_SECONDS = 15.0
STAMP = ".complete"
CONTROLLER_MANAGER = "kube-controller-manager"

TOOLS: Mapping[str, str] = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
    CONTROLLER_MANAGER: f"k8s.io/kubernetes/cmd/{CONTROLLER_MANAGER}",
}
"""The binaries and the packages they are built from."""

OLDER_TOOLS = ("kube-apiserver", CONTROLLER_MANAGER)

# The programs in the KUBEBUILDER_ASSETS of envtest.
REQUIRED = ("etcd", "kube-apiserver", "kubectl")


class AssetsError(Exception):
    """
    There are no binaries, and they cannot be built; the message is one line.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Assets:
    """
    The paths of the binaries.

    Attributes:
        controller_manager: None if the folder has none, as with envtest's.
    """

    etcd: Path
    kube_apiserver: Path
    kubectl: Path
    controller_manager: Path | None


def version(modules: Path = NEWEST) -> str:
    """
    Return the version of Kubernetes in a file of modules, such as ``v1.37.2``.
    """
    found = re.search(r"\sk8s\.io/kubernetes (v\d+\.\d+\.\d+)\b", modules.read_text())
    if found is None:
        raise AssetsError(f"{modules} does not require k8s.io/kubernetes")
    return found[1]


def cache_folder(environment: Mapping[str, str], modules: Path = NEWEST) -> Path:
    """
    Return the folder of the built binaries.
    """
    home = environment.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "espalier" / "control-plane" / version(modules)


def older_releases() -> dict[str, Path]:
    """
    Return the files of modules of older releases, such as that of ``1.34``.
    """
    return {path.stem: path for path in sorted((MODULE / "older").glob("*.mod"))}


def older_assets(modules: Path, environment: Mapping[str, str] = os.environ) -> Path:
    """
    Find or build the servers of an older release; etcd and kubectl are those of the newest one.

    Returns:
        A folder for ``KUBEBUILDER_ASSETS``.

    Raises:
        AssetsError: They cannot be built.
    """
    newest = find_assets({key: environment[key] for key in environment if key != GIVEN})
    folder = cache_folder(environment, modules)
    if not is_complete(folder, modules):
        build(folder, modules, tools=OLDER_TOOLS)
    for link, target in (("etcd", newest.etcd), ("kubectl", newest.kubectl)):
        if not (folder / link).exists():
            (folder / link).symlink_to(target)
    return folder


def find_assets(environment: Mapping[str, str] = os.environ, *, may_build: bool = True) -> Assets:
    """
    Find the binaries, or build them.

    Raises:
        AssetsError: There are none, and they cannot or must not be built.
    """
    cache = cache_folder(environment)
    given = environment.get(GIVEN)
    if given:
        missing = [name for name in REQUIRED if not _is_program(Path(given) / name)]
        if not missing:
            return _assets_in(Path(given), spare=cache)
        _tell(f"KUBEBUILDER_ASSETS={given} lacks {', '.join(missing)}: looking further")
    if not is_complete(cache):
        if not may_build:
            raise AssetsError("There is no control plane yet: make control-plane builds it")
        build(cache)
    return _assets_in(cache, spare=cache)


def is_complete(folder: Path, modules: Path = NEWEST) -> bool:
    """
    Report whether a cache folder has all binaries for a file of modules and its sums.
    """
    stamp = folder / STAMP
    return stamp.is_file() and stamp.read_text(encoding="utf-8").strip() == _fingerprint(modules)


def build(folder: Path, modules: Path = NEWEST, *, tools: Collection[str] = TOOLS) -> None:
    """
    Build the binaries, and move them into place together.

    Raises:
        AssetsError: There is no suitable Go, or the build failed.
    """
    go = _find_go(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _lock(folder.with_name(f".{folder.name}.lock")):
        if is_complete(folder, modules):
            return  # another process built it while this one waited
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as name:
            fresh, old = Path(name) / "fresh", Path(name) / "old"
            fresh.mkdir()
            for number, tool in enumerate(tools, 1):
                _tell(f"Building {tool} {version(modules)}, {number} of {len(tools)} ...")
                _build_one(go, tool, fresh / tool, modules)
            (fresh / STAMP).write_text(_fingerprint(modules) + "\n", encoding="utf-8")
            if folder.exists():
                folder.rename(old)
            fresh.rename(folder)
    _tell(f"Built into {folder}")


def _assets_in(folder: Path, *, spare: Path) -> Assets:
    managers = [folder / CONTROLLER_MANAGER]
    if is_complete(spare):
        managers.append(spare / CONTROLLER_MANAGER)
    return Assets(
        etcd=folder / "etcd",
        kube_apiserver=folder / "kube-apiserver",
        kubectl=folder / "kubectl",
        controller_manager=next((path for path in managers if _is_program(path)), None),
    )


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _fingerprint(modules: Path) -> str:
    digest = hashlib.sha256()
    for path in (modules, modules.with_suffix(".sum")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _find_go(folder: Path) -> str:
    wanted = ".".join(str(part) for part in LEAST_GO)
    go = shutil.which("go")
    found = "there is no go"
    if go is not None:
        # Run outside of the module: inside it, Go would download the toolchain that go.mod names.
        answer = subprocess.run(
            [go, "env", "GOVERSION"], cwd="/", capture_output=True, text=True, check=False
        ).stdout.strip()
        numbers = re.match(r"go(\d+)\.(\d+)", answer)
        if numbers and (int(numbers[1]), int(numbers[2])) >= LEAST_GO:
            return go
        found = f"{go} is {answer or 'broken'}"
    raise AssetsError(
        f"No control plane: install Go {wanted} or newer ({found}), or set KUBEBUILDER_ASSETS to a "
        f"folder with {', '.join(REQUIRED)}, or put a built cache into {folder}"
    )


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    with path.open("w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _tell("Another process is building the control plane: waiting for it ...")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build_one(go: str, tool: str, target: Path, modules: Path) -> None:
    number = version(modules)
    major, minor, _ = number.removeprefix("v").split(".")
    # Without these, clients cannot parse the server's version.
    stamps = {
        "gitVersion": number,
        "gitMajor": major,
        "gitMinor": minor,
        "gitTreeState": "clean",
    }
    flags = " ".join(f"-X k8s.io/component-base/version.{k}={v}" for k, v in stamps.items())
    command = [go, "build", "-trimpath", "-buildvcs=false", "-mod=readonly", f"-modfile={modules}"]
    command += ["-ldflags", f"-s -w {flags}", "-o", str(target), TOOLS[tool]]
    environment = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"}
    start = time.monotonic()
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output,
        subprocess.Popen(
            command, cwd=MODULE, env=environment, stdout=output, stderr=subprocess.STDOUT
        ) as process,
    ):
        while not _has_ended(process):
            _tell(f"  {tool}: {time.monotonic() - start:.0f} s")
        if process.returncode:
            output.seek(0)
            lines = [line for line in output.read().splitlines() if line]
            for line in lines[-20:]:
                _tell(f"  {line}")
            raise AssetsError(f"go build of {tool} failed: {lines[-1] if lines else 'no output'}")


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(PROGRESS_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    except BaseException:
        process.kill()
        raise
    return True


def _tell(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
