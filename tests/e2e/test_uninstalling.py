"""
Taking Espalier away: what it keeps stays until it is deleted on purpose.
"""

import json
from collections.abc import Iterator

import pytest

from tests.e2e.controlplane.assets import find_assets
from tests.e2e.controlplane.running import ControlPlane, ControlPlaneError
from tests.e2e.crds import Crd, Document, schema, version
from tests.e2e.installing import MANIFESTS, apply
from tests.e2e.operating import Operator, espalier
from tests.e2e.waiting import eventually
from tests.e2e.writes import ACCOUNT, NAMESPACE

pytestmark = pytest.mark.e2e

SIZE = {"size": {"type": "integer"}}
SPACE = f"/api/v1/namespaces/{NAMESPACE}"
GUARD = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/espalier-keep-archives"


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """
    A control plane of this module's own, with the controllers that uninstalling needs.
    """
    made = ControlPlane(find_assets(may_build=False))
    made.start()
    if not made.has_controller_manager:
        made.stop()
        pytest.skip(
            "namespaces are emptied by kube-controller-manager, which envtest's assets lack:"
            " unset KUBEBUILDER_ASSETS and run make control-plane"
        )
    made.start_controllers(
        "namespace-controller",
        "clusterrole-aggregation-controller",
    )
    yield made
    made.stop()


def install(plane: ControlPlane, *components: str) -> None:
    """
    Install, and wait until the namespace is guarded and the aggregated role has its rules.
    """
    apply(plane, *components)
    plane.kubectl("apply", "-f", str(MANIFESTS / "examples" / "clusterrole.yaml"))

    def guarded() -> None:
        with pytest.raises(ControlPlaneError, match="espalier-keep-archives"):
            plane.kubectl("delete", "namespace", NAMESPACE, "--dry-run=server")

    def aggregated() -> None:
        roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles/espalier-objects"
        assert "widgets" in json.dumps(plane.api.get(roles).get("rules"))

    eventually(guarded)
    eventually(aggregated)


def pruned_relics(plane: ControlPlane) -> Crd:
    """
    Have the operator prune a legacy definition into the archive, and stop the operator.
    """
    relics = Crd(plane, "widgets", "example.com")
    relics.put_legacy([version("v1", schema(SIZE))], storage="v1")
    relics.add("v1", relics.object("v1", "dirty", spec={"size": 2, "junk": {"old": "treasure"}}))
    operator = Operator(plane, plane.service_account_kubeconfig(NAMESPACE, ACCOUNT))
    relics.label(mode="enforce")
    relics.wait_until_current()
    operator.stop()
    assert relics.stored()["dirty"]["spec"] == {"size": 2}
    return relics


def archives(plane: ControlPlane) -> set[str]:
    """
    Name the Secrets in the namespace.
    """
    return {secret["metadata"]["name"] for secret in plane.api.get(f"{SPACE}/secrets")["items"]}


def namespace_of(plane: ControlPlane) -> Document | None:
    return plane.api.find(SPACE)


def test_delete_k_leaves_the_archives_and_restore_works_after_a_new_install(
    plane: ControlPlane,
) -> None:
    install(plane)
    relics = pruned_relics(plane)
    kept = archives(plane)
    assert kept

    with pytest.raises(ControlPlaneError) as refused:
        plane.kubectl("delete", "-k", str(MANIFESTS))

    assert str(refused.value).count("Error from server") == 1
    assert "it keeps the archives of pruned fields" in str(refused.value)
    assert f"kubectl label namespace {NAMESPACE} espalier.dev/keep-" in str(refused.value)
    space = namespace_of(plane)
    assert space is not None
    assert space["status"]["phase"] == "Active"
    assert archives(plane) == kept
    remaining = plane.kubectl(
        "get",
        "serviceaccounts,deployments,roles,rolebindings,clusterroles,clusterrolebindings",
        "--all-namespaces",
        "--selector=app.kubernetes.io/name=espalier",
        "--output=name",
    )
    assert remaining == ""

    install(plane)
    relics.label(mode=None)
    espalier(plane, "restore", relics.name)
    assert relics.stored()["dirty"]["spec"] == {"size": 2, "junk": {"old": "treasure"}}


def test_all_but_what_is_kept_is_deleted_without_an_error(plane: ControlPlane) -> None:
    install(plane)
    kept = archives(plane)

    plane.kubectl("delete", "-k", str(MANIFESTS), "--selector=!espalier.dev/keep")

    assert archives(plane) == kept
    assert plane.api.find(f"{SPACE}/serviceaccounts/{ACCOUNT}") is None
    # The guard stays with what it guards.
    assert plane.api.find(GUARD) is not None


def test_without_the_label_everything_is_deleted(plane: ControlPlane) -> None:
    install(plane)

    plane.kubectl("label", "namespace", NAMESPACE, "espalier.dev/keep-")
    plane.kubectl("delete", "-k", str(MANIFESTS))

    assert namespace_of(plane) is None
    assert plane.etcd.count(f"/registry/secrets/{NAMESPACE}/") == 0
    assert plane.api.find(GUARD) is None
