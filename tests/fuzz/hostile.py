"""
Values that somebody would try, and changes of decoded JSON by them.
"""

from collections.abc import Callable
from typing import Any

from tests.differential.dice import Dice

Tree = Any
"""Decoded JSON; its containers are changed in place."""

PATTERNS = (
    *(
        "(a+)+$",
        "(a|aa)+$",
        "(.*)*x",
        "^(([a-z])+.)+[A-Z]([a-z])+$",
        "[",
        "(?P<x>",
        "(?<=a)b",
        "\\1",
    ),
    *(
        "a{1000}",
        "(a{0,1000}){0,1000}",
        "((a{0,99}){0,99}){0,99}",
        "\\p{Greek}",
        "\\pX",
        "(?i)é",
        "*",
    ),
    *(
        "(" * 2000,
        "(" * 300 + ")" * 300,
        "a|" * 5000,
        "[^" + "\U0001f600" * 500 + "]",
        "\x00",
        "a\\",
    ),
)
RULES = (
    *(
        "self.all(x, self.all(y, x == y))",
        "self.map(x, self.map(y, self.map(z, [x, y, z])))",
        "self.",
    ),
    *(
        "(" * 500 + "true" + ")" * 500,
        "!" * 1000 + "true",
        "[" * 400 + "]" * 400,
        "1 + " * 3000 + "1",
    ),
    *(
        "self.matches('(a+)+$')",
        "'a'.matches('[')",
        "oldSelf == self",
        "self.x.y.z[0]['a'].b",
        "\\u",
    ),
    *(
        "'" + "a" * 20000,
        "'''a''' + \"\"\"b\"\"\"",
        "999999999999999999999 > 1",
        "1.0e999 > 1.0",
        "0/0 == 1",
    ),
    *(
        "self == self ? self : self",
        "has(self.a) && has(self.b.c)",
        "size(self) > -9223372036854775808",
    ),
    *(
        "{'a': 1, 'a': 2}.size() == 1",
        "quantity('1Ki').isGreaterThan(quantity('x'))",
        "url('h://').getHost()",
    ),
    *(
        "''.format([])",
        "'%s'.format([self])",
        "timestamp('0000-00-00T00:00:00Z')",
        "duration('99999999h')",
    ),
    *(
        "self.exists_one(i, i)",
        "dyn(self)",
        "type(self) == type(1)",
        "\ud800",
        "",
        " ",
        "true//",
        "\x00",
    ),
    *(
        "'a' in self || self in ['a']",
        "self.split('').join('').replace('', 'a', 999999)",
        "b'\\377' == b''",
    ),
    *(
        "cel.bind(a, self, a + a + a)",
        "optional.of(self).orValue(1)",
        "sets.contains([1], [1])",
        "__x__",
    ),
)
STRINGS = (
    *(
        "",
        " ",
        "\x00",
        "\x1b[2J",
        "\u202eabc",
        "\ud800",
        "\udfff\ud800",
        "e\u0301" * 300,
        "\U0001f600" * 500,
    ),
    *(
        "a" * 100_000,
        "a\n::error::b",
        "<script>",
        "../../etc/passwd",
        "null",
        "~",
        "y",
        "1e3",
        "0x1",
        "=",
        "<<",
    ),
    *(
        "x-kubernetes-validations",
        "$ref",
        "#/definitions/a",
        "%s%n%d",
        "{{ x }}",
        "${x}",
        "\ufeff",
        "\u2028",
    ),
    *(
        "2020-01-01T00:00:00Z",
        "9999-99-99T99:99:99Z",
        "1" * 400,
        "a/b/c",
        "a.b",
        "[0]",
        "~1~0",
        "A" * 254,
    ),
)
NUMBERS = (
    *(
        0,
        -1,
        -0.0,
        2**31,
        2**63,
        2**63 - 1,
        -(2**63),
        2**64,
        10**400,
        -(10**400),
        1e308,
        5e-324,
        0.1,
    ),
    *(True, False, None, 1e16, 1.5, 9007199254740993),
)
_KEYS = (
    *(
        "type",
        "items",
        "properties",
        "additionalProperties",
        "default",
        "enum",
        "pattern",
        "required",
    ),
    *(
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "format",
        "nullable",
        "maxLength",
        "minimum",
        "multipleOf",
        "$ref",
    ),
    *(
        "x-kubernetes-validations",
        "x-kubernetes-list-type",
        "x-kubernetes-list-map-keys",
        "maxItems",
    ),
    *(
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
        "x-kubernetes-map-type",
        "xml",
    ),
    *(
        "x-kubernetes-preserve-unknown-fields",
        "metadata",
        "spec",
        "status",
        "apiVersion",
        "kind",
        "name",
    ),
    *(
        "managedFields",
        "annotations",
        "labels",
        "ownerReferences",
        "finalizers",
        "creationTimestamp",
    ),
    *(
        "",
        ".",
        "a.b",
        "a/b",
        "~",
        "\ud800",
        "\x00",
        "a" * 5000,
        "0",
        "-",
        "__proto__",
        "[0]",
        "f:spec",
        "k:{}",
    ),
)
_DEPTHS = (3, 60, 300, 1200, 9000)
_TYPES = ("object", "array", "string", "integer", "number", "boolean", "null", "Object", "", "any")


