"""
A policy that refuses objects which were there before it.

It stands in for policy engines here: each of them judges whole objects, whatever a write changes.
"""

import pytest

from tests.e2e.admissions import Post, flipped, in_force, rules
from tests.e2e.conftest import MakeCrd, StartOperator
from tests.e2e.crds import CURRENT
from tests.e2e.operating import espalier
from tests.e2e.writes import ACCOUNT, NAMESPACE

pytestmark = pytest.mark.e2e

NAME = "roses-are-owned"
NOT_ESPALIER = {
    "name": "not-espalier",
    "expression": f"request.userInfo.username != 'system:serviceaccount:{NAMESPACE}:{ACCOUNT}'",
}


def test_a_policy_that_old_objects_violate_holds_the_run_until_the_operator_is_excepted(
    crd: MakeCrd, start_operator: StartOperator, admission: Post
) -> None:
    roses = crd("roses")
    flipped(roses, "old", "owned")
    mine = {"metadata": {"labels": {"owner": "ida"}}}
    roses.plane.api.merge(f"{roses.objects_path('v1')}/owned", mine)
    validation = {
        "expression": "'labels' in object.metadata && 'owner' in object.metadata.labels",
        "message": "it needs the label owner",
    }
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": rules(roses)},
        "validations": [validation],
    }
    binding = {"spec": {"policyName": NAME, "validationActions": ["Deny"]}}
    policy = "ValidatingAdmissionPolicy"
    path = admission("validatingadmissionpolicies", policy, NAME, {"spec": spec})
    admission("validatingadmissionpolicybindings", f"{policy}Binding", NAME, binding)
    in_force(roses, "old", lambda seen: validation["message"] in seen.get("refused", ""))
    start_operator()

    roses.label(mode="enforce")
    failed = roses.wait_for(CURRENT, "False", "Failed")["message"]

    words = f"422 Invalid, denied by {policy} '{NAME}' with binding '{NAME}'"
    assert f"1 object: {words} (default/old)" in failed
    rehearsed = espalier(roses.plane, "migrate", roses.name, "--dry-run", code=1)
    assert " ".join(f"default/old: {words}".split()) in " ".join(rehearsed.split())
    assert roses.stored_at() == {"v1alpha1": 1, "v1": 1}
    assert roses.stored_versions() == ["v1alpha1", "v1"]

    roses.plane.api.merge(path, {"spec": {"matchConditions": [NOT_ESPALIER]}})
    roses.wait_until_current(within_seconds=90)

    assert roses.stored_versions() == ["v1"]
    # It still holds for everybody else.
    in_force(roses, "old", lambda seen: validation["message"] in seen.get("refused", ""))
