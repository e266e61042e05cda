import pytest
from hypothesis import given

from espalier import crd
from espalier.crd.advice.lint import RULES
from espalier.errors import MalformedDefinitionError
from espalier.paths import JSON, render_path
from tests.differential.definitions import definitions

AT = "spec.versions[0].schema.openAPIV3Schema"


def linted(schema: JSON) -> list[str]:
    manifest: JSON = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"plural": "foos", "kind": "Foo"},
            "versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}],
        },
    }
    found = crd.lint(crd.read_definition(manifest))
    return [f"{render_path(one.path)} {one.rule}".removeprefix(f"{AT}.") for one in found]


def of(schema: JSON) -> JSON:
    return {"type": "object", "properties": {"a": schema}}


DEFAULTED: JSON = {"type": "string", "default": "x"}
MIXED: dict[str, JSON] = {"x-kubernetes-int-or-string": True}
PRESERVE: dict[str, JSON] = {"x-kubernetes-preserve-unknown-fields": True}

ONE_OF_TWO: dict[str, JSON] = {
    "type": "object",
    "properties": {"a": of(DEFAULTED), "b": of(DEFAULTED)},
}

FOUND: tuple[tuple[JSON, list[str]], ...] = (
    (
        of({"type": "string", "properties": {"b": DEFAULTED}}),
        ["properties[a].properties[b].default nested-default"],
    ),
    (
        of({"type": "object", "required": ["b"], "properties": {"b": DEFAULTED}}),
        [
            "properties[a].properties[b].default nested-default",
            "properties[a].properties[b].default zero-value-default",
        ],
    ),
    (
        of({"type": "number", "minimum": 1, "maximum": 1, "exclusiveMaximum": True}),
        ["properties[a].minimum empty-range"],
    ),
    (
        of({"type": "array", "items": {"type": "string", "const": "x", "anyOf": [{"const": 1}]}}),
        [
            "properties[a].items.const unknown-keyword",
            "properties[a].items.anyOf[0].const unknown-keyword",
        ],
    ),
    (of(of(DEFAULTED)), ["properties[a].properties[a].default nested-default"]),
    (
        of({"type": "object", "additionalProperties": DEFAULTED}),
        ["properties[a].additionalProperties.default default-within-map"],
    ),
    (
        {
            "type": "object",
            "required": ["a", "b"],
            "properties": {"a": DEFAULTED, "b": {"type": "object", "default": {"c": 1}}},
        },
        ["properties[a].default zero-value-default", "properties[b].default struct-default"],
    ),
    (
        of(
            {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["k"],
                "items": {"type": "object", "properties": {"k": {"type": "string"}}},
            }
        ),
        ["properties[a].items.properties[k] optional-map-key"],
    ),
    (
        of({"type": "object", "required": ["x"], "anyOf": [{"required": ["y"]}]}),
        [
            "properties[a].required required-undeclared",
            "properties[a].anyOf[0].required required-undeclared",
        ],
    ),
    (
        of(
            {"type": "integer", "minimum": 2, "maximum": 1, "not": {"minLength": 2, "maxLength": 0}}
        ),
        ["properties[a].minimum empty-range", "properties[a].not.minLength empty-range"],
    ),
    (
        of({"type": "array", "minItems": 2, "maxItems": 1, "items": {"type": "string"}}),
        ["properties[a].minItems empty-range"],
    ),
    (
        of({"type": "object", "minProperties": 2, "maxProperties": 1}),
        ["properties[a].minProperties empty-range"],
    ),
    (
        of({"type": "string", "enum": ["a", 1, None]}),
        ["properties[a].enum[1] enum-type", "properties[a].enum[2] enum-null"],
    ),
    (of({"type": "string", "nullable": True, "enum": ["a"]}), ["properties[a].enum enum-nullable"]),
    (
        of({"type": "object", "additionalProperties": False}),
        ["properties[a].additionalProperties closed-map"],
    ),
    (of({"type": "object", "additionalProperties": True}), []),
    (of({"type": "object", "not": {"additionalProperties": False}}), []),
    (of({"type": "string", "pattern": "(?!a)"}), ["properties[a].pattern pattern"]),
    (of({**MIXED, "pattern": "^[0-9]+%?$"}), ["properties[a].pattern string-bound-only"]),
    (of({**MIXED, "pattern": "^-?[0-9]+%?$"}), []),
    (of({**MIXED, "pattern": "^[0-9]+%?$", "minimum": 0}), []),
    (of({**MIXED, "maxLength": 3}), ["properties[a].maxLength string-bound-only"]),
    (of({**MIXED, "maxLength": 20}), []),
    (
        of({**MIXED, "allOf": [{"pattern": "%$"}]}),
        ["properties[a].allOf[0].pattern string-bound-only"],
    ),
    (of({**MIXED, "pattern": "%$", "x-kubernetes-validations": [{"rule": "true"}]}), []),
    (
        of({"type": "object", **PRESERVE, "properties": {"b": {"type": "object"}}}),
        ["properties[a].properties[b] preserved-or-pruned"],
    ),
    (
        of({"type": "object", **PRESERVE, "additionalProperties": {"type": "object"}}),
        ["properties[a].additionalProperties preserved-or-pruned"],
    ),
    (
        of({"type": "object", **PRESERVE, "additionalProperties": True}),
        ["properties[a].additionalProperties preserved-or-pruned"],
    ),
    (
        of({"type": "array", **PRESERVE, "items": of({"type": "string"})}),
        ["properties[a].items preserved-or-pruned"],
    ),
    (
        of(
            {
                "type": "object",
                **PRESERVE,
                "properties": {"l": {"type": "array", "items": {"type": "object"}}},
            }
        ),
        ["properties[a].properties[l] preserved-or-pruned"],
    ),
)


