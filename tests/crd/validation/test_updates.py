"""
What an update of a definition may keep, and what it may not change.
"""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from espalier import crd
from espalier.golang.printing import go_json
from espalier.paths import JSON, render_path
from tests.crd.manifests import manifest, property_of, rejected, version
from tests.differential.definitions import definitions

UNPRUNED: JSON = {"type": "object", "properties": {"b": {"type": "string"}}, "default": {"c": 1}}


GRANULAR_SET: JSON = {
    "type": "array",
    "x-kubernetes-list-type": "set",
    "items": {"type": "object"},
}


NULLABLE_ITEMS: JSON = {
    "type": "array",
    "x-kubernetes-list-type": "set",
    "items": {"type": "string", "nullable": True},
}


@pytest.mark.parametrize("fault", [UNPRUNED, GRANULAR_SET, NULLABLE_ITEMS], ids=go_json)
def test_an_update_may_keep_a_fault_that_the_old_definition_has(fault: JSON) -> None:
    before, after = property_of(fault), property_of(fault)

    assert rejected(after)
    assert rejected(after, property_of({"type": "string"}))
    assert rejected(after, before) == []


def test_an_unknown_type_may_be_kept_but_not_be_new() -> None:
    odd: JSON = {"type": "object", "properties": {"a": {"type": "odd"}}}
    before = manifest(odd, preserveUnknownFields=True)

    assert rejected(before, before) == []
    assert rejected(manifest(odd))


def test_a_schema_may_stay_away_only_while_nothing_is_pruned() -> None:
    bare: JSON = {"name": "v1", "served": True, "storage": True}
    kept = manifest(versions=[bare], preserveUnknownFields=True)
    pruned = manifest(versions=[bare])

    path = "spec.versions[0].schema.openAPIV3Schema"
    assert rejected(kept, kept) == []
    assert rejected(pruned, kept) == [
        f"{path}: Required value: because otherwise all fields are pruned"
    ]
    assert rejected(pruned, manifest()) == [f"{path}: Required value"]


def test_too_many_selectable_fields_may_be_kept() -> None:
    properties: dict[str, JSON] = {f"f{index}": {"type": "string"} for index in range(9)}
    schema: JSON = {"type": "object", "properties": properties}
    nine: JSON = [{"jsonPath": f".f{index}"} for index in range(9)]
    many = manifest(versions=[version("v1", schema, selectableFields=nine)])

    assert rejected(many) == ["spec.selectableFields: Too many: 9: must have at most 8 items"]
    assert rejected(many, many) == []
    assert rejected(many, manifest(schema))


def test_names_are_immutable_once_established() -> None:
    new = manifest(scope="Cluster", names={"plural": "foos", "kind": "Bar"})
    old = manifest()
    established: JSON = {"conditions": [{"type": "Established", "status": "True"}]}

    assert rejected(new, old) == []
    assert rejected(new, old | {"status": established}) == [
        'spec.scope: Invalid value: "Cluster": field is immutable',
        'spec.names.kind: Invalid value: "Bar": field is immutable',
    ]


def test_group_and_plural_are_always_immutable() -> None:
    new = manifest(group="other.example.com", names={"plural": "bars", "kind": "Bar"})

    assert rejected(new, manifest()) == [
        'spec.group: Invalid value: "other.example.com": field is immutable',
        'spec.names.plural: Invalid value: "bars": field is immutable',
    ]


def test_a_stored_version_must_stay() -> None:
    old = manifest(versions=[version("v1"), version("v0", served=False)])
    old["status"] = {"storedVersions": ["v0", "v1"]}

    (found,) = crd.check_definition(manifest(), old)

    assert render_path(found.error.path) == "status.storedVersions[0]"
    assert found.error.value == "v0"


@given(st.data())
def test_an_update_that_changes_nothing_is_refused_for_nothing_new(data: st.DataObject) -> None:
    made = data.draw(definitions())
    before = copy.deepcopy(made)

    first, again = crd.check_definition(made), crd.check_definition(made, made)

    # That a schema cannot be read is told only where nothing else is.
    unreadable = [r for r in again if r.error.value == "" and r.error.path[-1] == "openAPIV3Schema"]
    known = {r.error.path for r in first} | {r.error.path for r in unreadable if first}
    assert {r.error.path for r in again} <= known
    assert go_json(made) == go_json(before)
