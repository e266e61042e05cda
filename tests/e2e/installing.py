"""
Install Espalier's manifests on a control plane of the test's own, with components.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self

from tests.e2e.controlplane.api import Api
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import Crd
from tests.e2e.writes import ACCOUNT, NAMESPACE

ROOT = Path(__file__).parent.parent.parent
MANIFESTS = ROOT / "manifests"


class Kustomization:
    """
    The manifests with more components, as an overlay in a temporary folder.
    """

    def __init__(self, *components: str) -> None:
        self._folder = TemporaryDirectory(prefix="espalier-overlay-")
        folder = Path(self._folder.name)
        document = {
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": [_from(folder, MANIFESTS)],
            "components": [_from(folder, MANIFESTS / "components" / name) for name in components],
        }
        (folder / "kustomization.yaml").write_text(json.dumps(document), encoding="utf-8")

    @property
    def path(self) -> str:
        """
        The folder, for ``kubectl -k``.
        """
        return self._folder.name

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._folder.cleanup()


def apply(plane: ControlPlane, *components: str, arguments: Sequence[str] = ()) -> str:
    """
    Apply the manifests with some components, and return kubectl's output.
    """
    with Kustomization(*components) as overlay:
        return plane.kubectl("apply", "-k", overlay.path, *arguments)


def token_of(kubeconfig: Path) -> str:
    """
    Return the bearer token in a kubeconfig that a control plane has written.
    """
    (user,) = json.loads(kubeconfig.read_text(encoding="utf-8"))["users"]
    return str(user["user"]["token"])


def account_api(plane: ControlPlane, kubeconfig: Path) -> Api:
    """
    Return a client for the first API server, with the rights of a kubeconfig.
    """
    return Api(plane.url, plane.ssl_context, token_of(kubeconfig))


def _from(folder: Path, target: Path) -> str:
    # kubectl accepts no absolute paths.
    return os.path.relpath(target, folder.resolve())


def grant_objects(crd: Crd) -> None:
    """
    Grant the operator's account what it needs for the objects of a definition.
    """
    api = "/apis/rbac.authorization.k8s.io/v1"
    head = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": crd.plural}}
    verbs = ["get", "list", "watch", "update", "patch"]
    rule = {"apiGroups": [crd.group], "resources": [crd.plural], "verbs": verbs}
    crd.plane.api.post(f"{api}/clusterroles", head | {"kind": "ClusterRole", "rules": [rule]})
    account = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": crd.plural}
    binding = {"kind": "ClusterRoleBinding", "subjects": [account], "roleRef": role}
    crd.plane.api.post(f"{api}/clusterrolebindings", head | binding)
