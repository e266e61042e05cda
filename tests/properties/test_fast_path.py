"""
The screen and the exact engine never disagree: what the screen lets pass has no violations.

Schemas are small here, and each of them meets many values: drawn schemas with values near them,
and a matrix of each keyword, in each place, with each value at its edges.
``FAST_PATH_SCHEMAS=5000`` draws so many schemas, other ones at each run.
"""

import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise, product
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from espalier import schema
from espalier.golang.strfmt import FORMATS
from espalier.paths import JSON
from espalier.schema import Profile, Resource, Structural
from espalier.schema.prefilter import json_schema as translating
from espalier.schema.prefilter.screen import ScreenedValidation
from tests.schema.validation.test_walk import GOOD_AND_BAD

VALUES_OF_A_SCHEMA = 100
SCHEMAS = int(os.environ.get("FAST_PATH_SCHEMAS", "250"))

Node = dict[str, Any]

FORMAT_NAMES = (
    *FORMATS,
    "date-time",
    "int32",
    "int64",
    "float",
    "double",
    "nonsense",
    "bson-objectid",
)
TEXTS: tuple[str, ...] = (
    *(
        "",
        "a",
        "b",
        "ab",
        "abc",
        "aaaa",
        "A",
        "a\n",
        "\n",
        " ",
        "1",
        "97",
        "é",
        "e\u0301",
        "\u0130",
    ),
    *("\U0001f600", "\U0001f600a", "\ud83d\ude00", "\ud800", "\udc00a", "\x00", "\u0130", "x" * 70),
    *(text for good, bad in GOOD_AND_BAD.values() for text in (good[:1] + bad[-1:])),
)
LARGE = (2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1)
HUGE = (2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64, 2**200, 10**400, -(10**5_000))
NUMBERS: tuple[float, ...] = (
    *(0, 1, -1, 2, 3, 5, 7, 10, 11, 97, *LARGE, *HUGE),
    *(0.0, -0.0, 1.0, -1.0, 1.5, -1.5, 0.1, 0.3, 0.1 + 0.2, 2.5, 10.0, 1 + 1e-12, 5e-324, 1e300),
    *(float(2**53), float(2**63), -float(2**63), 3.4028235677973366e38, 1e39),
    *(float("nan"), float("inf"), -float("inf")),
)
SCALARS: tuple[JSON, ...] = (None, True, False, *NUMBERS, *TEXTS)
CONTAINERS: tuple[Any, ...] = (
    *({}, {"a": 1}, {"a": None}, {"a": "x", "b": "y"}, {"b": {"a": "x"}}, {"c": 1, "": 2}),
    *({"\ud800": 1}, {"é": "x"}, {"a": {"a": 1}, "b": {"b": []}}, {"a": 1, "b": 1, "c": 1}),
    *([], [1], [1, 1], [1, 1.0], [1, True], ["a"], ["a", "a"], ["a", "b"], ["\ud800", "\ud801"]),
    *([None], [None, None], [{}], [{}, {}], [[]], [[1], [1]], ["a", 1, None, {}]),
    *([{"a": "x"}, {"a": "y"}], [{"a": "x"}, {"a": "x"}], [{"a": 1}, {"a": True}], [{"b": 1}]),
    *([{"a": "\ud800", "b": 1}, {"a": "\ud801", "b": 1}], [{"a": 2**63}, {"a": 2**63 + 1}]),
    *([{"a": 2**63, "b": 1}, {"a": 2**63 + 1, "b": 1}], [{"a": 1, "b": "1"}, {"a": "1", "b": 1}]),
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "labels": {"a": "b"}}},
    {"apiVersion": "a/b/c", "kind": "Pod", "metadata": {"name": "x/y"}},
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"-": "b"}}},
    {"kind": 1, "apiVersion": "", "metadata": []},
)
VALUES: tuple[JSON, ...] = (*SCALARS, *CONTAINERS)
LIMITS = (0, 1, 2, 3, -1, 2**31, 2**63)
BOUNDS = (*(0, 1, -1, 10, 1.5, -1.5, 0.1, 1.0), *LARGE, *(2**63, -(2**63), 1e300, 5e-324))
PATTERNS = (
    *("^a+$", "a", "^[a-z]{1,3}$", "a|b", "^$", "", "\\d", "^\\w+$", "\\s", "(?i)i", "é", "^.$"),
    *("(?!x)a", "a(", "\\1", "(a+)+$", "\\pL", "[^a]", "(?m)^a$", "\\bab\\b", "\\C", "x{1000}"),
    *("\ud800", "^[^\ud800]$"),
)
ENUMS: tuple[list[Any], ...] = (
    *(["a"], ["a", "b"], ["a", "a"], ["é", "e\u0301"], ["\ud800"], ["", "A"], [1, 2], [1.0], [97]),
    *(["a", 1], [None], [True], [{}], [[1]], ["a", None], [2**53 + 1], [0.1], ["\ufffd", "a"]),
)
CHILD: Node = {"type": "string"}
MEMBERS: tuple[Node, ...] = (
    *({}, {"required": ["a"]}, {"required": ["b"]}, {"required": ["\ud800"]}, {"minimum": 1}),
    *({"type": "string"}, {"type": "integer"}, {"type": "number", "nullable": True}),
    *({"pattern": "^a"}, {"enum": ["a", "b"]}, {"maxLength": 1}, {"not": {"required": ["a"]}}),
    *({"properties": {"a": {"enum": ["x"]}}}, {"properties": {"a": {"required": ["a"]}}}),
    *({"minProperties": 2}, {"items": {"maximum": 1}}, {"allOf": [{"required": ["a"]}]}),
    *({"format": "date"}, {"type": "object", "required": ["a"]}, {"additionalProperties": False}),
)
KEYWORDS: MappingProxyType[str, tuple[Any, ...]] = MappingProxyType(
    {
        **dict.fromkeys(("minimum", "maximum"), BOUNDS),
        **dict.fromkeys(("exclusiveMinimum", "exclusiveMaximum"), (True, False)),
        **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), LIMITS),
        **dict.fromkeys(("minProperties", "maxProperties"), LIMITS),
        "multipleOf": (1, 2, 0.1, 3, 0, -1, 2**53),
        "uniqueItems": (True, False),
        "format": FORMAT_NAMES,
        "pattern": PATTERNS,
        "enum": ENUMS,
        "required": ([], ["a"], ["a", "b"], ["a", "a"], ["\ud800"], [""]),
        "nullable": (True, False),
        "properties": ({"a": CHILD}, {"a": {}}, {"b": {"properties": {"a": CHILD}}}, {"": CHILD}),
        "additionalProperties": (True, False, CHILD, {"nullable": True, "type": "integer"}),
        "items": ({}, CHILD, {"type": "integer"}, {"type": "object", "required": ["a"]}),
        "x-kubernetes-list-type": ("set", "map", "atomic"),
        "x-kubernetes-embedded-resource": (True,),
        "x-kubernetes-int-or-string": (True,),
        "allOf": tuple([member] for member in MEMBERS),
        "anyOf": ([], *([MEMBERS[n], MEMBERS[n - 5]] for n in range(len(MEMBERS)))),
        "oneOf": ([], *([MEMBERS[n], MEMBERS[n - 2]] for n in range(len(MEMBERS)))),
        "not": MEMBERS,
    }
)
TYPES = ("", "string", "integer", "number", "boolean", "object", "array")


