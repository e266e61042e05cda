import itertools
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from espalier import schema
from espalier.errors import SchemaParseError
from espalier.golang.printing import go_json
from espalier.paths import JSON
from espalier.schema import Profile, Structural
from espalier.schema.publishing.openapi import strip_defaults
from tests.differential.strategies import roots

KEP, SERVER = Profile.KEP, Profile.APISERVER
UNION: JSON = [{"discriminator": "type", "fields": {"foo": "Foo", "bar": "Bar"}}]


def parsed(raw: JSON, profile: Profile = KEP) -> Structural:
    structural = schema.parse(raw, profile=profile)
    assert structural is not None
    return structural


def unfolded(raw: JSON, profile: Profile = KEP) -> JSON:
    return schema.render(schema.unfold(parsed(raw, profile), profile=profile), profile=profile)


def union_of(**properties: JSON) -> JSON:
    return {"type": "object", "x-kubernetes-unions": UNION, "properties": dict(properties)}


@st.composite
def readable(draw: st.DrawFn) -> JSON:
    """
    Draw a schema that can be parsed, sometimes with a union.
    """
    raw = draw(roots())
    if draw(st.booleans()):
        raw["x-kubernetes-unions"] = UNION
    try:
        schema.parse(raw, profile=KEP)
    except SchemaParseError:
        return {"type": "object", "properties": {"a": {"x-kubernetes-int-or-string": True}}}
    return raw


@pytest.mark.parametrize("profile", Profile)
@given(raw=readable())
def test_rendering_a_schema_and_reading_it_again_changes_nothing(
    profile: Profile, raw: JSON
) -> None:
    once = schema.render(parsed(raw, profile), profile=profile)

    assert go_json(schema.render(parsed(once, profile), profile=profile)) == go_json(once)


@pytest.mark.parametrize("profile", Profile)
@pytest.mark.parametrize(
    "change",
    [schema.strip, strip_defaults, schema.convert_to_v2],
    ids=lambda change: change.__name__,
)
@given(raw=readable())
def test_what_is_published_is_published_the_same_again(
    change: Callable[[Structural], Structural], profile: Profile, raw: JSON
) -> None:
    once = change(parsed(raw, profile))

    twice = change(once)

    assert schema.render(twice, profile=profile) == schema.render(once, profile=profile)


@pytest.mark.parametrize("profile", Profile)
@given(raw=readable())
def test_unfolding_twice_is_unfolding_once(profile: Profile, raw: JSON) -> None:
    once = schema.unfold(parsed(raw, profile), profile=profile)

    twice = schema.unfold(once, profile=profile)

    assert schema.render(twice, profile=profile) == schema.render(once, profile=profile)


@pytest.mark.parametrize("profile", Profile)
@given(raw=readable())
def test_the_schema_given_stays_as_it_is(profile: Profile, raw: JSON) -> None:
    structural = parsed(raw, profile)
    before = schema.render(structural, profile=profile)

    for change in (schema.strip, strip_defaults, schema.convert_to_v2):
        change(structural)
    schema.unfold(structural, profile=profile)

    assert schema.render(structural, profile=profile) == before


