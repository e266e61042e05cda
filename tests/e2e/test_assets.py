"""
Find the binaries of the control plane; these tests do not need the binaries.
"""

import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.e2e.controlplane import assets
from tests.e2e.controlplane.assets import AssetsError
from tests.e2e.waiting import eventually

ENVTEST = ("etcd", "kube-apiserver", "kubectl")


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mapping[str, str]:
    """
    An empty cache, and no Go.
    """
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return {"XDG_CACHE_HOME": str(tmp_path / "cache")}


def fill(folder: Path, *names: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).touch(mode=0o755)
    return folder


def put_go(tmp_path: Path, *lines: str) -> None:
    """
    Put a ``go`` program on the path that runs the given lines.
    """
    go = fill(tmp_path / "bin", "go") / "go"
    go.write_text("\n".join(("#!/bin/sh", *lines)), encoding="utf-8")


def built(environment: Mapping[str, str], tmp_path: Path) -> Path:
    """
    Build with a fake Go that writes empty programs.
    """
    put_go(
        tmp_path,
        'if [ "$1" = env ]; then echo go1.26.0; exit; fi',
        'while [ "$1" != -o ]; do shift; done; : > "$2"; /bin/chmod +x "$2"',
    )
    assets.find_assets(environment)
    return assets.cache_folder(environment)


def is_running(pid: int) -> bool:
    """
    Report whether a process runs; a zombie does not.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_the_version_is_the_one_in_the_go_module(environment: Mapping[str, str]) -> None:
    assert assets.cache_folder(environment).name == assets.version()
    assert assets.version().startswith("v1.")


def test_the_folder_of_envtest_is_taken_first(
    environment: Mapping[str, str], tmp_path: Path
) -> None:
    cache = built(environment, tmp_path)
    folder = fill(tmp_path / "envtest", *ENVTEST)

    found = assets.find_assets({**environment, "KUBEBUILDER_ASSETS": str(folder)})

    assert (found.etcd, found.kube_apiserver) == (folder / "etcd", folder / "kube-apiserver")
    assert found.kubectl == folder / "kubectl"
    # envtest does not have this program.
    assert found.controller_manager == cache / "kube-controller-manager"


def test_a_controller_manager_may_be_lacking(
    environment: Mapping[str, str], tmp_path: Path
) -> None:
    folder = fill(tmp_path / "envtest", *ENVTEST)

    found = assets.find_assets({**environment, "KUBEBUILDER_ASSETS": str(folder)})

    assert found.controller_manager is None


def test_a_folder_that_lacks_something_is_passed_over_aloud(
    environment: Mapping[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cache = built(environment, tmp_path)
    folder = fill(tmp_path / "envtest", "etcd", "kubectl")

    found = assets.find_assets({**environment, "KUBEBUILDER_ASSETS": str(folder)})

    assert found.etcd == cache / "etcd"
    assert "lacks kube-apiserver" in capsys.readouterr().err


def test_a_cache_of_another_go_module_is_built_anew(
    environment: Mapping[str, str], tmp_path: Path
) -> None:
    cache = built(environment, tmp_path)
    (cache / assets.STAMP).write_text("another", encoding="utf-8")
    (cache / "left-over").touch()

    assert built(environment, tmp_path) == cache

    assert assets.is_complete(cache)
    assert not (cache / "left-over").exists()
    assert [path.name for path in cache.parent.iterdir() if path.is_dir()] == [cache.name]


@pytest.mark.parametrize(
    ("go", "told"),
    [
        pytest.param(None, "there is no go", id="none"),
        pytest.param("echo go1.25.9", "is go1.25.9", id="old"),
        pytest.param("exit 1", "is broken", id="broken"),
    ],
)
def test_without_a_go_that_can_build_one_line_says_what_to_do(
    environment: Mapping[str, str], tmp_path: Path, go: str | None, told: str
) -> None:
    if go is not None:
        put_go(tmp_path, go)

    with pytest.raises(AssetsError) as caught:
        assets.find_assets(environment)

    message = str(caught.value)
    assert told in message
    assert "install Go 1.26 or newer" in message
    assert "KUBEBUILDER_ASSETS" in message
    assert str(assets.cache_folder(environment)) in message
    assert "\n" not in message


def test_a_build_that_fails_says_why_and_leaves_nothing(
    environment: Mapping[str, str], tmp_path: Path
) -> None:
    put_go(
        tmp_path,
        'if [ "$1" = env ]; then echo go1.26.0; exit; fi',
        "echo no space left on device; exit 1",
    )

    with pytest.raises(AssetsError, match="etcd failed: no space left on device"):
        assets.find_assets(environment)

    cache = assets.cache_folder(environment)
    assert [path for path in cache.parent.iterdir() if path.is_dir()] == []


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends children with their parents")
def test_a_process_ends_with_its_parent(tmp_path: Path) -> None:
    script = (
        "import time; from pathlib import Path\n"
        "from tests.e2e.controlplane.processes import Child\n"
        f"child = Child('sleep', ['sleep', '300'], log=Path({str(tmp_path)!r}) / 'log')\n"
        "print(child.pid, flush=True); time.sleep(300)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=Path(__file__).parent.parent.parent,
        stdout=subprocess.PIPE,
        text=True,
    )
    with parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert is_running(child)

        parent.send_signal(signal.SIGKILL)

    def child_is_gone() -> None:
        assert not is_running(child)

    eventually(child_is_gone, within_seconds=10)
