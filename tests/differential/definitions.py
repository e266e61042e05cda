"""
Generate valid and invalid definitions, and updates that are close to them.
"""

from copy import deepcopy

from hypothesis import strategies as st

from espalier.paths import JSON
from tests.differential import schemas
from tests.differential.dice import Dice
from tests.differential.strategies import dice as dices
from tests.differential.worsening import Node

_CONVERSIONS: tuple[JSON, ...] = (
    {"strategy": "None"},
    {"strategy": "Odd"},
    {"strategy": "Webhook"},
    {
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": {"service": {"name": "n", "namespace": "s", "path": "/a"}},
            "conversionReviewVersions": ["v1"],
        },
    },
    {
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": {"url": "https://host/path", "service": {}},
            "conversionReviewVersions": ["v2", "v2", "_"],
        },
    },
    {
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": {"url": "http://user:word@host/path?q=1#f"},
            "conversionReviewVersions": ["v1beta1", "v1"],
        },
    },
    {
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": {"service": {"name": "", "namespace": "s", "port": 0, "path": "a//b"}},
            "conversionReviewVersions": [],
        },
    },
    {"strategy": "None", "webhook": {"conversionReviewVersions": ["v1"]}},
)
_NAMES: tuple[JSON, ...] = (
    {"plural": "foos", "kind": "Foo", "listKind": "Foo"},
    {"plural": "foos", "kind": "foo_", "shortNames": ["f", "F"]},
    {"plural": "Foos", "singular": "x.y", "kind": "Foo", "categories": ["all", ""]},
    {},
)
_SUBRESOURCES: tuple[JSON, ...] = (
    {"status": {}},
    {"status": {}},
    {"scale": {"specReplicasPath": ".spec.a", "statusReplicasPath": ".status.a"}},
    {"scale": {"specReplicasPath": "spec", "labelSelectorPath": ".x.y"}},
    {"status": {}, "scale": {"statusReplicasPath": ".spec.a", "labelSelectorPath": ".spec.a"}},
    {},
)
_COLUMNS: tuple[JSON, ...] = (
    [{"name": "a", "type": "string", "jsonPath": ".a"}],
    [{"name": "", "type": "odd", "format": "odd", "jsonPath": "a"}],
    [{"name": "a", "type": "", "format": "int32", "jsonPath": ""}],
    [],
)
_SELECTABLE: tuple[JSON, ...] = (
    [{"jsonPath": ".a"}, {"jsonPath": ".spec.a"}],
    [{"jsonPath": ".a"}, {"jsonPath": ".a"}, {"jsonPath": ""}],
    [{"jsonPath": ".metadata.name"}, {"jsonPath": "a"}, {"jsonPath": ".a['b']"}],
    [{"jsonPath": "."}, {"jsonPath": ".."}, {"jsonPath": "'a"}],
)
_METADATA: tuple[Node, ...] = (
    {"name": "bars.example.com"},
    {"name": "Foos.example.com", "labels": {"a/b/c": "x y", "/a": "", "ok": "-"}},
    {"generateName": "foos-"},
    {"name": "foos.example.com", "namespace": "x", "annotations": {"Ok": "", "_": "x"}},
    {"name": "foos.example.com", "finalizers": ["a b", "orphan", "foregroundDeletion"]},
    {
        "name": "foos.example.com",
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "Event", "name": "n", "uid": "u"},
            {"apiVersion": "a/b/c", "kind": "", "name": "", "uid": "", "controller": True},
            {"apiVersion": "a/", "kind": "A", "name": "b", "uid": "u", "controller": True},
        ],
        "generation": -1,
    },
    {
        "name": "foos.example.com",
        "managedFields": [
            {"operation": "Odd", "fieldsType": "Odd", "manager": "a\n"},
            {"operation": ""},
        ],
    },
)
_STATUSES: tuple[JSON, ...] = (
    {"storedVersions": ["v1"]},
    {"storedVersions": ["v0", "v2", "v0"]},
    {
        "storedVersions": ["v1"],
        "conditions": [
            {
                "type": "Established",
                "status": "True",
                "lastTransitionTime": "2020-01-01T00:00:00Z",
                "reason": "r",
                "message": "m",
            }
        ],
    },
    {"storedVersions": ["v1"], "acceptedNames": {"plural": "Foos", "kind": "Foo"}},
)
_APPROVALS = ("", "https://host/1", "unapproved", "odd")
_RULES: tuple[JSON, ...] = (
    {"rule": ""},
    {"rule": "true\n&& true", "reason": "Odd"},
    {"rule": "true", "message": " ", "fieldPath": ".a"},
    {"rule": "true", "message": "a\nb", "messageExpression": " ", "fieldPath": ".none"},
    {"rule": "true", "fieldPath": ".a['b']"},
    {"rule": "true", "fieldPath": " "},
)
_UNREADABLE: Node = {
    "id": "x",
    "$schema": "x",
    "$ref": "x",
    "patternProperties": {"a": {"type": "string"}},
    "dependencies": {"a": ["b"]},
    "additionalItems": True,
    "definitions": {"a": {"type": "odd"}},
    "items": [{"type": "string"}],
}


