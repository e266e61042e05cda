"""
Generate objects that are close to a schema: valid, slightly invalid, and updates of them.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from types import MappingProxyType

from espalier.paths import JSON
from tests.differential.dice import Dice
from tests.differential.schemas import NAMES, SCALARS, loose
from tests.differential.worsening import Node

_DEEPEST = 5
_STRINGS: tuple[str, ...] = (
    *("", "a", "b", "ab", "aa", "aaa", "aaaaaa", "x", "1", "true", "é", "\u00e9\u0301", "a/b"),
    *("2020-01-01T00:00:00Z", "2020-02-30", "2020-02-29", "1h30m", "3 days", "YWI=", "YWI"),
    *("10.0.0.1", "::1", "10.0.0.0/8", "01:23:45:67:89:ab", "http://h/p?q#f", "a@b.c", "h.x"),
    *("123e4567-e89b-12d3-a456-426614174000", "#fff", "rgb(1,2,3)", "0306406152", "a-b", "A"),
)
_NUMBERS: tuple[JSON, ...] = (
    *(0, 1, 2, 3, -1, -3, -4, 10, 11, 1.0, 2.0, 1.5, 0.5, 2.5, 2.4999999999, 0.3, -0.5),
    *(2**31, 2**31 - 1, 2**53 - 1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), 1e15, 1e16, 1e21),
    *(9007199254740993.0, 9.3e18, 1e-7, 1e300),
)
_TIMES: tuple[JSON, ...] = ("2020-01-01T00:00:00Z", "2020-06-01T12:30:00.25+02:00", None)
_OWNER: Mapping[str, tuple[JSON, ...]] = MappingProxyType(
    {
        "apiVersion": ("v1", ""),
        "kind": ("Pod",),
        "name": ("p", None),
        "uid": ("u",),
        "controller": (True, False),
        "extra": (1,),
    }
)
_MANAGED: Mapping[str, tuple[JSON, ...]] = MappingProxyType(
    {
        "manager": ("m",),
        "operation": ("Apply", "Update"),
        "fieldsType": ("FieldsV1",),
        "fieldsV1": ({"f:spec": {}}, {}, None),
        "time": ("2020-01-01T00:00:00Z",),
        "subresource": ("status", ""),
        "extra": (1,),
    }
)


def obj(dice: Dice, schema: JSON) -> Node:
    """
    Return an object that is close to a schema: a resource, often with metadata.
    """
    made = value(dice, schema)
    result: Node = made if isinstance(made, dict) else {"a": made}
    if not dice.seldom(8):
        result["apiVersion"] = "example.com/v1"
        result["kind"] = "Foo"
    if dice.seldom(2):
        result["metadata"] = metadata(dice)
    return result


def updated(dice: Dice, schema: JSON, old: Node) -> Node:
    """
    Return an object that replaces another one; it differs in a few members, or is a new one.
    """
    if dice.seldom(12):
        return obj(dice, schema)
    new = deepcopy(old)
    if not dice.seldom(12):
        _change(dice, schema, new)
    return new


def value(dice: Dice, schema: JSON, depth: int = _DEEPEST) -> JSON:
    """
    Return a value that is close to a schema, with unknown keys, nulls and wrong types.
    """
    if depth == 0 or not isinstance(schema, dict) or dice.seldom(9):
        return loose(dice)
    if dice.seldom(12):
        return None
    if schema.get("x-kubernetes-embedded-resource") and dice.seldom(1.4):
        return _embedded(dice, schema, depth)
    enum = schema.get("enum")
    if isinstance(enum, list) and enum and dice.seldom(2):
        return deepcopy(dice.pick(enum))
    of = schema.get("type")
    if of == "array":
        return _items(dice, schema, depth)
    if of == "object" or (of is None and not schema.get("x-kubernetes-int-or-string")):
        return _members(dice, schema, depth)
    return _scalar(dice, of)


def metadata(dice: Dice) -> JSON:
    """
    Return metadata with at most one fault.

    Of several faults, the server reports the one that comes first in the order of its maps.
    """
    if dice.seldom(15):
        return loose(dice)
    made: Node = {}
    for _ in range(dice.count(5)):
        name = dice.pick(_METADATA_NAMES)
        made[name] = _METADATA[name](dice)
    if dice.seldom(3):
        made[dice.pick(("garbage", "Name", "clusterName"))] = loose(dice)
    if dice.seldom(3):
        made[dice.pick(_METADATA_NAMES)] = loose(dice)
    return made


def _scalar(dice: Dice, of: JSON) -> JSON:
    if dice.seldom(8):
        return dice.pick(SCALARS)
    match of:
        case "string":
            return dice.pick(_STRINGS)
        case "boolean":
            return dice.seldom(2)
        case "integer" | "number":
            return dice.pick(_NUMBERS)
        case _:
            return dice.pick(_NUMBERS if dice.seldom(2) else _STRINGS)


def _items(dice: Dice, schema: Node, depth: int) -> JSON:
    inner = schema.get("items")
    made = [value(dice, inner, depth - 1) for _ in range(dice.count(3))]
    if made and dice.seldom(5):
        made.append(deepcopy(dice.pick(made)))
    return made


def _embedded(dice: Dice, schema: Node, depth: int) -> JSON:
    result = _members(dice, schema, depth)
    if not dice.seldom(5):
        result["apiVersion"] = dice.pick(("v1", "a/v1", "v1", "", "a/b/c"))
        result["kind"] = dice.pick(("Pod", "Pod", "pod", "", "a_b"))
    if dice.seldom(2):
        result["metadata"] = metadata(dice)
    if dice.seldom(12):
        result[dice.pick(("apiVersion", "kind"))] = dice.pick(SCALARS)
    return result


def _members(dice: Dice, schema: Node, depth: int) -> Node:
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    additional = schema.get("additionalProperties")
    made: Node = {}
    for name in known:
        if not dice.seldom(3):
            made[name] = value(dice, known[name], depth - 1)
    if additional is not None or dice.seldom(2.5):
        for _ in range(dice.count(2)):
            name = dice.pick(NAMES)
            if name not in known:
                made[name] = value(dice, additional, depth - 1)
    return made


def _change(dice: Dice, schema: JSON, at: Node) -> None:
    names = [*at]
    if not names or dice.seldom(8):
        at[dice.pick(NAMES)] = loose(dice)
        return
    name = dice.pick(names)
    inner = _child(schema, name)
    below = at[name]
    if isinstance(below, dict) and not dice.seldom(4):
        _change(dice, inner, below)
    elif isinstance(below, list) and below and not dice.seldom(4):
        _change_item(dice, inner, below)
    elif dice.seldom(5):
        del at[name]
    else:
        at[name] = value(dice, inner, 2)


def _change_item(dice: Dice, schema: JSON, items: list[JSON]) -> None:
    inner = schema.get("items") if isinstance(schema, dict) else None
    index = int(dice.number() * len(items))
    item = items[index]
    if dice.seldom(4):
        items.append(value(dice, inner, 2))
    elif dice.seldom(5):
        items.reverse()
    elif isinstance(item, dict):
        _change(dice, inner, item)
    else:
        items[index] = value(dice, inner, 2)


def _child(schema: JSON, name: str) -> JSON:
    if not isinstance(schema, dict):
        return None
    properties = schema.get("properties")
    if isinstance(properties, dict) and name in properties:
        return properties[name]
    return schema.get("additionalProperties")


def _one_of(*options: JSON) -> Callable[[Dice], JSON]:
    return lambda dice: dice.pick(options)


def _strings_by_name(dice: Dice) -> JSON:
    return {
        dice.pick(("k", "l", "a/b", "-")): dice.pick(("v", "", None)) for _ in range(dice.count(2))
    }


def _entries(table: Mapping[str, tuple[JSON, ...]]) -> Callable[[Dice], JSON]:
    def make(dice: Dice) -> JSON:
        return [
            None
            if dice.seldom(8)
            else {name: dice.pick(table[name]) for name in table if dice.seldom(1.7)}
            for _ in range(dice.count(2))
        ]

    return make


def _finalizers(dice: Dice) -> JSON:
    return [dice.pick(("f/f", "", None, "a b")) for _ in range(dice.count(2))]


_METADATA: Mapping[str, Callable[[Dice], JSON]] = MappingProxyType(
    {
        "name": _one_of("n", "", None, "a/b", "."),
        "generateName": _one_of("g-"),
        "namespace": _one_of("ns", "N"),
        "uid": _one_of("u"),
        "resourceVersion": _one_of("1"),
        "generation": _one_of(0, 1, 2.0, None, -1),
        "creationTimestamp": _one_of(*_TIMES),
        "deletionTimestamp": _one_of(*_TIMES),
        "deletionGracePeriodSeconds": _one_of(0, 30),
        "labels": _strings_by_name,
        "annotations": _strings_by_name,
        "finalizers": _finalizers,
        "ownerReferences": _entries(_OWNER),
        "managedFields": _entries(_MANAGED),
        "selfLink": _one_of("/x"),
    }
)
_METADATA_NAMES = (*_METADATA,)
