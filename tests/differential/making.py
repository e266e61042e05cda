"""
Generate questions from a seed.
"""

from collections.abc import Callable, Mapping
from random import Random
from types import MappingProxyType

from espalier.paths import JSON
from tests.differential import beta_definitions, deep, definitions, objects, schemas, texts
from tests.differential.answering import Group
from tests.differential.dice import Dice
from tests.differential.rules import Ruled
from tests.differential.worsening import Node

WITHOUT_VALUE = frozenset({"structural", "unfold", "strip", "publish-v2", "defaults-check"})
OF_UPDATES = frozenset({"validate-update"})
_VALUES_OF_A_SCHEMA = 4
_UPDATES_OF_A_DEFINITION = 2
_TEXTS_OF_A_QUESTION = 50
_OBJECTS_OF_A_DEEP_RULE = 2


def groups(op: str, pairs: int, seed: str) -> list[Group]:
    """
    Return groups of questions; the same seed always gives the same ones.
    """
    dice = Dice(Random(seed))  # noqa: S311 - a seed must give the same
    made: list[Group] = []
    while pairs > 0:
        made.append(_group(op, dice))
        pairs -= len(made[-1].values)
    return made


def _group(op: str, dice: Dice) -> Group:
    make = _MAKERS.get(op)
    if make is not None:
        return make(dice)
    if op in texts.MAKERS:
        return Group(op, None, [texts.text(dice, op) for _ in range(_TEXTS_OF_A_QUESTION)])
    raw = schemas.root(dice, sound_one_in=20 if op == "structural" else 2)
    if op in WITHOUT_VALUE:
        return Group(op, raw, [None])
    made = [objects.obj(dice, raw) for _ in range(_VALUES_OF_A_SCHEMA)]
    if op in OF_UPDATES:
        return Group(op, raw, [objects.updated(dice, raw, old) for old in made], made)
    return Group(op, raw, [*made])


def _definitions(dice: Dice) -> Group:
    first = definitions.definition(dice)
    updates: list[Node] = [
        definitions.updated(dice, first) for _ in range(_UPDATES_OF_A_DEFINITION)
    ]
    return Group("crd-check", None, [first, *updates], [None, *(first for _ in updates)])


def _beta_definitions(dice: Dice) -> Group:
    first = beta_definitions.definition(dice)
    updates: list[Node] = [
        beta_definitions.updated(dice, first) for _ in range(_UPDATES_OF_A_DEFINITION)
    ]
    return Group("crd-beta", None, [first, *updates], [None, *(first for _ in updates)])


def _ruled(dice: Dice) -> Group:
    ruled = Ruled(dice)
    olds: list[JSON] = [None if dice.seldom(3) else ruled.obj() for _ in range(_VALUES_OF_A_SCHEMA)]
    values = [ruled.obj() if dice.seldom(2) or old is None else old for old in olds]
    return Group("rules", ruled.schema, values, olds)


def _ruled_definitions(dice: Dice) -> Group:
    first = definitions.plain(Ruled(dice).schema)
    other, kept = Ruled(dice).schema, Ruled(dice).schema
    mixed: Node = {**kept, "properties": {**_properties(kept), **_properties(other)}}
    updates = [definitions.plain(mixed), definitions.plain(kept)]
    return Group("crd-rules", None, [first, *updates], [None, definitions.plain(kept), updates[0]])


def _deep(dice: Dice) -> Group:
    olds = [deep.obj(dice) for _ in range(_OBJECTS_OF_A_DEEP_RULE)]
    return Group("deep-rules", deep.schema(dice), [deep.obj(dice) for _ in olds], [*olds])


def _deep_definitions(dice: Dice) -> Group:
    return Group("crd-deep-rules", None, [definitions.plain(deep.schema(dice))], [None])


_MAKERS: Mapping[str, Callable[[Dice], Group]] = MappingProxyType(
    {
        "crd-check": _definitions,
        "crd-beta": _beta_definitions,
        "rules": _ruled,
        "crd-rules": _ruled_definitions,
        "deep-rules": _deep,
        "crd-deep-rules": _deep_definitions,
    }
)


def _properties(schema: Node) -> Node:
    properties = schema["properties"]
    return properties if isinstance(properties, dict) else {}
