"""
Changes of versions, subresources and pruning.
"""

from typing import Any

from espalier import crd
from espalier.crd.changes.definitions import definition_changes
from espalier.paths import JSON

TEXT: JSON = {"type": "string"}
STORED: dict[str, Any] = {"storage": True}


def version(name: str, *fields: str, **more: Any) -> dict[str, Any]:
    spec = {"type": "object", "properties": dict.fromkeys(fields, TEXT)}
    written = {"type": "object", "properties": {"spec": spec}}
    return {"name": name, "served": True, "schema": {"openAPIV3Schema": written}, **more}


def definition(*versions: dict[str, Any], **more: Any) -> crd.Definition:
    return crd.read_definition(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "foos.example.com"},
            "spec": {
                "group": "example.com",
                "names": {"plural": "foos", "kind": "Foo"},
                "versions": [*versions],
                **more,
            },
        }
    )


def kinds(old: crd.Definition, new: crd.Definition) -> list[tuple[str, str]]:
    return [(one.kind, one.version) for one in definition_changes(old, new)]


def test_an_unchanged_definition_has_no_changes() -> None:
    same = definition(version("v1", "a", **STORED), version("v2", "b"))

    assert kinds(same, same) == []


def test_versions_that_clients_lose_are_named() -> None:
    old = definition(version("v1", **STORED), version("v2"), version("v3"))
    new = definition(version("v1", **STORED), version("v3") | {"served": False})

    assert kinds(old, new) == [("version-removed", "v2"), ("version-not-served", "v3")]


def test_a_version_that_was_not_served_may_go() -> None:
    old = definition(version("v1", **STORED), version("v2") | {"served": False})

    assert kinds(old, definition(version("v1", **STORED))) == []


def test_a_new_storage_version_is_compared_with_the_one_before() -> None:
    versions = (version("v1", "a"), version("v2", "b", **STORED))
    old, new = definition(version("v1", "a", **STORED)), definition(*versions)
    converted = definition(*versions, conversion={"strategy": "Webhook"})

    assert kinds(old, new) == [("storage-version-changed", "v2"), ("field-removed", "v2")]
    assert kinds(old, converted) == [("storage-version-changed", "v2")]


def test_subresources_come_and_go() -> None:
    scale = {"specReplicasPath": ".spec.a", "statusReplicasPath": ".status.a"}
    old = definition(version("v1", subresources={"status": {}}, **STORED))
    new = definition(version("v1", subresources={"scale": scale}, **STORED))

    assert kinds(old, new) == [("subresource-removed", "v1"), ("subresource-added", "v1")]


def test_pruning_is_turned_on() -> None:
    old = definition(version("v1", **STORED), preserveUnknownFields=True)

    assert kinds(old, definition(version("v1", **STORED))) == [("pruning-enabled", "")]
