"""
OpenAPI documents (v3), as far as kubectl needs them: that servers validate fields themselves.

kubectl asks whether the PATCH of a kind takes ``fieldValidation``, and then leaves validation to
the server.

Source:
    client-go, ``openapi3/root.go``; cli-runtime, ``pkg/resource/query_param_verifier_v3.go``.
"""

from collections.abc import Iterable

from espalier.sandbox.kinds import Kind
from espalier.sandbox.wire import Object

PREFIX = "/openapi/v3"
_PARAMETERS = ("dryRun", "fieldManager", "fieldValidation")


def openapi_document(path: str, served: Iterable[Kind]) -> Object | None:
    """
    Return the document of a path below ``/openapi/v3``, or the index; None if there is none.
    """
    kinds = [*served]
    if path == PREFIX:
        roots = dict.fromkeys(map(_root, kinds))
        return {"paths": {root: {"serverRelativeURL": f"{PREFIX}/{root}"} for root in roots}}
    root = path.removeprefix(f"{PREFIX}/")
    own = [kind for kind in kinds if _root(kind) == root]
    if not own:
        return None
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "v1.37.2"},
        "paths": {_path(kind): {"patch": _patch(kind)} for kind in own},
        "components": {"schemas": {}},
    }


def _root(kind: Kind) -> str:
    return f"apis/{kind.group}/{kind.version}" if kind.group else f"api/{kind.version}"


def _path(kind: Kind) -> str:
    place = "/namespaces/{namespace}" if kind.namespaced else ""
    return f"/{_root(kind)}{place}/{kind.plural}/{{name}}"


def _patch(kind: Kind) -> Object:
    return {
        "parameters": [
            {"name": name, "in": "query", "schema": {"type": "string"}} for name in _PARAMETERS
        ],
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind": {
            "group": kind.group,
            "version": kind.version,
            "kind": kind.kind,
        },
    }
