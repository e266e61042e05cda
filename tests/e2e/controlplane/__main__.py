"""
The control plane from a shell.

``python -m tests.e2e.controlplane`` finds or builds the binaries and prints where they are;
``python -m tests.e2e.controlplane run -- COMMAND ...`` runs a command with ``KUBECONFIG`` set to a
control plane that lives as long as the command.
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
    Do what the arguments say.

    Returns:
        The exit code: that of the command; 3 if there is no control plane.
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
    # Else an end by SIGTERM would leave the folder behind.
    signal.signal(signal.SIGTERM, _exit)
    plane = ControlPlane(find_assets())
    try:
        plane.start()
        with subprocess.Popen(command, env=os.environ | _environment_of(plane)) as process:
            try:
                return process.wait()
            except KeyboardInterrupt:
                # The terminal has sent it to the command as well: let that end in its own way.
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
    # The demo shows what lies in etcd, and puts definitions there that no API takes any more.
    return {"KUBECONFIG": str(plane.kubeconfig), ETCD_VARIABLE: plane.etcd.url}


def _exit(number: int, frame: FrameType | None) -> NoReturn:
    del frame
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
