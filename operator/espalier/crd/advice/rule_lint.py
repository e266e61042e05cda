"""
Lints of validation rules: rules that compile, but fail or pass where the author does not expect it.

A rule that reads an absent field fails with ``no such key``, and API servers never tolerate that in
an update. A guard, such as ``has()``, is found by what must be true or false where the field is
read: in ``a && b``, ``a || b`` and ``a ? b : c`` an error of one operand is dropped where the other
operand decides.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from espalier.cel.expr import (
    Call,
    Comprehension,
    Ident,
    Literal,
    Node,
    Select,
    children,
    walk,
)
from espalier.paths import Key, Path
from espalier.schema import Structural
from espalier.schema.rules.compilation import OLD_SELF, Expression, Rule, RuleNode, compile_rules
from espalier.schema.rules.escaping import unescape
from espalier.schema.rules.types import NestingError

_KEYWORD: Final = "x-kubernetes-validations"
Place: TypeAlias = tuple[str | int, ...]
"""The place that an expression reads: a variable, and the names and literal indices below it."""

_OWN_FIELDS: Final = frozenset[Place]({("apiVersion",), ("kind",), ("metadata",)})


class RuleLint(NamedTuple):
    """
    One lint: the name of its rule, the path below the schema, and the message.
    """

    rule: str
    path: Path
    detail: str


def lint_rules(structural: Structural) -> Iterator[RuleLint]:
    """
    Yield the lints of all rules of a schema.
    """
    try:
        root = compile_rules(structural)
    except NestingError:
        yield RuleLint("rule-not-checked", (), "the schema nests too deep: no rule was checked")
        return
    if root is not None:
        yield from _node(root, (), name="", parent=None)


def _node(node: RuleNode, path: Path, *, name: str, parent: RuleNode | None) -> Iterator[RuleLint]:
    for index, rule in enumerate(node.rules):
        below = (*path, _KEYWORD, index)
        for member, expression in (
            ("rule", rule.rule),
            ("messageExpression", rule.message_expression),
        ):
            if expression is not None:
                old = None if rule.has_optional_old_self else node.self_node
                yield from _expression(expression, node, old, (*below, member))
        yield from _transition(rule, (*below, "rule"), name, parent)
    for below_name, child in node.properties.items():
        yield from _node(
            child, (*path, "properties", Key(below_name)), name=below_name, parent=node
        )
    if node.items is not None:
        yield from _node(node.items, (*path, "items"), name="", parent=None)
    if node.additional is not None:
        yield from _node(node.additional, (*path, "additionalProperties"), name="", parent=None)


def _expression(
    expression: Expression, node: RuleNode, old: Structural | None, path: Path
) -> Iterator[RuleLint]:
    if expression.obstacle and not expression.error:
        detail = f"was not checked, and API servers may refuse it: {expression.obstacle}"
        yield RuleLint("rule-not-checked", path, detail)
    if expression.checked is None:
        return
    own = frozenset[Place]()
    if node.is_resource:
        own = _OWN_FIELDS if node.node.embedded_resource else _OWN_FIELDS | {("metadata", "name")}
    reading = _Reading({"self": node.self_node, OLD_SELF: old}, own)
    reading.visit(expression.checked.root, frozenset())
    numbers = dict.fromkeys(reading.numbers)
    for place in dict.fromkeys(reading.absent):
        detail = (
            f"reads {_shown(place)}, which may be absent: without has() the rule fails with"
            ' "no such key", for unchanged objects, too'
        )
        yield RuleLint("unguarded-field", path, detail)
    for place in (one for one in numbers if one not in reading.typed):
        detail = f"{_shown(place)} may be an integer, for which the rule fails with an error"
        yield RuleLint("quantity-of-integer", path, detail)


def _transition(rule: Rule, path: Path, name: str, parent: RuleNode | None) -> Iterator[RuleLint]:
    if parent is None or rule.rule is None or not rule.rule.uses_old_self:
        return
    if rule.has_optional_old_self or not _may_be_absent(parent.node, name):
        return
    if any(_tests_old(above, name) for above in parent.rules):
        return
    detail = (
        f"is not evaluated when {name} is set or unset, since it is optional: who unsets it can set"
        " another value afterwards"
    )
    yield RuleLint("transition-on-optional", path, detail)


def _tests_old(rule: Rule, name: str) -> bool:
    # A rule of the parent that tests whether the old object has the field is a guard of its own.
    checked = None if rule.rule is None else rule.rule.checked
    return checked is not None and any(
        isinstance(one, Select)
        and one.is_test
        and unescape(one.field) == name
        and isinstance(one.operand, Ident)
        and one.operand.name == OLD_SELF
        for one in walk(checked.root)
    )


def _may_be_absent(node: Structural, name: str) -> bool:
    child = node.properties.get(name)
    return (
        child is not None and child.default is None and name not in node.value_validation.required
    )


def _shown(place: Place) -> str:
    parts = [str(place[0])]
    parts += [f"[{step}]" if isinstance(step, int) else f".{step}" for step in place[1:]]
    return "".join(parts)


Facts: TypeAlias = frozenset[Place]
"""The places that are known to be present."""


@dataclass
class _Reading:
    """
    The reads of one expression.

    Attributes:
        scope: The schemas of the variables; None if the schema of one is not known.
        present: The places below a variable that are never absent: an object's own fields.
        absent: The places that are read although they may be absent.
        numbers: The places that are read as quantities although they may be integers.
        typed: The places whose type the expression asks for.
    """

    scope: Mapping[str, Structural | None]
    present: frozenset[Place]
    absent: list[Place] = field(default_factory=list)
    numbers: list[Place] = field(default_factory=list)
    typed: set[Place] = field(default_factory=set)

    def visit(self, node: Node, facts: Facts) -> None:
        """
        Collect the reads of an expression, given the places that are present.
        """
        match node:
            case Call(function="_&&_", args=(left, right)):
                self.visit(left, facts | self.if_true(right))
                self.visit(right, facts | self.if_true(left))
            case Call(function="_||_", args=(left, right)):
                self.visit(left, facts | self.if_false(right))
                self.visit(right, facts | self.if_false(left))
            case Call(function="_?_:_", args=(condition, chosen, other)):
                self.visit(condition, facts)
                self.visit(chosen, facts | self.if_true(condition))
                self.visit(other, facts | self.if_false(condition))
            case Select():
                self.select(node, facts)
                self.visit(node.operand, facts)
            case Comprehension():
                self.fold(node, facts)
            case _:
                self.quantity(node)
                for child in children(node):
                    self.visit(child, facts)

    def select(self, node: Select, facts: Facts) -> None:
        """
        Note a read of a field that may be absent.
        """
        if node.is_test:
            return
        holder, place = self.schema_of(node.operand), self.place_of(node)
        name = unescape(node.field)
        if holder is None or place is None or name is None or place in facts:
            return
        if place[1:] not in self.present and _may_be_absent(holder, name):
            self.absent.append(place)

    def quantity(self, node: Node) -> None:
        """
        Note a call of ``quantity`` with an int-or-string.
        """
        match node:
            case Call(function="quantity" | "isQuantity", target=None, args=(argument,)):
                schema, place = self.schema_of(argument), self.place_of(argument)
                if schema is not None and place is not None and schema.int_or_string:
                    self.numbers.append(place)
            case Call(function="type", args=(argument,)):
                self.typed.add(self.place_of(argument) or ())
            case _:
                pass

    def fold(self, node: Comprehension, facts: Facts) -> None:
        """
        Collect the reads of a macro's expansion.
        """
        self.visit(node.iter_range, facts)
        self.visit(node.init, facts)
        schema = self.schema_of(node.iter_range)
        element = None if schema is None else schema.items
        inner = dict(self.scope)
        inner[node.accumulator] = None
        if node.variable2:
            values = None if schema is None else schema.additional_properties
            below = values if isinstance(values, Structural) else element
            inner |= {node.variable: None, node.variable2: below}
        else:
            inner[node.variable] = element
        outer, self.scope = self.scope, inner
        # Facts about a variable of the same name outside say nothing of the inner one.
        names = {node.variable, node.variable2, node.accumulator}
        known = frozenset(place for place in facts if place[0] not in names)
        self.visit(node.step, known)
        self.visit(node.condition, known)
        self.visit(node.result, known)
        self.scope = outer

    def if_true(self, node: Node) -> Facts:
        """
        Return the places that are present if an expression is true.
        """
        match node:
            case Select(is_test=True):
                # The test reads all that is above the field.
                place = self.place_of(node) or ()
                return frozenset(place[:end] for end in range(2, len(place) + 1))
            case Call(function="_&&_", args=(left, right)):
                return self.if_true(left) | self.if_true(right)
            case Call(function="_||_", args=(left, right)):
                return self.if_true(left) & self.if_true(right)
            case Call(function="!_", args=(operand,)):
                return self.if_false(operand)
            case Call(function="_==_" | "_!=_", args=(operand, Literal(value=bool() as value))):
                is_true = value is (node.function == "_==_")
                return self.if_true(operand) if is_true else self.if_false(operand)
            case _:
                return frozenset()

    def if_false(self, node: Node) -> Facts:
        """
        Return the places that are present if an expression is false.
        """
        match node:
            case Call(function="_||_", args=(left, right)):
                return self.if_false(left) | self.if_false(right)
            case Call(function="_&&_", args=(left, right)):
                return self.if_false(left) & self.if_false(right)
            case Call(function="!_", args=(operand,)):
                return self.if_true(operand)
            case Call(function="_==_" | "_!=_", args=(operand, Literal(value=bool() as value))):
                is_true = value is (node.function == "_!=_")
                return self.if_true(operand) if is_true else self.if_false(operand)
            case _:
                return frozenset()

    def place_of(self, node: Node) -> Place | None:
        """
        Return the place that an expression reads; None if it is no plain place.
        """
        match node:
            case Ident():
                return (node.name,)
            case Select():
                above = self.place_of(node.operand)
                return None if above is None else (*above, unescape(node.field) or node.field)
            case Call(function="_[_]", args=(operand, Literal(value=int() | str() as index))):
                above = self.place_of(operand)
                return None if above is None else (*above, index)
            case _:
                return None

    def schema_of(self, node: Node) -> Structural | None:
        """
        Return the schema of an expression's value; None if it is not known.
        """
        match node:
            case Ident():
                return self.scope.get(node.name)
            case Select(is_test=False):
                above, name = self.schema_of(node.operand), unescape(node.field)
                return None if above is None or name is None else above.properties.get(name)
            case Call(function="_[_]", args=(operand, _)):
                above = self.schema_of(operand)
                if above is None:
                    return None
                values = above.additional_properties
                return values if isinstance(values, Structural) else above.items
            case _:
                return None
