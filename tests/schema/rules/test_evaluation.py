import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from espalier.paths import JSON
from espalier.schema import Profile
from espalier.schema.parsing import parse
from espalier.schema.ratcheting import Correlation, Tolerance
from espalier.schema.rules.judge import CelJudge
from espalier.schema.rules.port import RuleOutcome, Ruling

DATA = Path(__file__).parents[2] / "data"
SHARED: dict[str, Any] = json.loads((DATA / "cel.json").read_text())
CASES: list[dict[str, Any]] = json.loads((DATA / "cel-rules.json").read_text())["cases"]


def judge(
    schema: JSON, value: JSON, *, rules: CelJudge | None = None, **options: Any
) -> list[Ruling]:
    structural = parse(schema, profile=Profile.APISERVER)
    assert structural is not None
    return [*(rules or CelJudge()).judge(structural, value, **options)]


def texts(rulings: list[Ruling]) -> list[str]:
    return [str(ruling.error) for ruling in rulings]


@pytest.mark.parametrize("case", CASES, ids=lambda case: json.dumps(case["schema"])[-80:])
def test_rules_have_against_a_value_what_the_server_has(case: dict[str, Any]) -> None:
    schema = {**case["schema"]}
    if schema.pop("shared", False):
        schema["properties"] = {**SHARED["schema"]["properties"], **schema["properties"]}
        schema["type"] = "object"
    old = SHARED["old"] if case.get("old") == "shared" else case.get("old")

    rulings = judge(schema, case.get("value", SHARED["value"]), old=old)

    assert texts(rulings) == case["errors"]
    assert {ruling.outcome for ruling in rulings} <= {RuleOutcome.VIOLATED}


