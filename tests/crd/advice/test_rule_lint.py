"""
Lints of rules: what fails or passes where its author does not expect it.
"""

from typing import Any

import pytest

from espalier import crd
from espalier.crd.advice.rule_lint import lint_rules
from espalier.paths import JSON
from espalier.schema import Profile, parse

TEXT: dict[str, Any] = {"type": "string", "maxLength": 9}
MIXED: dict[str, Any] = {"x-kubernetes-int-or-string": True}
FIELDS: dict[str, Any] = {
    "a": TEXT,
    "b": TEXT,
    "given": TEXT,
    "set": TEXT | {"default": "x"},
    "in": TEXT,
    "o": {"type": "object", "properties": {"a": TEXT, "b": TEXT}},
    "list": {
        "type": "array",
        "maxItems": 3,
        "items": {"type": "object", "properties": {"a": TEXT}},
    },
    "map": {"type": "object", "maxProperties": 3, "additionalProperties": TEXT},
    "cpu": MIXED,
}


def linted(rule: str, **more: Any) -> list[str]:
    spec: dict[str, Any] = {"type": "object", "required": ["given"], "properties": FIELDS}
    spec["x-kubernetes-validations"] = [{"rule": rule, **more}]
    root: JSON = {"type": "object", "required": ["spec"], "properties": {"spec": spec}}
    structural = parse(root, profile=Profile.APISERVER)
    assert structural is not None
    found = lint_rules(structural)
    return [f"{one.rule} {one.detail.split(',')[0].split(' may be an')[0]}" for one in found]


def reads(*places: str) -> list[str]:
    return [f"unguarded-field reads {place}" for place in places]


@pytest.mark.parametrize(
    ("rule", "places"),
    [
        ("self.a == 'x'", ["self.a"]),
        ("self.a == self.b", ["self.a", "self.b"]),
        ("self.a == self.a", ["self.a"]),
        ("self.given == self.set", []),
        ("self.__in__ == ''", ["self.in"]),
        ("has(self.a) && self.a == ''", []),
        ("self.a == '' && has(self.a)", []),
        ("!has(self.a) || self.a == ''", []),
        ("has(self.a) == false || self.a == ''", []),
        ("has(self.a) != true || self.a == ''", []),
        ("has(self.a) != false && self.a == ''", []),
        ("has(self.a) || self.a == ''", ["self.a"]),
        ("has(self.a) ? self.a == '' : true", []),
        ("has(self.a) ? true : self.a == ''", ["self.a"]),
        ("!(has(self.a) && has(self.b)) || self.a == self.b", []),
        ("!(has(self.a) || has(self.b)) || self.a == self.b", ["self.a", "self.b"]),
        ("(has(self.a) || has(self.b)) && self.a == ''", ["self.a"]),
        ("(has(self.a) && has(self.b) || has(self.a)) && self.a == ''", []),
        ("has(self.o.a)", ["self.o"]),
        ("has(self.o) && has(self.o.a) && self.o.a == ''", []),
        ("!has(self.o) || !has(self.o.a) || self.o.b == ''", ["self.o.b"]),
        ("self.given != 'x' || size(self.a) > 0", ["self.a"]),
        ("self.list.all(x, x.a == '')", ["self.list", "x.a"]),
        ("!has(self.list) || self.list.all(x, has(x.a) && x.a == '')", []),
        ("!has(self.list) || self.list.all(i, x, !has(x.a) || x.a == '')", []),
        ("!has(self.list) || self.list.exists(x, x.a == '')", ["x.a"]),
        ("!has(self.list) || size(self.list) == 0 || self.list[0].a == ''", ["self.list[0].a"]),
        ("!has(self.list) || self.list.filter(x, has(x.a)).all(x, x.a == '')", []),
        ("!has(self.map) || self.map.all(k, self.map[k] == '')", []),
        ("self.?a.orValue('') == ''", []),
        ("oldSelf.a == ''", ["oldSelf.a"]),
        ("!has(oldSelf.a) || has(self.a) && self.a == oldSelf.a", []),
    ],
)
def test_a_field_that_may_be_absent_is_read_behind_a_guard(rule: str, places: list[str]) -> None:
    assert linted(rule) == reads(*places)


