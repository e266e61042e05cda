"""
What somebody made to break the fast path: deep and wide values, numbers and texts that are none.
"""

import time
from typing import Any

import pytest

from espalier import schema
from espalier.paths import JSON
from espalier.schema import Profile, Structural
from espalier.schema.prefilter.screen import ScreenedValidation, compile_validation
from tests.properties.test_hostile import deep_list, deep_object

LEVELS = 10_000
NODES: tuple[JSON, ...] = (
    {},
    {"type": "object"},
    {"type": "array", "items": {"type": "array", "items": {}}},
    {"type": "object", "additionalProperties": {"type": "object", "additionalProperties": {}}},
    {"x-kubernetes-preserve-unknown-fields": True, "x-kubernetes-embedded-resource": True},
    {"enum": [[[1]], {"a": {"a": 1}}]},
    {"not": {"required": ["b"]}},
    {"anyOf": [{"maxItems": 3}, {"maxProperties": 3}]},
    {"type": "array", "items": {}, "x-kubernetes-list-type": "atomic"},
    {"pattern": "(a+)+$", "format": "date"},
)


def parsed(node: Any) -> Structural:
    root: JSON = {"type": "object", "properties": {"a": node}}
    structural = schema.parse(root, profile=Profile.APISERVER)
    assert structural is not None
    return structural


def is_valid(value: JSON, structural: Structural) -> bool:
    validation = ScreenedValidation(structural, Profile.APISERVER)
    exact = not schema.validate(value, structural, profile=Profile.APISERVER)
    assert validation.is_valid(value) == exact
    assert exact or not validation.is_surely_valid(value)
    return exact


@pytest.mark.parametrize("node", NODES, ids=str)
@pytest.mark.parametrize(
    "inner", [deep_list({"z": 1}, LEVELS), deep_object(1, LEVELS)], ids=["lists", "objects"]
)
def test_a_value_may_nest_as_deeply_as_it_likes(node: JSON, inner: JSON) -> None:
    is_valid({"a": inner}, parsed(node))
    is_valid({"b": inner}, parsed(node))
    is_valid(inner, parsed(node))


