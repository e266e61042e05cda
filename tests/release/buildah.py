"""
Build the Dockerfile without a daemon: buildah and mmdebstrap from Debian's packages, unpacked.

The base is made from Debian's packages, since the one that the Dockerfile names is on a registry.
It has Python 3.11 and pip under the names that the Dockerfile uses.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.debian import CACHE, unpack
from tests.release.lock import ROOT

PACKAGES = ("buildah", "libgpgme11", "libassuan0", "mmdebstrap")
BASE = "localhost/python-from-debian:3.11"
SUITE = "bookworm"
IN_BASE = ("python3-minimal", "python3-pip", "python-is-python3", "ca-certificates")
BUILD_SECONDS = 1800.0

# Debian's pip refuses to install for the whole system; python:3.11-slim has no such file.
_CUSTOMIZE = 'rm -f "$1"/usr/lib/python3*/EXTERNALLY-MANAGED'

# Buildah starts itself again without its environment, so that LD_LIBRARY_PATH would not do.
_RUN = 'mount --bind "$1" /etc/ld.so.cache; shift; exec "$@"'


class ImageError(Exception):
    """
    An image could not be built or run; the message has the end of the output.
    """


class Builder:
    """
    Buildah with a store of its own.

    Attributes:
        folder: Holds the store, the base and the configuration.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        for package in PACKAGES:
            unpack(package)
        (folder / "policy.json").write_text('{"default": [{"type": "insecureAcceptAnything"}]}')
        (folder / "registries.conf").write_text("unqualified-search-registries = []\n")
        (folder / "pip.conf").write_text(_pip_configuration())
        self._find_libraries()

    def has(self, name: str) -> bool:
        """
        Report whether the store has an image.
        """
        listed: list[dict[str, Any]] = json.loads(self.run("images", "--json") or "[]")
        return any(name in (image.get("names") or ()) for image in listed)

    def make_base(self) -> None:
        """
        Make the base image from Debian's packages, unless it is there.
        """
        if self.has(BASE):
            return
        context = self.folder / "base"
        shutil.rmtree(context, ignore_errors=True)
        context.mkdir()
        command = [str(CACHE / "mmdebstrap" / "usr" / "bin" / "mmdebstrap"), "--mode=root"]
        command += ["--variant=minbase", f"--include={','.join(IN_BASE)}"]
        command += [f"--customize-hook={_CUSTOMIZE}", SUITE, str(context / "base.tar")]
        _checked(command, seconds=BUILD_SECONDS)
        (context / "Dockerfile").write_text("FROM scratch\nADD base.tar /\n")
        self.run("bud", "--tag", BASE, str(context))
        shutil.rmtree(context)

    def build(self, tag: str, *, epoch: int) -> None:
        """
        Build the Dockerfile of the repository from nothing.

        Args:
            epoch: The time of all files, in seconds.
        """
        command = ["bud", "--no-cache", "--timestamp", str(epoch), "--tag", tag]
        command += ["--build-arg", f"BUILD_IMAGE={BASE}", "--build-arg", f"PYTHON_IMAGE={BASE}"]
        # Where packages are found on this machine; nothing of it is in the image.
        command += ["--volume", f"{self.folder / 'pip.conf'}:/etc/pip.conf:ro"]
        command += ["--volume", "/etc/ssl/certs:/etc/ssl/certs:ro"]
        self.run(*command, "--ignorefile", str(ROOT / ".dockerignore"), str(ROOT))

    def layers(self, tag: str) -> list[str]:
        """
        Return the diff_ids of an image: the digests of its layers, not compressed.
        """
        found: list[str] = self.inspect(tag)["OCIv1"]["rootfs"]["diff_ids"]
        return found

    def inspect(self, tag: str) -> dict[str, Any]:
        """
        Return what buildah has about an image.
        """
        found: dict[str, Any] = json.loads(self.run("inspect", "--type", "image", tag))
        return found

    def export(self, tag: str, archive: Path) -> None:
        """
        Write an image as an OCI archive.
        """
        archive.unlink(missing_ok=True)
        self.run("push", tag, f"oci-archive:{archive}:{tag}")

    def mount(self, tag: str) -> Path:
        """
        Make a container of an image, and return its root.
        """
        container = self.run("from", "--pull-never", tag).strip()
        return Path(self.run("mount", container).strip())

    def run(self, *arguments: str) -> str:
        """
        Run buildah, and return its output.

        Raises:
            ImageError: It ended with an error.
        """
        store = ["--root", str(self.folder / "store"), "--runroot", str(self.folder / "run")]
        store += ["--storage-driver", "vfs"]
        store += ["--registries-conf", str(self.folder / "registries.conf")]
        subcommand, *others = arguments
        if subcommand in {"bud", "from", "push"}:
            others = ["--signature-policy", str(self.folder / "policy.json"), *others]
        if subcommand in {"bud", "from"}:
            others = ["--isolation", "chroot", *others]
        program = CACHE / "buildah" / "usr" / "bin" / "buildah"
        private = ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", _RUN, "run"]
        command = [*private, str(self.folder / "ld.so.cache"), str(program), *store]
        return _checked([*command, subcommand, *others], seconds=BUILD_SECONDS)

    def _find_libraries(self) -> None:
        folders = (CACHE / package / "usr" / "lib" for package in PACKAGES)
        found = [str(path) for folder in folders for path in folder.glob("*-linux-gnu")]
        configuration = self.folder / "ld.so.conf"
        configuration.write_text("include /etc/ld.so.conf\n" + "\n".join(found) + "\n")
        cache = str(self.folder / "ld.so.cache")
        _checked(["/sbin/ldconfig", "-f", str(configuration), "-C", cache], seconds=BUILD_SECONDS)


def _pip_configuration() -> str:
    """
    Return this machine's settings of pip that hold inside of a build, too.
    """
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
    ).stdout
    kept = {}
    for name, value in re.findall(r"^(?:global|:env:)\.([\w-]+)='(.*)'$", listed, re.MULTILINE):
        if name in {"cert", "default-timeout", "index-url", "trusted-host"}:
            kept[name.removeprefix("default-")] = value
    return "[global]\n" + "".join(f"{name} = {value}\n" for name, value in kept.items())


def _checked(command: Sequence[str], *, seconds: float) -> str:
    ended = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )
    if ended.returncode:
        output = (ended.stdout + ended.stderr).strip()
        raise ImageError(f"{Path(command[0]).name} failed:\n{output[-3000:]}")
    return ended.stdout
