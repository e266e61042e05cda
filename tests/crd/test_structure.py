import re
from pathlib import Path

import orjson
import pytest

from espalier import crd
from espalier.cli.reading import read_documents
from espalier.crd import Condition
from espalier.errors import SchemaParseError
from espalier.paths import JSON

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT.parent / "shared" / "crds"
"""Published CRDs and what an API server says of them; laid beside the checkout, never in it."""

CASES = ROOT / "tests" / "data" / "cases"
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


def verdict(document: JSON) -> tuple[str | None, list[str], str]:
    """
    The reason, the findings and the message of a parse error; as the server's verdict is kept.
    """
    definition = crd.read_definition(document)
    made = crd.nonstructural_condition(definition)
    if made is None:
        return None, [], ""
    if made.reason == "StructuralError":
        return made.reason, [], made.message
    return made.reason, [str(found) for found in crd.structural_findings(definition)], ""


def expected_verdict(nonstructural: JSON) -> tuple[object, list[str], object]:
    assert isinstance(nonstructural, dict)
    violations = nonstructural["violations"]
    assert isinstance(violations, list)
    messages = [str(found["message"] if isinstance(found, dict) else found) for found in violations]
    return nonstructural["reason"], messages, nonstructural.get("message") or ""


def only_document(path: Path) -> JSON:
    (document,) = read_documents(str(path))
    return document.value


@pytest.mark.parametrize("case", sorted(CASES.iterdir()), ids=lambda path: path.name)
def test_the_verdict_of_a_case_is_the_servers(case: Path) -> None:
    expect = only_document(case / "expect.yaml")
    assert isinstance(expect, dict)
    assert isinstance(expect["crd"], dict)
    reason, violations, message = expected_verdict(expect["crd"]["nonStructuralSchema"])

    got_reason, got_violations, got_message = verdict(only_document(case / "crd.yaml"))

    assert (got_reason, sorted(got_violations)) == (reason, sorted(violations))
    # Which of several unreadable keywords the server meets first is up to its map order.
    prefix = re.compile(r"failed to check validation schema for version \w+: OpenAPIV3Schema '")
    assert got_message == message or (prefix.match(got_message) and prefix.match(str(message)))


def published() -> list[Path]:
    return sorted(PUBLISHED.rglob("*.oracle.json")) if PUBLISHED.is_dir() else []


@pytest.mark.skipif(not published(), reason="no folder of published CRDs beside the checkout")
@pytest.mark.parametrize("oracle", published(), ids=lambda path: path.name.split(".")[0])
def test_the_verdict_of_a_published_definition_is_the_servers(oracle: Path) -> None:
    told = orjson.loads(oracle.read_bytes())
    name = oracle.name.removesuffix(".oracle.json")
    (document,) = (
        found.value
        for path in oracle.parent.glob(f"{name}.*yaml")
        for found in read_documents(str(path))
    )
    reason, violations, _ = expected_verdict(told["nonStructuralSchema"])

    got_reason, got_violations, got_message = verdict(document)

    assert (got_reason, sorted(got_violations)) == (reason, sorted(violations))
    assert got_message == (told["structuralError"] or "")
