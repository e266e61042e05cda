"""
Cases: a definition with objects, made from a number.
"""

import json
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from random import Random

from espalier.cli.input.files import read_documents
from tests.differential import definitions as making_definitions
from tests.differential import objects as making_objects
from tests.differential import schemas as making_schemas
from tests.differential.dice import Dice
from tests.fuzz import hostile, texts
from tests.fuzz.hostile import Tree

_DATA = Path(__file__).parent.parent / "data"
OBJECTS = 10
"""The objects of each case."""


_PLAIN, _GENERATED = 0.5, 0.65


@dataclass(frozen=True, slots=True)
class Case:
    """
    What commands get: in files, and in a cluster.

    Attributes:
        definition: As it is stored in a cluster.
        objects: As they are stored in a cluster.
        definition_file: The content of the file for ``--crd`` and ``-f``.
        object_file: The content of the file with objects.
    """

    definition: Tree
    objects: list[Tree]
    definition_file: bytes
    object_file: bytes


def published() -> list[Tree]:
    """
    Return definitions as projects publish them, and those of the vectors.
    """
    files = sorted((_DATA / "cases").rglob("crd*.yaml"))
    found: list[Tree] = [one.value for path in files for one in read_documents(str(path))]
    vectors = json.loads((_DATA / "definitions.json").read_text(encoding="utf-8"))
    return [
        one for one in (*found, *(vector["new"] for vector in vectors)) if isinstance(one, dict)
    ]


_PUBLISHED = published()


def case(seed: int) -> Case:
    """
    Make the case of a number.
    """
    return case_by(Dice(Random(seed)))  # noqa: S311 - no secret is made


def case_by(dice: Dice) -> Case:
    """
    Make the case that some decisions lead to.
    """
    # Copies: parts of what is generated are shared by all cases, and here they are changed.
    definition = deepcopy(_definition(dice))
    schemas = list(_schemas(definition)) or [{}]
    objects = [deepcopy(_object(dice, n, definition, dice.pick(schemas))) for n in range(OBJECTS)]
    for _ in range(dice.pick((0, 1, 2, 3, 8))):
        # Most of what is wrong elsewhere is refused before a schema is read.
        hostile.change(dice, definition if dice.seldom(8) else dice.pick(schemas))
    for one in objects:
        for _ in range(dice.pick((0, 0, 1, 3))):
            hostile.change(dice, one)
    definition_file, object_file = texts.text(dice, [definition]), texts.text(dice, objects)
    if dice.seldom(6):
        definition_file = texts.change(dice, definition_file)
    if dice.seldom(6):
        object_file = texts.change(dice, object_file)
    return Case(definition, objects, definition_file, object_file)


def _definition(dice: Dice) -> Tree:
    kind = dice.number()
    if kind < _PLAIN:
        return making_definitions.plain(making_schemas.root(dice, sound_one_in=1.2))
    if kind < _GENERATED:
        return making_definitions.definition(dice)
    return dice.pick(_PUBLISHED)


def _schemas(definition: Tree) -> Iterator[Tree]:
    match definition:
        case {"spec": {"versions": list(versions)}}:
            for version in versions:
                match version:
                    case {"schema": {"openAPIV3Schema": dict(schema)}}:
                        yield schema
                    case _:
                        continue
        case _:
            return


def _object(dice: Dice, number: int, definition: Tree, schema: Tree) -> Tree:
    made = making_objects.obj(dice, schema)
    metadata = made.get("metadata")
    if not isinstance(metadata, dict):
        metadata = made["metadata"] = {}
    if dice.seldom(10):
        return made
    metadata |= {"name": f"a{number}", "namespace": "default"}
    match definition:
        case {"spec": {"group": group, "names": {"kind": kind}, "versions": [{"name": name}, *_]}}:
            made |= {"apiVersion": f"{group}/{name}", "kind": kind}
        case _:
            pass
    return made