def test_the_own_fields_of_an_object_are_always_there() -> None:
    rules: JSON = [{"rule": "self.metadata.name == self.kind + self.apiVersion"}]
    embedded: JSON = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
        "x-kubernetes-validations": rules,
    }
    written: JSON = {
        "type": "object",
        "properties": {"o": embedded},
        "x-kubernetes-validations": rules,
    }

    structural = parse(written, profile=Profile.APISERVER)

    assert structural is not None
    [only] = lint_rules(structural)
    # An embedded resource need not have a name.
    assert only.path[:2] == ("properties", "o")
    assert only.detail.startswith("reads self.metadata.name,")


def test_a_message_is_read_too() -> None:
    assert linted("self.given == ''", messageExpression="self.a") == reads("self.a")


@pytest.mark.parametrize(
    ("rule", "is_found"),
    [
        ("!has(self.cpu) || quantity(self.cpu).isInteger()", True),
        ("!has(self.cpu) || isQuantity(self.cpu)", True),
        ("!has(self.cpu) || quantity(string(self.cpu)).isInteger()", False),
        ("!has(self.cpu) || type(self.cpu) == int || quantity(self.cpu).isInteger()", False),
        ("isQuantity(self.given)", False),
    ],
)
def test_a_quantity_of_an_integer_is_no_quantity(*, rule: str, is_found: bool) -> None:
    assert linted(rule) == (["quantity-of-integer self.cpu"] if is_found else [])


def test_a_rule_that_cannot_be_read_here_is_named() -> None:
    rule = "google.protobuf.Int64Value{value: 1} == 1"

    assert linted(rule) == ["rule-not-checked was not checked"]


@pytest.mark.parametrize(
    "rule",
    [" && ".join(["self.given == ''"] * 40), "(" * 240 + "true" + ")" * 240],
    ids=["terms", "depth"],
)
def test_a_deep_rule_is_checked(rule: str) -> None:
    assert linted(rule) == []


IMMUTABLE: list[dict[str, Any]] = [{"rule": "self == oldSelf"}]


@pytest.mark.parametrize(
    ("child", "parent", "is_found"),
    [
        ({}, {}, True),
        ({}, {"required": ["a"]}, False),
        ({"default": "x"}, {}, False),
        ({}, {"x-kubernetes-validations": [{"rule": "!has(oldSelf.a) || has(self.a)"}]}, False),
        ({}, {"x-kubernetes-validations": [{"rule": "!has(oldSelf.b) || has(self.b)"}]}, True),
        ({"x-kubernetes-validations": [{"rule": "self != ''"}]}, {}, False),
        (
            {
                "x-kubernetes-validations": [
                    {"rule": "oldSelf.orValue(self) == self", "optionalOldSelf": True}
                ]
            },
            {},
            False,
        ),
    ],
)
def test_a_transition_rule_on_an_optional_field_can_be_passed_by(
    *, child: dict[str, Any], parent: dict[str, Any], is_found: bool
) -> None:
    field = {**TEXT, "x-kubernetes-validations": IMMUTABLE, **child}
    written = {"type": "object", "properties": {"a": field, "b": TEXT}, **parent}

    structural = parse(written, profile=Profile.APISERVER)

    assert structural is not None
    found = [one.rule for one in lint_rules(structural)]
    assert found == (["transition-on-optional"] if is_found else [])


def definition(**names: Any) -> crd.Definition:
    return crd.read_definition(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "pots.example.com"},
            "spec": {
                "group": "example.com",
                "names": {"plural": "pots", "kind": "Pot", **names},
                "versions": [{"name": "v1"}],
            },
        }
    )


def test_a_short_name_is_not_one_of_the_own_names() -> None:
    assert [one.path[-1] for one in crd.lint(definition(shortNames=["pot", "p", "pots"]))] == [0, 2]
    assert crd.lint(definition(shortNames=["pot"], singular="kettle")) == ()
    assert crd.lint(definition(shortNames=["kettle"], singular="kettle")) != ()
