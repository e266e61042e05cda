"""
A small disk for etcd, which can be filled to its last byte.
"""

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

MIB = 1024 * 1024
STEPS = (64 * MIB, MIB, 4096)
INSIDE = "SOAK_HAS_MOUNTS_OF_ITS_OWN"


def enter_own_mounts(arguments: list[str]) -> bool:
    """
    Run this program again where it may mount, and where mounts end with it.

    Args:
        arguments: Of the interpreter.

    Returns:
        Whether this process may mount. If it cannot have mounts of its own, this returns False;
        if it can, it becomes the process that has them.
    """
    if INSIDE in os.environ:
        return True
    unshare = shutil.which("unshare")
    if unshare is None:
        return False
    # Without root, a user namespace permits the mount.
    private = [unshare, *([] if os.geteuid() == 0 else ["--map-root-user"]), "--mount"]
    probe = [*private, "/bin/sh", "-c", "mount -t tmpfs -o size=1m tmpfs /mnt"]
    if subprocess.run(probe, check=False, capture_output=True).returncode:
        return False
    os.environ[INSIDE] = "1"
    # In place of this process, so that whoever ends it ends the soak.
    return os.execv(unshare, [*private, sys.executable, *arguments])  # noqa: S606 - no shell


class SmallDisk:
    """
    A file system in memory.
    """

    def __init__(self, folder: Path, *, size_bytes: int) -> None:
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "tmpfs", str(folder)]
        subprocess.run(command, check=True)
        self.folder = folder
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        """
        Leave no byte free.
        """
        with self._ballast.open("wb") as file:
            end = 0
            for step in STEPS:
                try:
                    while True:
                        os.posix_fallocate(file.fileno(), end, step)
                        end += step
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise

    def free(self) -> None:
        """
        Give back what ``fill`` took.
        """
        self._ballast.unlink(missing_ok=True)

    def unmount(self) -> None:
        """
        End the file system, with all that is on it.
        """
        command = ["umount", "--lazy", str(self.folder)]
        subprocess.run(command, check=True)