VALUE_KEYWORDS = frozenset(
    {
        *("format", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength"),
        *("minLength", "pattern", "maxItems", "minItems", "uniqueItems", "multipleOf", "enum"),
        *("maxProperties", "minProperties", "required", "allOf", "anyOf", "oneOf", "not"),
    }
)


def weakened(before: JSON, after: JSON) -> bool:
    """
    Tell whether ``after`` says at every node what ``before`` does, but for value validation.

    A schema with fewer value validations at the same structure accepts whatever the other did.
    """
    if not isinstance(before, dict) or not isinstance(after, dict):
        return bool(before == after)
    kept = before.keys() - VALUE_KEYWORDS
    if after.keys() != kept:
        return False
    own = kept - {"properties", "items", "additionalProperties"}
    children = [(before.get(name), after.get(name)) for name in ("items", "additionalProperties")]
    properties, stripped = before.get("properties") or {}, after.get("properties") or {}
    assert isinstance(properties, dict)
    assert isinstance(stripped, dict)
    children += [
        (properties.get(name), stripped.get(name)) for name in properties.keys() | stripped.keys()
    ]
    return all(before[name] == after[name] for name in own) and all(
        itertools.starmap(weakened, children)
    )


@pytest.mark.parametrize("profile", Profile)
@given(raw=readable())
def test_stripping_weakens_and_leaves_the_structure(profile: Profile, raw: JSON) -> None:
    structural = parsed(raw, profile)

    stripped = schema.strip(structural)

    assert weakened(
        schema.render(structural, profile=profile), schema.render(stripped, profile=profile)
    )


@given(raw=readable())
def test_the_v2_form_has_no_junctors_and_nothing_nullable(raw: JSON) -> None:
    published = schema.convert_to_v2(strip_defaults(parsed(raw, SERVER)))

    waiting = [published]
    while waiting:
        node = waiting.pop()
        assert not list(node.value_validation.junctors())
        assert not node.nullable
        assert node.default is None
        assert node.type != "array" or node.items is not None
        waiting += node.properties.values()
        waiting += [
            n for n in (node.items, node.additional_properties) if isinstance(n, Structural)
        ]


def test_rules_defaults_and_unions_survive_stripping() -> None:
    raw: JSON = {
        "type": "object",
        "description": "d",
        "x-kubernetes-unions": UNION,
        "x-kubernetes-validations": [{"rule": "true"}],
        "properties": {"a": {"type": "string", "default": "x", "nullable": True, "minLength": 1}},
    }

    assert schema.render(schema.strip(parsed(raw)), profile=KEP) == {
        "type": "object",
        "description": "d",
        "x-kubernetes-unions": UNION,
        "x-kubernetes-validations": [{"rule": "true"}],
        "properties": {"a": {"type": "string", "default": "x", "nullable": True}},
    }


@pytest.mark.parametrize(
    ("discriminator", "expected"),
    [
        ({"type": "string"}, {"type": "string", "enum": ["Foo", "Bar"]}),
        (
            {"type": "string", "enum": ["Bar", "Foo"]},
            {"type": "string", "enum": ["Bar", "Foo"]},
        ),
        (
            {"type": "string", "enum": ["Foo"]},
            {"type": "string", "enum": ["Foo"], "allOf": [{"enum": ["Foo", "Bar"]}]},
        ),
    ],
    ids=["without an enum", "with the same enum", "with another enum"],
)
def test_a_discriminator_is_held_to_the_unions_values(discriminator: JSON, expected: JSON) -> None:
    shown = unfolded(union_of(type=discriminator, foo={"type": "object"}))

    assert isinstance(shown, dict)
    assert isinstance(shown["properties"], dict)
    assert shown["properties"]["type"] == expected
    assert shown["oneOf"] == [{"required": ["foo"]}, {"required": ["bar"]}]


def test_two_unions_of_a_node_are_both_unfolded() -> None:
    raw: JSON = {
        "type": "object",
        "x-kubernetes-unions": [
            {"discriminator": "d", "fields": {"a": "A"}},
            {"discriminator": "e", "fields": {"b": "B", "c": "B"}},
        ],
    }

    shown = unfolded(raw)

    assert isinstance(shown, dict)
    assert shown["oneOf"] == [{"required": ["a"]}]
    assert shown["allOf"] == [{"oneOf": [{"required": ["b"]}, {"required": ["c"]}]}]
    assert shown["properties"] == {
        "d": {"type": "string", "enum": ["A"]},
        "e": {"type": "string", "enum": ["B"]},
    }


@pytest.mark.parametrize(
    "unions",
    [[], [5], [{"discriminator": "", "fields": {"a": "A"}}], [{"discriminator": "d"}]],
    ids=str,
)
def test_a_union_that_says_too_little_is_left_as_it_is(unions: JSON) -> None:
    raw: JSON = {"type": "object", "x-kubernetes-unions": unions}

    shown = unfolded(raw)

    assert shown == ({"type": "object"} if unions == [] else raw)


def test_api_servers_know_no_unions() -> None:
    assert unfolded(union_of(foo={"type": "object"}), SERVER) == {
        "type": "object",
        "properties": {"foo": {"type": "object"}},
    }


def test_an_embedded_resource_that_is_complete_requires_kind_and_api_version() -> None:
    complete: JSON = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "required": ["kind"],
        "properties": {"kind": {"type": "string"}, "spec": {"type": "object"}},
    }

    shown = unfolded(complete)

    assert isinstance(shown, dict)
    assert shown["required"] == ["kind", "apiVersion"]
    assert isinstance(shown["properties"], dict)
    assert shown["properties"]["kind"] == {"type": "string"}
    assert list(shown["properties"]) == ["kind", "spec", "apiVersion", "metadata"]


def test_a_false_among_junctors_is_not_written_by_api_servers() -> None:
    raw: JSON = {"type": "object", "anyOf": [{"additionalProperties": False}]}

    assert schema.render(parsed(raw), profile=KEP) == raw
    assert schema.render(parsed(raw, SERVER), profile=SERVER) == {"type": "object", "anyOf": [{}]}
