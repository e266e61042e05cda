"""
The chapters of the demo: four definitions with a problem, and how Espalier solves each.
"""

from espalier.cli.demo.steps import (
    Archived,
    Await,
    Chapter,
    Compare,
    CreateObjects,
    Define,
    Inherit,
    PatchDefinition,
    Remember,
    Say,
    Versions,
)
from espalier.engine import ShownLoss
from espalier.names import NON_STRUCTURAL_SCHEMA, PREFIX, STORED_OBJECTS_CURRENT
from espalier.paths import JSON

GROUP = "demo.espalier.dev"


def name_of(plural: str) -> str:
    """
    Return the name of the definition of a demo resource.
    """
    return f"{plural}.{GROUP}"


def _definition(plural: str, kind: str, *versions: JSON) -> dict[str, JSON]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name_of(plural)},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": _names(plural, kind),
            "versions": list(versions),
        },
    }


def _inherited(plural: str, kind: str, schema: JSON, *, preserve: bool) -> dict[str, JSON]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1beta1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name_of(plural)},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": _names(plural, kind),
            "version": "v1",
            "versions": [{"name": "v1", "served": True, "storage": True}],
            "validation": {"openAPIV3Schema": schema},
            "preserveUnknownFields": preserve,
        },
    }


def _names(plural: str, kind: str) -> dict[str, JSON]:
    return {
        "plural": plural,
        "singular": kind.lower(),
        "kind": kind,
        "listKind": f"{kind}List",
    }


def _version(name: str, *, storage: bool, **fields: JSON) -> dict[str, JSON]:
    return {
        "name": name,
        "served": True,
        "storage": storage,
        "schema": {"openAPIV3Schema": _schema(**fields)},
    }


def _schema(**fields: JSON) -> dict[str, JSON]:
    return {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": dict(fields)}},
    }


def _label(plural: str, name: str, value: str) -> PatchDefinition:
    return PatchDefinition(
        patch={"metadata": {"labels": {f"{PREFIX}{name}": value}}},
        command=f"kubectl label crd {name_of(plural)} {PREFIX}{name}={value}",
    )


_TEXT: JSON = {"type": "string"}
_NUMBER: JSON = {"type": "integer"}
_TREE: dict[str, JSON] = {
    "species": _TEXT,
    "height": _NUMBER,
    "watering": {"type": "string", "default": "daily"},
}

_MIGRATION = Chapter(
    title="A version that could not be dropped",
    plural="trees",
    kind="Tree",
    outcome="all objects stored at v1 with its defaults; v1alpha1 can be dropped",
    steps=(
        Say(
            "trees were stored at v1alpha1 for years. Now v1 is the storage version, and a new "
            "field has a default. Stored objects have neither the new version nor the default."
        ),
        Define(
            _definition(
                "trees",
                "Tree",
                _version("v1alpha1", storage=True, species=_TEXT, height=_NUMBER),
                _version("v1", storage=False, species=_TEXT, height=_NUMBER),
            )
        ),
        CreateObjects(version="v1alpha1", count=120, spec={"species": "pear", "height": 3}),
        PatchDefinition(
            patch={
                "spec": {
                    "versions": [
                        _version("v1alpha1", storage=False, **_TREE),
                        _version("v1", storage=True, **_TREE),
                    ]
                }
            },
            command="kubectl apply -f trees-crd.yaml     # storage: true moves to v1",
        ),
        Remember(),
        Versions(("v1alpha1", "v1")),
        _label("trees", "mode", "enforce"),
        Await(type=STORED_OBJECTS_CURRENT, status="True"),
        Compare(
            gone=(f'"{GROUP}/v1alpha1"',),
            came=(f'"{GROUP}/v1"', '"watering"'),
            kept=('"pear"', '"generation": 1'),
        ),
        Versions(("v1",)),
    ),
)

_LOSS = Chapter(
    title="A schema without a field that is in use",
    plural="vines",
    kind="Vine",
    outcome="stopped before data was lost; continued after consent to exactly that loss",
    steps=(
        Say(
            "vines have a field that the new schema does not specify. The API server now hides it "
            "from every reader, and the next write of an object would remove it for good."
        ),
        Define(
            _definition("vines", "Vine", _version("v1", storage=True, grape=_TEXT, planted=_NUMBER))
        ),
        CreateObjects(version="v1", count=5, spec={"grape": "silvaner", "planted": 1892}),
        PatchDefinition(
            patch={"spec": {"versions": [_version("v1", storage=True, grape=_TEXT)]}},
            command="kubectl apply -f vines-crd.yaml     # without spec.planted",
        ),
        Remember(),
        _label("vines", "mode", "enforce"),
        Await(
            type=STORED_OBJECTS_CURRENT,
            status="False",
            reason="WouldLoseData",
            mentions="spec.planted",
        ),
        Compare(kept=('"planted"',)),
        Say("Nothing was written. The owner of the data consents to exactly this, by its digest:"),
        _label("vines", "loss", ShownLoss(frozenset({"v1.spec.planted"})).digest),
        Await(type=STORED_OBJECTS_CURRENT, status="True"),
        Compare(gone=('"planted"',), kept=('"silvaner"',)),
    ),
)

_LEGACY = Chapter(
    title="A definition from v1beta1",
    plural="hedges",
    kind="Hedge",
    outcome="unknown fields pruned, after they were archived",
    steps=(
        Say(
            "hedges come from an upgraded cluster: preserveUnknownFields is true, so the API "
            "server prunes nothing, and the objects have misspelt fields. Here Espalier prunes the "
            "objects itself, and archives what it removes."
        ),
        Inherit(
            _inherited("hedges", "Hedge", _schema(species=_TEXT, height=_NUMBER), preserve=True)
        ),
        CreateObjects(
            version="v1",
            count=5,
            spec={"species": "box", "height": 2, "heigth": 3, "gardener": {"name": "Ida"}},
        ),
        Remember(),
        _label("hedges", "mode", "enforce"),
        Await(type=STORED_OBJECTS_CURRENT, status="True"),
        Compare(gone=('"heigth"', '"gardener"'), kept=('"height"', '"box"')),
        Archived(5),
    ),
)

_NOT_STRUCTURAL = Chapter(
    title="A schema that is not structural",
    plural="mazes",
    kind="Maze",
    outcome="the condition names every path that must be fixed",
    steps=(
        Say(
            "mazes has a schema without some types. No label is needed: Espalier writes the same "
            "condition on every definition as the API server's own controller would."
        ),
        Inherit(
            _inherited(
                "mazes",
                "Maze",
                {
                    "type": "object",
                    "properties": {
                        "spec": {"properties": {"paths": {"type": "array"}, "exit": {}}}
                    },
                },
                preserve=False,
            ),
            served=False,
        ),
        Await(
            type=NON_STRUCTURAL_SCHEMA,
            status="True",
            reason="Violations",
            mentions="must not be empty for specified object fields",
        ),
    ),
)

STORY = (_MIGRATION, _LOSS, _LEGACY, _NOT_STRUCTURAL)
"""The chapters, in order."""
