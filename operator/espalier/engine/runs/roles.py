"""
The roles that let the operator work on the objects of one definition, and on nothing else.

They grant what ``permissions`` asks for. Whatever an operator needs for all definitions is in its
manifests.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from espalier import names
from espalier.crd import Definition
from espalier.engine.policy.labels import Mode, read_policy
from espalier.engine.ports.records import resource_of
from espalier.engine.runs.permissions import (
    DEFINITIONS,
    SERVICE_ACCOUNT,
    Need,
    needs_on_objects,
    needs_to_read,
)
from espalier.paths import JSON

_API_GROUP = "rbac.authorization.k8s.io"
_API_VERSION = f"{_API_GROUP}/v1"


def roles_of(
    definition: Definition, *, namespaces: Sequence[str] = (), operator_namespace: str
) -> Iterator[dict[str, JSON]]:
    """
    Yield the roles for one definition, and bindings for those that are not aggregated.

    The labels of the definition count: mode ``observe`` only reads. Without a mode the roles are
    those for ``enforce``.

    Args:
        namespaces: The only ones to work on; those of the definition's annotation if empty.
        operator_namespace: Where the operator's ServiceAccount is.

    Yields:
        One ClusterRole that the operator's own aggregates; then a Role and a RoleBinding for each
        namespace.

    Raises:
        NoStorageVersionError: The definition has no storage version.
    """
    needs = _needs_of(definition, namespaces)
    name = f"espalier-{definition.name}"
    everywhere = [need for need in needs if not need.namespace]
    status = Need(DEFINITIONS, ("patch/status",), name=definition.name)
    yield {
        "apiVersion": _API_VERSION,
        "kind": "ClusterRole",
        "metadata": {"name": name, "labels": {names.AGGREGATION_LABEL: "true"}},
        "rules": [*_rules_of(everywhere), *_rules_of([status])],
    }
    for namespace in dict.fromkeys(need.namespace for need in needs if need.namespace):
        within = [need for need in needs if need.namespace == namespace]
        metadata: dict[str, JSON] = {"name": name, "namespace": namespace}
        yield {
            "apiVersion": _API_VERSION,
            "kind": "Role",
            "metadata": metadata,
            "rules": [*_rules_of(within)],
        }
        yield _binding_of(metadata, name, operator_namespace)


def _binding_of(metadata: dict[str, JSON], role: str, operator_namespace: str) -> dict[str, JSON]:
    account: JSON = {
        "kind": "ServiceAccount",
        "name": SERVICE_ACCOUNT,
        "namespace": operator_namespace,
    }
    return {
        "apiVersion": _API_VERSION,
        "kind": "RoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": _API_GROUP, "kind": "Role", "name": role},
        "subjects": [account],
    }


def _needs_of(definition: Definition, namespaces: Sequence[str]) -> tuple[Need, ...]:
    policy = read_policy(definition)
    if namespaces:
        policy = replace(policy, namespaces=tuple(namespaces))
    if policy.mode is Mode.OBSERVE:
        resource = resource_of(definition, definition.storage)
        return tuple(needs_to_read(resource, policy.namespaces))
    return tuple(needs_on_objects(definition, policy))


def _rules_of(needs: Sequence[Need]) -> Iterator[JSON]:
    """
    Yield one rule for each resource and subresource.
    """
    verbs: dict[tuple[str, str, str], list[JSON]] = {}
    for need in needs:
        for verb in need.verbs:
            plain, _, subresource = verb.partition("/")
            plural = need.resource.plural + (f"/{subresource}" if subresource else "")
            found = verbs.setdefault((need.resource.group, plural, need.name), [])
            if plain not in found:
                found.append(plain)
    for (group, resource, name), found in verbs.items():
        rule: dict[str, JSON] = {"apiGroups": [group], "resources": [resource], "verbs": found}
        if name:
            rule["resourceNames"] = [name]
        yield rule
