"""
Values and schemas that somebody made to break things.
"""

import sys

import pytest

from espalier import schema
from espalier.paths import JSON
from espalier.schema import Profile, Structural

DEEP = 3_000
"""Far deeper than the stack; API servers decode no more than 10,000 levels."""


def deep_list(inner: JSON, levels: int = DEEP) -> JSON:
    for _ in range(levels):
        inner = [inner]
    return inner


def deep_object(inner: JSON, levels: int = DEEP) -> JSON:
    for _ in range(levels):
        inner = {"a": inner}
    return inner


def parsed(node: JSON) -> Structural | None:
    root: JSON = {"type": "object", "properties": {"a": node}}
    return schema.parse(root, profile=Profile.APISERVER)


NODES: tuple[JSON, ...] = (
    {"type": "string"},
    {"type": "object"},
    {"type": "array", "items": {"type": "string"}},
    {"type": "object", "additionalProperties": True},
    {"type": "object", "additionalProperties": {"type": "object"}},
    {"x-kubernetes-preserve-unknown-fields": True},
    {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
        "x-kubernetes-embedded-resource": True,
    },
    {"type": "string", "default": "d"},
)


@pytest.mark.parametrize("node", NODES, ids=str)
@pytest.mark.parametrize(
    "inner", [deep_list({"z": 1}), deep_object(1), deep_list(deep_object([]))], ids="lom"
)
@pytest.mark.parametrize("profile", Profile)
def test_a_value_may_nest_as_deeply_as_it_likes(node: JSON, inner: JSON, profile: Profile) -> None:
    structural, value = parsed(node), {"a": inner}

    for each in (structural, None):
        schema.prune(value, each, profile=profile)
        schema.drop_nulls(value, each)
        schema.default(value, each, profile=profile)
        schema.normalize(value, each, profile=profile)
        schema.prune_carefully(value, [each])
        schema.mistyped_values(value, each)


@pytest.mark.parametrize("node", NODES, ids=str)
def test_metadata_may_nest_as_deeply_as_it_likes(node: JSON) -> None:
    fields: JSON = [{"manager": "m", "fieldsV1": deep_object({})}]
    metadata: JSON = {"name": "x", "managedFields": fields, "junk": deep_list(1)}
    value: JSON = {"metadata": metadata, "a": {"metadata": metadata}}

    normalized = schema.normalize(value, parsed(node), profile=Profile.APISERVER)

    assert isinstance(normalized.value, dict)
    assert normalized.removed[0] == ("metadata", "junk")


def test_a_list_in_lists_that_no_schema_describes_is_emptied() -> None:
    structural = parsed({"type": "object", "additionalProperties": True})

    pruned = schema.prune(
        {"a": {"k": deep_list({"z": 1}, 3)}}, structural, profile=Profile.APISERVER
    )

    assert pruned.value == {"a": {"k": [[[{}]]]}}
    assert pruned.removed == (("a", "k", 0, 0, 0, "z"),)


@pytest.mark.parametrize("profile", Profile)
def test_a_schema_as_deep_as_allowed_is_walked_within_the_stack_that_there_is(
    profile: Profile,
) -> None:
    raw: JSON = {"type": "object", "additionalProperties": {"type": "string"}, "default": {}}
    for level in range(199):
        raw = {
            "type": "object",
            "x-kubernetes-embedded-resource": level == 0,
            "properties": {"a": raw},
            "anyOf": [{"properties": {"a": {}}}],
        }
    structural = schema.parse(raw, profile=profile)
    value = deep_object({"b": {"c": None}, "a": None}, 199)

    def used(frames: int) -> None:
        # As deep in the stack as an operator's handlers or a test runner would be, and more.
        if frames:
            used(frames - 1)
            return
        schema.check_structural(structural, profile=profile)
        schema.normalize(value, structural, profile=profile)
        schema.prune_carefully(value, [structural])

    assert sys.getrecursionlimit() >= 1000
    used(100)


@pytest.mark.parametrize("key", ["", ".", "*", "[0]", "\\", "\x00", "é", "\ud800", "__proto__"])
def test_odd_keys_are_keys_like_any_other(key: str) -> None:
    structural = parsed({"type": "object", "properties": {key: {"type": "string"}}})
    value: JSON = {"a": {key: "x", f"{key}x": "y"}}

    pruned = schema.prune(value, structural, profile=Profile.APISERVER)

    assert pruned.value == {"a": {key: "x"}}
    assert pruned.removed == (("a", f"{key}x"),)


def test_a_wide_value_takes_time_in_proportion() -> None:
    structural = parsed({"type": "object", "properties": {"b": {"type": "string"}}})
    value: JSON = {"a": {str(number): {"x": number} for number in range(50_000)}}

    pruned = schema.prune(value, structural, profile=Profile.APISERVER)

    assert pruned.value == {"a": {}}
    assert len(pruned.removed) == 50_000
