"""
Run the pods of Jobs without a kubelet: their commands as processes, their phases as they end.
"""

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from tests.e2e.controlplane.processes import Child
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import Document
from tests.e2e.replicas import credential_of
from tests.patience import PACE

NODE = "node-of-tests"
KILLED = 128 + 9
GRACE_SECONDS = 10.0

_FIELD = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")
_VARIABLE = re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_]*)\)")


@dataclass(slots=True)
class Running:
    """
    A pod whose command is running.

    Attributes:
        is_disrupted: Whether its end is that of its node, and not its own.
    """

    name: str
    child: Child
    is_disrupted: bool = False


class PodRunner:
    """
    Does for the pods of one namespace what a kubelet and a node's life cycle do.

    Attributes:
        credentials: The name of the pod by the credential with which its command asks.
        ended: The pods that have ended, each with its exit code, in this order.
    """

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        self._plane = plane
        self._namespace = namespace
        self._path = f"/api/v1/namespaces/{namespace}/pods"
        self._running: dict[str, Running] = {}
        self.credentials: dict[str, str] = {}
        self.ended: list[tuple[str, int]] = []

    @property
    def names(self) -> list[str]:
        """
        The pods whose commands are running.
        """
        return list(self._running)

    def look(self) -> dict[str, Document]:
        """
        Start new pods, end deleted ones, and write the status of those that have ended.

        Returns:
            The pods as they were before, by name.
        """
        pods = {pod["metadata"]["name"]: pod for pod in self._plane.api.get(self._path)["items"]}
        for name, pod in pods.items():
            is_deleted = "deletionTimestamp" in pod["metadata"]
            if pod["status"].get("phase") == "Pending" and name not in self._running:
                if not is_deleted:
                    self._start(name, pod)
            elif name in self._running:
                code = self._running[name].child.exit_code
                if code is None and is_deleted:
                    code = self._running[name].child.stop(grace_seconds=PACE.scaled(GRACE_SECONDS))
                if code is not None:
                    self._end(self._running.pop(name), pod, code)
            elif is_deleted and pod["spec"].get("nodeName"):
                self._plane.api.delete(f"{self._path}/{name}?gracePeriodSeconds=0")
        for name in self._running.keys() - pods.keys():
            # It was deleted before it was bound.
            self._running.pop(name).child.kill()
        return pods

    def kill(self, name: str, *, is_disrupted: bool = False) -> None:
        """
        End the command of a pod with SIGKILL, as for want of memory, or with its node.
        """
        running = self._running[name]
        running.is_disrupted = is_disrupted
        running.child.kill()

    def logs(self) -> str:
        """
        Return the ends of the logs of running pods.
        """
        return "\n".join(f"{one.name}: {one.child.tail()}" for one in self._running.values())

    def stop(self) -> None:
        """
        End all commands.
        """
        for running in self._running.values():
            running.child.kill()
        self._running.clear()

    def _start(self, name: str, pod: Document) -> None:
        target = {"apiVersion": "v1", "kind": "Node", "name": NODE}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}}
        self._plane.api.post(f"{self._path}/{name}/binding", {**binding, "target": target})
        account = pod["spec"]["serviceAccountName"]
        kubeconfig = self._plane.service_account_kubeconfig(
            self._namespace, account, suffix=f"-{name}"
        )
        self.credentials[credential_of(kubeconfig)] = name
        (container,) = pod["spec"]["containers"]
        variables = {one["name"]: _value_of(one, pod) for one in container.get("env") or ()}
        command = [
            _VARIABLE.sub(lambda match: variables[match[1]], argument)
            for argument in container["args"]
        ]
        child = self._plane.start_child(
            name,
            [sys.executable, "-m", "espalier", *command],
            environment={**os.environ, **variables, "KUBECONFIG": str(kubeconfig)},
        )
        self._running[name] = Running(name, child)
        self._report(name, {"phase": "Running"})

    def _end(self, running: Running, pod: Document, code: int) -> None:
        name, reported = running.name, 128 - code if code < 0 else code
        self.ended.append((name, reported))
        (container,) = pod["spec"]["containers"]
        terminated = {"exitCode": reported, "reason": "Error" if reported else "Completed"}
        status: Document = {
            "phase": "Failed" if reported else "Succeeded",
            "containerStatuses": [
                {
                    "name": container["name"],
                    "image": container["image"],
                    "imageID": "",
                    "ready": False,
                    "restartCount": 0,
                    "state": {"terminated": terminated},
                }
            ],
        }
        if running.is_disrupted:
            status["conditions"] = [{"type": "DisruptionTarget", "status": "True"}]
        self._report(name, status)
        if "deletionTimestamp" in pod["metadata"]:
            self._plane.api.delete(f"{self._path}/{name}?gracePeriodSeconds=0")

    def _report(self, name: str, status: Mapping[str, object]) -> None:
        self._plane.api.merge(f"{self._path}/{name}/status", {"status": dict(status)})


def _value_of(variable: Document, pod: Document) -> str:
    if "value" in variable:
        return str(variable["value"])
    field = _FIELD.fullmatch(variable["valueFrom"]["fieldRef"]["fieldPath"])
    assert field is not None, variable
    return str(pod["metadata"][field[1]][field[2]])
