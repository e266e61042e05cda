"""
Values and schemas that somebody made to break things.
"""

import sys
from typing import Any

import pytest

from espalier import crd, schema
from espalier.crd.field_sets import specified_paths
from espalier.errors import MalformedDefinitionError, MalformedValueError, SchemaParseError
from espalier.golang.printing import go_json
from espalier.paths import JSON
from espalier.schema import Profile, Structural
from espalier.schema.metadata.decoding import decode_metadata
from espalier.schema.normalization.conservative_pruning import prune_conservatively
from espalier.schema.normalization.type_mismatches import type_mismatches

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
        prune_conservatively(value, [each])
        type_mismatches(value, each)


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
        prune_conservatively(value, [structural])

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


LEVELS = 10_000


def deep_schema(keyword: str, levels: int = LEVELS) -> JSON:
    node: JSON = {"type": "string"}
    for _ in range(levels):
        match keyword:
            case "properties":
                node = {"type": "object", "properties": {"a": node}}
            case "allOf":
                node = {"allOf": [node]}
            case _:
                node = {keyword: node}
    return node


@pytest.mark.parametrize("profile", Profile)
@pytest.mark.parametrize("keyword", ["properties", "items", "additionalProperties", "not", "allOf"])
def test_a_schema_that_nests_too_deeply_is_refused(keyword: str, profile: Profile) -> None:
    with pytest.raises(SchemaParseError, match="nests deeper than 200 levels"):
        schema.parse(deep_schema(keyword), profile=profile)


def test_a_default_that_nests_too_deeply_is_refused() -> None:
    with pytest.raises(SchemaParseError, match="default: nests deeper than 200 levels"):
        parsed({"type": "object", "default": deep_object(1, LEVELS)})


@pytest.mark.parametrize("keyword", ["example", "enum", "x-kubernetes-validations", "externalDocs"])
def test_what_a_schema_carries_along_may_nest_as_deeply_as_it_likes(keyword: str) -> None:
    deep = deep_list(1, LEVELS)
    structural = parsed({"type": "object", keyword: [deep]})

    assert schema.check_structural(structural, profile=Profile.APISERVER) == ()
    assert schema.prune({"a": {"z": 1}}, structural, profile=Profile.KEP).value == {"a": {}}


def definition_with(node: JSON) -> JSON:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"kind": "Widget", "plural": "widgets"},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": node},
                }
            ],
        },
    }


def test_a_definition_with_too_deep_a_schema_gets_a_condition_that_reports_it() -> None:
    definition = crd.read_definition(definition_with(deep_schema("properties")))

    condition = crd.nonstructural_condition(definition)

    assert condition is not None
    assert condition.reason == "StructuralError"
    assert "nests deeper than 200 levels" in condition.message


@pytest.mark.parametrize("place", ["labels", "annotations", "name", "uid"])
def test_a_definition_with_a_deep_value_where_texts_belong_is_malformed(place: str) -> None:
    manifest = definition_with({"type": "object"})
    assert isinstance(manifest, dict)
    manifest["metadata"] = {"name": "widgets.example.com", place: deep_object(1, LEVELS)}

    with pytest.raises(MalformedDefinitionError):
        crd.read_definition(manifest)


@pytest.mark.parametrize("profile", Profile)
@pytest.mark.parametrize(
    "number", [float("nan"), float("inf"), -float("inf"), 1 << 63, 1 << 200, -(1 << 64), 1e308]
)
def test_numbers_that_no_server_decodes_pass_as_they_are(number: float, profile: Profile) -> None:
    structural = parsed({"type": "object", "additionalProperties": {"type": "number"}})
    value: JSON = {"a": {"n": number}, "z": number}

    normalizer = schema.compile_normalizer(structural, profile=profile)
    for _ in range(3):
        assert normalizer(value).value == {"a": {"n": number}}
    assert normalizer.is_normal({"a": {"n": number}})
    assert not normalizer.is_normal(value)
    assert type_mismatches(value, structural) == ()
    assert prune_conservatively(value, [structural]).removed == ((("z",), number),)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 1 << 63, 1 << 200, -(10**400)])
