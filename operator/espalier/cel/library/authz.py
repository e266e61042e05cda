"""
Functions that ask for permissions: declared, as the server declares them, but of no use to rules.

No rule of a schema has an ``authorizer``; the names and types only matter to errors.

Source:
    apiserver, ``pkg/cel/library/authz.go``.
"""

from typing import Final

from espalier.cel.signatures import Library, overload

_A: Final = "kubernetes.authorization.Authorizer"
_PATH: Final = "kubernetes.authorization.PathCheck"
_GROUP: Final = "kubernetes.authorization.GroupCheck"
_RESOURCE: Final = "kubernetes.authorization.ResourceCheck"
_DECISION: Final = "kubernetes.authorization.Decision"

AUTHORIZATION: Final[Library] = {
    "path": (overload("authorizer_path", f"{_A}.(string) -> {_PATH}"),),
    "group": (overload("authorizer_group", f"{_A}.(string) -> {_GROUP}"),),
    "serviceAccount": (overload("authorizer_serviceaccount", f"{_A}.(string, string) -> {_A}"),),
    "resource": (overload("groupcheck_resource", f"{_GROUP}.(string) -> {_RESOURCE}"),),
    "subresource": (overload("resourcecheck_subresource", f"{_RESOURCE}.(string) -> {_RESOURCE}"),),
    "namespace": (overload("resourcecheck_namespace", f"{_RESOURCE}.(string) -> {_RESOURCE}"),),
    "name": (overload("resourcecheck_name", f"{_RESOURCE}.(string) -> {_RESOURCE}"),),
    "check": (
        overload("pathcheck_check", f"{_PATH}.(string) -> {_DECISION}"),
        overload("resourcecheck_check", f"{_RESOURCE}.(string) -> {_DECISION}"),
    ),
    "errored": (overload("decision_errored", f"{_DECISION}.() -> bool"),),
    "error": (overload("decision_error", f"{_DECISION}.() -> string"),),
    "allowed": (overload("decision_allowed", f"{_DECISION}.() -> bool"),),
    "reason": (overload("decision_reason", f"{_DECISION}.() -> string"),),
    "fieldSelector": (
        overload("authorizer_fieldselector", f"{_RESOURCE}.(string) -> {_RESOURCE}"),
    ),
    "labelSelector": (
        overload("authorizer_labelselector", f"{_RESOURCE}.(string) -> {_RESOURCE}"),
    ),
}
"""The library."""
