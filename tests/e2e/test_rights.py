"""
The rights of the installed ServiceAccount, as a real authorizer sees them.

They are those of the documented table, no others; and each of them is used.
"""

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docs.rights import Right, rights
from tests.e2e.controlplane.api import Api, ApiError
from tests.e2e.controlplane.assets import find_assets
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import CURRENT, Crd, schema, version
from tests.e2e.installing import account_api, apply
from tests.e2e.operating import Operator, espalier
from tests.e2e.waiting import eventually
from tests.e2e.writes import ACCOUNT, NAMESPACE

pytestmark = pytest.mark.e2e

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
ROLES = "/apis/rbac.authorization.k8s.io/v1"
SIZE = {"size": {"type": "integer"}}
VERSIONS = [version("v1alpha1", schema(SIZE)), version("v1", schema(SIZE))]

# Only asked for past objects that a server cannot read and does not name; this one names them.
SELDOM = {("", "namespaces", "list")}

CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
OWN = f"/api/v1/namespaces/{NAMESPACE}"
FORBIDDEN = [
    ("POST", CRD),
    ("PUT", f"{CRD}/any"),
    ("PATCH", f"{CRD}/any"),
    ("DELETE", f"{CRD}/any"),
    ("DELETE", CRD),
    ("PUT", f"{CRD}/any/status"),
    ("GET", f"{CRD}/any/status"),
    ("GET", "/api/v1/secrets"),
    ("GET", "/api/v1/namespaces/default/secrets"),
    ("GET", "/api/v1/namespaces/kube-system/secrets/any"),
    ("POST", "/api/v1/namespaces/default/secrets"),
    ("PUT", f"{OWN}/secrets/any"),
    ("PATCH", f"{OWN}/secrets/any"),
    ("DELETE", f"{OWN}/secrets/any"),
    ("DELETE", f"{OWN}/secrets"),
    ("GET", f"{OWN}/secrets?watch=true"),
    ("GET", "/api/v1/configmaps"),
    ("GET", "/api/v1/namespaces/kube-system/configmaps/any"),
    ("POST", "/api/v1/namespaces/default/configmaps"),
    ("DELETE", f"{OWN}/configmaps/any"),
    ("DELETE", f"{OWN}/configmaps"),
    ("PATCH", f"{OWN}/configmaps/any"),
    ("GET", "/apis/coordination.k8s.io/v1/leases"),
    ("POST", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"),
    ("PATCH", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/any"),
    ("DELETE", f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/any"),
    ("POST", "/api/v1/namespaces/kube-system/events"),
    ("GET", "/api/v1/namespaces/default/events"),
    ("GET", f"{OWN}/pods"),
    ("POST", f"{OWN}/pods"),
    ("POST", f"{OWN}/pods/any/exec"),
    ("POST", f"{OWN}/serviceaccounts/espalier/token"),
    ("POST", "/api/v1/namespaces"),
    ("GET", "/api/v1/namespaces/default"),
    ("DELETE", f"{OWN}"),
    ("PATCH", f"{OWN}"),
    ("GET", "/api/v1/nodes"),
    ("GET", f"{ROLES}/clusterroles"),
    ("POST", f"{ROLES}/clusterrolebindings"),
    ("PATCH", f"{ROLES}/clusterroles/espalier-objects"),
    ("POST", f"{ROLES}/namespaces/{NAMESPACE}/rolebindings"),
    ("GET", "/apis/example.com/v1/gears"),
    ("POST", "/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations"),
    ("DELETE", "/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations/any"),
    ("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews"),
    ("POST", "/apis/authentication.k8s.io/v1/tokenreviews"),
    ("POST", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"),
    ("GET", "/apis/apps/v1/deployments"),
    ("PATCH", f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/espalier"),
    ("GET", "/metrics"),
]


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """
    A control plane of this module's own, on which nothing is granted but the manifests.
    """
    made = ControlPlane(find_assets(may_build=False))
    made.start()
    if not made.has_controller_manager:
        made.stop()
        pytest.skip(
            "roles are aggregated by kube-controller-manager, which envtest's assets lack:"
            " unset KUBEBUILDER_ASSETS and run make control-plane"
        )
    made.start_controllers("clusterrole-aggregation-controller")
    apply(made)
    made.kubectl("create", "serviceaccount", "nothing", "--namespace", NAMESPACE)
    yield made
    made.stop()


@pytest.fixture(scope="module")
def kubeconfig(plane: ControlPlane) -> Path:
    return plane.service_account_kubeconfig(NAMESPACE, ACCOUNT)


Rule = tuple[str, str, str, str]


def reviewed(api: Api, namespace: str) -> set[Rule]:
    """
    Group, resource, name and verb of what an account may do in a namespace.
    """
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": namespace},
    }
    status = api.post(REVIEWS, body)["status"]
    assert not status["incomplete"]
    return {
        (group, resource, name, verb)
        for rule in status["resourceRules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for name in rule.get("resourceNames") or [""]
        for verb in rule["verbs"]
    }


def documented(namespace: str) -> set[Rule]:
    return {
        (right.group, right.resource, name, verb)
        for right in rights()
        if right.namespace in {"", namespace}
        for name in right.names or [""]
        for verb in right.verbs
    }


@pytest.mark.parametrize("namespace", [NAMESPACE, "default", "kube-system"])
def test_the_authorizer_grants_the_documented_table(
    plane: ControlPlane, kubeconfig: Path, namespace: str
) -> None:
    nothing = account_api(plane, plane.service_account_kubeconfig(NAMESPACE, "nothing"))
    everybody = reviewed(nothing, namespace)

    def settled() -> None:
        ours = reviewed(account_api(plane, kubeconfig), namespace)
        assert ours - everybody == documented(namespace) - everybody

    eventually(settled)


def test_everything_else_is_forbidden(plane: ControlPlane, kubeconfig: Path) -> None:
    api = account_api(plane, kubeconfig)
    allowed = []
    for method, path in FORBIDDEN:
        body: dict[str, Any] | None = {} if method in {"POST", "PUT", "PATCH"} else None
        try:
            api.call(method, path, body)
        except ApiError as error:
            if error.status == http.client.FORBIDDEN:
                continue
        allowed.append(f"{method} {path}")

    assert allowed == []
    assert len(FORBIDDEN) >= 40


def grant(plane: ControlPlane, crd: Crd) -> None:
    """
    Apply what ``espalier rbac`` prints, and wait until it is aggregated.
    """
    plane.kubectl("apply", "-f", "-", stdin=espalier(plane, "rbac", crd.name))

    def aggregated() -> None:
        assert crd.plural in json.dumps(plane.api.get(f"{ROLES}/clusterroles/espalier-objects"))

    eventually(aggregated)


def used(plane: ControlPlane) -> set[tuple[Right, str]]:
    """
    The documented rights that the operator has used, each with one of its verbs.
    """
    requests = {
        (r.namespace, r.group, r.resource, r.verb)
        for r in plane.audit.requests()
        if r.user == f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}"
        and r.code < http.client.BAD_REQUEST
    }
    return {
        (right, verb)
        for right in rights()
        for verb in right.verbs
        for namespace, *rest in requests
        if right.namespace in {"", namespace} and rest == [right.group, right.resource, verb]
    }


def test_each_documented_right_is_used(plane: ControlPlane, kubeconfig: Path) -> None:
    relics = Crd(plane, "relics", "rights.example.com")
    relics.put_legacy([version("v1", schema(SIZE))], storage="v1")
    relics.add("v1", relics.object("v1", "dirty", spec={"size": 1, "junk": "treasure"}))
    # Its condition is of an older server, so that the operator repairs it.
    relics.drop_condition("NonStructuralSchema")
    grant(plane, relics)
    # What the rules do not show is asked for right by right.
    strange = Crd(plane, "strange", "rights.example.com")
    strange.create(VERSIONS, storage="v1")
    operator = Operator(plane, kubeconfig, structural_grace_seconds=1)
    strange.label(mode="enforce")
    strange.wait_for(CURRENT, "False", "Forbidden", within_seconds=60)
    relics.label(mode="enforce")
    relics.wait_until_current(within_seconds=60)
    relics.add("v1", relics.object("v1", "later", spec={"size": 2, "junk": "late"}))

    def pruned() -> None:
        assert relics.stored()["later"]["spec"] == {"size": 2}

    eventually(pruned, within_seconds=60)
    assert operator.stop() == 0

    def all_used() -> None:
        wanted = {
            (right, verb)
            for right in rights()
            for verb in right.verbs
            if (right.group, right.resource, verb) not in SELDOM
        }
        assert wanted - used(plane) == set()

    # The audit log has a watch once the watch has ended.
    eventually(all_used)


def test_roles_of_one_definition_are_enough_for_it_and_for_no_other(
    plane: ControlPlane, kubeconfig: Path
) -> None:
    plane.api.delete(f"{ROLES}/clusterrolebindings/espalier-structural")
    gears, wheels = (Crd(plane, name, "rights.example.com") for name in ("gears", "wheels"))
    for each in (gears, wheels):
        each.create(VERSIONS, storage="v1alpha1")
        each.add("v1alpha1", each.object("v1alpha1", "one", spec={}))
        each.set_versions(VERSIONS, storage="v1")
        each.label(mode="enforce")
    grant(plane, gears)
    operator = Operator(plane, kubeconfig, structural="off")

    gears.wait_until_current(within_seconds=60)

    assert gears.stored_versions() == ["v1"]
    assert wheels.condition(CURRENT) is None
    assert wheels.stored_at() == {"v1alpha1": 1}

    def named() -> None:
        log = operator.child.log.read_text(encoding="utf-8")
        assert "wheels.rights.example.com" in log
        assert "customresourcedefinitions/status" in log

    eventually(named)
    assert operator.stop() == 0
