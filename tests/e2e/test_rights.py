"""
The rights of the installed ServiceAccount, as a real authorizer sees them.

They are those of the documented table, no others; and each of them is used.
"""

import http.client
import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.docs.rights import Right, rights
from tests.e2e.controlplane.api import Api, ApiError
from tests.e2e.controlplane.assets import find_assets
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import CURRENT, Crd, schema, version
from tests.e2e.installing import ROOT, account_api, apply
from tests.e2e.needed_rights import (
    BY_CONDITION,
    CONVERTED,
    GRANTED_NOTHING,
    LEGACY,
    NEEDS,
    Need,
)
from tests.e2e.operating import Operator, espalier
from tests.e2e.taking_away import USER, without
from tests.e2e.waiting import eventually
from tests.e2e.webhooks import Webhook, converting
from tests.e2e.writes import ACCOUNT, NAMESPACE

pytestmark = pytest.mark.e2e

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
ROLES = "/apis/rbac.authorization.k8s.io/v1"
SIZE = {"size": {"type": "integer"}}
VERSIONS = [version("v1alpha1", schema(SIZE)), version("v1", schema(SIZE))]

# Only asked for past objects that a server cannot read and does not name; this one names them.
SELDOM = {("", "namespaces", "list")}

VERSION_OF = {"storagemigration.k8s.io": "v1beta1"}
# Of each verb: the method, and whether it is for one object.
METHODS = {
    "get": ("GET", True),
    "list": ("GET", False),
    "watch": ("GET", False),
    "create": ("POST", False),
    "update": ("PUT", True),
    "patch": ("PATCH", True),
    "delete": ("DELETE", True),
    "deletecollection": ("DELETE", False),
}

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


# The operator's rights on the objects of one group, as in the example of the manifests.
ROLE_OF_SOME = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {
        "name": "objects-of-some",
        "labels": {"rbac.espalier.dev/aggregate-to-operator": "true"},
    },
    "rules": [
        {
            "apiGroups": ["some.example.com"],
            "resources": ["*"],
            "verbs": ["get", "list", "watch", "update", "patch"],
        }
    ],
}


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


def beside() -> Iterator[tuple[str, str]]:
    """
    Yield, for each resource that the operator has rights on, the requests that it has none for.
    """
    for place in dict.fromkeys((r.namespace, r.group, r.resource) for r in rights()):
        namespace, group, resource = place
        granted = {
            verb
            for right in rights()
            if (right.group, right.resource) == (group, resource)
            for verb in right.verbs
        }
        version = VERSION_OF.get(group, "v1")
        prefix = f"/apis/{group}/{version}" if group else f"/api/{version}"
        prefix += f"/namespaces/{namespace}" if namespace else ""
        plural, _, subresource = resource.partition("/")
        collection, one = f"{prefix}/{plural}", f"{prefix}/{plural}/any"
        # Reviews are created, and nothing else.
        for verb, (method, on_one) in METHODS.items():
            if verb in granted or group == "authorization.k8s.io":
                continue
            if subresource and not on_one:
                continue
            path = f"{one}/{subresource}" if subresource else one if on_one else collection
            yield method, path + ("?watch=true" if verb == "watch" else "")


def test_everything_else_is_forbidden(plane: ControlPlane, kubeconfig: Path) -> None:
    api = account_api(plane, kubeconfig)
    allowed = []
    tried = [*dict.fromkeys((*FORBIDDEN, *beside()))]
    since = plane.audit.mark()
    for method, path in tried:
        body: dict[str, Any] | None = {} if method in {"POST", "PUT", "PATCH"} else None
        try:
            api.call(method, path, body)
        except ApiError as error:
            if error.status == http.client.FORBIDDEN:
                continue
        allowed.append(f"{method} {path}")

    assert allowed == []

    def refused() -> None:
        # As the authorizer has understood them: a path that it does not know would be no attempt.
        found = {
            (r.verb, r.group, r.resource, r.namespace, r.name)
            for r in plane.audit.requests(since)
            if r.user == USER and r.code == http.client.FORBIDDEN
        }
        on_resources = [path for _, path in tried if path != "/metrics"]
        assert len(found) == len(on_resources)
        assert {verb for verb, *_ in found} >= METHODS.keys()

    eventually(refused)


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


@pytest.fixture
def nobody_reviews(plane: ControlPlane) -> Iterator[None]:
    """
    Clusters grant reviews of one's own rights to everybody; here, the operator's role alone does.
    """
    path = f"{ROLES}/clusterrolebindings/system:basic-user"
    binding = plane.api.get(path)
    plane.api.delete(path)
    yield
    for field in ("resourceVersion", "uid", "creationTimestamp"):
        binding["metadata"].pop(field, None)
    plane.api.post(f"{ROLES}/clusterrolebindings", binding)


