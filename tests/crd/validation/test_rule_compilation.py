"""
Rules of definitions: do they compile, what may they cost, may they look at old values?
"""

import json
from pathlib import Path
from typing import Any

import pytest

from espalier.crd import check_definition

_DATA: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "data" / "cel-definitions.json").read_text(encoding="utf-8")
)
_AT = "spec.validation.openAPIV3Schema"


def _definition(schema: dict[str, Any] | None) -> dict[str, Any] | None:
    if schema is None:
        return None
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


def _refusals(schema: dict[str, Any], old: dict[str, Any] | None = None) -> list[str]:
    definition = _definition(schema)
    assert definition is not None
    return sorted(str(each.error) for each in check_definition(definition, old=_definition(old)))


@pytest.mark.parametrize("row", _DATA["definitions"], ids=range(len(_DATA["definitions"])))
def test_verdicts_are_the_servers(row: dict[str, Any]) -> None:
    assert _refusals(row["schema"], row.get("old")) == row["errors"]


def _with_rule(rule: str, **more: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "l": {"type": "array", "maxItems": 3000, "items": {"type": "string", **more}}
        },
        "x-kubernetes-validations": [{"rule": rule}],
    }


_NESTED = "self.l.all(x, self.l.all(y, x == y))"


def test_a_rule_that_costs_too_much_is_refused() -> None:
    (each, contribution, total) = _refusals(_with_rule(_NESTED, maxLength=100))
    assert total.startswith(f"{_AT}: Forbidden: x-kubernetes-validations estimated rule cost total")
    assert each.startswith(f"{_AT}.x-kubernetes-validations[0].rule: Forbidden: ")
    assert "contributed" in each or "contributed" in contribution


def test_bounds_make_a_rule_cheap_enough() -> None:
    schema = _with_rule(_NESTED, maxLength=5)
    schema["properties"]["l"]["maxItems"] = 50
    assert _refusals(schema) == []


def test_a_rule_may_go_on_to_cost_too_much_in_an_unchanged_schema() -> None:
    schema = _with_rule("self.l.all(x, x.matches('^(a|b)+$'))", maxLength=5000)
    assert any("estimated rule cost exceeds" in each for each in _refusals(schema))
    assert _refusals(schema, schema) == []


def test_rules_wait_for_what_else_is_wrong_below() -> None:
    schema = _with_rule("self.nothing")
    schema["properties"]["l"]["uniqueItems"] = True
    refusals = _refusals(schema)
    assert len(refusals) == 1
    assert "uniqueItems" in refusals[0]
    unique = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
    beside = {"type": "object", "properties": {"a": _with_rule("self.nothing"), "b": unique}}
    assert len(_refusals(beside)) == len(["uniqueItems", "undefined field"])


def test_schemas_too_deep_for_rules_here_are_not_refused() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(200):
        schema = {"type": "object", "properties": {"a": schema}}
    schema["x-kubernetes-validations"] = [{"rule": "self.nothing"}]
    assert _refusals(schema) == []


@pytest.mark.parametrize("is_embedded", [False, True])
def test_names_that_a_schema_declares_whole_are_as_long_as_it_says(*, is_embedded: bool) -> None:
    text = {"type": "string"}
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            "metadata": {"type": "object", "properties": {"name": text}},
            "kind": text,
            "apiVersion": text,
            "l": {"type": "array", "maxItems": 200, "items": {"type": "string", "maxLength": 3}},
        },
        "x-kubernetes-validations": [{"rule": "self.l.all(x, self.metadata.name.contains(x))"}],
    }
    root = schema
    if is_embedded:
        schema["x-kubernetes-embedded-resource"] = True
        root = {"type": "object", "properties": {"e": schema}}
    assert _refusals(root) == []
    schema["properties"]["metadata"]["properties"]["generateName"] = text
    assert any("estimated rule cost exceeds" in each for each in _refusals(root))


def test_members_of_what_has_none_have_no_type() -> None:
    rules = [{"rule": "self == self"}]
    inner = {"type": "string", "x-kubernetes-validations": rules}
    odd: dict[str, Any] = {"type": "object", "items": inner}
    root = {"type": "object", "properties": {"a": odd}}
    assert _refusals(root) == []
    odd["x-kubernetes-validations"] = rules
    place = f"{_AT}.properties[a].items.x-kubernetes-validations"
    detail = "failed to convert to declType for CEL validation rules"
    assert _refusals(root) == [f"{place}: Internal error: {detail}"]


def test_a_rule_that_is_never_instantiated_still_uses_old_self() -> None:
    failing = {"rule": "oldSelf == optional.of(int('a'))", "optionalOldSelf": True}
    size = {"type": "integer", "x-kubernetes-validations": [failing]}
    correlated = {"type": "object", "properties": {"size": size}}
    uncorrelated = {
        "type": "object",
        "properties": {"sizes": {"type": "array", "maxItems": 3, "items": size}},
    }

    (only,) = _refusals(correlated)
    first, second = _refusals(uncorrelated)

    assert only.endswith(
        ": program instantiation failed: type conversion error from 'string' to 'int'"
    )
    assert "program instantiation failed" in first + second
    assert "oldSelf cannot be used on the uncorrelatable portion" in first + second
