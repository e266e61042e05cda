"""
Hints say what to do about each kind of finding.
"""

import pytest

from espalier import schema
from espalier.paths import JSON
from espalier.schema import Profile
from espalier.schema.structural.hints import fix_hint
from tests import vectors
from tests.vectors import Vector

IN_JUNCTOR: JSON = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "anyOf": [{"properties": {"a": {"description": "x"}}}],
}


def hints(raw: JSON, profile: Profile = Profile.APISERVER) -> list[str]:
    structural = schema.parse(raw, profile=profile)
    found = schema.check_structural(structural, profile=profile, path=("p",))
    return [fix_hint(error, raw, path=("p",)) for error in found]


def with_a(**keywords: JSON) -> JSON:
    return {"type": "object", "properties": {"a": keywords}}


@pytest.mark.parametrize(
    ("raw", "hint"),
    [
        ({"properties": {}}, "add `type: object` here"),
        ({"type": "string"}, "write `type: object` here"),
        (with_a(properties={"b": {"type": "string"}}), "add `type: object` here"),
        (with_a(items={"type": "string"}), "add `type: array` here"),
        (with_a(pattern="a"), "add `type: string` here"),
        (with_a(minimum=1), "add `type: number` here"),
        (
            with_a(description="x"),
            (
                "add a `type` here, or `x-kubernetes-preserve-unknown-fields: true`"
                " if any value is allowed"
            ),
        ),
        (with_a(type="array"), "add `items` with the schema of the list's items"),
        (
            with_a(type="string", pattern="(?!a)"),
            "write it for RE2: no lookaround, no backreferences, all brackets closed",
        ),
        (
            with_a(type="object", **{"x-kubernetes-embedded-resource": True}),
            "add `properties`, or `x-kubernetes-preserve-unknown-fields: true`",
        ),
        (
            {"type": "object", "additionalProperties": {"type": "string"}},
            "declare the fields under `properties` instead",
        ),
        (
            with_a(
                **{
                    "x-kubernetes-int-or-string": True,
                    "x-kubernetes-preserve-unknown-fields": True,
                }
            ),
            (
                "remove `x-kubernetes-preserve-unknown-fields` or"
                " `x-kubernetes-int-or-string`: they exclude each other"
            ),
        ),
        (
            {
                "type": "object",
                "properties": {"metadata": {"type": "object", "maxProperties": 1}},
            },
            "keep only `type: object`, and `properties` for name and generateName",
        ),
        (
            {
                "type": "object",
                "properties": {"metadata": {"type": "object"}},
                "anyOf": [{"properties": {"metadata": {}}}],
            },
            "remove `metadata` from the junctor",
        ),
        (IN_JUNCTOR, "move `description` out of the junctor, to the field's own schema"),
        (
            {"type": "object", "anyOf": [{"properties": {"b": {"minLength": 1}}}]},
            "declare `b` under `properties` outside of the junctor as well",
        ),
    ],
)
def test_a_hint_says_what_to_do(raw: JSON, hint: str) -> None:
    assert hints(raw) == [hint]


def test_every_finding_of_every_vector_has_a_hint() -> None:
    found = [
        hint
        for vector in vectors.read_vectors(vectors.DEFAULT_FILE)
        if isinstance(vector, Vector) and vector.op == "structural"
        if "errors" in vector.expected
        for hint in hints(vector.schema, vector.profile)
    ]

    assert len(found) > 30
    assert all(found)
