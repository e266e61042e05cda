"""
What a definition has that an older API server lacks.
"""

from typing import Any

import pytest

from espalier import crd
from espalier.cel.environment import FUNCTIONS
from espalier.crd.advice.server_versions import _FUNCTIONS, needs

RULES = "x-kubernetes-validations"
TEXT: dict[str, Any] = {"type": "string", "maxLength": 9}
FIELDS: dict[str, Any] = {
    "a": TEXT,
    "n": {"type": "integer"},
    "d": {"type": "number"},
    "list": {"type": "array", "maxItems": 3, "items": TEXT},
}


def needed(minor: int, rule: dict[str, Any], **version: Any) -> list[str]:
    spec = {"type": "object", "required": [*FIELDS], "properties": FIELDS, RULES: [rule]}
    schema = {"type": "object", "required": ["spec"], "properties": {"spec": spec}}
    manifest: dict[str, Any] = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"plural": "foos", "kind": "Foo"},
            "versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}, **version}],
        },
    }
    found = needs(crd.read_definition(manifest), manifest, minor)
    return [f"1.{one.since} {one.name} {'refused' * one.is_refused}".strip() for one in found]


@pytest.mark.parametrize(
    ("rule", "since", "name"),
    [
        ("isQuantity(self.a)", 29, "isQuantity"),
        ("self.?a.hasValue()", 29, ".?"),
        ("self.n < self.d", 29, "comparison of numbers of different types"),
        ("sets.contains(self.list, ['x'])", 30, "sets.contains"),
        ("'%s'.format([self.a]) != ''", 30, "format"),
        ("isIP(self.a)", 31, "isIP"),
        ("isCIDR(self.a)", 31, "isCIDR"),
        ("!format.dns1123Label().validate(self.a).hasValue()", 32, "validate"),
        ("self.list.all(i, x, i < 2 || x != '')", 33, "macro with two variables"),
        ("isSemver(self.a)", 34, "isSemver"),
        ("self.list.distinct() == self.list", 35, "distinct"),
    ],
)
def test_a_new_rule_may_use_a_function_from_a_version_on(rule: str, since: int, name: str) -> None:
    assert f"1.{since} {name} refused" in needed(since - 1, {"rule": rule})
    assert needed(since, {"rule": rule}) == []


@pytest.mark.parametrize(
    "rule",
    [
        "self.a.startsWith('x') && self.a.matches('^x') && self.a.lowerAscii() == self.a",
        "self.n < 3 && self.d < 3.0 && self.list.exists(x, x == '')",
        "url(self.a).getHost() != ''",
        "self.list.isSorted() && self.list.join(',') != ''",
        "duration(self.a).getHours() == 0 && timestamp(self.a).getFullYear() > 0",
    ],
)
def test_the_oldest_version_has_the_others(rule: str) -> None:
    assert needed(25, {"rule": rule}) == []


def test_every_function_in_the_table_is_known() -> None:
    known = {overload.id for overloads in FUNCTIONS.values() for overload in overloads}

    assert known >= {*_FUNCTIONS}


@pytest.mark.parametrize(
    ("keyword", "value", "since"),
    [
        ("messageExpression", "'x'", 27),
        ("reason", "FieldValueForbidden", 28),
        ("fieldPath", ".a", 28),
        ("optionalOldSelf", True, 30),
    ],
)
def test_older_versions_ignore_a_keyword(keyword: str, value: object, since: int) -> None:
    rule = {"rule": "self.a != ''", keyword: value}

    assert f"1.{since} {keyword}" in needed(since - 1, rule)
    assert f"1.{since} {keyword}" not in needed(since, rule)


def test_a_rule_with_an_optional_old_value_is_refused_without_the_keyword() -> None:
    rule = {"rule": "self != oldSelf.orValue(self)", "optionalOldSelf": True}

    assert needed(29, rule) == ["1.30 optionalOldSelf refused"]
    assert needed(30, rule) == []


def test_formats_and_selectable_fields_are_newer() -> None:
    named = {"type": "string", "format": "k8s-short-name"}
    spec = {"type": "object", "properties": {"a": {"type": "array", "items": named}}}
    schema = {"type": "object", "properties": {"spec": spec}}
    version = {
        "schema": {"openAPIV3Schema": schema},
        "selectableFields": [{"jsonPath": ".spec.a"}],
    }

    assert needed(30, {}, **version) == ["1.31 selectableFields", "1.35 k8s-short-name"]
    assert needed(35, {}, **version) == []