def test_the_table_of_needs_names_each_documented_right_and_tests_that_exist() -> None:
    documented = {(one.group, one.resource, verb) for one in rights() for verb in one.verbs}

    assert {(need.group, need.resource, need.verb) for need in NEEDS} == documented
    assert len(NEEDS) == len(documented)
    for need in NEEDS:
        path, _, name = need.test.partition("::")
        assert re.search(
            rf"^(async )?def {name}\(", (ROOT / path).read_text("utf-8"), re.MULTILINE
        ), name


class Worker:
    """
    One operator for all rights that are taken away in turn; each meets a new definition.
    """

    def __init__(self, plane: ControlPlane, kubeconfig: Path, webhook: Webhook) -> None:
        self._plane = plane
        self._webhook = webhook
        self._count = 0
        self._operator: Operator | None = None
        self._kubeconfig = kubeconfig

    def begin(self) -> None:
        """
        Start the operator, unless it runs.
        """
        if self._operator is None:
            self._operator = Operator(self._plane, self._kubeconfig, resync_seconds=2)

    def end(self) -> None:
        """
        See that the operator still works, and stop it.
        """
        assert self._operator is not None
        self.definition(LEGACY).wait_until_current(within_seconds=90)
        assert self._operator.stop() == 0

    def kill(self) -> None:
        """
        Stop the operator, whatever it does.
        """
        if self._operator is not None and self._operator.child.exit_code is None:
            self._operator.kill()

    def definition(self, work: str) -> Crd:
        """
        Give the operator something to do.
        """
        self._count += 1
        group = f"{'none' if work == GRANTED_NOTHING else 'some'}.example.com"
        crd = Crd(self._plane, f"tasks{self._count}", group)
        if work == LEGACY:
            crd.put_legacy([version("v1", schema(SIZE))], storage="v1")
            crd.add("v1", crd.object("v1", "dirty", spec={"size": 1, "junk": "treasure"}))
        else:
            crd.create(VERSIONS, storage="v1alpha1")
            crd.add("v1alpha1", crd.object("v1alpha1", "one", spec={"size": 1}))
            crd.set_versions(VERSIONS, storage="v1")
        if work == CONVERTED:
            conversion = {
                "clientConfig": self._webhook.client_config(),
                "conversionReviewVersions": ["v1"],
            }
            spec = {"conversion": {"strategy": "Webhook", "webhook": conversion}}
            self._plane.api.merge(crd.path, {"spec": spec})
        crd.label(mode="enforce")
        return crd


def failed_as_documented(plane: ControlPlane, need: Need, crd: Crd, since: dict[Path, int]) -> None:
    """
    See what the table has of a right that is missing.
    """
    if need.failure == BY_CONDITION:
        condition = crd.condition(CURRENT)
        assert condition is not None
        assert condition["reason"] == "Forbidden", condition
        assert need.resource in condition["message"], condition
        return
    wanted = (need.verb, need.group, need.resource)
    assert wanted in {
        (r.verb, r.group, r.resource)
        for r in plane.audit.requests(since)
        if r.user == USER and r.code == http.client.FORBIDDEN
    }


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("nobody_reviews")
def test_taking_any_single_right_away_breaks_what_is_documented(
    plane: ControlPlane, kubeconfig: Path, tmp_path: Path
) -> None:
    # Another test may have taken a role away.
    apply(plane)
    plane.kubectl("apply", "-f", "-", stdin=json.dumps(ROLE_OF_SOME))

    def aggregated() -> None:
        assert "some.example.com" in json.dumps(
            plane.api.get(f"{ROLES}/clusterroles/espalier-objects")
        )

    eventually(aggregated)
    by_resource = {(right.group, right.resource): right for right in rights()}
    webhook = Webhook(tmp_path, converting(lambda obj, wanted: {**obj, "apiVersion": wanted}))
    worker = Worker(plane, kubeconfig, webhook)
    try:
        for need in NEEDS:
            with without(plane, by_resource[need.group, need.resource], need.verb):
                since = plane.audit.mark()
                worker.begin()
                crd = worker.definition(need.work)
                look = partial(failed_as_documented, plane, need, crd, since)
                try:
                    eventually(look, within_seconds=60)
                except AssertionError as error:
                    error.add_note(f"without {need.verb} {need.resource}")
                    raise
        worker.end()
    finally:
        worker.kill()
        webhook.close()
