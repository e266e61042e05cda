"""
Use the control plane from a shell.

``python -m tests.e2e.controlplane`` finds or builds the binaries and prints their folder.
``python -m tests.e2e.controlplane run -- COMMAND ...`` starts a control plane, sets ``KUBECONFIG``
and runs a command; the control plane ends with the command.
"""

import os
import signal
import subprocess
import sys
from types import FrameType
from typing import NoReturn

from espalier.cli.demo.command import ETCD_VARIABLE
from tests.e2e.controlplane.assets import AssetsError, find_assets
from tests.e2e.controlplane.running import ControlPlane, ControlPlaneError

USAGE = "usage: python -m tests.e2e.controlplane [run -- COMMAND [ARGUMENT ...]]\n"
USAGE_ERROR = 2
UNREADY = 3
INTERRUPTED = 128 + signal.SIGINT


def main(arguments: list[str]) -> int:
    """
    Run with the arguments of the command line.

    Returns:
        The exit code of the command; 3 if the control plane could not be started.
    """
    try:
        match arguments:
            case []:
                return _show()
            case ["run", "--", *command] if command:
                return _run(command)
            case _:
                sys.stderr.write(USAGE)
                return USAGE_ERROR
    except (AssetsError, ControlPlaneError) as error:
        sys.stderr.write(f"{error}\n")
        return UNREADY
    except KeyboardInterrupt:
        return INTERRUPTED


def _show() -> int:
    assets = find_assets()
    paths = (assets.etcd, assets.kube_apiserver, assets.kubectl, assets.controller_manager)
    for path in paths:
        if path is not None:
            sys.stdout.write(f"{path}\n")
    return 0


def _run(command: list[str]) -> int:
    # Without this, SIGTERM would leave the temporary folder.
    signal.signal(signal.SIGTERM, _exit)
    plane = ControlPlane(find_assets())
    try:
        plane.start()
        with subprocess.Popen(command, env=os.environ | _environment_of(plane)) as process:
            try:
                return process.wait()
            except KeyboardInterrupt:
                # The terminal has sent the signal to the command too; wait until it ends by itself.
                return process.wait()
            except SystemExit:
                process.terminate()
                raise
    except FileNotFoundError as error:
        sys.stderr.write(f"{error.filename}: not found\n")
        return UNREADY
    finally:
        plane.stop()


def _environment_of(plane: ControlPlane) -> dict[str, str]:
    # The demo reads etcd, and writes definitions that no API accepts any more.
    return {"KUBECONFIG": str(plane.kubeconfig), ETCD_VARIABLE: plane.etcd.url}


def _exit(number: int, frame: FrameType | None) -> NoReturn:
    del frame
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
