"""
What the operator may write besides objects, in all that was asked of a control plane.
"""

from tests.e2e.controlplane.running import ControlPlane

NAMESPACE = "espalier-system"
ACCOUNT = "espalier"
CONDITIONS = ("apiextensions.k8s.io", "customresourcedefinitions/status", "")
BEYOND_OBJECTS = {
    CONDITIONS,
    ("authorization.k8s.io", "selfsubjectaccessreviews", ""),
    ("authorization.k8s.io", "selfsubjectrulesreviews", ""),
    ("coordination.k8s.io", "leases", NAMESPACE),
    ("", "configmaps", NAMESPACE),
    ("", "secrets", NAMESPACE),
    ("", "events", "default"),
}

Place = tuple[str, str, str]


def writes_of_account(plane: ControlPlane) -> set[Place]:
    """
    Return group, resource and namespace of what the operator's account has written.
    """
    return {
        (r.group, r.resource, r.namespace)
        for r in plane.audit.requests()
        if r.user == f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}" and r.is_mutating
    }


def check_writes(plane: ControlPlane) -> None:
    """
    Check that Kopf has written nothing, and the account nothing but what it is for.
    """
    theirs = [r for r in plane.audit.requests() if r.user_agent.startswith("kopf/")]
    assert [r for r in theirs if r.is_mutating] == []
    beyond = {place for place in writes_of_account(plane) if not place[0].endswith("example.com")}
    assert beyond <= BEYOND_OBJECTS