@pytest.mark.parametrize("junctor", ["properties", "items", "allOf", "anyOf", "not"])
@pytest.mark.parametrize("levels", [20, 29, 30, 31, 60, 100])
def test_a_schema_may_nest_as_deeply_as_allowed(junctor: str, levels: int) -> None:
    node: JSON = {"maximum": 1}
    good: JSON = 1
    bad: JSON = 2
    for _ in range(levels // 2 if junctor == "not" else levels):
        match junctor:
            case "properties":
                node = {"type": "object", "properties": {"a": node}, "minProperties": 1}
                good, bad = {"a": good}, {"a": bad}
            case "items":
                node = {"type": "array", "items": node, "nullable": True, "maxItems": 5}
                good, bad = [good], [bad]
            case "not":
                node = {"not": {"not": node}}
            case _:
                node = {junctor: [node]}
    structural = parsed(node)

    assert is_valid({"a": good}, structural)
    assert not is_valid({"a": bad}, structural)
    if junctor != "not":
        assert ScreenedValidation(structural, Profile.APISERVER).is_surely_valid({"a": good})


def test_a_million_keys_and_items_take_time_in_proportion() -> None:
    table: JSON = {"type": "object", "additionalProperties": {"type": "integer"}}
    known: JSON = {"type": "object", "properties": {f"p{n}": {"maximum": 1} for n in range(1_000)}}
    many: JSON = {"type": "array", "items": {"type": "integer"}}
    keys: JSON = {"a": {str(number): number for number in range(1_000_000)}}

    started = time.process_time()

    for node in (table, known):
        assert ScreenedValidation(parsed(node), Profile.APISERVER).is_surely_valid(keys)
    items: JSON = {"a": [*range(1_000_000)]}
    assert ScreenedValidation(parsed(many), Profile.APISERVER).is_surely_valid(items)
    assert time.process_time() - started < 5


@pytest.mark.parametrize("kind", ["set", "map"])
def test_large_lists_of_distinct_items_take_time_in_proportion(kind: str) -> None:
    item: JSON = {"type": "object", "properties": {"k": {"type": "string"}}}
    node: dict[str, JSON] = {"type": "array", "x-kubernetes-list-type": kind}
    node["items"] = {"type": "string"}
    value: list[JSON] = [str(number) for number in range(50_000)]
    if kind == "map":
        node |= {"x-kubernetes-list-map-keys": ["k"], "items": item}
        value = [{"k": name} for name in value]
    validation = ScreenedValidation(parsed(node), Profile.APISERVER)

    assert validation.is_surely_valid({"a": value})
    assert not validation.is_valid({"a": [*value, value[0]]})


@pytest.mark.parametrize(
    "number",
    [float("nan"), float("inf"), -float("inf"), 2**63, -(2**63) - 1, 10**400, 10**5_000],
    ids=["nan", "inf", "-inf", "2^63", "-2^63-1", "10^400", "10^5000"],
)
@pytest.mark.parametrize(
    "node",
    [
        {"type": "integer"},
        {"type": "number"},
        {"type": "number", "format": "float"},
        {"minimum": 1.5},
        {"type": "integer", "minimum": 1.5},
        {"maximum": -1e300},
        {"multipleOf": 0.5},
        {"enum": [1, 2.5, "a"]},
        {"x-kubernetes-int-or-string": True, "maximum": 3},
    ],
    ids=str,
)
def test_numbers_that_no_server_decodes_are_judged(number: float, node: JSON) -> None:
    is_valid({"a": number}, parsed(node))


@pytest.mark.parametrize(
    "text",
    ["\ud800", "a\udfff", "\x00", "a" * 1_000_000, "9" * 5_000 + " s"],
    ids=["surrogate", "letter and surrogate", "nul", "million", "digits"],
)
@pytest.mark.parametrize(
    "node",
    [
        {"type": "string", "pattern": "^(a+)+$"},
        {"type": "string", "pattern": "^((a{0,30}){0,30}){0,30}$"},
        {"type": "string", "maxLength": 1},
        {"type": "string", "enum": ["\ud800", "\ufffd"]},
        {"type": "string", "format": "hostname"},
        {"type": "string", "format": "duration"},
        {"type": "string", "format": "uri"},
        {"type": "string", "format": "email"},
    ],
    ids=str,
)
def test_texts_of_any_kind_are_judged_at_once(text: str, node: JSON) -> None:
    is_valid({"a": text}, parsed(node))


@pytest.mark.parametrize("key", ["$ref", "$schema", "id", "$id", "judge", "\ud800", "é", ""])
def test_odd_names_of_fields_are_names_like_any_other(key: str) -> None:
    node: JSON = {
        "type": "object",
        "required": [key],
        "properties": {key: {"type": "string", "minLength": 1, "pattern": "x"}},
    }
    structural = parsed(node)

    assert is_valid({"a": {key: "x"}}, structural)
    assert not is_valid({"a": {key: 1}}, structural)
    assert not is_valid({"a": {}}, structural)


def test_keys_that_are_no_texts_are_left_to_the_exact_engine() -> None:
    # YAML has such keys; JSON, and hence the servers, has none.
    value: Any = {"a": {1: 2, None: 3}}

    assert is_valid(value, parsed({"type": "object"}))


def test_where_there_is_no_schema_everything_is_valid() -> None:
    validation = compile_validation(None, Profile.APISERVER)

    assert validation.is_surely_valid(deep_list(float("nan")))
    assert validation.validate({}) == ()


def test_findings_stand_where_the_caller_says() -> None:
    structural = parsed({"type": "string"})
    value: JSON = {"a": 1}

    [server] = ScreenedValidation(structural, Profile.APISERVER).validate(value, path=("spec",))
    [proposed] = ScreenedValidation(structural, Profile.KEP).validate(value, root="data")

    assert server.path == ("spec", "a")
    assert "data.a in body" in proposed.detail


def test_a_schema_is_not_compiled_again() -> None:
    structural = parsed({"type": "string"})

    one = compile_validation(structural, Profile.APISERVER)

    assert compile_validation(structural, Profile.APISERVER) is one
    assert compile_validation(structural, Profile.KEP) is not one
