"""
The report that the operator keeps in the cluster, with the rights that the manifests grant.
"""

import json

import pytest

from tests.e2e.conftest import MakeCrd, StartOperator
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import schema, version
from tests.e2e.operating import espalier
from tests.e2e.waiting import eventually

pytestmark = pytest.mark.e2e

NAMESPACE = "espalier-system"
READER = "report-reader"
OBJECTS = 20


def test_who_may_read_nothing_but_the_report_sees_what_a_run_did(
    installed: ControlPlane, crd: MakeCrd, start_operator: StartOperator
) -> None:
    plane = installed
    start_operator(settle_seconds=1)
    plane.kubectl("create", "serviceaccount", READER, "-n", NAMESPACE)
    role = "--role=espalier-report-reader"
    subject = f"--serviceaccount={NAMESPACE}:{READER}"
    plane.kubectl("create", "rolebinding", READER, "-n", NAMESPACE, role, subject)
    reader = plane.service_account_kubeconfig(NAMESPACE, READER)
    dials = crd("dials")
    dials.create([version("v1alpha1", schema()), version("v1", schema())], storage="v1alpha1")
    dials.add("v1alpha1", *(dials.object("v1alpha1", f"d{n}", spec={}) for n in range(OBJECTS)))
    dials.set_versions([version("v1alpha1", schema()), version("v1", schema())], storage="v1")
    dials.label(mode="enforce")
    dials.wait_until_current()

    def kept() -> str:
        text = espalier(plane, "report", "--from-configmap", "-o", "json", kubeconfig=reader)
        (reported,) = [
            one for one in json.loads(text)["definitions"] if one["name"] == dials.name
        ] or [{}]
        assert [run["outcome"] for run in reported.get("runs", ())] == ["verified"]
        assert reported["runs"][0]["writes"]["rewritten"] == OBJECTS
        assert reported["storedVersions"] == ["v1"]
        return text

    # Twice the time between two writes, since the first may have been made right before the end.
    text = eventually(kept, within_seconds=150)

    # Neither names nor messages of conditions, which hold some.
    assert "message" not in text
    espalier(plane, "report", code=3, kubeconfig=reader)
