"""
Check the image that the Dockerfile makes: ``python -m tests.release.image_check [FILE]``.

It is built twice over a base from Debian's packages, and the layers must be the same. Then the
operator runs from it as a kubelet would have it run: as user 65532, with a read-only root and the
token of its ServiceAccount, against a real API server. It must prove a migration. Needs root.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from tests.debian import CACHE
from tests.e2e.conftest import grant
from tests.e2e.controlplane.assets import find_assets
from tests.e2e.controlplane.processes import Child
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import CURRENT, GROUP, Crd, schema, version
from tests.e2e.installing import apply, token_of
from tests.e2e.waiting import eventually
from tests.e2e.writes import ACCOUNT, NAMESPACE, check_writes
from tests.release.buildah import Builder, ImageError

FOLDER = CACHE.parent / "image"
TAGS = ("localhost/espalier:first", "localhost/espalier:second")
USER = 65532
OBJECTS = 200
STOP_SECONDS = 20.0
RUN_SECONDS = 60.0
PROOF_SECONDS = 180.0
SIZE = {"size": {"type": "integer"}}

# What a container runtime does: a root that nobody can write, /proc, a few devices, the token.
_RUN = """\
set -e
root=$1; secrets=$2; shift 2
mount --bind "$root" "$root"
mount -o remount,bind,ro "$root"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for name in null zero random urandom; do
    touch "$root/dev/$name"
    mount --bind "/dev/$name" "$root/dev/$name"
