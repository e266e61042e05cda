"""
Definitions of v1beta1 with fields at the top, in the versions, and at both.
"""

import pytest

from espalier import crd
from espalier.paths import JSON

SCHEMA: dict[str, JSON] = {"openAPIV3Schema": {"type": "object"}}
OTHER: dict[str, JSON] = {"openAPIV3Schema": {"type": "object", "description": "x"}}
STATUS: dict[str, JSON] = {"status": {}}
COLUMNS: list[JSON] = [{"name": "a", "type": "date", "JSONPath": ".a"}]


def beta(*versions: JSON, **spec: JSON) -> JSON:
    names: JSON = {"plural": "foos", "kind": "Foo"}
    common: dict[str, JSON] = {"group": "example.com", "preserveUnknownFields": False}
    return {
        "apiVersion": "apiextensions.k8s.io/v1beta1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.example.com"},
        "spec": {**common, "names": names, "versions": [*versions], **spec},
        "status": {"storedVersions": ["v1"]},
    }


def version(name: str, **fields: JSON) -> JSON:
    return {"name": name, "served": True, "storage": name == "v1", **fields}


def refused(manifest: JSON) -> list[str]:
    found = crd.check_definition(manifest)
    return [f"{rejection.error.path[-1]}: {rejection.error.detail}" for rejection in found]


IDENTICAL = (
    "versions: per-version {} may not all be set to identical values"
    " (top-level {} should be used instead)"
)
EXCLUSIVE = "{}: top-level and per-version {} are mutually exclusive"


@pytest.mark.parametrize(
    ("field", "value", "what", "top"),
    [
        ("schema", SCHEMA, "schemas", "validation"),
        ("subresources", STATUS, "subresources", "subresources"),
        ("additionalPrinterColumns", COLUMNS, *("additionalPrinterColumns",) * 2),
    ],
    ids=["schema", "subresources", "columns"],
)
def test_a_field_is_at_one_level_and_not_equal_in_all_versions(
    field: str, value: JSON, what: str, top: str
) -> None:
    schemas: dict[str, JSON] = {} if field == "schema" else {"validation": SCHEMA}
    one = version("v1", **{field: value})
    two = version("v2", **{field: value})

    assert refused(beta(one, two, **schemas)) == [IDENTICAL.format(what, top)]
    assert refused(beta(one, **schemas)) == [IDENTICAL.format(what, top)]
    assert refused(beta(version("v1"), version("v2"), **{**schemas, top: value})) == []
    # The columns and subresources of one version only are its own.
    both = refused(beta(one, version("v2"), **{**schemas, top: value}))
    assert both == [EXCLUSIVE.format(top, what)]


def test_different_schemas_of_the_versions_are_accepted() -> None:
    assert refused(beta(version("v1", schema=SCHEMA), version("v2", schema=OTHER))) == []


def test_a_schema_at_the_top_is_checked_without_versions() -> None:
    found = crd.check_definition(beta(validation={"openAPIV3Schema": {"type": "odd"}}))

    assert found[1].manifest_path == ("spec", "validation", "openAPIV3Schema", "type")


def test_a_schema_at_the_top_gives_warnings_without_versions() -> None:
    schema: JSON = {"type": "object", "properties": {"a": {"type": "string", "format": "odd"}}}

    (warned,) = crd.server_warnings(beta(validation={"openAPIV3Schema": schema}))

    assert warned.text == 'unrecognized format "odd"'
    assert warned.path[:3] == ("spec", "validation", "openAPIV3Schema")


def test_the_version_is_the_first_one() -> None:
    refusals = refused(beta(version("v1"), version("v2"), version="v2", validation=SCHEMA))

    assert refusals == ["version: must match the first version in spec.versions"]


def test_paths_are_those_of_v1beta1() -> None:
    broken: JSON = {"openAPIV3Schema": {"type": "object", "nullable": True}}
    manifest = beta(
        version("v1", additionalPrinterColumns=[{"name": "a", "type": "date"}]), validation=broken
    )

    paths = [found.manifest_path for found in crd.check_definition(manifest)]

    assert ("spec", "validation", "openAPIV3Schema", "nullable") in paths
    assert ("spec", "versions", 0, "additionalPrinterColumns", 0, "JSONPath") in paths