def definitions() -> st.SearchStrategy[Node]:
    """
    Make definitions, for the property tests.
    """
    return dices.map(definition)


def definition(dice: Dice) -> Node:
    """
    Return a definition that is mostly valid, except for its schemas.
    """
    spec: Node = {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "foos", "kind": "Foo"},
        "versions": _versions(dice),
    }
    for name, values in (
        ("conversion", _CONVERSIONS),
        ("names", _NAMES),
        ("group", ("", "example", "Foo.example.com", "foo.k8s.io", "kubernetes.io")),
        ("scope", ("", "Odd", "Cluster")),
    ):
        if dice.seldom(10):
            spec[name] = dice.pick(values)
    if dice.seldom(5):
        spec["preserveUnknownFields"] = dice.seldom(2)
    made: Node = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": _metadata(dice, spec),
        "spec": spec,
    }
    if dice.seldom(4):
        made["status"] = dice.pick(_STATUSES)
    return made


def plain(schema: Node) -> Node:
    """
    Return a definition that is valid, except for its schema.
    """
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "foos", "kind": "Foo"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
        "status": {"storedVersions": ["v1"]},
    }


def updated(dice: Dice, old: Node) -> Node:
    """
    Return a definition that replaces an old one; often only one field differs.
    """
    new, other = deepcopy(old), definition(dice)
    new.pop("status", None)
    before, after = new["spec"], other["spec"]
    assert isinstance(before, dict)
    assert isinstance(after, dict)
    for name in sorted({*before, *after}):
        if dice.seldom(3):
            if name in after:
                before[name] = after[name]
            else:
                before.pop(name)
    if dice.seldom(6):
        new["metadata"] = other["metadata"]
    return new


def _metadata(dice: Dice, spec: Node) -> Node:
    if dice.seldom(8):
        return dice.pick(_METADATA)
    names = spec["names"]
    plural = names.get("plural", "") if isinstance(names, dict) else ""
    made: Node = {"name": f"{plural}.{spec['group']}"}
    if dice.seldom(4):
        approval: JSON = {"api-approved.kubernetes.io": dice.pick(_APPROVALS)}
        made["annotations"] = approval
    return made


def _versions(dice: Dice) -> JSON:
    names = dice.pick((("v1",), ("v1",), ("v1", "v2"), ("v2", "v1"), ("v1", "v1"), ("V_1",), ()))
    common = schemas.root(dice)
    versions: list[JSON] = []
    for index, name in enumerate(names):
        made: Node = {"name": name, "served": not dice.seldom(4), "storage": index == 0}
        if dice.seldom(15):
            made["storage"] = index != 0
        if not dice.seldom(8):
            schema = deepcopy(common) if dice.seldom(2) else schemas.root(dice)
            made["schema"] = {"openAPIV3Schema": _worsened(dice, schema)}
        elif dice.seldom(2):
            made["schema"] = {}
        _extras(dice, made)
        versions.append(made)
    return versions


def _extras(dice: Dice, made: Node) -> None:
    for name, values in (
        ("subresources", _SUBRESOURCES),
        ("additionalPrinterColumns", _COLUMNS),
        ("selectableFields", _SELECTABLE),
        ("deprecationWarning", ("", "w", "a\tb", "é\u200b", "x" * 257)),
    ):
        if dice.seldom(5):
            made[name] = deepcopy(dice.pick(values))
    if dice.seldom(5):
        made["deprecated"] = True


def _worsened(dice: Dice, schema: Node) -> Node:
    node = schema
    properties = schema.get("properties")
    if isinstance(properties, dict) and properties and dice.seldom(2):
        chosen = properties[dice.pick(sorted(properties))]
        node = chosen if isinstance(chosen, dict) else schema
    if dice.seldom(6):
        keyword = dice.pick(sorted(_UNREADABLE))
        node[keyword] = deepcopy(_UNREADABLE[keyword])
    if dice.seldom(8):
        node["x-kubernetes-validations"] = [deepcopy(dice.pick(_RULES))]
    if dice.seldom(15):
        node["type"] = dice.pick(("null", "odd", "array"))
    if dice.seldom(5):
        node.update(deepcopy(dice.pick(_LISTS)))
    return schema


_LISTS: tuple[Node, ...] = (
    {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object"}},
    {
        "type": "array",
        "x-kubernetes-list-type": "set",
        "items": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
    },
    {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["a", "b", "a"],
        "items": {
            "type": "object",
            "nullable": True,
            "required": ["a"],
            "properties": {"a": {"type": "string"}, "b": {"type": "array", "nullable": True}},
        },
    },
    {"type": "array", "x-kubernetes-list-type": "map", "items": {"type": "string"}},
    {"type": "array", "x-kubernetes-list-type": "map", "items": []},
    {"type": "array", "x-kubernetes-list-type": "odd"},
    {"type": "object", "x-kubernetes-map-type": "odd", "x-kubernetes-list-map-keys": ["a"]},
)
