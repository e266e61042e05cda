"""
The costs of rules as servers estimate them.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from espalier import schema
from espalier.cel.cost.estimator import estimate
from espalier.cel.cost.ranges import MAX_UINT64, Range, ceil_of_quotient, wrapped
from espalier.schema.model import Structural
from espalier.schema.profile import Profile
from espalier.schema.rules.compilation import compile_rules
from espalier.schema.rules.types import declare

_DATA: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "data" / "cel-costs.json").read_text(encoding="utf-8")
)


def _estimated(rules: list[str]) -> list[int]:
    validations = [{"rule": rule} for rule in rules]
    return _estimated_of({**_DATA["schema"], "x-kubernetes-validations": validations})


def _estimated_of(written: dict[str, Any]) -> list[int]:
    structural = schema.parse(written, profile=Profile.APISERVER)
    assert structural is not None
    compiled = compile_rules(structural)
    declared = declare(structural, is_resource=True)
    assert compiled is not None
    assert declared is not None
    found = []
    for each in compiled.rules:
        assert each.rule is not None
        assert each.rule.checked is not None, each.rule.error
        found.append(estimate(each.rule.checked, declared).max)
    return found


@pytest.mark.parametrize("row", _DATA["rules"], ids=lambda row: row["rule"])
def test_costs_are_the_servers(row: dict[str, Any]) -> None:
    assert _estimated([row["rule"]]) == [row["maxCost"]]


NESTED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "b": {
            "type": "object",
            "properties": {
                "x": {"type": "object", "additionalProperties": {"type": "string"}},
                "l": {
                    "type": "array",
                    "maxItems": 100_000,
                    "items": {
                        "type": "object",
                        "properties": {
                            "s": {"type": "string", "maxLength": 5},
                            "t": {"type": "string"},
                        },
                    },
                },
            },
        }
    },
}


@pytest.mark.parametrize(
    ("rule", "cost"),
    [
        # Behind a path of three steps the key and the value have one place in memory.
        ("self.b.x.all(k, v, k != v)", 123_696_788_274),
        ("self.b.x.all(k, v, k != 'h')", 1_966_079),
        ("self.b.x.all(k, k != 'h')", 1_572_864),
        ("self.b.l.all(x, x.s == x.t)", 900_004),
        ("self.b.l.all(i, x, x.t + x.s == x.t)", 62_915_700_004),
        ("self.b.l.all(x, self.b.l.all(y, x.s == y.t && x.t == y.s))", 150_000_700_004),
    ],
)
def test_paths_share_their_memory_as_on_the_server(rule: str, cost: int) -> None:
    written = {**NESTED, "x-kubernetes-validations": [{"rule": rule}]}

    assert _estimated_of(written) == [cost]


@pytest.mark.parametrize(
    ("written", "cardinality"),
    [
        ({"type": "object"}, 1048576),
        (
            {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}},
            314572,
        ),
        (
            {
                "type": "object",
                "required": ["a", "b", "ä"],
                "properties": {
                    "a": {"type": "string", "default": "x"},
                    "b": {
                        "type": "object",
                        "required": ["c"],
                        "properties": {"c": {"type": "integer"}},
                    },
                    "ä": {"type": "boolean"},
                },
            },
            120989,
        ),
    ],
)
def test_smallest_values_determine_how_many_fit(written: dict[str, Any], cardinality: int) -> None:
    structural = schema.parse(written, profile=Profile.APISERVER)
    assert structural is not None
    declared = declare(structural, is_resource=False)
    assert declared is not None
    assert declared.max_cardinality == cardinality


def test_lists_of_what_has_no_type_are_not_seen() -> None:
    node = Structural(type="array", items=Structural(preserve_unknown_fields=True))
    assert declare(node, is_resource=False) is None


def test_numbers_stop_where_the_servers_do() -> None:
    most = Range(MAX_UINT64, MAX_UINT64)
    assert most.plus(Range(1, 1)) == most
    assert most.times(Range(2, 2)) == most
    assert most.scaled(0.5).max == 1 << 63
    assert most.scaled(1.5) == most
    assert ceil_of_quotient(MAX_UINT64, 1) == 1 << 63
    assert wrapped(-1) == MAX_UINT64
