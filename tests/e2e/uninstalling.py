"""
What the tests of uninstalling ask: what is kept, what is refused, and what is left in etcd.
"""

from collections.abc import Iterator

import pytest

from tests.e2e.controlplane.assets import find_assets
from tests.e2e.controlplane.running import ControlPlane, ControlPlaneError
from tests.e2e.crds import Crd, Document, schema, version
from tests.e2e.operating import Operator, espalier
from tests.e2e.waiting import eventually
from tests.e2e.writes import ACCOUNT, NAMESPACE

SIZE = {"size": {"type": "integer"}}
SPACE = f"/api/v1/namespaces/{NAMESPACE}"


def plane_with_controllers() -> Iterator[ControlPlane]:
    """
    Start a control plane of a module's own, with the controllers that uninstalling needs.
    """
    made = ControlPlane(find_assets(may_build=False))
    made.start()
    if not made.has_controller_manager:
        made.stop()
        pytest.skip(
            "namespaces are emptied by kube-controller-manager, which envtest's assets lack:"
            " unset KUBEBUILDER_ASSETS and run make control-plane"
        )
    made.start_controllers("namespace-controller", "clusterrole-aggregation-controller")
    yield made
    made.stop()


def refusal_of_deletion(plane: ControlPlane) -> str:
    """
    Return why the namespace may not be deleted; empty if it may.
    """
    try:
        plane.kubectl("delete", "namespace", NAMESPACE, "--dry-run=server")
    except ControlPlaneError as error:
        return str(error)
    return ""


def wait_until_guarded(plane: ControlPlane) -> None:
    """
    Wait until the namespace of the archives cannot be deleted any more.
    """

    def guarded() -> None:
        assert "espalier-keep-archives" in refusal_of_deletion(plane)

    eventually(guarded)


def pruned_relics(plane: ControlPlane) -> Crd:
    """
    Have the operator prune a legacy definition into the archive, and stop the operator.
    """
    relics = Crd(plane, "widgets", "example.com")
    relics.put_legacy([version("v1", schema(SIZE))], storage="v1")
    relics.add("v1", relics.object("v1", "dirty", spec={"size": 2, "junk": {"old": "treasure"}}))
    operator = Operator(plane, plane.service_account_kubeconfig(NAMESPACE, ACCOUNT))
    relics.label(mode="enforce")
    relics.wait_until_current(within_seconds=90)
    assert operator.stop() == 0
    assert relics.stored()["dirty"]["spec"] == {"size": 2}
    return relics


def archives(plane: ControlPlane) -> set[str]:
    """
    Name the Secrets in the namespace.
    """
    return {secret["metadata"]["name"] for secret in plane.api.get(f"{SPACE}/secrets")["items"]}


def namespace_of(plane: ControlPlane) -> Document | None:
    return plane.api.find(SPACE)


def run_cleanup(plane: ControlPlane) -> None:
    """
    Run the command of the Job as its ServiceAccount, since no kubelet does.
    """
    job = plane.api.get(f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs/espalier-cleanup")
    pod = job["spec"]["template"]["spec"]
    account = plane.service_account_kubeconfig(NAMESPACE, pod["serviceAccountName"])
    (container,) = pod["containers"]
    espalier(plane, *container["args"], kubeconfig=account)


def traces_in(plane: ControlPlane) -> set[str]:
    """
    The keys in etcd of whatever has one of our keys in it; Events expire by themselves.
    """
    return {
        key
        for key, value in plane.etcd.values("/registry/")
        if b"espalier.dev/" in value and not key.startswith("/registry/events/")
    }
