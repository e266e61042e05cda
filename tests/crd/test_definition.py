"""
Reading a CustomResourceDefinition.
"""

from collections.abc import Callable
from copy import deepcopy

import pytest

from espalier.crd import Definition, read_definition
from espalier.crd.internal.definition import read_internal
from espalier.errors import MalformedDefinitionError, NoStorageVersionError, UnknownVersionError
from espalier.paths import JSON

SCHEMA: dict[str, JSON] = {"type": "object", "properties": {"spec": {"type": "object"}}}


def manifest() -> dict[str, JSON]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": "widgets.example.com",
            "uid": "u1",
            "resourceVersion": "7",
            "generation": 3,
            "labels": {"espalier.dev/mode": "enforce"},
        },
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [
                {"name": "v1alpha1", "served": True, "storage": False},
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": deepcopy(SCHEMA)},
                    "subresources": {"status": {}},
                },
            ],
        },
        "status": {
            "storedVersions": ["v1alpha1", "v1"],
            "conditions": [{"type": "Established", "status": "True"}],
        },
    }


def beta() -> dict[str, JSON]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1beta1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "version": "v1",
            "names": {"plural": "widgets", "kind": "Widget"},
            "validation": {"openAPIV3Schema": deepcopy(SCHEMA)},
            "subresources": {"status": {}},
        },
    }


def changed(base: dict[str, JSON], value: JSON, *steps: str | int) -> JSON:
    changed_one: JSON = deepcopy(base)
    at = changed_one
    for step in steps[:-1]:
        at = at[step]  # type: ignore[index]  # a path into JSON known to be there
    at[steps[-1]] = value  # type: ignore[index]  # as above
    return changed_one


def test_a_definition_is_read_whole_and_left_as_it_was() -> None:
    source = manifest()

    read = read_definition(source)

    assert source == manifest()
    assert (read.name, read.uid, read.resource_version, read.generation) == (
        "widgets.example.com",
        "u1",
        "7",
        3,
    )
    assert (read.group, read.kind, read.plural, read.namespaced) == (
        "example.com",
        "Widget",
        "widgets",
        True,
    )
    assert read.storage.name == "v1"
    assert read.storage.schema == SCHEMA
    assert read.storage.has_status
    assert read.version("v1alpha1").schema is None
    assert read.stored_versions == ("v1alpha1", "v1")
    assert read.established
    assert not read.deleting
    assert not read.preserve_unknown_fields
    assert read.conversion == "None"
    assert dict(read.labels) == {"espalier.dev/mode": "enforce"}


def test_a_beta_definition_is_read_as_the_server_converts_it() -> None:
    read = read_definition(beta())

    assert read.preserve_unknown_fields
    assert [version.name for version in read.versions] == ["v1"]
    assert read.storage.schema == SCHEMA
    assert read.storage.has_status
    assert read.storage.served


def test_a_beta_definition_may_say_that_it_prunes() -> None:
    read = read_definition(changed(beta(), False, "spec", "preserveUnknownFields"))

    assert not read.preserve_unknown_fields


def test_a_beta_version_may_have_a_schema_of_its_own() -> None:
    own: dict[str, JSON] = {"type": "object", "properties": {"own": {"type": "string"}}}
    source = beta()
    versions: JSON = [
        {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": own}},
        {"name": "v0", "served": False, "storage": False},
    ]

    read = read_definition(changed(source, versions, "spec", "versions"))

    assert read.version("v1").schema == own
    assert read.version("v0").schema == SCHEMA


def test_a_version_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(UnknownVersionError, match=r"no version v9; there are v1alpha1, v1"):
        read_definition(manifest()).version("v9")


@pytest.mark.parametrize("marks", [(True, True), (False, False)])
def test_there_must_be_exactly_one_storage_version(marks: tuple[bool, bool]) -> None:
    source = manifest()
    for index, mark in enumerate(marks):
        source = changed(source, mark, "spec", "versions", index, "storage")  # type: ignore[assignment]  # stays an object

    with pytest.raises(NoStorageVersionError):
        _ = read_definition(source).storage


@pytest.mark.parametrize(
    ("value", "steps", "text"),
    [
        ("Pod", ["kind"], "not a CustomResourceDefinition"),
        ("v1", ["apiVersion"], "not a CustomResourceDefinition"),
        ([], ["metadata"], "metadata: must be an object"),
        (1, ["metadata", "name"], "metadata.name: must be a string"),
        (True, ["metadata", "generation"], "metadata.generation: must be an integer"),
        ({"a": 1}, ["metadata", "labels"], "metadata.labels[a]: must be a string"),
        ("x", ["spec"], "spec: must be an object"),
        ({}, ["spec", "versions"], "spec.versions: must be a list with a version in it"),
        ([], ["spec", "versions"], "spec.versions: must be a list with a version in it"),
        ([1], ["spec", "versions"], "spec.versions[0]: must be an object"),
        ("yes", ["spec", "versions", 0, "served"], "spec.versions[0].served: must be true or"),
        (
            [],
            ["spec", "versions", 1, "schema", "openAPIV3Schema"],
            "spec.versions[1].schema.openAPIV3Schema: must be an object",
        ),
        ([1], ["status", "storedVersions"], "status.storedVersions: must be a list of strings"),
        ({}, ["status", "conditions"], "status.conditions[0]"),
    ],
)
def test_a_field_of_the_wrong_type_is_named(value: JSON, steps: list[str | int], text: str) -> None:
    source = changed(manifest(), value, *steps)
    if steps == ["status", "conditions"]:
        source = changed(manifest(), [{"type": "A"}], *steps)

    with pytest.raises(MalformedDefinitionError) as caught:
        read_definition(source)

    assert text in str(caught.value)


@pytest.mark.parametrize("value", [None, 1, "text", [], True])
def test_what_is_no_object_is_refused(value: JSON) -> None:
    with pytest.raises(MalformedDefinitionError):
        read_definition(value)


def nested(levels: int) -> JSON:
    value: JSON = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("read", [read_definition, read_internal])
@pytest.mark.parametrize(
    ("field", "value", "shown"),
    [
        ("kind", nested(9000), "(kind of type array, apiVersion 'apiextensions.k8s.io/v1')"),
        ("apiVersion", {}, "(kind 'CustomResourceDefinition', apiVersion of type object)"),
        ("apiVersion", None, "(kind 'CustomResourceDefinition', apiVersion None)"),
        ("kind", "x" * 1_000_000, f"(kind '{'x' * 100}...', apiVersion"),
    ],
    ids=["deep", "object", "null", "long"],
)
def test_what_is_no_definition_is_named_in_a_few_words(
    read: Callable[[JSON], object], field: str, value: JSON, shown: str
) -> None:
    with pytest.raises(MalformedDefinitionError) as caught:
        read({**manifest(), field: value})

    assert shown in str(caught.value)


def test_a_definition_can_be_compared() -> None:
    first: Definition = read_definition(manifest())

    assert first == read_definition(manifest())
