"""
The permissions of the manifests, and the operator's message if they are not enough.
"""

import pytest

from tests.e2e.conftest import ROOT, MakeCrd
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import CURRENT, GROUP, schema, version
from tests.e2e.operating import Operator
from tests.e2e.waiting import throughout
from tests.e2e.writes import ACCOUNT, NAMESPACE

pytestmark = pytest.mark.e2e

EXAMPLE = ROOT / "manifests" / "examples" / "clusterrole.yaml"
VERSIONS = [version("v1alpha1", schema()), version("v1", schema())]


@pytest.mark.usefixtures("aggregation")
def test_a_group_that_nobody_granted_is_forbidden_until_the_example_is_applied(
    crd: MakeCrd, installed: ControlPlane, operator: Operator
) -> None:
    widgets = crd("widgets", "example.com")
    widgets.create(VERSIONS, storage="v1alpha1")
    widgets.add("v1alpha1", widgets.object("v1alpha1", "one", spec={}))
    widgets.set_versions(VERSIONS, storage="v1")

    widgets.label(mode="enforce")
    forbidden = widgets.wait_for(CURRENT, "False", "Forbidden")

    assert "may not get, list" in forbidden["message"]
    assert "kubectl create clusterrole" in forbidden["message"]

    def stays_up() -> None:
        assert operator.child.exit_code is None
        assert widgets.stored_at() == {"v1alpha1": 1}

    throughout(stays_up, seconds=3)

    installed.kubectl("apply", "-f", str(EXAMPLE))
    widgets.wait_until_current(within_seconds=60)
    assert widgets.stored_versions() == ["v1"]
    assert widgets.stored_at() == {"v1": 1}


@pytest.mark.usefixtures("aggregation", "operator")
def test_the_command_that_a_forbidden_crd_names_helps(
    crd: MakeCrd, installed: ControlPlane
) -> None:
    gears = crd("gears", "helped.example.com")
    gears.create(VERSIONS, storage="v1alpha1")
    gears.add("v1alpha1", gears.object("v1alpha1", "one", spec={}))
    gears.set_versions(VERSIONS, storage="v1")
    gears.label(mode="enforce")
    message = gears.wait_for(CURRENT, "False", "Forbidden")["message"]

    installed.shell(message.partition("Grant it: ")[2])

    gears.wait_until_current(within_seconds=60)
    assert gears.stored_at() == {"v1": 1}


@pytest.mark.parametrize(
    ("verb", "group", "resource"),
    [
        ("update", "apiextensions.k8s.io", "customresourcedefinitions"),
        ("delete", "apiextensions.k8s.io", "customresourcedefinitions"),
        ("list", "", "secrets"),
        ("delete", GROUP, "widgets"),
        ("create", GROUP, "widgets"),
        ("create", "rbac.authorization.k8s.io", "clusterroles"),
    ],
)
def test_the_account_may_not_do_more_than_it_needs(
    installed: ControlPlane, verb: str, group: str, resource: str
) -> None:
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}",
            "resourceAttributes": {"verb": verb, "group": group, "resource": resource},
        },
    }

    answer = installed.api.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", review)

    assert answer["status"]["allowed"] is False
