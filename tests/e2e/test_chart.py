"""
The Helm chart on a real API server: what is installed works, and uninstalling it loses nothing.
"""

from collections.abc import Iterator

import pytest
import yaml

from tests.charts.generating import CHART
from tests.charts.rendering import RenderingError, rendered, run_helm
from tests.charts.test_rendering import EVERYTHING
from tests.charts.tools import helm
from tests.e2e.controlplane.running import ControlPlane, ControlPlaneError
from tests.e2e.operating import espalier
from tests.e2e.uninstalling import (
    SPACE,
    archives,
    namespace_of,
    plane_with_controllers,
    pruned_relics,
    refusal_of_deletion,
    run_cleanup,
    traces_in,
    wait_until_guarded,
)
from tests.e2e.waiting import eventually
from tests.e2e.writes import ACCOUNT, NAMESPACE

pytestmark = pytest.mark.e2e

RELEASE = "espalier"
GRANTED = ("--set", "rbac.groups.example\\.com={widgets}")
# Of the Prometheus operator, which is not installed here.
FOREIGN_GROUP = "monitoring.coreos.com/"


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    helm()
    yield from plane_with_controllers()


def install(plane: ControlPlane, *arguments: str, namespace: str = "default") -> str:
    """
    Install the release, wait until the namespace is guarded, and return Helm's output.
    """
    output = run_helm(
        "install", RELEASE, str(CHART), "-n", namespace, *arguments, kubeconfig=plane.kubeconfig
    )
    wait_until_guarded(plane)
    return output


def uninstall(plane: ControlPlane, namespace: str = "default") -> None:
    run_helm("uninstall", RELEASE, "-n", namespace, kubeconfig=plane.kubeconfig)


def ours(plane: ControlPlane) -> set[str]:
    """
    Name what is left of the release.
    """
    return set(
        plane.kubectl(
            "get",
            "serviceaccounts,deployments,poddisruptionbudgets,roles,rolebindings,clusterroles,"
            "clusterrolebindings,validatingadmissionpolicies,validatingadmissionpolicybindings",
            "--all-namespaces",
            "--selector=app.kubernetes.io/name=espalier",
            "--output=name",
        ).split()
    )


GUARD = {
    "validatingadmissionpolicy.admissionregistration.k8s.io/espalier-keep-archives",
    "validatingadmissionpolicybinding.admissionregistration.k8s.io/espalier-keep-archives",
}


def test_every_field_is_known_to_the_server(plane: ControlPlane) -> None:
    plane.kubectl("apply", "-f", str(CHART.parents[1] / "manifests" / "namespace.yaml"))
    documents = [doc for doc in yaml.safe_load_all(rendered(EVERYTHING)) if doc is not None]
    served = [doc for doc in documents if not doc["apiVersion"].startswith(FOREIGN_GROUP)]

    output = plane.kubectl(
        "apply",
        "--dry-run=server",
        "--validate=strict",
        "-f",
        "-",
        stdin=yaml.safe_dump_all(served),
    )

    assert len(output.splitlines()) == len(served)
    assert "Warning" not in output
    plane.kubectl("delete", "namespace", NAMESPACE)


def test_after_an_uninstallation_the_archives_are_there_and_restore_works(
    plane: ControlPlane,
) -> None:
    notes = install(plane, *GRANTED)
    assert "kubectl label crd widgets.example.com espalier.dev/mode=observe" in notes
    relics = pruned_relics(plane)
    kept = archives(plane)
    assert kept

    uninstall(plane)

    assert archives(plane) == kept
    assert ours(plane) == GUARD
    with pytest.raises(ControlPlaneError, match="it keeps the archives of pruned fields"):
        plane.kubectl("delete", "namespace", NAMESPACE)

    install(plane, *GRANTED)
    relics.label(mode=None)
    espalier(plane, "restore", relics.name)
    assert relics.stored()["dirty"]["spec"] == {"size": 2, "junk": {"old": "treasure"}}


def test_a_second_release_is_refused(plane: ControlPlane) -> None:
    with pytest.raises(RenderingError, match='must equal "another": current value is "espalier"'):
        run_helm("install", "another", str(CHART), kubeconfig=plane.kubeconfig)

    assert plane.api.find(f"{SPACE}/serviceaccounts/{ACCOUNT}") is not None


def test_an_upgrade_keeps_the_archives(plane: ControlPlane) -> None:
    kept = archives(plane)
    assert kept

    run_helm(
        "upgrade",
        RELEASE,
        str(CHART),
        "--reuse-values",
        "--set",
        "settings.maxRuns=2,networkPolicy.enabled=true,pdb.enabled=false",
        kubeconfig=plane.kubeconfig,
    )

    assert archives(plane) == kept
    deployment = plane.api.get(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/espalier")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert {"name": "ESPALIER_MAX_RUNS", "value": "2"} in container["env"]
    assert "poddisruptionbudget.policy/espalier" not in ours(plane)


def test_after_the_cleanup_an_uninstallation_leaves_nothing(plane: ControlPlane) -> None:
    run_helm(
        "upgrade",
        RELEASE,
        str(CHART),
        "--reuse-values",
        "--set",
        "cleanup.enabled=true",
        kubeconfig=plane.kubeconfig,
    )
    deployment = plane.api.get(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/espalier")
    assert deployment["spec"]["replicas"] == 0
    run_cleanup(plane)
    assert archives(plane) == set()

    uninstall(plane)

    def gone() -> None:
        assert namespace_of(plane) is None

    eventually(gone, within_seconds=60)
    plane.kubectl("delete", "crd", "widgets.example.com")
    assert ours(plane) == set()
    assert traces_in(plane) == set()


def test_the_namespace_of_the_release_is_guarded_by_its_name(plane: ControlPlane) -> None:
    install(plane, "--create-namespace", *GRANTED, namespace=NAMESPACE)
    espalier_pause = ("create", "configmap", "espalier-pause", "-n", NAMESPACE)
    plane.kubectl(*espalier_pause)

    uninstall(plane, NAMESPACE)

    assert ours(plane) == GUARD
    assert plane.api.find(f"{SPACE}/configmaps/espalier-pause") is not None
    assert "espalier.dev/keep=false" in refusal_of_deletion(plane)

    plane.kubectl("label", "namespace", NAMESPACE, "espalier.dev/keep=false")
    plane.kubectl("delete", "namespace", NAMESPACE)
    assert namespace_of(plane) is None
