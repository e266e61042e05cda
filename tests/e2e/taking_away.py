"""
Take one verb of a role away for a while.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.docs.rights import Right
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.waiting import eventually
from tests.e2e.writes import ACCOUNT, NAMESPACE

ROLES = "/apis/rbac.authorization.k8s.io/v1"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
USER = f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}"
GROUPS = ["system:serviceaccounts", f"system:serviceaccounts:{NAMESPACE}", "system:authenticated"]


def role_path(right: Right) -> str:
    if right.namespace:
        return f"{ROLES}/namespaces/{right.namespace}/roles/{right.role}"
    return f"{ROLES}/clusterroles/{right.role}"


def is_allowed(plane: ControlPlane, right: Right, verb: str) -> bool:
    """
    Ask the authorizer what the operator's account may do.
    """
    resource, _, subresource = right.resource.partition("/")
    attributes = {
        "group": right.group,
        "resource": resource,
        "subresource": subresource,
        "verb": verb,
        "namespace": right.namespace,
    }
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": USER, "groups": GROUPS, "resourceAttributes": attributes},
    }
    return bool(plane.api.post(REVIEWS, body)["status"]["allowed"])


@contextmanager
def without(plane: ControlPlane, right: Right, verb: str) -> Iterator[None]:
    """
    Take a verb of one rule away, and see that the authorizer knows; give it back in the end.
    """
    path = role_path(right)
    rules = plane.api.get(path)["rules"]

    def settled(*, allowed: bool) -> None:
        assert is_allowed(plane, right, verb) is allowed, f"{verb} {right.full_resource}"

    settled(allowed=True)
    plane.api.merge(path, {"rules": [*_rules_without(rules, right, verb)]})
    try:
        eventually(lambda: settled(allowed=False))
        yield
    finally:
        plane.api.merge(path, {"rules": rules})
        eventually(lambda: settled(allowed=True))


def _rules_without(rules: list[Any], right: Right, verb: str) -> Iterator[dict[str, Any]]:
    for rule in rules:
        if right.group not in rule["apiGroups"] or right.resource not in rule["resources"]:
            yield rule
            continue
        others = [one for one in rule["resources"] if one != right.resource]
        if others:
            yield {**rule, "resources": others}
        verbs = [one for one in rule["verbs"] if one != verb]
        if verbs:
            yield {**rule, "resources": [right.resource], "verbs": verbs}
