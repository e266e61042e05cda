"""
Run the operator and the commands as separate processes.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.e2e.controlplane.auditing import Request
from tests.e2e.controlplane.processes import Child
from tests.e2e.controlplane.running import ControlPlane
from tests.patience import PACE

COMMAND_SECONDS = 100.0
STOP_SECONDS = 15.0

# As short as possible, for tests that are not about these settings.
QUICK = {"ESPALIER_SETTLE_SECONDS": "1", "ESPALIER_PROGRESS_SECONDS": "0.5"}


class Operator:
    """
    ``python -m espalier operator``, with a kubeconfig and settings.

    Args:
        environment: More variables of its process.
    """

    def __init__(
        self,
        plane: ControlPlane,
        kubeconfig: Path,
        environment: Mapping[str, str] | None = None,
        /,
        **settings: object,
    ) -> None:
        self._plane = plane
        self._kubeconfig = kubeconfig
        self._environment = dict(environment or {})
        self._settings = _variables(settings)
        self.child = self._start()

    def restart(self, **settings: object) -> None:
        """
        Start the operator again after ``kill``, with other settings.
        """
        self._settings = _variables(settings)
        self.child = self._start()

    def kill(self) -> None:
        """
        End the operator with SIGKILL.
        """
        self.child.kill()

    def stop(self) -> int:
        """
        End the operator with SIGTERM, as a kubelet does.

        Returns:
            The exit code, negative for a signal.
        """
        return self.child.stop(grace_seconds=PACE.scaled(STOP_SECONDS))

    def _start(self) -> Child:
        environment = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("KUBE", "ESPALIER_"))
        }
        environment |= self._settings | {
            "KUBECONFIG": str(self._kubeconfig),
            "PYTHONUNBUFFERED": "1",
            **self._environment,
        }
        return self._plane.start_child(
            "operator", [sys.executable, "-m", "espalier", "operator"], environment=environment
        )


def espalier(
    plane: ControlPlane, *arguments: str, code: int = 0, kubeconfig: Path | None = None
) -> str:
    """
    Run a command.

    Args:
        code: The expected exit code.
        kubeconfig: Of an account; None for an administrator.

    Returns:
        The output of the command.
    """
    result = run_command(plane, *arguments, kubeconfig=kubeconfig)
    assert result.returncode == code, result.stdout + result.stderr
    return result.stdout


def run_command(
    plane: ControlPlane, *arguments: str, kubeconfig: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """
    Run a command, as an administrator if there is no kubeconfig, whatever its exit code.
    """
    return subprocess.run(
        [sys.executable, "-m", "espalier", *arguments],
        env=os.environ | {"KUBECONFIG": str(kubeconfig or plane.kubeconfig)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=PACE.scaled(COMMAND_SECONDS),
    )


def is_ours(request: Request) -> bool:
    """
    Report whether the operator made a request, with its own session or with Kopf's.
    """
    return request.user_agent.startswith(("espalier/", "kopf/"))


def _variables(settings: Mapping[str, object]) -> dict[str, str]:
    named = {f"ESPALIER_{name.upper()}": str(value) for name, value in settings.items()}
    return QUICK | named
