"""
Break each rule of the structural check on purpose, or come close to it.
"""

from collections.abc import Callable
from copy import deepcopy

from espalier.paths import JSON
from tests.differential.dice import Dice

Node = dict[str, JSON]
Worsening = Callable[[Dice, Node], None]

_INT_OR_STRING: tuple[JSON, ...] = (
    [{"type": "integer"}, {"type": "string"}],
    [{"type": "integer"}, {"type": "string"}],
    [{"type": "string"}, {"type": "integer"}],
    [{"type": "integer"}, {"type": "string", "minLength": 0}],
    [{"type": "integer"}, {"type": "string"}, {}],
    [{"type": "integer"}, {"type": "string", "example": None}],
)
_FORBIDDEN: tuple[tuple[str, tuple[JSON, ...]], ...] = (
    ("type", ("string", "object")),
    ("title", ("t",)),
    ("description", ("d",)),
    ("default", (1, {}, None)),
    ("additionalProperties", (True, False, {}, {"type": "string"}, {"default": 1})),
    ("nullable", (True, False)),
    ("x-kubernetes-preserve-unknown-fields", (True,)),
    ("x-kubernetes-embedded-resource", (True, False)),
    ("x-kubernetes-int-or-string", (True,)),
    ("x-kubernetes-list-type", ("set",)),
    ("x-kubernetes-list-map-keys", (["a"], [])),
    ("x-kubernetes-map-type", ("atomic",)),
    ("x-kubernetes-validations", ([{"rule": "true"}], [])),
    ("externalDocs", ({"url": "u"},)),
    ("example", (1, None)),
)
_METADATA_SAYS: tuple[Node, ...] = (
    {},
    {"default": {}},
    {"properties": {"name": {"type": "string"}}},
    {"properties": {"name": {"type": "string"}, "generateName": {"type": "string"}}},
    {"properties": {"name": {"type": "string"}, "labels": {"type": "object"}}},
    {"properties": {"namespace": {"type": "string"}}},
    {"properties": {}},
    {"minProperties": 0},
    {"maxLength": 0},
    {"minimum": 0},
    {"not": {}},
    {"anyOf": []},
    {"anyOf": [{"required": ["name"]}]},
    {"required": []},
    {"required": ["name"]},
    {"nullable": True},
    {"title": "t"},
    {"x-kubernetes-preserve-unknown-fields": True},
    {"x-kubernetes-map-type": "atomic"},
    {"externalDocs": {}},
    {"example": 1},
    {"additionalProperties": False},
)
_PATTERNS = ("(?!x)a", "a(", "\\1", "[z-a]", "x{2000}", "*a", "(?<=a)b", "a**", "[[:odd:]]", "\\")


def worsen(dice: Dice, root: Node) -> None:
    """
    Break one rule, or come close to it, at one place of a schema. The schema is changed.
    """
    if dice.seldom(3):
        dice.pick(_OF_THE_ROOT)(dice, root)
    else:
        dice.pick(_OF_ANY)(dice, dice.pick([root, *_below(root), *_below(root)]))


def children(node: Node) -> list[Node]:
    """
    Return the direct child schemas of a node, without those in junctors.
    """
    properties = node.get("properties")
    below = [*properties.values()] if isinstance(properties, dict) else []
    below += [node.get("items"), node.get("additionalProperties")]
    return [child for child in below if isinstance(child, dict)]


def _below(root: Node) -> list[Node]:
    found: list[Node] = []
    waiting: list[Node] = [root]
    while waiting:
        below = children(waiting.pop())
        found += below
        waiting += below
    return found


def _array_without_items(_dice: Dice, node: Node) -> None:
    node["type"] = "array"
    node.pop("items", None)


def _int_or_string_and(keyword: str) -> Worsening:
    def change(dice: Dice, node: Node) -> None:
        node["x-kubernetes-int-or-string"] = True
        node[keyword] = True
        if dice.seldom(2):
            node.pop("type", None)

    return change


def _embedded_is_no_object(dice: Dice, node: Node) -> None:
    node["x-kubernetes-embedded-resource"] = True
    node["type"] = dice.pick(("", "string", "array"))


def _empty_type(dice: Dice, node: Node) -> None:
    node.pop("type", None)
    if dice.seldom(2):
        node["type"] = ""
    node.pop(dice.pick(("x-kubernetes-int-or-string", "nullable")), None)
    node.pop("x-kubernetes-preserve-unknown-fields", None)


def _embedded_with_additional(dice: Dice, node: Node) -> None:
    node["x-kubernetes-embedded-resource"] = True
    node["type"] = "object"
    node["additionalProperties"] = deepcopy(dice.pick(_ADDITIONAL))


def _embedded_without_properties(dice: Dice, node: Node) -> None:
    node["x-kubernetes-embedded-resource"] = True
    node["type"] = "object"
    node.pop("x-kubernetes-preserve-unknown-fields", None)
    node["properties"] = {}
    if dice.seldom(2):
        node.pop("properties")