def test_metadata_takes_no_number_beyond_int64(number: float) -> None:
    with pytest.raises(MalformedValueError, match="int64"):
        decode_metadata({"generation": number}, drop_malformed=False)
    assert decode_metadata({"generation": number}, drop_malformed=True).value == {}


@pytest.mark.parametrize("keyword", ["maximum", "minimum", "multipleOf"])
@pytest.mark.parametrize("number", [float("nan"), float("inf"), 1 << 200])
def test_a_schema_may_hold_any_number(keyword: str, number: float) -> None:
    structural = parsed({"type": "number", keyword: number})

    assert schema.check_structural(structural, profile=Profile.APISERVER) == ()


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 0.5])
def test_a_length_is_an_integer(number: float) -> None:
    with pytest.raises(SchemaParseError, match="int64"):
        parsed({"type": "string", "maxLength": number})


@pytest.mark.parametrize("profile", Profile)
def test_lone_surrogates_are_characters_like_any_other(profile: Profile) -> None:
    structural = parsed({"type": "object", "properties": {"\ud800": {"type": "string"}}})
    value: JSON = {"a": {"\ud800": "\udfff", "b\udc00": 1}, "\udead": {}}

    normalizer = schema.compile_normalizer(structural, profile=profile)

    for _ in range(3):
        assert normalizer(value).value == {"a": {"\ud800": "\udfff"}}
    assert normalizer.is_normal({"a": {"\ud800": "\udfff"}})


@pytest.mark.parametrize("profile", Profile)
@pytest.mark.parametrize("key", [1, None, True, 1.5, (1, 2)])
def test_keys_that_are_no_texts_are_unknown_fields(key: Any, profile: Profile) -> None:
    # YAML has such keys; JSON, and hence the servers, has none.
    structural = parsed({"type": "object", "properties": {"b": {"type": "string"}}})
    value: JSON = {"a": {key: 1, "b": "x"}}

    normalizer = schema.compile_normalizer(structural, profile=profile)

    for _ in range(3):
        assert normalizer(value).value == {"a": {"b": "x"}}


def test_a_million_keys_take_time_in_proportion() -> None:
    structural = parsed({"type": "object", "properties": {"b": {"type": "string"}}})
    value: JSON = {"a": {str(number): number for number in range(1_000_000)}}

    for profile in Profile:
        normalizer = schema.compile_normalizer(structural, profile=profile)
        assert normalizer(value).value == {"a": {}}
        assert not normalizer.is_normal(value)


def test_a_schema_with_very_many_properties_is_compiled() -> None:
    properties: JSON = {f"p{number}": {"type": "string"} for number in range(50_000)}
    structural = parsed({"type": "object", "properties": properties})
    value: JSON = {"a": {"p1": "x", "p50001": "y"}}

    normalizer = schema.compile_normalizer(structural, profile=Profile.APISERVER)

    assert normalizer(value).value == {"a": {"p1": "x"}}
    assert schema.check_structural(structural, profile=Profile.APISERVER) == ()
    assert len(specified_paths(structural)) == 50_001


@pytest.mark.parametrize(
    "pattern",
    ["(a+)+$", "(a|a)*b", "(x+x+)+y", "((a{0,100}){0,100}){0,100}", "(" * 5_000, "[" * 100_000],
)
def test_a_catastrophic_pattern_is_judged_at_once(pattern: str) -> None:
    structural = parsed({"type": "string", "pattern": pattern})

    findings = schema.check_structural(structural, profile=Profile.APISERVER)

    assert all("regular expression" in finding.detail for finding in findings)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ((1 << 63) - 1, "9223372036854775807"),
        (-(1 << 63), "-9223372036854775808"),
        (1 << 63, "9223372036854776000"),
        (1 << 200, "1.6069380442589903e+60"),
        (10**400, "+Inf"),
        (-(10**400), "-Inf"),
        (float("nan"), "NaN"),
        ("a\ud800b", '"a\ufffdb"'),
        ({"\ud83d\ude00": True}, '{"\U0001f600":true}'),
    ],
)
def test_findings_show_every_value(value: JSON, written: str) -> None:
    assert go_json(value) == written