def parsed(raw: Node, profile: Profile) -> Structural:
    structural = schema.parse(raw, profile=profile)
    assert structural is not None
    return structural


def disagreement(validation: ScreenedValidation, value: JSON, *, exact: bool) -> bool:
    return validation.is_surely_valid(value) and not exact


# --- The matrix --------------------------------------------------------------------------------


def nodes_with(keyword: str) -> Iterator[Node]:
    for type_, said in product(TYPES, KEYWORDS[keyword]):
        node: Node = {keyword: said} | ({"type": type_} if type_ else {})
        if keyword == "x-kubernetes-list-type" and said == "map":
            yield node | {"x-kubernetes-list-map-keys": ["a", "b"]}
            node["x-kubernetes-list-map-keys"] = ["a"]
        yield node
        if keyword in ("minimum", "maximum"):
            yield node | {f"exclusive{keyword.capitalize()}": True}
            yield node | {"format": "int32"}
        if keyword in ("enum", "format", "allOf", "anyOf", "oneOf", "not"):
            yield node | {"nullable": True}


PLACES: tuple[tuple[Callable[[Node], Node], Callable[[JSON], JSON]], ...] = (
    (lambda node: node, lambda value: value),
    (lambda node: {"properties": {"f": node}}, lambda value: {"f": value}),
    (lambda node: {"type": "array", "items": node}, lambda value: [value]),
    (lambda node: {"additionalProperties": node}, lambda value: {"f": value}),
    (lambda node: {"anyOf": [node, {"required": ["never"]}]}, lambda value: value),
)


