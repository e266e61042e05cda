"""
Generate rules that nest deep, up to and beyond what API servers parse.

All forms have correct types; the leaves now and then have not.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from espalier.paths import JSON
from tests.differential.dice import Dice
from tests.differential.expressions import BOOL, INT, STRING
from tests.differential.worsening import Node

_LEAVES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        BOOL: ("true", "false", "self.b", "has(self.s)", "self.n == oldSelf.n", "1 in self.l"),
        INT: ("1", "self.n", "-7", "size(self.s)", "self.l[0]", "self.m.size()", "1 / 0"),
        STRING: ("'x'", "self.s", "self.m.a", "string(self.n)", "self.l.map(x, string(x))[0]"),
    }
)
_ODD = ("for", "1e400", "self.nothing", "'\\ud800'", "[1].all(1, true)", "odd(1)", "null", "{}")

# A form repeats itself around a leaf; its whole is a boolean again.
_FORMS: Mapping[str, tuple[tuple[str, Callable[[str, int], str]], ...]] = MappingProxyType(
    {
        BOOL: (
            ("==", lambda leaf, count: " == ".join([leaf] * count)),
            ("&&", lambda leaf, count: f"({leaf} && " * count + "true" + ")" * count),
            ("balanced", lambda leaf, count: " || ".join([leaf] * count)),
            ("?:", lambda leaf, count: f"{leaf} ? true : " * count + "false"),
            ("(?:)", lambda leaf, count: "(true ? " * count + leaf + " : false)" * count),
            ("()", lambda leaf, count: "(" * count + leaf + ")" * count),
            ("!", lambda leaf, count: "!(" * count + leaf + ")" * count),
            ("[]", lambda leaf, count: "[" * count + leaf + "]" * count + " != []"),
            ("{}", lambda leaf, count: "{'a': " * count + leaf + "}" * count + " != {}"),
            ("all", lambda leaf, count: "[1].all(x, " * count + leaf + ")" * count),
            ("exists", lambda leaf, count: "[1].exists(x, " * count + leaf + ")" * count),
            ("two", lambda leaf, count: "[1].all(i, v, " * count + leaf + ")" * count),
            ("== (", lambda leaf, count: "true == (" * count + leaf + ")" * count),
        ),
        INT: (
            ("+", lambda leaf, count: " + ".join([leaf] * count) + " > 0"),
            ("*", lambda leaf, count: " * ".join([leaf] * count) + " > 0"),
            ("+ (", lambda leaf, count: "1 + (" * count + leaf + ")" * count + " > 0"),
            ("- 2 * (", lambda leaf, count: "1 - 2 * (" * count + leaf + ")" * count + " > 0"),
            ("-", lambda leaf, count: "-(" * count + leaf + ")" * count + " > 0"),
            ("int", lambda leaf, count: "int(" * count + leaf + ")" * count + " > 0"),
            ("map", lambda leaf, count: "[1].map(x, " * count + leaf + ")" * count + " != []"),
            ("index", lambda leaf, count: "self.l[0 * " * count + leaf + "]" * count + " > 0"),
        ),
        STRING: (
            ("trim", lambda leaf, count: leaf + ".trim()" * count + " == 'x'"),
            ("concat", lambda leaf, count: f"({leaf})" + ".replace('x', 'y')" * count + " == ''"),
            ("select", lambda leaf, count: "dyn(self)" + ".o" * count + f" == {leaf}"),
            ("optional", lambda leaf, count: "self" + ".?o" * count + f" == optional.of({leaf})"),
            ("[0]", lambda leaf, count: f"dyn([{leaf}])" + "[0]" * count + " == 'x'"),
        ),
    }
)
# The server needs seconds for types that nest deep.
_TYPES_NEST = ("[]", "{}", "map")
_MOST_NESTED_TYPES = 60
_COUNTS = (33, 60, 83, 84, 123, 124, 125, 126, 200, 248, 249, 250, 251, 252, 300)


def expression(dice: Dice) -> str:
    """
    Return a boolean expression that nests deep, or two of them in each other.
    """
    of = dice.pick([*_FORMS])
    leaf = dice.pick(_ODD) if dice.seldom(25) else dice.pick(_LEAVES[of])
    count = dice.pick(_COUNTS) if dice.seldom(2) else 20 + dice.count(240)
    name, form = dice.pick(_FORMS[of])
    if name in _TYPES_NEST and not dice.seldom(50):
        count = min(count, _MOST_NESTED_TYPES)
    whole = form(leaf, count)
    if not dice.seldom(3):
        return whole
    return dice.pick(_FORMS[BOOL])[1](f"({whole})", 1 + dice.count(30 if len(whole) < 999 else 2))


def schema(dice: Dice) -> Node:
    """
    Return an object schema with one deep rule, and now and then a deep message.
    """
    rule: Node = {"rule": expression(dice)}
    if dice.seldom(3):
        rule["messageExpression"] = f"({expression(dice)}) ? 'yes' : 'no'"
    text: Node = {"type": "string", "maxLength": 5}
    return {
        "type": "object",
        "properties": {
            "b": {"type": "boolean"},
            "n": {"type": "integer"},
            "s": text,
            "l": {"type": "array", "maxItems": 2, "items": {"type": "integer"}},
            "m": {"type": "object", "maxProperties": 2, "additionalProperties": text},
            "o": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
        "x-kubernetes-validations": [rule],
    }


def obj(dice: Dice) -> Node:
    """
    Return an object for the schema.
    """
    made: Node = {"b": dice.seldom(2), "n": dice.count(3), "s": dice.pick(("x", "", " x"))}
    made["l"] = [dice.count(2) for _ in range(1 + dice.count(1))]
    made["m"] = {"a": "x"}
    inner: JSON = "x"
    for _ in range(dice.count(60)):
        inner = {"o": inner}
    made["o"] = {"o": inner}
    return made