NUMBERS: JSON = {"type": "object", "properties": {"a": {"type": "integer"}}}
SMALL: JSON = {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 5"}]}
LIMIT = "'operation cancelled: actual cost limit exceeded': no further validation rules will be run"


def test_a_rule_that_costs_too_much_ends_the_evaluation() -> None:
    rule = "self.all(x, self.exists_one(y, x.a == y.a))"
    rules: JSON = [{"rule": rule}]
    numbers: JSON = {"type": "array", "items": NUMBERS, "x-kubernetes-validations": rules}
    schema: JSON = {"type": "object", "properties": {"l": numbers, "z": SMALL}}

    found = judge(schema, {"l": [{"a": index} for index in range(2000)], "z": 1})

    detail = f"{LIMIT} due to call cost exceeds limit for rule: {rule}"
    assert texts(found) == [f'l: Invalid value: "array": {detail}']


def test_the_rules_of_an_object_share_a_budget() -> None:
    rule: JSON = {"rule": "!self.contains(self + 'x')"}
    items: JSON = {"type": "string", "x-kubernetes-validations": [rule]}
    texts_: JSON = {"type": "array", "items": items}
    schema: JSON = {"type": "object", "properties": {"l": texts_, "z": SMALL}}

    found = judge(schema, {"l": ["9" * 9000] * 20, "z": 1})

    detail = "validation failed due to running out of cost budget, no further validation rules"
    assert texts(found) == [f'l[12]: Invalid value: "string": {detail} will be run']


def test_what_takes_too_long_was_not_checked() -> None:
    rule = "lists.range(10000).all(x, x >= 0)"
    schema: JSON = {"type": "object", "x-kubernetes-validations": [{"rule": rule}] * 2}
    ticks = itertools.count()

    found = judge(
        schema, {}, rules=CelJudge(monotonic_seconds=lambda: next(ticks), seconds_of_object=5)
    )

    assert [ruling.outcome for ruling in found] == [RuleOutcome.NOT_CHECKED]
    assert rule in found[0].error.detail


NOT_CHECKED = {
    "message": "google.protobuf.Duration{seconds: 1} == duration('1s')",
    "copies": "self.?s" + ".optMap(x, x)" * 30 + ".hasValue()",
    "digits": "isQuantity(self.s)",
    "exponent": "isQuantity('1e9999')",
    "precision": "'%.999999999f'.format([self.n]) == ''",
    "text": "self.s.replace('', self.s) == ''",
}


@pytest.mark.parametrize("rule", NOT_CHECKED.values(), ids=NOT_CHECKED.keys())
def test_what_cannot_be_evaluated_is_not_valid(rule: str) -> None:
    properties: JSON = {
        "s": {"type": "string"},
        "n": {"type": "number"},
        "b": {"type": "boolean"},
    }
    schema: JSON = {
        "type": "object",
        "properties": properties,
        "x-kubernetes-validations": [{"rule": rule}],
    }

    found = judge(schema, {"s": "9" * 50_000, "n": 1.5, "b": True})

    assert [ruling.outcome for ruling in found] == [RuleOutcome.NOT_CHECKED]


def test_a_rule_that_nests_deep_is_evaluated() -> None:
    rule = "[" * 40 + "1" + "]" * 40 + " == []"
    schema: JSON = {"type": "object", "x-kubernetes-validations": [{"rule": rule}]}

    found = judge(schema, {})

    assert [ruling.outcome for ruling in found] == [RuleOutcome.VIOLATED]


def test_rules_of_a_schema_that_nests_too_deep_were_not_checked() -> None:
    schema: dict[str, Any] = {"type": "object", "x-kubernetes-validations": [{"rule": "false"}]}
    for _ in range(180):
        schema = {"type": "object", "properties": {"a": schema}}

    found = judge(schema, {"a": {}})

    assert [ruling.outcome for ruling in found] == [RuleOutcome.NOT_CHECKED]


LONG = "9" * 5000


@pytest.mark.parametrize(
    ("rule", "holds"),
    [
        ("isSemver(self + '.0.0')", False),
        ("isCIDR('1.2.3.4/' + self)", False),
        ("self.matches('(9*)*b')", False),
        ("self.findAll('9').size() == 5000", True),
        ("size(self) == 5000", True),
        ("('0' + self).split('').all(x, int(x) <= 9)", True),
        ("!isURL('http://' + self.replace('9', ':'))", True),
    ],
)
def test_long_texts_do_no_harm(rule: str, *, holds: bool) -> None:
    text: JSON = {"type": "string", "x-kubernetes-validations": [{"rule": rule}]}

    found = judge({"type": "object", "properties": {"s": text}}, {"s": LONG})

    assert (found == []) is holds


@pytest.mark.parametrize("function", ["int", "uint", "duration", "timestamp", "double"])
def test_long_numbers_are_none(function: str) -> None:
    rule = f"{function}(self) == {function}(self)"
    text: JSON = {"type": "string", "x-kubernetes-validations": [{"rule": rule}]}

    (found,) = judge({"type": "object", "properties": {"s": text}}, {"s": LONG})

    assert "type conversion error from 'string' to" in found.error.detail


def test_half_characters_are_replaced_as_in_go() -> None:
    rule = "self == '\ufffd' && size(self) == 1 && bytes(self).size() == 3"
    text: JSON = {"type": "string", "x-kubernetes-validations": [{"rule": rule}]}

    assert judge({"type": "object", "properties": {"s": text}}, {"s": "\ud800"}) == []


def test_what_was_there_before_is_forgiven_but_for_transitions() -> None:
    rules: JSON = [{"rule": "self > 5"}, {"rule": "self > oldSelf"}, {"rule": "self / 0 == 1"}]
    schema: JSON = {
        "type": "object",
        "properties": {"a": {"type": "integer", "x-kubernetes-validations": rules}},
    }
    structural = parse(schema, profile=Profile.APISERVER)
    assert structural is not None
    value: JSON = {"a": 1}
    tolerance = Tolerance(Correlation(value, value, structural))

    found = CelJudge().judge(structural, value, old=value, tolerance=tolerance)

    assert [ruling.outcome for ruling in found] == [
        RuleOutcome.FORGIVEN,
        RuleOutcome.VIOLATED,
        RuleOutcome.VIOLATED,
    ]


def test_only_schemas_with_rules_are_governed() -> None:
    without = parse({"type": "object"}, profile=Profile.APISERVER)
    within = parse({"type": "object", "properties": {"z": SMALL}}, profile=Profile.APISERVER)
    assert without is not None
    assert within is not None

    assert not CelJudge().governs(without, is_resource=True)
    assert CelJudge().governs(within, is_resource=True)
    assert CelJudge().judge(without, {}) == ()


UNKNOWN: JSON = {"x-kubernetes-preserve-unknown-fields": True}
PRESERVED = "values preserved by x-kubernetes-preserve-unknown-fields"
UNSEEN = {
    "dyn(self).u == dyn(self).u": "",
    "dyn(self).t == 'x'": "",
    "dyn(self).u == 1": "failed rule: dyn(self).u == 1",
    "size(dyn(self).u) == 1": "'no such overload: size'",
    "dyn(self).u.q == 1": "no such key: q evaluating rule",
    "type(dyn(self).u) == int": f"type conversion to 'type' not supported for {PRESERVED}",
    "dyn(self).u.all(x, true)": "got '*common.unknownPreserved', expected iterable type",
    "[1][dyn(self).u] == 1": "invalid qualifier type: *common.unknownPreserved",
}


@pytest.mark.parametrize(("rule", "detail"), UNSEEN.items())
def test_what_no_schema_knows_can_only_be_compared(rule: str, detail: str) -> None:
    schema: JSON = {
        "type": "object",
        "properties": {"u": UNKNOWN, "t": UNKNOWN},
        "x-kubernetes-validations": [{"rule": rule}],
    }

    found = judge(schema, {"u": {"q": 1}, "t": "x"})

    assert [ruling.error.detail.startswith(detail) for ruling in found] == [True] * bool(detail)
