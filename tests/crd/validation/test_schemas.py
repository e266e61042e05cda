"""
What servers refuse in the schema of a definition.
"""

import pytest

from espalier.paths import JSON
from tests.crd.manifests import AT, property_of, rejected


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string", "nullable": True}, []),
        (
            {"type": "array", "items": {"type": "string"}, "x-kubernetes-map-type": "atomic"},
            ['.type: Invalid value: "array": must be object if x-kubernetes-map-type is specified'],
        ),
        (
            {"type": "object", "x-kubernetes-map-type": "odd"},
            [
                (
                    '.x-kubernetes-map-type: Unsupported value: "odd":'
                    ' supported values: "atomic", "granular"'
                )
            ],
        ),
        (
            {"type": "object", "x-kubernetes-list-type": "set"},
            [
                (
                    '.type: Invalid value: "object": must be array if x-kubernetes-list-type is'
                    " specified"
                )
            ],
        ),
        (
            {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["k", "k"],
                "items": {
                    "type": "object",
                    "required": ["k"],
                    "properties": {"k": {"type": "object"}},
                },
            },
            [
                (
                    '.items.properties[k].type: Invalid value: "object": must be a scalar type if'
                    " parent array's x-kubernetes-list-type is map"
                ),
                (
                    '.items.properties[k].type: Invalid value: "object": must be a scalar type if'
                    " parent array's x-kubernetes-list-type is map"
                ),
                (
                    '.x-kubernetes-list-map-keys: Invalid value: ["k","k"]: must not contain'
                    " duplicate"
                    " entries"
                ),
            ],
        ),
        (
            {
                "type": "array",
                "x-kubernetes-list-type": "set",
                "x-kubernetes-list-map-keys": ["k"],
                "items": {
                    "type": "array",
                    "x-kubernetes-list-type": "set",
                    "items": {"type": "string"},
                },
            },
            [
                (
                    '.items.x-kubernetes-list-type: Invalid value: "set": must be atomic as'
                    " item of a"
                    " list with x-kubernetes-list-type=set"
                ),
                (
                    '.x-kubernetes-list-type: Invalid value: "set": must be map if'
                    " x-kubernetes-list-map-keys is non-empty"
                ),
            ],
        ),
        (
            {
                "type": "object",
                "x-kubernetes-embedded-resource": True,
                "x-kubernetes-preserve-unknown-fields": True,
                "properties": {
                    "metadata": {
                        "type": "object",
                        "properties": {
                            "annotations": {
                                "type": "object",
                                "x-kubernetes-embedded-resource": True,
                                "x-kubernetes-preserve-unknown-fields": True,
                            }
                        },
                    }
                },
            },
            [
                (
                    ".properties[metadata].properties[annotations].x-kubernetes-embedded-resource:"
                    " Forbidden: must not be used inside of resource meta"
                )
            ],
        ),
    ],
)
def test_a_schema_is_refused_for_its_keywords(schema: JSON, expected: list[str]) -> None:
    assert rejected(property_of(schema)) == [f"{AT}.properties[a]{text}" for text in expected]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"rule": "size(self.m) == 1"}, []),
        ({"rule": " "}, [".rule: Required value: rule is not specified"]),
        (
            {"rule": "true", "message": " "},
            ['.message: Invalid value: " ": must be non-empty if specified'],
        ),
        (
            {"rule": "true", "message": "a\nb"},
            ['.message: Invalid value: "a\\nb": must not contain line breaks'],
        ),
        (
            {"rule": "true &&\ntrue"},
            [".message: Required value: message must be specified if rule contains line breaks"],
        ),
        (
            {"rule": "true", "messageExpression": " ", "reason": "Odd"},
            [
                (
                    ".messageExpression: Required value: messageExpression must be non-empty if"
                    " specified"
                ),
                (
                    '.reason: Unsupported value: "Odd": supported values: "FieldValueDuplicate",'
                    ' "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"'
                ),
            ],
        ),
        (
            {"rule": "true", "fieldPath": ".nothing"},
            ['.fieldPath: Invalid value: ".nothing": must be a valid path'],
        ),
        ({"rule": "true", "fieldPath": ".m['any']"}, []),
        (
            {"rule": "true", "fieldPath": "m"},
            ['.fieldPath: Invalid value: "m": must be a valid path'],
        ),
        (
            {"rule": "true", "fieldPath": ".m['\\q']"},
            [".fieldPath: Invalid value: \".m['\\\\q']\": must be a valid path"],
        ),
    ],
)
def test_what_belongs_to_a_rule_is_judged(rule: JSON, expected: list[str]) -> None:
    schema: JSON = {
        "type": "object",
        "x-kubernetes-validations": [rule],
        "properties": {"m": {"type": "object", "additionalProperties": {"type": "string"}}},
    }

    path = f"{AT}.properties[a].x-kubernetes-validations[0]"
    assert rejected(property_of(schema)) == [f"{path}{text}" for text in expected]


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        ("a<b", r"a\u003cb"),
        ("a>b&", r"a\u003eb\u0026"),
        ("a\u00adb", "a\u00adb"),
        ("a\u00a0b", "a\u00a0b"),
        ("a\x7fb", "a\x7fb"),
        ("a\u2028b", r"a\u2028b"),
        ('a"b', r"a\"b"),
    ],
)
def test_an_unsupported_reason_is_written_as_json(reason: str, shown: str) -> None:
    rules: list[JSON] = [{"rule": "true", "reason": reason}]

    [found] = rejected(property_of({"type": "string", "x-kubernetes-validations": rules}))

    assert f'.reason: Unsupported value: "{shown}": supported values: ' in found