def deep(dice: Dice, inner: Tree) -> Tree:
    """
    Return a value at the bottom of many containers.
    """
    for _ in range(dice.pick(_DEPTHS)):
        inner = [inner] if dice.seldom(2) else {"a": inner}
    return inner


def deep_schema(dice: Dice, inner: Tree) -> Tree:
    """
    Return a schema below many others.
    """
    for _ in range(dice.pick(_DEPTHS[:-1])):
        match dice.count(3):
            case 0:
                inner = {"type": "array", "items": inner}
            case 1:
                inner = {"type": "object", "additionalProperties": inner}
            case 2:
                inner = {"type": "object", "properties": {"a": inner, "spec": {}}}
            case _:
                inner = {"type": "object", "properties": {"a": inner}, "not": {"anyOf": [{}]}}
    return inner


def _rule(dice: Dice) -> Tree:
    rule = {"rule": dice.pick(RULES), "message": dice.pick(STRINGS)}
    if dice.seldom(3):
        rule["messageExpression"] = dice.pick(RULES)
    if dice.seldom(3):
        rule["fieldPath"] = dice.pick((".a.b", ".spec['a']", "a[", *STRINGS))
    return rule


def _wide(dice: Dice) -> Tree:
    many = dice.pick((100, 3000))
    return {f"k{n}": {"type": "string"} for n in range(many)} if dice.seldom(2) else [{}] * many


_VALUES: tuple[Callable[[Dice], Tree], ...] = (
    lambda dice: dice.pick(STRINGS),
    lambda dice: dice.pick(NUMBERS),
    lambda dice: dice.pick(PATTERNS),
    lambda dice: [_rule(dice) for _ in range(dice.count(4))],
    lambda _: [],
    lambda _: {},
    lambda dice: deep(dice, dice.pick(NUMBERS)),
    lambda dice: deep_schema(dice, {"type": dice.pick(_TYPES), "pattern": dice.pick(PATTERNS)}),
    lambda dice: {dice.pick(_KEYS): dice.pick(STRINGS) for _ in range(dice.count(6))},
    lambda dice: [dice.pick(NUMBERS), dice.pick(STRINGS)],
    lambda dice: {"type": dice.pick(_TYPES), dice.pick(_KEYS): dice.pick(NUMBERS)},
    _wide,
)


def value(dice: Dice) -> Tree:
    """
    Return a hostile value.
    """
    return dice.pick(_VALUES)(dice)


def change(dice: Dice, root: Tree) -> None:
    """
    Change one place of a tree, the root excepted.
    """
    place = _place(dice, root)
    keys: list[Any] = list(place) if isinstance(place, dict) else list(range(len(place)))
    if not keys:
        return
    key = dice.pick(keys)
    match dice.count(9):
        case 0:
            del place[key]
        case 1 if isinstance(place, dict):
            place[dice.pick(_KEYS)] = place[key]
        case 2 if isinstance(place, dict):
            place[dice.pick(_KEYS)] = value(dice)
        case 3 if isinstance(place, list):
            place.extend([place[key]] * dice.pick((1, 1, 20)))
        case 4:
            place[key] = [place[key]]
        case 5:
            place[key] = {dice.pick(_KEYS): place[key]}
        case 6 if isinstance(place, dict):
            place["x-kubernetes-validations"] = [_rule(dice)]
        case 7 if isinstance(place, dict):
            place["pattern"] = dice.pick(PATTERNS)
        case _:
            place[key] = value(dice)


def _place(dice: Dice, root: Tree) -> Tree:
    place = root
    while dice.number() < _GO_DOWN:
        members = place.values() if isinstance(place, dict) else place
        below = [one for one in members if isinstance(one, dict | list) and one]
        if not below:
            break
        place = dice.pick(below)
    return place


_GO_DOWN = 0.85