# Tested in test_rule_lint.py.
OF_RULES = {"own-short-name", "quantity-of-integer", "rule-not-checked", "unguarded-field"}
OF_RULES |= {"transition-on-optional"}


@pytest.mark.parametrize(("schema", "expected"), FOUND, ids=lambda value: str(value)[:60])
def test_what_is_hardly_meant_is_named(schema: JSON, expected: list[str]) -> None:
    assert linted(schema) == expected


def test_every_rule_is_tested() -> None:
    found = {found.split()[-1] for _, expected in FOUND for found in expected}
    assert found | OF_RULES == {*RULES}
    assert not found & OF_RULES


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "required": ["a"], "properties": {"a": of(DEFAULTED)}},
        of({"type": "object", "default": {}, "properties": {"b": DEFAULTED}}),
        of({"type": "array", "items": of(DEFAULTED)}),
        {
            "type": "object",
            "required": ["a", "b"],
            "properties": {
                "a": {"type": "string", "default": ""},
                "b": {"type": "object", "default": {}},
            },
        },
        {"type": "object", "required": ["metadata"]},
        of({"type": "object", "required": ["x"], **PRESERVE}),
        of({"x-kubernetes-int-or-string": True, "enum": [1, "a"]}),
        of({"type": "number", "enum": [1, 1.5], "minimum": 1, "maximum": 1}),
        of({"type": "object", **PRESERVE, "properties": {"b": of({"type": "string"})}}),
        of({"$ref": "#/x"}),
        of({"type": "string", "const": "x"}),
        of(of({"type": "string", "default": ""})),
        of(of({"type": "boolean", "default": False})),
        of({"type": "object", "minProperties": 1, "properties": {"b": DEFAULTED}}),
        of(
            {
                "type": "object",
                "required": ["c"],
                "properties": {"b": DEFAULTED, "c": {"type": "string"}},
            }
        ),
        {**ONE_OF_TWO, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {**ONE_OF_TWO, "maxProperties": 1},
        of({"type": "object", "not": {"required": ["x"]}}),
        of({"type": "string", "nullable": True, "anyOf": [{"enum": ["a"]}]}),
        None,
    ],
    ids=str,
)
def test_what_is_meant_is_left_alone(schema: JSON) -> None:
    assert linted(schema) == []


def test_a_lint_says_where_and_what() -> None:
    manifest: JSON = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"plural": "foos", "kind": "Foo"},
            "versions": [{"name": "v1", "schema": {"openAPIV3Schema": of(of(DEFAULTED))}}],
        },
    }

    (found,) = crd.lint(crd.read_definition(manifest))

    assert str(found) == (
        f"{AT}.properties[a].properties[a].default: does not apply where a is absent,"
        " since a itself has no default (nested-default)"
    )


@given(definitions())
def test_any_definition_can_be_linted(manifest: JSON) -> None:
    try:
        definition = crd.read_definition(manifest)
    except MalformedDefinitionError:
        return

    assert {one.rule for one in crd.lint(definition)} <= {*RULES}
