"""
Schemas with the size and keywords of real ones, and valid and invalid objects for them.
"""

import json
from importlib import resources
from typing import Any, NamedTuple

import orjson

from benchmarks.shapes import Node, Shape, shapes
from espalier.paths import JSON

KUBERNETES = "1.37"
"""The Kubernetes version of the built-in schemas."""


class Subject(NamedTuple):
    """
    A schema, an object that satisfies it, and one that violates it in three places.
    """

    name: str
    schema: Node
    valid: Node
    invalid: Node


def subjects() -> tuple[Subject, ...]:
    """
    Return the three sizes of ``bench-schema``, with value validations at most nodes.
    """
    return tuple(map(constrained, shapes()))


def constrained(shape: Shape) -> Subject:
    """
    Return a shape with value validations at most nodes.
    """
    schema = _constrained(shape.schema, "")
    valid = _copy(shape.normal)
    _choose_entries(valid, schema)
    return Subject(shape.name, schema, valid, _spoilt(valid))


def unconstrained() -> tuple[Subject, ...]:
    """
    Return the three sizes of ``bench-schema`` unchanged, with types and formats only.
    """
    return tuple(
        Subject(shape.name, shape.schema, shape.normal, _spoilt(shape.normal)) for shape in shapes()
    )


def _constrained(node: Node, name: str) -> Node:
    match node:
        case {"properties": dict() as properties}:
            fields = {
                key: _constrained(child, key)
                for key, child in properties.items()
                if isinstance(child, dict)
            }
            always = [key for key, child in fields.items() if "default" in child]
            required: Node = {"required": [*always]} if always else {}
            return node | required | {"properties": {**fields}}
        case {"items": dict() as item}:
            return node | {"items": _constrained(item, name), "maxItems": 1_000}
        case {"additionalProperties": dict() as member}:
            return node | {"additionalProperties": _constrained(member, name), "maxProperties": 100}
        case {"type": "integer"}:
            return node | {"minimum": 0, "maximum": 1_000_000}
        case {"type": "string"}:
            return node | _constrained_text(node, name)
        case _:
            return node


def _constrained_text(node: Node, name: str) -> Node:
    if node.get("default"):
        return {"enum": [node["default"], "Other", "Another"]}
    # An API server refuses a default that violates its own schema, such as the empty string here.
    if "default" not in node and name in ("name", "key", "image"):
        return {"minLength": 1, "maxLength": 253, "pattern": r"^[a-z0-9]([-a-z0-9./:]*[a-z0-9])?"}
    return {"maxLength": 1_024}


def _choose_entries(value: JSON, node: JSON) -> None:
    # A field that has an enum now gets its first entry as the value.
    match value, node:
        case dict(), {"properties": dict() as properties}:
            for name, member in value.items():
                match properties.get(name):
                    case {"enum": [entry, *_]}:
                        value[name] = entry
                    case child:
                        _choose_entries(member, child)
        case list(), {"items": item}:
            for member in value:
                _choose_entries(member, item)
        case _:
            return


def _spoilt(valid: Node) -> Node:
    spoilt = _copy(valid)
    spec, status = spoilt["spec"], spoilt["status"]
    if isinstance(spec, dict) and isinstance(status, dict):
        first_text = next(name for name, member in spec.items() if isinstance(member, str))
        spec[first_text] = True
        status |= {"observedGeneration": "seven", "phase": 7}
    return spoilt


def _copy(value: Node) -> Node:
    copied: Node = orjson.loads(orjson.dumps(value))
    return copied


def deployment() -> Subject:
    """
    Return a Deployment, and its schema from ``kubernetes-validate``, without references.
    """
    folder = resources.files("kubernetes_validate").joinpath("kubernetes-json-schema")
    version = folder.joinpath(f"v{KUBERNETES}.0-local")
    raw = json.loads(version.joinpath("deployment-apps-v1.json").read_text("utf-8"))
    known = json.loads(version.joinpath("_definitions.json").read_text("utf-8"))["$defs"]
    valid = _deployment()
    invalid: Any = _copy(valid)
    del invalid["spec"]["selector"]
    invalid["spec"]["replicas"] = "two"
    invalid["spec"]["template"]["spec"]["containers"][0]["image"] = 1
    return Subject("Deployment", _inlined(raw, known), valid, invalid)


