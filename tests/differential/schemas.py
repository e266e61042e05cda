"""
Generate structural and broken schemas.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from types import MappingProxyType

from espalier.paths import JSON
from tests.differential.dice import Dice
from tests.differential.mending import GOOD_PATTERNS, mend
from tests.differential.worsening import Node, worsen

NAMES = ("a", "b", "c", "", "spec", "metadata", "kind", "apiVersion", "name", "labels")
TYPES = ("object", "array", "string", "integer", "number", "boolean")
PATTERNS = (
    *GOOD_PATTERNS,
    "(?!x)a",
    "a(",
    "\\1",
    "[z-a]",
    "x{2000}",
    "*a",
)
FORMATS = (
    *("date-time", "date", "datetime", "duration", "byte", "password", "uuid", "uuid4"),
    *("ipv4", "ipv6", "cidr", "mac", "uri", "email", "hostname", "hexcolor", "rgbcolor"),
    *("isbn", "isbn10", "isbn13", "creditcard", "ssn", "bsonobjectid", "k8s-short-name"),
    *("k8s-long-name", "int32", "int64", "float", "double", "nonsense"),
)
VALIDATIONS: Mapping[str, tuple[JSON, ...]] = MappingProxyType(
    {
        "format": FORMATS,
        "minimum": (0, 1.5, -3, 2**53),
        "maximum": (10, 2.5, 0, -1),
        "exclusiveMinimum": (True, False),
        "exclusiveMaximum": (True, False),
        "minLength": (0, 2),
        "maxLength": (0, 5, 1),
        "minItems": (0, 1),
        "maxItems": (0, 3),
        "minProperties": (0, 2),
        "maxProperties": (0, 4, 1),
        "multipleOf": (2, 0.5, 0.1),
        "uniqueItems": (True, False),
        "enum": (["a", "b"], [1, 2], [1.5, "a"], [None, {"a": 1}], [[1], True], []),
        "required": (["a"], ["b", "c"], []),
        "pattern": PATTERNS,
    }
)
EXTENSIONS: Mapping[str, tuple[JSON, ...]] = MappingProxyType(
    {
        "x-kubernetes-list-type": ("atomic", "set", "map"),
        "x-kubernetes-list-map-keys": (["a"], ["a", "b"]),
        "x-kubernetes-map-type": ("atomic", "granular"),
        "x-kubernetes-validations": ([{"rule": "true"}], []),
    }
)
_SAID: Mapping[str, tuple[JSON, ...]] = MappingProxyType(
    {
        "title": ("", "t"),
        "description": ("", "d"),
        "externalDocs": ({"url": "u", "description": "d"}, {}),
        "example": ("e", {"a": 1}, None),
    }
)
INT_OR_STRING: JSON = [{"type": "integer"}, {"type": "string"}]
_PRESERVE: Node = {"x-kubernetes-preserve-unknown-fields": True}
_EMBEDDED: Node = {"type": "object", "x-kubernetes-embedded-resource": True}
_SPECIAL_TYPES: tuple[Node, ...] = (
    {"x-kubernetes-int-or-string": True},
    {"x-kubernetes-int-or-string": True, "anyOf": INT_OR_STRING},
    {"x-kubernetes-int-or-string": True, "allOf": [{"anyOf": INT_OR_STRING}, {"minimum": 1}]},
    {"anyOf": INT_OR_STRING},
    {"x-kubernetes-int-or-string": True, **_PRESERVE},
    _PRESERVE,
    {"type": "object", **_PRESERVE},
    {"type": "array", **_PRESERVE},
    {"type": "string", **_PRESERVE},
    _EMBEDDED,
    {**_EMBEDDED, **_PRESERVE},
)
SCALARS: tuple[JSON, ...] = (
    *(None, True, False, 0, 1, -7, 1.0, 1.5, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)),
    *(1e300, 1e-7, 0.1, "", "a", "b", "ab", "é", "aaaaaa", "1", "2020-01-01T00:00:00Z"),
)
_LIST_MAPS: tuple[Node, ...] = (
    {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["a"],
        "items": {"type": "object", "properties": {"a": {"type": "string"}, "b": _PRESERVE}},
    },
    {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["a", "b"],
        "items": {
            "type": "object",
            "required": ["a"],
            "properties": {
                "a": {"type": "integer"},
                "b": {"type": "string", "default": "x"},
                "c": {"type": "array", "items": {"type": "string"}},
            },
        },
    },
    {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
    {
        "type": "array",
        "x-kubernetes-list-type": "set",
        "items": {
            "type": "object",
            "x-kubernetes-map-type": "atomic",
            "additionalProperties": {"type": "integer"},
        },
    },
)


def loose(dice: Dice, depth: int = 2) -> JSON:
    """
    Return any JSON value.
    """
    chosen = dice.number()
    if depth == 0 or chosen < 0.6:
        return dice.pick(SCALARS)
    if chosen < 0.8:
        return [loose(dice, depth - 1) for _ in range(dice.count(2))]
    return {dice.pick(NAMES): loose(dice, depth - 1) for _ in range(dice.count(3))}


def root(dice: Dice, *, sound_one_in: float = 2) -> Node:
    """
    Return a root schema; many are made worse after they were generated.

    Args:
        sound_one_in: One schema in this many is structural.
    """
    node = schema(dice)
    if not dice.seldom(20):
        node["type"] = "object"
        for keyword in ("additionalProperties", "x-kubernetes-int-or-string", "items"):
            node.pop(keyword, None)
        if "properties" not in node:
            node["properties"] = _properties(dice, 2, junctor=False)
    while dice.seldom(3):
        worsen(dice, node)
    if dice.seldom(sound_one_in):
        mend(node)
    return node


def schema(dice: Dice, depth: int = 3, *, junctor: bool = False) -> Node:
    """
    Return a schema, with or without faults; in a junctor mostly value validations.
    """
    if not junctor and depth > 1 and dice.seldom(25):
        return deepcopy(dice.pick(_LIST_MAPS))
    node: Node = {}
    _type(dice, node, junctor=junctor)
    if depth > 0:
        _structure(dice, node, depth, junctor=junctor)
        if dice.seldom(6):
            _junctor(dice, node, depth)
    if dice.seldom(4 if junctor else 5):
        _choose(dice, node, VALIDATIONS)
    if dice.seldom(12):
        _choose(dice, node, EXTENSIONS)
    if dice.seldom(25):
        _choose(dice, node, _SAID)
    if dice.seldom(20 if junctor else 4):
        node["default"] = loose(dice)
    if dice.seldom(20 if junctor else 5):
        node["nullable"] = not dice.seldom(5)
    return node


def _type(dice: Dice, node: Node, *, junctor: bool) -> None:
    if junctor:
        if dice.seldom(10):
            node["type"] = dice.pick(TYPES)
        if dice.seldom(25):
            node["x-kubernetes-preserve-unknown-fields"] = True
        return
    if dice.seldom(3):
        node |= dice.pick(_SPECIAL_TYPES)
    elif not dice.seldom(15):
        node["type"] = dice.pick(("object", "object", "object", "array", *TYPES))
    if dice.seldom(30):
        node["x-kubernetes-embedded-resource"] = True
    if dice.seldom(80):
        node["x-kubernetes-preserve-unknown-fields"] = False


def _structure(dice: Dice, node: Node, depth: int, *, junctor: bool) -> None:
    of = node.get("type")
    if (of == "object" and not dice.seldom(4)) or dice.seldom(6):
        if not junctor and dice.seldom(4):
            node["additionalProperties"] = (
                dice.number() < 0.5 if dice.seldom(3) else schema(dice, depth - 1)
            )
        if "additionalProperties" not in node or dice.seldom(10):
            node["properties"] = _properties(dice, depth - 1, junctor=junctor)
    if (of == "array" and not dice.seldom(12)) or dice.seldom(25):
        node["items"] = schema(dice, depth - 1, junctor=junctor)


def _properties(dice: Dice, depth: int, *, junctor: bool) -> JSON:
    return {
        dice.pick(NAMES): schema(dice, depth, junctor=junctor)
        for _ in range(dice.count(3 if depth > 0 else 2))
    }


def _junctor(dice: Dice, node: Node, depth: int) -> None:
    keyword = dice.pick(("allOf", "anyOf", "oneOf", "not"))
    if keyword == "not":
        node[keyword] = schema(dice, depth - 1, junctor=True)
    else:
        node[keyword] = [schema(dice, depth - 1, junctor=True) for _ in range(dice.count(2))]


def _choose(dice: Dice, node: Node, table: Mapping[str, Sequence[JSON]]) -> None:
    names = [*table]
    for _ in range(1 + dice.count(1)):
        keyword = dice.pick(names)
        node[keyword] = dice.pick(table[keyword])
