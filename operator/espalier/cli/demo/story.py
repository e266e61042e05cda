"""
The demo's story: four definitions in trouble, and how each ends.
"""

from espalier.cli.demo.steps import (
    Archived,
    Await,
    Chapter,
    Compare,
    Define,
    Inherit,
    PatchDefinition,
    Plant,
    Remember,
    Say,
    Versions,
)
from espalier.names import NON_STRUCTURAL_SCHEMA, PREFIX, STORED_OBJECTS_CURRENT
from espalier.paths import JSON

GROUP = "demo.espalier.dev"


def name_of(plural: str) -> str:
    """
    Name the definition of one of the demo's resources.
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
    title="A version that nobody could drop",
    plural="trees",
    kind="Tree",
    outcome="all objects stored at v1 with its defaults; v1alpha1 can be dropped",
    steps=(
        Say(
            "trees were stored at v1alpha1 for years. Now v1 is the storage version, and there is a"
        ),
        Say("new field that has a default. What is stored knows nothing of either."),
        Define(
            _definition(
                "trees",
                "Tree",
                _version("v1alpha1", storage=True, species=_TEXT, height=_NUMBER),
                _version("v1", storage=False, species=_TEXT, height=_NUMBER),
            )
        ),
        Plant(version="v1alpha1", count=120, spec={"species": "pear", "height": 3}),
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
    title="A schema that forgot a field",
    plural="vines",
    kind="Vine",
    outcome="stopped before data was lost; went on once the loss was accepted",
    steps=(
        Say("vines have a field that the new schema dropped. The API server hides it from every"),
        Say("reader now, and the next write of an object, any write, would erase it for good."),
        Define(
            _definition("vines", "Vine", _version("v1", storage=True, grape=_TEXT, planted=_NUMBER))
        ),
        Plant(version="v1", count=5, spec={"grape": "silvaner", "planted": 1892}),
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
        Say("Nothing was written. Whoever owns the data decides:"),
        _label("vines", "loss", "accept"),
        Await(type=STORED_OBJECTS_CURRENT, status="True"),
        Compare(gone=('"planted"',), kept=('"silvaner"',)),
    ),
)

_LEGACY = Chapter(
    title="A definition from the days of v1beta1",
    plural="hedges",
    kind="Hedge",
    outcome="unknown fields pruned, after they were archived",
    steps=(
        Say("hedges came with an upgraded cluster: preserveUnknownFields is true, so the API"),
        Say("server prunes nothing, and misspelt fields have piled up. Here Espalier prunes"),
        Say("itself, and keeps what it removes."),
        Inherit(
            _inherited("hedges", "Hedge", _schema(species=_TEXT, height=_NUMBER), preserve=True)
        ),
        Plant(
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
    outcome="the condition names every place that has to be mended",
    steps=(
        Say("mazes has a schema that leaves types out. No label is needed: every definition gets"),
        Say("the condition that the API server's own controller would write, word for word."),
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