_EITHER = ("IntOrString", "Quantity")


def _inlined(node: JSON, known: dict[str, Node]) -> Node:
    if not isinstance(node, dict):
        raise TypeError(f"not a schema: {node}")
    reference = node.get("$ref")
    if isinstance(reference, str):
        name = reference.rpartition("/")[2]
        if name.rpartition(".")[2] in _EITHER:
            return {"x-kubernetes-int-or-string": True, "nullable": True}
        return _inlined(known[name], known)
    made: Node = {
        key: said
        for key, said in node.items()
        if key in ("enum", "format", "required", "x-kubernetes-list-type")
        or (key == "x-kubernetes-list-map-keys" and node.get("x-kubernetes-list-type") == "map")
    }
    match node.get("type"):
        case [str() as type_, "null"]:
            made |= {"type": type_, "nullable": True}
        case type_:
            made["type"] = type_
    properties = node.get("properties")
    if isinstance(properties, dict):
        made["properties"] = {key: _inlined(each, known) for key, each in properties.items()}
    for keyword in ("items", "additionalProperties"):
        if keyword in node:
            made[keyword] = _inlined(node[keyword], known)
    return made


def _deployment() -> Node:
    labels: Node = {"app.kubernetes.io/name": "web", "app.kubernetes.io/part-of": "shop"}
    probe: Node = {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 10}
    containers: list[JSON] = [
        {
            "name": name,
            "image": f"registry.example.com/shop/{name}:1.4.2",
            "args": ["--port=8080", "--verbose"],
            "env": [{"name": f"SETTING_{n}", "value": "on"} for n in range(4)],
            "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
            "resources": {
                "limits": {"memory": "256Mi"},
                "requests": {"cpu": "100m", "memory": "128Mi"},
            },
            "livenessProbe": probe,
            "readinessProbe": probe,
            "volumeMounts": [{"name": "config", "mountPath": "/etc/shop", "readOnly": True}],
            "securityContext": {"runAsNonRoot": True, "capabilities": {"drop": ["ALL"]}},
        }
        for name in ("web", "proxy")
    ]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "labels": labels,
            "creationTimestamp": "2026-01-02T03:04:05Z",
        },
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": labels},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%"}},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "containers": containers,
                    "serviceAccountName": "web",
                    "terminationGracePeriodSeconds": 30,
                    "tolerations": [{"key": "spot", "operator": "Exists", "effect": "NoSchedule"}],
                    "volumes": [{"name": "config", "configMap": {"name": "shop"}}],
                },
            },
        },
        "status": {
            "observedGeneration": 4,
            "replicas": 3,
            "conditions": [
                {
                    "type": "Available",
                    "status": "True",
                    "lastTransitionTime": "2026-01-02T03:05:00Z",
                    "reason": "MinimumReplicasAvailable",
                }
            ],
        },
    }


def as_json_schema(node: Any) -> Any:
    """
    Return a structural schema as JSON Schema.
    """
    # JSON Schema uses a list of types for OpenAPI's `nullable` and for int-or-string.
    if isinstance(node, list):
        return [*map(as_json_schema, node)]
    if not isinstance(node, dict):
        return node
    made = {
        name: {key: as_json_schema(child) for key, child in said.items()}
        if name == "properties"
        else as_json_schema(said)
        for name, said in node.items()
    }
    if node.get("x-kubernetes-int-or-string"):
        made["type"] = ["integer", "string"]
    if node.get("nullable"):
        types = made.get("type", [])
        made["type"] = [*(types if isinstance(types, list) else [types]), "null"]
    return made