done
mkdir "$root/dev/shm"; mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mkdir -p "$root/run/secrets/kubernetes.io"
cp -R "$secrets" "$root/run/secrets/kubernetes.io/serviceaccount"
exec chroot --userspec=65532:65532 "$root" "$@"
"""


def main(arguments: Sequence[str]) -> int:
    """
    Build, run and report.

    Args:
        arguments: A file for the image, as an OCI archive, if there is one.

    Returns:
        0 if everything is as it must be, else 1.
    """
    if os.geteuid() != 0 or sys.platform != "linux":
        sys.stderr.write("image-check needs root on Linux: it mounts, and changes its user\n")
        return 1
    builder = Builder(FOLDER)
    try:
        _report("base", _timed(builder.make_base))
        epoch = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
        for tag in TAGS:
            _report(f"build {tag}", _timed(partial(builder.build, tag, epoch=epoch)))
        _check_layers(builder)
        root = builder.mount(TAGS[0])
        _check_inside(root)
        _check_migration(root)
        for name in arguments:
            _report(name, _timed(partial(builder.export, TAGS[0], Path(name))))
    except (ImageError, AssertionError, subprocess.SubprocessError) as error:
        sys.stderr.write(f"FAILED: {error}\n")
        return 1
    return 0


def _check_layers(builder: Builder) -> None:
    first, second = (builder.layers(tag) for tag in TAGS)
    assert first == second, f"two builds differ: {first} and {second}"
    _report("two builds", f"the same {len(first)} layers, {', '.join(each[:19] for each in first)}")
    configuration = builder.inspect(TAGS[0])["OCIv1"]["config"]
    assert configuration["User"] == f"{USER}:{USER}"
    assert configuration["Entrypoint"] == ["python", "-m", "espalier"]


def _check_inside(root: Path) -> None:
    app = root / "app"
    sizes = {path.name: _size(path) for path in app.iterdir()}
    largest = sorted(sizes, key=lambda name: -sizes[name])[:5]
    shown = ", ".join(f"{name} {sizes[name] / 1e6:.0f}" for name in largest)
    _report("/app", f"{sum(sizes.values()) / 1e6:.0f} MB ({shown})")
    for name in ("LICENSE", "THIRD-PARTY-NOTICES.txt"):
        assert (app / name).is_file(), f"/app/{name} is missing"
    with _secrets({}) as secrets:
        text = _in_image(root, secrets, "python", "-m", "espalier", "version").stdout.strip()
        _report("version", text)
        script = "import os, pathlib; print(os.getuid()); pathlib.Path('/app/x').write_text('')"
        ended = _in_image(root, secrets, "python", "-c", script)
    assert ended.stdout.strip() == str(USER)
    assert "Read-only file system" in ended.stderr, ended.stderr
    _report("root", f"user {USER}, read-only")


def _check_migration(root: Path) -> None:
    plane = ControlPlane(find_assets(may_build=False))
    plane.start()
    try:
        apply(plane)
        if plane.has_controller_manager:
            plane.start_controllers("clusterrole-aggregation-controller")
        grant(plane, GROUP)
        versions = [version("v1", schema(SIZE)), version("v2", schema(SIZE))]
        widgets = Crd(plane, "widgets")
        widgets.create(versions, storage="v1")
        names = [f"widget-{number}" for number in range(OBJECTS)]
        widgets.add("v1", *(widgets.object("v1", name, spec={"size": 1}) for name in names))
        widgets.set_versions(versions, storage="v2")
        assert widgets.stored_at() == {"v1": OBJECTS}
        widgets.label(mode="enforce")
        start = time.monotonic()
        with _operator(plane, root) as child:
            eventually(partial(_check_proved, widgets, child), within_seconds=PROOF_SECONDS)
        seconds = time.monotonic() - start
        assert widgets.stored_at() == {"v2": OBJECTS}
        assert widgets.stored_versions() == ["v2"]
        check_writes(plane)
        _report("migration", f"{OBJECTS} objects proved at v2, v1 trimmed, after {seconds:.0f} s")
    finally:
        plane.stop()


def _check_proved(widgets: Crd, child: Child) -> None:
    if child.exit_code is not None:
        raise ImageError(f"the operator ended:\n{child.tail()}")
    condition = widgets.condition(CURRENT)
    assert condition is not None, "the definition has no condition"
    assert condition["status"] == "True", condition["message"]


@contextmanager
def _operator(plane: ControlPlane, root: Path) -> Iterator[Child]:
    """
    Run the operator in the image with the token of its account, until SIGTERM.
    """
    kubeconfig = plane.service_account_kubeconfig(NAMESPACE, ACCOUNT)
    cluster = json.loads(kubeconfig.read_text(encoding="utf-8"))["clusters"][0]["cluster"]
    files = {
        "token": token_of(kubeconfig),
        "ca.crt": Path(cluster["certificate-authority"]).read_text(encoding="utf-8"),
        "namespace": NAMESPACE,
    }
    address = urlsplit(plane.url)
    settings = {
        "KUBERNETES_SERVICE_HOST": str(address.hostname),
        "KUBERNETES_SERVICE_PORT": str(address.port),
        "ESPALIER_SETTLE_SECONDS": "1",
    }
    with _secrets(files) as secrets:
        command = _command(root, secrets, "python", "-m", "espalier", "operator", **settings)
        child = plane.start_child("image", [*command])
        try:
            yield child
            assert child.exit_code is None, child.tail()
        except AssertionError:
            sys.stderr.write(child.tail() + "\n")
            raise
        finally:
            code = child.stop(grace_seconds=STOP_SECONDS)
        assert code == 0, child.tail()


@contextmanager
def _secrets(files: Mapping[str, str]) -> Iterator[Path]:
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        for name, text in files.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        yield Path(folder)


def _in_image(root: Path, secrets: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        _command(root, secrets, *command),
        capture_output=True,
        text=True,
        check=False,
        timeout=RUN_SECONDS,
    )


def _command(root: Path, secrets: Path, *command: str, **environment: str) -> list[str]:
    variables = {"PATH": "/usr/local/bin:/usr/bin:/bin", "PYTHONPATH": "/app", **environment}
    given = [f"{name}={value}" for name, value in variables.items()]
    inside = ["env", "-i", *given, *command]
    private = ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", _RUN, "run"]
    return [*private, str(root), str(secrets), *inside]


def _size(path: Path) -> int:
    files = [path] if path.is_file() else path.rglob("*")
    return sum(each.lstat().st_size for each in files if not each.is_dir())


def _timed(work: Callable[[], object]) -> str:
    start = time.monotonic()
    work()
    return f"{time.monotonic() - start:.0f} s"


def _report(what: str, text: str) -> None:
    sys.stdout.write(f"{what}: {text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
