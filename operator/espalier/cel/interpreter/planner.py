"""
Checked expressions as functions that evaluate them.

Source:
    cel-go, ``interpreter/planner.go``, ``interpreter/interpretable.go`` and
    ``interpreter/decorators.go``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from espalier.cel.checker.check import Checked
from espalier.cel.cost.runtime import LIST_COST, MAP_COST
from espalier.cel.expr import (
    Call,
    Comprehension,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
    Select,
)
from espalier.cel.frames import Frame
from espalier.cel.interpreter.attributes import (
    Attribute,
    Conditional,
    Plain,
    Qualifier,
    Run,
    check_key,
    reader,
    slot_reader,
    tester,
)
from espalier.cel.interpreter.calls import (
    CONVERSIONS,
    PATTERN_FUNCTIONS,
    Interpretable,
    constant,
    plan_call,
    plan_equality,
    plan_logic,
    plan_membership,
    plan_optional_or,
    plan_search,
)
from espalier.cel.interpreter.folds import Fold
from espalier.cel.values import (
    CelError,
    ListValue,
    MapValue,
    Optional,
    UnsupportedError,
    Value,
    key_of,
    show,
)

_NOT_OPTIONAL_ELEMENT: Final = "cannot initialize optional list element from non-optional value"


@dataclass(frozen=True, slots=True)
class Program:
    """
    An expression that can be evaluated.

    Attributes:
        run: Evaluates it in a frame.
        slots: How many slots the frame must have.
    """

    run: Run
    slots: int


def plan(checked: Checked) -> Program:
    """
    Make a program of a checked expression.

    Raises:
        CelError: What is constant in it fails.
        UnsupportedError: It cannot be evaluated here.
    """
    planner = _Planner(checked)
    made = planner.plan(checked.root)
    return Program(made.run, planner.slots)


class _Planner:
    """
    Goes down an expression.
    """

    def __init__(self, checked: Checked) -> None:
        self._checked = checked
        self._scopes: list[dict[str, Attribute | int]] = []
        self.slots = 0

    def plan(self, node: Node) -> Interpretable:
        make = _PLANS.get(node.__class__)
        if make is None:
            raise UnsupportedError("it makes a message")
        return make(self, node)

    def literal(self, node: Literal) -> Interpretable:
        return constant(node.value)

    def ident(self, node: Ident) -> Interpretable:
        named = self._checked.type_names.get(node.id)
        if named is not None:
            return constant(named)
        name = self._checked.variables.get(node.id)
        if name is not None:
            outer: str = name
            return self._attribute(Plain(lambda frame: frame.variable(outer)))
        return self._attribute(Plain(self._local(node.name)))

    def _local(self, name: str) -> Run:
        for scope in reversed(self._scopes):
            if name in scope:
                found = scope[name]
                return slot_reader(found) if isinstance(found, int) else found.resolve
        raise UnsupportedError(f"{name} is not bound")

    def _attribute(self, attribute: Attribute) -> Interpretable:
        return Interpretable(reader(attribute), attribute)

    def _as_attribute(self, made: Interpretable) -> Attribute:
        return made.attribute or Plain(made.run)

    def select(self, node: Select) -> Interpretable:
        attribute = self._as_attribute(self.plan(node.operand))
        name = node.field
        attribute.add(Qualifier(lambda _: name, is_test=node.is_test))
        if node.is_test:
            return Interpretable(tester(attribute), attribute)
        return self._attribute(attribute)

    def call(self, node: Call) -> Interpretable:
        args = node.args if node.target is None else (node.target, *node.args)
        plans = [self.plan(each) for each in args]
        special = _SPECIAL.get(node.function)
        if special is not None:
            return special(self, plans)
        overloads = self._checked.overloads[node.id]
        if node.function in ("or", "orValue"):
            return plan_optional_or(plans, is_value=node.function == "orValue")
        if len(overloads) == 1 and overloads[0].id == "in_list" and plans[1].is_constant:
            found = plan_membership(plans)
            if found is not None:
                return found
        if node.function in PATTERN_FUNCTIONS and isinstance(plans[1].value, str):
            return plan_search(node.function, overloads, plans)
        made = plan_call(node.function, overloads, plans)
        if node.function in CONVERSIONS and len(plans) == 1 and plans[0].is_constant:
            return constant(made.run(_no_frame()))
        return made

    def index(self, plans: list[Interpretable], *, is_optional: bool = False) -> Interpretable:
        attribute = self._as_attribute(plans[0])
        key = plans[1]
        if key.is_constant:
            check_key(key.value)
        read = key.attribute.resolve if key.attribute else key.run
        attribute.add(Qualifier(read, is_optional=is_optional))
        return self._attribute(attribute)

    def optional_index(self, plans: list[Interpretable]) -> Interpretable:
        return self.index(plans, is_optional=True)

    def conditional(self, plans: list[Interpretable]) -> Interpretable:
        condition, truthy, falsy = plans
        chosen = Conditional(condition.run, self._as_attribute(truthy), self._as_attribute(falsy))
        return self._attribute(chosen)

    def logical_and(self, plans: list[Interpretable]) -> Interpretable:
        return plan_logic(plans, decisive=False)

    def logical_or(self, plans: list[Interpretable]) -> Interpretable:
        return plan_logic(plans, decisive=True)

    def equals(self, plans: list[Interpretable]) -> Interpretable:
        return plan_equality(plans, is_negated=False)

    def not_equals(self, plans: list[Interpretable]) -> Interpretable:
        return plan_equality(plans, is_negated=True)

    def list(self, node: ListLiteral) -> Interpretable:
        plans = [self.plan(each) for each in node.elements]
        runs = [each.run for each in plans]
        optional = node.optional_indices

        def run(frame: Frame) -> Value:
            try:
                items = _present(runs, optional, frame)
            except CelError:
                frame.charge(LIST_COST)
                raise
            frame.charge(LIST_COST)
            return ListValue(items)

        if all(each.is_constant for each in plans) and not optional:
            return constant(ListValue([each.value for each in plans]))
        return Interpretable(run)

    def map(self, node: MapLiteral) -> Interpretable:
        entries: list[tuple[Run, Run, bool]] = []
        plans: list[Interpretable] = []
        for entry in node.entries:
            if not isinstance(entry.key, Node):
                raise UnsupportedError("it makes a message")
            key, value = self.plan(entry.key), self.plan(entry.value)
            plans += (key, value)
            entries.append((key.run, value.run, entry.is_optional))

        def run(frame: Frame) -> Value:
            try:
                made = _made_map(entries, frame)
            except CelError:
                frame.charge(MAP_COST)
                raise
            frame.charge(MAP_COST)
            return made

        if all(each.is_constant for each in plans) and not any(each[2] for each in entries):
            return constant(run(_no_frame()))
        return Interpretable(run)

    def comprehension(self, node: Comprehension) -> Interpretable:
        first = self.slots
        self.slots += 3
        init = self.plan(node.init)
        iter_range = self.plan(node.iter_range)
        fold = Fold(
            iter_range=iter_range.run,
            init=init.run,
            accumulator=first,
            variables=(first + 1, first + 2 if node.variable2 else None),
        )
        self._scopes.append({node.accumulator: Plain(fold.accumulated)})
        variables: dict[str, Attribute | int] = {node.variable: first + 1}
        if node.variable2:
            variables[node.variable2] = first + 2
        self._scopes.append(variables)
        condition = self.plan(node.condition)
        fold.condition = (
            None if condition.is_constant and condition.value is True else condition.run
        )
        fold.step = self.plan(node.step).run
        self._scopes.pop()
        fold.result = self.plan(node.result).run
        self._scopes.pop()
        return Interpretable(fold.run)


_PLANS: Final[Mapping[type, Callable[[_Planner, Any], Interpretable]]] = {
    Literal: _Planner.literal,
    Ident: _Planner.ident,
    Select: _Planner.select,
    Call: _Planner.call,
    ListLiteral: _Planner.list,
    MapLiteral: _Planner.map,
    Comprehension: _Planner.comprehension,
}
_SPECIAL: Final[Mapping[str, Callable[[_Planner, list[Interpretable]], Interpretable]]] = {
    "_&&_": _Planner.logical_and,
    "_||_": _Planner.logical_or,
    "_?_:_": _Planner.conditional,
    "_==_": _Planner.equals,
    "_!=_": _Planner.not_equals,
    "_[_]": _Planner.index,
    "_[?_]": _Planner.optional_index,
    "_?._": _Planner.optional_index,
}


def _no_frame() -> Frame:
    return Frame({})


def _present(runs: list[Run], optional: frozenset[int], frame: Frame) -> list[Value]:
    if not optional:
        return [each(frame) for each in runs]
    found = []
    for index, each in enumerate(runs):
        value = each(frame)
        if index in optional:
            if not isinstance(value, Optional):
                raise CelError(f"{_NOT_OPTIONAL_ELEMENT} {show(value)}")
            if not value.has_value:
                continue
            value = value.value
        found.append(value)
    return found


def _made_map(entries: list[tuple[Run, Run, bool]], frame: Frame) -> MapValue:
    found: dict[Any, tuple[Value, Value]] = {}
    for read_key, read_value, is_optional in entries:
        key, value = read_key(frame), read_value(frame)
        if is_optional:
            if not isinstance(value, Optional):
                raise CelError(
                    f"cannot initialize optional entry '{show(key)}' from non-optional value"
                    f" {show(value)}"
                )
            if not value.has_value:
                found.pop(key_of(key), None)
                continue
            value = value.value
        found[key_of(key)] = (key, value)
    return MapValue(found)