def _type_meta(dice: Dice, node: Node) -> None:
    if dice.seldom(2):
        node["x-kubernetes-embedded-resource"] = True
    name = dice.pick(("kind", "apiVersion", "metadata"))
    node["properties"] = {**_dict(node, "properties"), name: {**dice.pick(_TYPE_METAS)}}


def _junctor(dice: Dice, node: Node, member: Node) -> None:
    keyword = dice.pick(("anyOf", "allOf", "oneOf", "not"))
    if dice.seldom(4):
        member = {"properties": {dice.pick(("a", "b", "spec")): member}}
    if dice.seldom(6):
        member = {"items": member}
    before = node.get(keyword)
    if keyword == "not":
        node[keyword] = member
    else:
        node[keyword] = [*before, member] if isinstance(before, list) else [member]


def _forbidden_in_junctor(dice: Dice, node: Node) -> None:
    keyword, options = dice.pick(_FORBIDDEN)
    _junctor(dice, node, {keyword: dice.pick(options)})


def _int_or_string_pattern(dice: Dice, node: Node) -> None:
    pattern = dice.pick(_INT_OR_STRING)
    if dice.seldom(2):
        node.pop("anyOf", None)
        rest: Node = dice.pick(({}, {"minimum": 1}, {"type": "string"}))
        node["allOf"] = [{"anyOf": pattern, **rest}, {"pattern": "a"}]
    else:
        node["anyOf"] = pattern
    if dice.seldom(2):
        node.pop("type", None)
        node["x-kubernetes-int-or-string"] = True


def _metadata_in_junctor(dice: Dice, node: Node) -> None:
    _junctor(dice, node, {"properties": {"metadata": {**dice.pick(_METADATA_SAYS)}}})


def _bad_pattern(dice: Dice, node: Node) -> None:
    if dice.seldom(3):
        _junctor(dice, node, {"pattern": dice.pick(_PATTERNS)})
    else:
        node["pattern"] = dice.pick(_PATTERNS)


def _incomplete(dice: Dice, node: Node) -> None:
    inner: Node = dice.pick(({"minimum": 1}, {}, {"properties": {"x": {}}}, {"items": {}}))
    names = dice.pick((("a",), ("missing",), ("a", "missing"), ("spec",)))
    _junctor(dice, node, {"properties": {name: {**inner} for name in names}})


def _unreadable(dice: Dice, node: Node) -> None:
    keyword, value = dice.pick(_UNREADABLE)
    if dice.seldom(3):
        _junctor(dice, node, {keyword: deepcopy(value)})
    else:
        node[keyword] = deepcopy(value)


def _additional_of_root(dice: Dice, root: Node) -> None:
    root["additionalProperties"] = deepcopy(dice.pick(_ADDITIONAL))


def _type_of_root(dice: Dice, root: Node) -> None:
    root["type"] = dice.pick(("array", "string", "integer", "odd"))


def _metadata_of_root(dice: Dice, root: Node) -> None:
    said: Node = {"type": "object", **deepcopy(dice.pick(_METADATA_SAYS))}
    if dice.seldom(5):
        said |= deepcopy(dice.pick(_METADATA_SAYS))
    root["properties"] = {**_dict(root, "properties"), "metadata": said}


def _dict(node: Node, name: str) -> Node:
    value = node.get(name)
    return value if isinstance(value, dict) else {}


_ADDITIONAL: tuple[JSON, ...] = (True, False, {"type": "string"}, {})
_UNREADABLE: tuple[tuple[str, JSON], ...] = (
    ("id", "x"),
    ("$schema", "x"),
    ("$ref", "x"),
    ("$ref", ""),
    ("patternProperties", {"a": {"type": "string"}}),
    ("patternProperties", {}),
    ("dependencies", {"a": ["b"]}),
    ("additionalItems", False),
    ("additionalItems", {}),
    ("definitions", {"a": {"$ref": "x"}}),
    ("items", [{"type": "string"}]),
    ("items", []),
    ("x-kubernetes-preserve-unknown-fields", False),
)
_TYPE_METAS: tuple[Node, ...] = (
    {"type": "string"},
    {"type": "object"},
    {"type": "integer"},
    {"type": ""},
    {},
    {"x-kubernetes-preserve-unknown-fields": True},
)
_OF_THE_ROOT: tuple[Worsening, ...] = (
    _additional_of_root,
    _type_of_root,
    _metadata_of_root,
    _metadata_of_root,
    _incomplete,
    _type_meta,
)
_OF_ANY: tuple[Worsening, ...] = (
    _array_without_items,
    _int_or_string_and("x-kubernetes-preserve-unknown-fields"),
    _int_or_string_and("x-kubernetes-embedded-resource"),
    _embedded_is_no_object,
    _empty_type,
    _embedded_with_additional,
    _embedded_without_properties,
    _type_meta,
    _forbidden_in_junctor,
    _forbidden_in_junctor,
    _int_or_string_pattern,
    _metadata_in_junctor,
    _bad_pattern,
    _incomplete,
    _unreadable,
)