def disagreements_of(keyword: str, places: int, profile: Profile) -> Iterator[tuple[Node, JSON]]:
    for turn, (node, place) in enumerate(product(nodes_with(keyword), range(places))):
        around, put = PLACES[place]
        raw = around(node)
        structural = parsed(raw, profile)
        validation = ScreenedValidation(structural, profile)
        # All values at the root, and a third of them, by turns, elsewhere.
        for inner in VALUES[turn % 3 :: 3] if place else VALUES:
            value = put(inner)
            # The exact engine is asked only where there may be a disagreement.
            if validation.is_surely_valid(value) and schema.validate(
                value, structural, profile=profile
            ):
                yield raw, value


@pytest.mark.parametrize("keyword", KEYWORDS)
def test_no_keyword_is_taken_for_satisfied_where_it_is_not(keyword: str) -> None:
    assert [*disagreements_of(keyword, len(PLACES), Profile.APISERVER)] == []


def says_nothing(_: Structural) -> Node:
    return {}


@pytest.mark.parametrize("name", translating.KEYWORDS)
def test_the_matrix_would_notice_a_keyword_that_is_forgotten(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = {**translating.KEYWORDS, name: says_nothing}
    monkeypatch.setattr(translating, "KEYWORDS", broken)
    head, *rest = name.strip("_").split("_")
    keyword = head + "".join(map(str.capitalize, rest))

    assert next(disagreements_of(keyword, 1, Profile.APISERVER), None) is not None


# --- Drawn schemas -----------------------------------------------------------------------------


@st.composite
def drawn_nodes(draw: st.DrawFn, depth: int = 3) -> Node:
    """
    Draw a schema whose keywords mostly suit its type; its fields are called a, b and c.
    """
    type_ = draw(st.sampled_from((*TYPES, "object", "object", "string", "intOrString")))
    node: Node = {"x-kubernetes-int-or-string": True} if type_ == "intOrString" else {}
    if type_ in TYPES[1:]:
        node["type"] = type_
    suited = SUITED.get(type_, tuple(KEYWORDS))
    for keyword in draw(st.lists(st.sampled_from(suited), max_size=3)):
        node[keyword] = draw(st.sampled_from(KEYWORDS[keyword]))
    if depth and type_ in ("object", ""):
        inner = drawn_nodes(depth=depth - 1)
        if draw(st.integers(0, 4)) == 0:
            node["additionalProperties"] = draw(inner)
        else:
            node["properties"] = draw(st.dictionaries(st.sampled_from("abc"), inner, max_size=3))
    if depth and type_ == "array":
        node["items"] = draw(drawn_nodes(depth=depth - 1))
    if depth and draw(st.integers(0, 7)) == 0:
        members = st.lists(drawn_nodes(depth=depth - 1), min_size=1, max_size=2)
        node[draw(st.sampled_from(("allOf", "anyOf", "oneOf")))] = draw(members)
    if draw(st.integers(0, 7)) == 0:
        node["nullable"] = True
    return node


SUITED: dict[str, tuple[str, ...]] = {
    "string": ("minLength", "maxLength", "format", "pattern", "enum", "anyOf"),
    "integer": ("minimum", "maximum", "exclusiveMinimum", "multipleOf", "enum", "format"),
    "number": ("minimum", "maximum", "exclusiveMaximum", "multipleOf", "enum", "format"),
    "intOrString": ("anyOf", "pattern", "maximum", "format", "enum", "maxLength"),
    "boolean": ("enum", "nullable"),
    "object": (
        *("required", "required", "minProperties", "maxProperties", "not", "oneOf"),
        "x-kubernetes-embedded-resource",
    ),
    "array": ("minItems", "maxItems", "uniqueItems", "x-kubernetes-list-type", "not"),
}


def near(raw: Any, chance: random.Random) -> Any:
    """
    Make a value that mostly satisfies a schema.
    """
    if not isinstance(raw, dict) or chance.random() < 0.02:
        return chance.choice(VALUES)
    if chance.random() < (0.2 if raw.get("nullable") else 0.02):
        return None
    if raw.get("enum") and chance.random() < 0.9:
        return chance.choice(raw["enum"])
    if raw.get("x-kubernetes-int-or-string"):
        return chance.choice(INTS_OR_STRINGS)
    type_ = raw.get("type", "")
    match type_:
        case "string" | "integer" | "number" | "boolean":
            scalars = SCALARS_OF[type_]
            return chance.choice(good_texts(raw.get("format", "")) or scalars)
        case "array":
            longest = 2 if "items" in raw else 1
            return [near(raw.get("items"), chance) for _ in range(chance.randint(0, longest))]
        case _:
            return members_near(raw, chance)


INTS_OR_STRINGS: tuple[Any, ...] = (*TEXTS, *NUMBERS[:24])
SCALARS_OF: dict[str, tuple[Any, ...]] = {
    "string": TEXTS,
    "integer": tuple(number for number in NUMBERS if isinstance(number, int)),
    "number": NUMBERS,
    "boolean": (True, False),
}


def good_texts(name: str) -> tuple[str, ...]:
    good, bad = GOOD_AND_BAD.get(name.replace("-", ""), ((), ()))
    return (*good * 4, *bad)


def members_near(raw: Node, chance: random.Random) -> JSON:
    members: dict[str, JSON] = {}
    required = raw.get("required", ())
    properties = raw.get("properties", {})
    for name in {*properties, *required}:
        if chance.random() < (0.95 if name in required else 0.6):
            members[name] = near(properties.get(name, {"type": "string"}), chance)
    for name in ("a", "b", "c", "z"):
        if name not in members and chance.random() < 0.1:
            members[name] = near(raw.get("additionalProperties"), chance)
    return members


def values_near(raw: Node, seed: int) -> Iterator[JSON]:
    chance = random.Random(seed)  # noqa: S311 - no secret
    for _ in range(VALUES_OF_A_SCHEMA):
        yield near(raw, chance)


counted: Counter[str] = Counter()


@settings(
    max_examples=SCHEMAS,
    derandomize="FAST_PATH_SCHEMAS" not in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(drawn_nodes(), st.sampled_from(Profile), st.integers(0, 1 << 32))
def compare_drawn(raw: Node, profile: Profile, seed: int) -> None:
    structural = parsed({"type": "object", "properties": {"f": raw}}, profile)
    validation = ScreenedValidation(structural, profile)
    for inner in values_near(raw, seed):
        value: JSON = {"f": inner}
        findings = schema.validate(value, structural, profile=profile)
        is_sure = validation.is_surely_valid(value)
        counted[f"{'in' * bool(findings)}valid"] += 1
        counted["sure"] += is_sure
        assert not (is_sure and findings), (raw, value)
        assert validation.is_valid(value) == (not findings)
        assert [*map(str, validation.validate(value))] == [*map(str, findings)]


def test_drawn_values_are_judged_alike_by_the_fast_path_and_by_the_exact_engine() -> None:
    counted.clear()

    compare_drawn()

    assert counted["valid"] + counted["invalid"] >= 20_000
    # Else it would be easy to agree.
    assert counted["valid"] > 5_000
    assert counted["invalid"] > 5_000
    assert counted["sure"] > 0.8 * counted["valid"]


def answers_of(obj: dict[str, JSON], old: dict[str, JSON], resource: Resource) -> list[str]:
    found = (
        schema.check_creation(obj, resource),
        schema.check_update(obj, old, resource),
        schema.check_status_update(obj, old, resource),
    )
    return [str(error) for answer in found for error in answer.errors]


@settings(
    max_examples=100,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(drawn_nodes(), drawn_nodes(), st.integers(0, 1 << 32))
def test_writes_are_answered_alike_with_and_without_the_screen(
    spec: Node, status: Node, seed: int
) -> None:
    raw = {"type": "object", "properties": {"spec": spec, "status": status}}
    resource = Resource(
        api_version="example.com/v1",
        kind="Foo",
        structural=parsed(raw, Profile.APISERVER),
        has_status=bool(seed % 2),
    )
    own: dict[str, JSON] = {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": METADATA}
    chance = random.Random(seed)  # noqa: S311 - no secret
    objects = [
        own | {"spec": near(spec, chance), "status": near(status, chance)} for _ in range(12)
    ]

    screened = [answers_of(*pair, resource) for pair in pairwise(objects)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ScreenedValidation, "is_surely_valid", lambda _self, _value: False)
        walked = [answers_of(*pair, resource) for pair in pairwise(objects)]

    assert screened == walked


METADATA: JSON = {"name": "x", "namespace": "y", "resourceVersion": "1"}
