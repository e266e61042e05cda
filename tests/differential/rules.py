"""
Generate schemas with validation rules, and objects that mostly have the types of the schema.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from espalier.paths import JSON
from tests.differential import expressions as cel
from tests.differential.dice import Dice
from tests.differential.expressions import Grammar
from tests.differential.worsening import Node

_DEEPEST = 3
_NAMES = ("a", "b", "c", "d", "in", "x-y", "size")
# The server tells the root's type from other fields by where they are.
_OF_TYPES = ("", "kind", "apiVersion")
_ESCAPED: Mapping[str, str] = MappingProxyType({"in": "__in__", "x-y": "x__dash__y"})
_TIMES = ("2020-01-01T00:00:00Z", "2020-06-30T12:00:00+02:00")
_REASONS = tuple(f"FieldValue{why}" for why in ("Invalid", "Forbidden", "Required", "Duplicate"))
_STRINGS = ("", "a", "b", "ab", "a,b", "1", "é", "10.0.0.1", "1.2.3", "h://h/p", "1k", "A b")

_KINDS: Mapping[str, tuple[Node, ...]] = MappingProxyType(
    {
        cel.INT: ({"type": "integer"}, {"type": "integer", "nullable": True}),
        cel.DOUBLE: ({"type": "number"}, {"type": "number", "format": "double"}),
        cel.STRING: (
            {"type": "string", "maxLength": 8},
            {"type": "string"},
            {"type": "string", "enum": ["a", "b"]},
        ),
        cel.BOOL: ({"type": "boolean"},),
        cel.BYTES: ({"type": "string", "format": "byte"},),
        cel.TIMESTAMP: (
            {"type": "string", "format": "date-time"},
            {"type": "string", "format": "date"},
        ),
        cel.DURATION: ({"type": "string", "format": "duration"},),
        cel.INTS: (
            {"type": "array", "maxItems": 5, "items": {"type": "integer"}},
            {
                "type": "array",
                "x-kubernetes-list-type": "set",
                "items": {"type": "integer"},
                "maxItems": 3,
            },
        ),
        cel.STRINGS: ({"type": "array", "items": {"type": "string", "maxLength": 5}},),
        cel.MAP: (
            {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 4},
        ),
        cel.OTHER: (
            {"x-kubernetes-int-or-string": True},
            {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            {
                "type": "object",
                "x-kubernetes-embedded-resource": True,
                "x-kubernetes-preserve-unknown-fields": True,
            },
            {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["k"],
                "items": {
                    "type": "object",
                    "required": ["k"],
                    "properties": {"k": {"type": "string"}, "v": {"type": "integer"}},
                },
            },
        ),
    }
)
_RIGHT: Mapping[str, Callable[[Dice], JSON]] = MappingProxyType(
    {
        cel.INT: lambda dice: dice.pick((0, 1, 2, -1, 7, 2**53 - 1, -(2**40))),
        cel.DOUBLE: lambda dice: dice.pick((0.5, 1.5, -2.25, 1, 3, 1e10)),
        cel.STRING: lambda dice: dice.pick(("a", "b") if dice.seldom(2) else _STRINGS),
        cel.BOOL: lambda dice: dice.seldom(2),
        cel.BYTES: lambda dice: dice.pick(("YQ==", "YWI=", "w6k=")),
        cel.TIMESTAMP: lambda dice: dice.pick(
            ("2020-01-01T00:00:00Z", "2020-06-30T12:00:00+02:00")
        ),
        cel.DURATION: lambda dice: dice.pick(("1h", "90s", "1m30s")),
        cel.INTS: lambda dice: [*range(dice.count(2), -1, -1)],
        cel.STRINGS: lambda dice: [dice.pick(("a", "b", "ab")) for _ in range(dice.count(3))],
        cel.MAP: lambda dice: {
            dice.pick(("a", "b", "k-")): dice.pick(_STRINGS) for _ in range(dice.count(3))
        },
    }
)


class Ruled:
    """
    An object schema with rules at several of its nodes.

    Attributes:
        schema: The schema.
    """

    def __init__(self, dice: Dice, depth: int = _DEEPEST) -> None:
        self._dice = dice
        self._kinds: dict[str, str] = {}
        self._inner: dict[str, Ruled] = {}
        properties: Node = {}
        for _ in range(1 + dice.count(4)):
            name = dice.pick(_OF_TYPES) if dice.seldom(12) else dice.pick(_NAMES)
            properties[name] = self._property(name, depth)
        self.schema: Node = {"type": "object", "properties": properties}
        self._required: list[JSON] = []
        if dice.seldom(3):
            self._required.append(next(iter(properties)))
            self.schema["required"] = self._required
        if depth == _DEEPEST or dice.seldom(2):
            self._add_rules(self.schema, self.reachable("self"), has_old=not dice.seldom(3))

    def reachable(self, base: str) -> dict[str, list[str]]:
        """
        Return the expressions that reach a value of the object, by type.
        """
        found: dict[str, list[str]] = {cel.OBJECT: [base]}
        for name, kind in self._kinds.items():
            if not name:
                # Rules cannot name it.
                continue
            step = f"{base}.{_ESCAPED.get(name, name)}"
            found.setdefault(kind, []).append(step)
            if kind == cel.INT:
                found.setdefault(cel.MAYBE_INT, []).append(f"{base}.?{_ESCAPED.get(name, name)}")
            found.setdefault(cel.BOOL, []).append(f"has({step})")
            if name in self._inner:
                for inner, steps in self._inner[name].reachable(step).items():
                    found.setdefault(inner, []).extend(steps)
        return found

    def obj(self) -> Node:
        """
        Return an object for the schema.
        """
        dice = self._dice
        made: Node = {}
        for name, kind in self._kinds.items():
            if (name not in self._required and dice.seldom(6)) or dice.seldom(60):
                continue
            if name in self._inner:
                made[name] = self._inner[name].obj()
            elif dice.seldom(40):
                made[name] = None
            elif kind == cel.OTHER:
                made[name] = self._other(name)
            else:
                made[name] = self._right(name, kind)
        return made

    def _property(self, name: str, depth: int) -> Node:
        dice = self._dice
        self._inner.pop(name, None)
        if depth > 1 and dice.seldom(4):
            self._inner[name] = Ruled(dice, depth - 1)
            self._kinds[name] = cel.OBJECT
            return self._inner[name].schema
        kind = self._kinds[name] = dice.pick([*_KINDS])
        node = {**dice.pick(_KINDS[kind])}
        if kind in _RIGHT and dice.seldom(3):
            self._add_rules(node, {kind: ["self"]}, has_old=dice.seldom(3))
        return node

    def _node(self, name: str) -> Node:
        properties = self.schema["properties"]
        node = properties[name] if isinstance(properties, dict) else None
        return node if isinstance(node, dict) else {}

    def _right(self, name: str, kind: str) -> JSON:
        node = self._node(name)
        if "enum" in node and not self._dice.seldom(40):
            return self._dice.pick(("a", "b"))
        if node.get("format") == "date" and not self._dice.seldom(40):
            return "2020-02-29"
        return _RIGHT[kind](self._dice)

    def _other(self, name: str) -> JSON:
        of = self._node(name).get("type")
        if of == "array":
            keys = "ab"[: self._dice.count(2)]
            return [{"k": key, "v": self._dice.count(3)} for key in keys]
        if of == "object":
            return {"apiVersion": "v1", "kind": "Pod", "a": self._dice.count(2)}
        one_or_other: tuple[JSON, ...] = (1, "a", "10%")
        return self._dice.pick(one_or_other)

    def _add_rules(self, node: Node, reachable: Mapping[str, list[str]], *, has_old: bool) -> None:
        dice = self._dice
        both = {kind: [*steps] for kind, steps in reachable.items()}
        if has_old:
            for steps in both.values():
                steps += [
                    step.replace("self", "oldSelf", 1) for step in steps if "has(" not in step
                ]
        grammar = Grammar(dice, both)
        node["x-kubernetes-validations"] = [
            self._rule(grammar, has_old=has_old) for _ in range(1 + dice.count(2))
        ]

    def _rule(self, grammar: Grammar, *, has_old: bool) -> JSON:
        dice = self._dice
        rule: Node = {"rule": grammar.expression(cel.BOOL)}
        if dice.seldom(5):
            rule["message"] = "no good"
        if dice.seldom(5):
            rule["messageExpression"] = grammar.expression(cel.STRING, 2)
        if dice.seldom(6):
            rule["reason"] = dice.pick(_REASONS)
        if dice.seldom(8):
            rule["fieldPath"] = dice.pick((".a", ".b", "['x-y']", ".c.d"))
        if has_old and dice.seldom(8):
            rule["optionalOldSelf"] = True
        return rule
