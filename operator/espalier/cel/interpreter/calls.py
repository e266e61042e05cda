"""
Calls of functions and operators, as functions that evaluate them.

Source:
    cel-go, ``interpreter/interpretable.go`` and ``common/decls/decls.go``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from espalier.cel.cost.runtime import Cost, cost_of
from espalier.cel.equality import NO_SUCH_OVERLOAD, equal
from espalier.cel.frames import Frame
from espalier.cel.interpreter.attributes import Attribute, Run
from espalier.cel.library.regex import compiled
from espalier.cel.signatures import Overload
from espalier.cel.values import (
    CelError,
    ListValue,
    Optional,
    Uint,
    Value,
    demand,
    number_key,
    type_of,
)

CONVERSIONS: Final = frozenset(
    ("bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint")
)
"""The functions that are called once and for all where their argument is constant."""


@dataclass(frozen=True, slots=True)
class Interpretable:
    """
    How a part of an expression is evaluated.

    Attributes:
        run: Evaluates it.
        attribute: What further selections may be added to.
        is_constant: Whether it always has the same ``value``.
    """

    run: Run
    attribute: Attribute | None = None
    is_constant: bool = False
    value: Value = None


def constant(value: Value) -> Interpretable:
    """
    Plan a constant.
    """
    return Interpretable(lambda _: value, is_constant=True, value=value)


def plan_logic(plans: list[Interpretable], *, decisive: bool) -> Interpretable:
    """
    Plan ``&&`` or ``||``: an error counts only where no other part decides.
    """
    runs = [each.run for each in plans]

    def run(frame: Frame) -> Value:
        error: CelError | None = None
        for each in runs:
            try:
                value = each(frame)
            except CelError as raised:
                error = error or raised
                continue
            if value is decisive:
                return decisive
            if not isinstance(value, bool):
                error = error or CelError(NO_SUCH_OVERLOAD)
        if error is not None:
            raise error
        return not decisive

    return Interpretable(run)


def _both(
    left: Run, right: Run, frame: Frame, charge: Callable[[Frame, Value, Value], None]
) -> tuple[Value, Value]:
    # Both sides are always evaluated, and paid for, even where one of them fails.
    try:
        first = left(frame)
    except CelError:
        try:
            second = right(frame)
        except CelError:
            second = None
        charge(frame, None, second)
        raise
    try:
        second = right(frame)
    except CelError:
        charge(frame, first, None)
        raise
    return first, second


# Comparing two of these costs one step.
_FIXED_SIZE: Final = frozenset((bool, int, Uint, float))


def plan_equality(plans: list[Interpretable], *, is_negated: bool) -> Interpretable:
    """
    Plan ``==`` or ``!=``; what cannot be compared differs.
    """
    left, right = plans[0].run, plans[1].run
    name, id_ = ("_!=_", "not_equals") if is_negated else ("_==_", "equals")
    reckon = cost_of(name, id_)
    if reckon is None:
        raise LookupError(name)
    cost = reckon

    def charge(frame: Frame, first: Value, second: Value) -> None:
        frame.charge(cost((first, second), None))

    def run(frame: Frame) -> Value:
        first, second = _both(left, right, frame, charge)
        if first.__class__ in _FIXED_SIZE and second.__class__ in _FIXED_SIZE:
            frame.charge(1)
        else:
            charge(frame, first, second)
        if not is_negated:
            return equal(first, second)
        try:
            return not equal(first, second)
        except CelError:
            return True

    return Interpretable(run)


def plan_optional_or(plans: list[Interpretable], *, is_value: bool) -> Interpretable:
    """
    Plan ``or`` or ``orValue``: the second part is evaluated only where the first has no value.
    """
    first, second = plans[0].run, plans[1].run

    def run(frame: Frame) -> Value:
        found = first(frame)
        if not isinstance(found, Optional):
            raise CelError(NO_SUCH_OVERLOAD)
        if found.has_value:
            return demand(found.value) if is_value else found
        return second(frame)

    return Interpretable(run)


_PRIMITIVES: Final = (bool, int, float, str, Uint)


def plan_membership(plans: list[Interpretable]) -> Interpretable | None:
    """
    Plan ``in`` with a constant list: looking it up costs nothing.

    Returns:
        The plan; None where the list must be searched.
    """
    members: ListValue = plans[1].value
    if not all(each.__class__ in _PRIMITIVES for each in members.items):
        return None
    keys = {number_key(each) for each in members.items}
    element = plans[0].run
    if not keys:
        return constant(value=False)
    return Interpretable(lambda frame: number_key(element(frame)) in keys)


def plan_call(
    function: str,
    overloads: tuple[Overload, ...],
    plans: list[Interpretable],
    *,
    evaluates_both: bool = True,
) -> Interpretable:
    """
    Plan a call of a function.

    Args:
        function: Its name.
        overloads: Those that it may mean.
        plans: The arguments.
        evaluates_both: Whether the second of two arguments is evaluated if the first one fails.
    """
    invoke = _dispatch(function, overloads)
    id_ = overloads[0].id if len(overloads) == 1 else ""
    cost = cost_of(function, id_)
    runs = [each.run for each in plans]
    if function == "@not_strictly_false":
        return Interpretable(_not_strictly_false(runs[0]))
    # Whatever chooses among overloads takes its arguments as a list.
    is_varied = len(overloads) > 1 and overloads[0].is_guarded
    if evaluates_both and not is_varied and len(runs) == 2:  # noqa: PLR2004 - a call with two arguments
        return Interpretable(_binary(runs[0], runs[1], invoke, cost))
    return Interpretable(_other(runs, invoke, cost))


PATTERN_FUNCTIONS: Final = frozenset(("matches", "find", "findAll"))
"""The functions whose pattern is compiled once and for all where it is constant."""


def plan_search(
    function: str, overloads: tuple[Overload, ...], plans: list[Interpretable]
) -> Interpretable:
    """
    Plan a search for a constant pattern.

    Raises:
        CelError: The pattern does not compile.
    """
    compiled(plans[1].value)
    made = plan_call(function, overloads, plans, evaluates_both=False)

    def run(frame: Frame) -> Value:
        try:
            return made.run(frame)
        except CelError as error:
            # With a constant pattern the server does not name the types.
            if error.text.startswith(f"{NO_SUCH_OVERLOAD}: {function}"):
                raise CelError(NO_SUCH_OVERLOAD) from None
            raise

    return Interpretable(run)


def _not_strictly_false(inner: Run) -> Run:
    def run(frame: Frame) -> Value:
        try:
            value = inner(frame)
        except CelError:
            value = True
        frame.charge(1)
        return value if isinstance(value, bool) else True

    return run


def _binary(left: Run, right: Run, invoke: Callable[..., Value], cost: Cost | None) -> Run:
    def charge(frame: Frame, first: Value, second: Value, result: Value = None) -> None:
        frame.charge(1 if cost is None else cost((first, second), result))

    def run(frame: Frame) -> Value:
        first, second = _both(left, right, frame, charge)
        try:
            result = invoke(first, second)
        except CelError:
            charge(frame, first, second, None)
            raise
        charge(frame, first, second, result)
        return result

    return run


def _other(runs: list[Run], invoke: Callable[..., Value], cost: Cost | None) -> Run:
    def charge(frame: Frame, args: tuple[Value, ...], result: Value) -> None:
        frame.charge(1 if cost is None else cost(args, result))

    def run(frame: Frame) -> Value:
        args: list[Value] = []
        try:
            for each in runs:
                args.append(each(frame))  # noqa: PERF401 - those before an error count
        except CelError:
            # The call is paid for if it was the last argument that failed.
            if len(args) == len(runs) - 1:
                charge(frame, (*args, None), None)
            raise
        try:
            result = invoke(*args)
        except CelError:
            charge(frame, tuple(args), None)
            raise
        charge(frame, tuple(args), result)
        return result

    return run


def _dispatch(function: str, overloads: tuple[Overload, ...]) -> Callable[..., Value]:
    if len(overloads) == 1 or not overloads[0].is_guarded:
        only = overloads[0]
        if only.implementation is None:
            return _unbound(function)
        return _guarded(function, only) if only.is_guarded else _demanding(only.implementation)

    def invoke(*args: Value) -> Value:
        for each in overloads:
            if each.implementation is not None and each.takes(args):
                return demand(each.implementation(*args))
        raise _mismatch(function, args)

    return invoke


def _guarded(function: str, only: Overload) -> Callable[..., Value]:
    implementation = only.implementation

    def invoke(*args: Value) -> Value:
        if implementation is None or not only.takes(args):
            raise _mismatch(function, args)
        return demand(implementation(*args))

    return invoke


def _demanding(implementation: Callable[..., Value]) -> Callable[..., Value]:
    return lambda *args: demand(implementation(*args))


def _unbound(function: str) -> Callable[..., Value]:
    def invoke(*args: Value) -> Value:
        raise _mismatch(function, args)

    return invoke


def _mismatch(function: str, args: tuple[Value, ...]) -> CelError:
    types = ", ".join(type_of(each).name for each in args)
    return CelError(f"{NO_SUCH_OVERLOAD}: {function}({types})")
