"""
T66: the types that structural schemas were made for, in each form that the proposals print.

What OpenAPI v2 cannot say is dropped there; patterns it can say, other than the proposals hold.
"""

from typing import NamedTuple

import pytest

from espalier import schema
from espalier.paths import JSON
from espalier.schema import Profile, Structural
from espalier.schema.publishing.openapi import API_VERSION_PATTERN


class Litmus(NamedTuple):
    """
    A type as it is specified, published and stripped; None where a form is as specified.
    """

    spec: dict[str, JSON]
    v3: dict[str, JSON] | None
    v2: dict[str, JSON] | None
    stripped: dict[str, JSON] | None


UNION: dict[str, JSON] = {
    "type": "object",
    "x-kubernetes-unions": [
        {"discriminator": "type", "fields": {"emptyDir": "EmptyDir", "hostPath": "HostPath"}}
    ],
    "properties": {
        "type": {"type": "string", "enum": ["EmptyDir", "HostPath"]},
        "emptyDir": {"type": "object"},
        "hostPath": {
            "type": "object",
            "properties": {"path": {"type": "string", "pattern": "/.*"}},
            "required": ["path"],
        },
        "sharedField": {"type": "string"},
    },
    "required": ["sharedField"],
}
RAW: dict[str, JSON] = {
    "type": "object",
    "nullable": True,
    "x-kubernetes-embedded-resource": True,
    "x-kubernetes-preserve-unknown-fields": True,
}
ANY_OF: dict[str, JSON] = {
    "anyOf": [{"minimum": 42, "maximum": 50}, {"minimum": 52, "maximum": 60}],
}
BOTH: dict[str, JSON] = {"anyOf": [{"type": "integer"}, {"type": "string"}]}
INT_OR_STRING: dict[str, JSON] = {"x-kubernetes-int-or-string": True}
PRESERVED: dict[str, JSON] = {"x-kubernetes-preserve-unknown-fields": True}

LITMUS: dict[str, Litmus] = {
    "union": Litmus(
        UNION,
        v3={**UNION, "oneOf": [{"required": ["emptyDir"]}, {"required": ["hostPath"]}]},
        v2=None,
        stripped={
            "type": "object",
            "x-kubernetes-unions": UNION["x-kubernetes-unions"],
            "properties": {
                "type": {"type": "string"},
                "emptyDir": {"type": "object"},
                "hostPath": {"type": "object", "properties": {"path": {"type": "string"}}},
                "sharedField": {"type": "string"},
            },
        },
    ),
    "addresses": Litmus(
        {"type": "string", "anyOf": [{"pattern": r"^([0-9]+\.){3}"}, {"pattern": "^([0-9a-f]*:)"}]},
        v3=None,
        v2={"type": "string"},
        stripped={"type": "string"},
    ),
    "raw extension": Litmus(
        {**RAW, "properties": {"apiVersion": {"pattern": "v1"}}},
        v3={
            **RAW,
            "properties": {
                "apiVersion": {
                    "allOf": [
                        {"type": "string", "pattern": API_VERSION_PATTERN},
                        {"pattern": "v1"},
                    ]
                },
                "kind": {"type": "string"},
                "metadata": {"type": "object"},
            },
            "required": ["kind", "apiVersion"],
        },
        v2={
            "x-kubernetes-embedded-resource": True,
            **PRESERVED,
            "required": ["kind", "apiVersion"],
        },
        stripped={
            **RAW,
            "properties": {
                "apiVersion": {"type": "string"},
                "kind": {"type": "string"},
                "metadata": {"type": "object"},
            },
        },
    ),
    "JSON": Litmus(
        {
            "type": "object",
            "properties": {"json": {"type": "object", "nullable": True, **PRESERVED}},
        },
        v3=None,
        v2={"type": "object", "properties": {"json": PRESERVED}},
        stripped=None,
    ),
    "string map": Litmus(
        {"type": "object", "additionalProperties": {"type": "integer", "minimum": 42}},
        v3=None,
        v2=None,
        stripped={"type": "object", "additionalProperties": {"type": "integer"}},
    ),
    "int or string": Litmus(
        {**INT_OR_STRING, "pattern": "abc", **ANY_OF},
        v3={**INT_OR_STRING, "pattern": "abc", **ANY_OF, "allOf": [BOTH]},
        v2={**INT_OR_STRING, "pattern": "abc"},
        stripped=INT_OR_STRING,
    ),
    "int or string that shows both types": Litmus(
        {**INT_OR_STRING, "allOf": [BOTH, {"pattern": "abc", **ANY_OF}]},
        v3=None,
        v2=INT_OR_STRING,
        stripped=INT_OR_STRING,
    ),
}


def root_of(raw: JSON) -> Structural:
    structural = schema.parse({"type": "object", "properties": {"x": raw}}, profile=Profile.KEP)
    assert structural is not None
    return structural


def written(structural: Structural) -> JSON:
    return schema.render(structural.properties["x"], profile=Profile.KEP)


@pytest.mark.parametrize("litmus", LITMUS.values(), ids=LITMUS)
class TestT66:
    def test_it_is_structural(self, litmus: Litmus) -> None:
        assert schema.check_structural(root_of(litmus.spec), profile=Profile.KEP) == ()

    def test_it_is_published_in_v3(self, litmus: Litmus) -> None:
        unfolded = schema.unfold(root_of(litmus.spec), profile=Profile.KEP)

        assert written(unfolded) == (litmus.v3 or litmus.spec)

    def test_it_is_published_in_v2(self, litmus: Litmus) -> None:
        unfolded = schema.unfold(root_of(litmus.spec), profile=Profile.KEP)

        assert written(schema.convert_to_v2(unfolded)) == (litmus.v2 or litmus.spec)

    def test_it_is_stripped(self, litmus: Litmus) -> None:
        stripped = schema.strip(root_of(litmus.spec), profile=Profile.KEP)

        assert written(stripped) == (litmus.stripped or litmus.spec)
