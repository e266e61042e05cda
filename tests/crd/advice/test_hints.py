from pathlib import Path

import orjson
import pytest

from espalier import crd
from espalier.crd.advice.hints import _BY_RULE
from espalier.crd.advice.lint import RULES
from espalier.paths import JSON
from tests.crd.manifests import manifest, property_of, version

RECORDED = [
    recorded
    for recorded in orjson.loads(
        Path(__file__).parents[2].joinpath("data", "definitions.json").read_bytes()
    )
    if recorded.get("errors") or recorded["warnings"]
]


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda recorded: str(recorded["id"]))
def test_every_finding_has_a_hint_of_a_few_words(recorded: dict[str, JSON]) -> None:
    new, old = recorded["new"], recorded.get("old")
    if "undecodable" in recorded:
        return
    found: list[crd.Rejection | crd.Warned] = [*crd.check_definition(new, old)]
    found += crd.server_warnings(new, old)
    hints = [crd.hint_for(one) for one in found] + [crd.hint_for(one, new) for one in found]
    assert all(hint and not hint.endswith(".") and "\n" not in hint for hint in hints)


def test_every_rule_of_lints_and_warnings_has_a_hint() -> None:
    assert {*RULES, "unknown-field", "unrecognized-format", "set-of-collections"} == {*_BY_RULE}


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (property_of({"properties": {"b": {"type": "string"}}}), "add `type: object` here"),
        (property_of({"type": "array"}), "add `items` with the schema of the list's items"),
        (
            property_of({"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
            "use `x-kubernetes-list-type: set`",
        ),
        (manifest(group=""), "name it `<plural>.<group>`"),
        (manifest(scope="cluster"), "use one of the supported values"),
        (
            manifest(versions=[version("v1"), version("v2", storage=True)]),
            "mark exactly one version with `storage: true`",
        ),
        (manifest(names={"plural": "foos"}), "add `singular`"),
        (
            property_of({"type": "integer", "default": 1, "minimum": 2}),
            "correct the default, or the schema that it must satisfy",
        ),
    ],
)
def test_a_hint_says_what_to_do(new: JSON, expected: str) -> None:
    found = crd.check_definition(new)

    assert crd.hint_for(found[0], new) == expected


def test_a_lint_has_the_hint_of_its_rule() -> None:
    nested: JSON = {"type": "object", "properties": {"b": {"type": "string", "default": "x"}}}
    (found,) = crd.lint(crd.read_definition(property_of(nested)))

    hint = "add `default: {}` to the parent, if the default must always apply"
    assert crd.hint_for(found) == hint


def test_the_hint_for_a_field_of_metadata_names_those_that_there_are() -> None:
    schema: JSON = {
        "type": "object",
        "x-kubernetes-validations": [{"rule": "self.metadata.namespace != 'x'"}],
    }
    written: JSON = {
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

    [refused] = crd.check_definition(written)

    assert "`name` and `generateName`" in crd.hint_for(refused, written)
