"""
Taking Espalier away: what it keeps stays until it is deleted on purpose.
"""

import json
from collections.abc import Iterator

import pytest

from tests.e2e.controlplane.running import ControlPlane, ControlPlaneError
from tests.e2e.crds import Crd, schema, version
from tests.e2e.installing import MANIFESTS, Kustomization, apply
from tests.e2e.operating import Operator, espalier
from tests.e2e.uninstalling import (
    SIZE,
    SPACE,
    archives,
    namespace_of,
    plane_with_controllers,
    pruned_relics,
    run_cleanup,
    traces_in,
    wait_until_guarded,
)
from tests.e2e.waiting import eventually
from tests.e2e.writes import ACCOUNT, NAMESPACE

pytestmark = pytest.mark.e2e

GUARD = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/espalier-keep-archives"


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    yield from plane_with_controllers()


def install(plane: ControlPlane, *components: str) -> None:
    """
    Install, and wait until the namespace is guarded and the aggregated role has its rules.
    """
    apply(plane, *components)
    plane.kubectl("apply", "-f", str(MANIFESTS / "examples" / "clusterrole.yaml"))

    def aggregated() -> None:
        roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles/espalier-objects"
        assert "widgets" in json.dumps(plane.api.get(roles).get("rules"))

    wait_until_guarded(plane)
    eventually(aggregated)


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


def test_after_the_component_cleanup_nothing_of_ours_is_left(plane: ControlPlane) -> None:
    install(plane)
    gears = Crd(plane, "gears", "example.com")
    gears.create([version("v1", schema(SIZE))], storage="v1")
    gears.add("v1", gears.object("v1", "wrong", spec={"size": 1}))
    gears.set_versions([version("v1", schema({"size": {"type": "string"}}))], storage="v1")
    plane.kubectl("apply", "-f", "-", stdin=espalier(plane, "rbac", gears.name))
    operator = Operator(plane, plane.service_account_kubeconfig(NAMESPACE, ACCOUNT))
    gears.label(mode="enforce")

    def annotated() -> None:
        assert b"espalier.dev/schema-violations" in gears.raw()["wrong"]

    eventually(annotated, within_seconds=60)
    assert operator.stop() == 0
    assert archives(plane)

    with Kustomization("cleanup") as overlay:
        plane.kubectl("apply", "-k", overlay.path)
        deployment = plane.api.get(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/espalier")
        assert deployment["spec"]["replicas"] == 0
        run_cleanup(plane)
        kept = "--selector=app.kubernetes.io/managed-by=espalier"
        everywhere = ("--all-namespaces", "--output=name", kept)
        assert plane.kubectl("get", "secrets,configmaps,leases", *everywhere) == ""
        plane.kubectl("delete", "-k", overlay.path)

    # What the person who grants rights has created.
    plane.kubectl("delete", "-f", str(MANIFESTS / "examples" / "clusterrole.yaml"))
    plane.kubectl("delete", "clusterrole", f"espalier-{gears.name}")
    assert namespace_of(plane) is None
    assert traces_in(plane) == set()


def test_without_the_label_everything_is_deleted(plane: ControlPlane) -> None:
    install(plane)

    plane.kubectl("label", "namespace", NAMESPACE, "espalier.dev/keep-")
    plane.kubectl("delete", "-k", str(MANIFESTS))

    assert namespace_of(plane) is None
    assert plane.etcd.count(f"/registry/secrets/{NAMESPACE}/") == 0
    assert plane.api.find(GUARD) is None
