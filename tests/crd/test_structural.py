from pathlib import Path

import pytest

from espalier import crd
from espalier.crd import Condition
from espalier.errors import SchemaParseError
from espalier.paths import JSON
from tests import cases, crds
from tests.cases import check_verdict, only_document
from tests.crds import oracles

CASES = cases.DEFAULT_FOLDER
UNREADABLE: JSON = {"type": "object", "properties": {"a": {"$ref": "#/x"}}}
STRUCTURAL: JSON = {"type": "object"}
BROKEN: JSON = {"type": "object", "properties": {"b": {}, "a": {}}}
PATH = "spec.versions[{}].schema.openAPIV3Schema.properties[{}].type"
EMPTY = "Required value: must not be empty for specified object fields"


def manifest(*schemas: JSON, preserve: bool = False) -> JSON:
    versions: list[JSON] = [
        {
            "name": f"v{number}",
            "served": number != 2,
            "storage": number == 1,
            **({} if schema is None else {"schema": {"openAPIV3Schema": schema}}),
        }
        for number, schema in enumerate(schemas, 1)
    ]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"plural": "foos", "kind": "Foo"},
            "scope": "Namespaced",
            "preserveUnknownFields": preserve,
            "versions": versions,
        },
    }


def condition_of(*schemas: JSON, preserve: bool = False) -> Condition | None:
    definition = crd.read_definition(manifest(*schemas, preserve=preserve))
    return crd.nonstructural_condition(definition)


def test_a_structural_definition_has_no_condition() -> None:
    assert condition_of(STRUCTURAL, None, STRUCTURAL) is None


def test_violations_are_sorted_per_version_and_in_order_of_versions() -> None:
    made = condition_of(STRUCTURAL, BROKEN, {}, preserve=True)

    assert made is not None
    assert (made.type, made.status, made.reason) == ("NonStructuralSchema", "True", "Violations")
    assert made.message == (
        "[spec.preserveUnknownFields: Invalid value: true: must be false, "
        f"{PATH.format(1, 'a')}: {EMPTY}, {PATH.format(1, 'b')}: {EMPTY}, "
        "spec.versions[2].schema.openAPIV3Schema.type: Required value:"
        " must not be empty at the root]"
    )


def test_one_violation_stands_without_brackets() -> None:
    made = condition_of({"type": "object", "properties": {"a": {}}})

    assert made is not None
    assert made.message == f"{PATH.format(0, 'a')}: {EMPTY}"


def test_a_schema_that_cannot_be_read_makes_the_verdict_unknown() -> None:
    made = condition_of(BROKEN, UNREADABLE, preserve=True)

    assert made == Condition(
        type="NonStructuralSchema",
        status="Unknown",
        reason="StructuralError",
        message=(
            "failed to check validation schema for version v2:"
            " OpenAPIV3Schema '$ref' is not supported"
        ),
    )


def test_the_findings_are_those_of_the_condition() -> None:
    definition = crd.read_definition(manifest(BROKEN, preserve=True))

    assert [finding.origin for finding in crd.structural_findings(definition)] == [
        "preserveUnknownFields",
        "type",
        "type",
    ]
    with pytest.raises(SchemaParseError, match="for version v1"):
        crd.structural_findings(crd.read_definition(manifest(UNREADABLE)))


def test_the_schema_of_a_version_is_parsed() -> None:
    definition = crd.read_definition(manifest(STRUCTURAL, None))

    parsed = crd.structural_of(definition.versions[0])

    assert parsed is not None
    assert parsed.type == "object"
    assert crd.structural_of(definition.versions[1]) is None


@pytest.mark.parametrize("case", sorted(CASES.iterdir()), ids=lambda path: path.name)
def test_the_verdict_of_a_case_is_the_servers(case: Path) -> None:
    expect = only_document(case / "expect.yaml")["crd"]
    assert isinstance(expect, dict)
    structure = expect["nonStructuralSchema"]
    assert isinstance(structure, dict)

    check_verdict(only_document(case / "crd.yaml"), structure, structure.get("message"))


FOUND = oracles(crds.DEFAULT_FOLDER)


@pytest.mark.skipif(
    not FOUND,
    reason="published CRDs are other projects' files and not in this repository:"
    " make crds DIR=folder checks a folder of them",
)
@pytest.mark.parametrize("oracle", FOUND, ids=lambda path: path.name.split(".")[0])
def test_the_verdict_of_a_published_definition_is_the_servers(oracle: Path) -> None:
    crds.check(oracle)
