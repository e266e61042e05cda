"""
Functions of lists and of sets.

Source:
    apiserver, ``pkg/cel/library/lists.go``; cel-go, ``ext/lists.go`` and ``ext/sets.go``.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Any, Final

from espalier.cel.equality import NO_SUCH_OVERLOAD, has_order, is_equal_for_sure, order
from espalier.cel.frames import MAX_COST
from espalier.cel.library.operators import add, is_element, no_trait
from espalier.cel.signatures import Library, Overload, overload
from espalier.cel.values import (
    CelError,
    CostLimitError,
    Duration,
    ListValue,
    Uint,
    Value,
    demand,
    is_list,
    type_of,
)

_COMPARABLE: Final = (
    "int",
    "uint",
    "double",
    "bool",
    "duration",
    "timestamp",
    "string",
    "bytes",
)
_MAX_RANGE: Final = 1_000_000
_ZEROS: Final = {"int": 0, "uint": Uint(0), "double": 0.0, "duration": Duration(0)}
_LONG_NAMES: Final = {
    "duration": "google.protobuf.Duration",
    "timestamp": "google.protobuf.Timestamp",
}


def _ordered(values: ListValue) -> Iterator[Value]:
    for each in values.items:
        if not has_order(demand(each)):
            raise CelError(NO_SUCH_OVERLOAD)
        yield each


def _is_sorted(values: ListValue) -> bool:
    before: list[Value] = []
    for each in _ordered(values):
        if before and _is_after(before[-1], each):
            return False
        before = [each]
    return True


def _is_after(left: Value, right: Value) -> bool:
    try:
        return order(left, right) > 0
    except CelError:
        return False


def _sum(zero: Value) -> Callable[[ListValue], Value]:
    def run(values: ListValue) -> Value:
        return functools.reduce(add, map(demand, values.items), zero)

    return run


def _greatest(values: ListValue) -> Value:
    return _extreme("max", values, lambda best, each: _is_after(each, best))


def _least(values: ListValue) -> Value:
    return _extreme("min", values, _is_after)


def _extreme(name: str, values: ListValue, is_better: Callable[[Value, Value], bool]) -> Value:
    found = [*_ordered(values)]
    if not found:
        raise CelError(f"{name} called on empty list")
    return functools.reduce(lambda best, each: each if is_better(best, each) else best, found)


def _index_of(values: ListValue, wanted: Value) -> int:
    for index, each in enumerate(values.items):
        if is_equal_for_sure(each, wanted):
            return index
    return -1


def _last_index_of(values: ListValue, wanted: Value) -> int:
    for index in range(len(values) - 1, -1, -1):
        if is_equal_for_sure(values.items[index], wanted):
            return index
    return -1


def _includes(target: Value, wanted: Value) -> bool:
    members = target.items if is_list(target) else (target,)
    return any(is_equal_for_sure(each, wanted) for each in members)


def _of_types(
    types: tuple[str, ...],
    declare: Callable[[str], tuple[str, str]],
    implementation: Any,
    *,
    is_guarded: bool = True,
) -> tuple[Overload, ...]:
    return tuple(overload(*declare(name), implementation, is_guarded=is_guarded) for name in types)


_KUBERNETES: Final[Library] = {
    "isSorted": _of_types(
        _COMPARABLE,
        lambda name: (f"list_{name}_is_sorted_bool", f"list({name}).() -> bool"),
        _is_sorted,
    ),
    "sum": tuple(
        overload(f"list_{name}_sum_{name}", f"list({name}).() -> {name}", _sum(zero))
        for name, zero in _ZEROS.items()
    ),
    "max": _of_types(
        _COMPARABLE,
        lambda name: (f"list_{name}_max_{name}", f"list({name}).() -> {name}"),
        _greatest,
    ),
    "min": _of_types(
        _COMPARABLE,
        lambda name: (f"list_{name}_min_{name}", f"list({name}).() -> {name}"),
        _least,
    ),
    "indexOf": (overload("list_a_index_of_int", "list(A).(A) -> int", _index_of),),
    "lastIndexOf": (overload("list_a_last_index_of_int", "list(A).(A) -> int", _last_index_of),),
    "includes": (overload("list_includes_dyn_dyn", "dyn.(dyn) -> bool", _includes),),
}


def _slice(values: ListValue, start: int, end: int) -> ListValue:
    what = f"cannot slice({start}, {end})"
    if start < 0 or end < 0:
        raise CelError(f"{what}, negative indexes not supported")
    if start > end:
        raise CelError(f"{what}, start index must be less than or equal to end index")
    if len(values) < end:
        raise CelError(f"{what}, list is length {len(values)}")
    return ListValue(values.items[start:end])


def _flatten(values: Value, depth: Value = 1) -> ListValue:
    if not is_list(values) or depth.__class__ is not int:
        kind = type_of(values).name
        raise CelError(f"{NO_SUCH_OVERLOAD}: {kind}.flatten({type_of(depth).name})")
    if depth < 0:
        raise CelError("level must be non-negative")
    return ListValue([*_flattened(values, depth)])


def _flatten_once(values: Value) -> ListValue:
    if not is_list(values):
        raise CelError(f"{NO_SUCH_OVERLOAD}: {type_of(values).name}.flatten()")
    return _flatten(values)


def _flattened(values: ListValue, depth: int) -> Iterator[Value]:
    for each in values.items:
        if depth and is_list(each):
            yield from _flattened(each, depth - 1)
        else:
            yield each


def _sort(values: ListValue) -> ListValue:
    if not is_list(values):
        raise no_trait(values, "sort")
    return _sort_by(values, values)


def _sort_by(values: ListValue, keys: ListValue) -> ListValue:
    if not is_list(values):
        raise no_trait(values, "@sortByAssociatedKeys")
    if len(values) != len(keys):
        raise CelError(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list,"
            f" but got {len(values)} and {len(keys)} elements respectively"
        )
    if not len(keys):
        return values
    if not has_order(demand(keys.items[0])):
        raise CelError("list elements must be comparable")
    if len({each.__class__ for each in keys.items}) > 1:
        raise CelError("list elements must have the same type")
    _refuse_quadratic(len(keys))

    def compare(left: int, right: int) -> int:
        return order(keys.items[left], keys.items[right])

    indices = sorted(range(len(keys)), key=functools.cmp_to_key(compare))
    return ListValue([values.items[index] for index in indices])


def _refuse_quadratic(count: int) -> None:
    # The server reckons the costs afterwards; they only depend on the size.
    if count * count * 2 > MAX_COST:
        raise CostLimitError("operation cancelled: actual cost limit exceeded")


def _range(count: int) -> ListValue:
    if count < 0:
        raise CelError(f"lists.range: size must be non-negative, got {count}")
    if count > _MAX_RANGE:
        detail = f"lists.range: size {count} exceeds maximum allowed ({_MAX_RANGE})"
        raise CelError(detail)
    return ListValue([*range(count)])


def _reverse(values: ListValue) -> ListValue:
    return ListValue(values.items[::-1])


def _distinct(values: ListValue) -> ListValue:
    _refuse_quadratic(len(values))
    found: list[Value] = []
    for each in values.items:
        if not any(is_equal_for_sure(each, other) for other in found):
            found.append(each)
    return ListValue(found)


_EXTENDED: Final[Library] = {
    "slice": (overload("list_slice", "list(T).(int, int) -> list(T)", _slice),),
    "flatten": (
        overload("list_flatten", "list(list(T)).() -> list(T)", _flatten_once, is_guarded=False),
        overload("list_flatten_int", "list(dyn).(int) -> list(dyn)", _flatten, is_guarded=False),
    ),
    "sort": _of_types(
        _COMPARABLE,
        lambda name: (
            f"list_{_LONG_NAMES.get(name, name)}_sort",
            f"list({name}).() -> list({name})",
        ),
        _sort,
        is_guarded=False,
    ),
    "@sortByAssociatedKeys": _of_types(
        _COMPARABLE,
        lambda name: (
            f"list_{_LONG_NAMES.get(name, name)}_sortByAssociatedKeys",
            f"list(T).(list({name})) -> list(T)",
        ),
        _sort_by,
        is_guarded=False,
    ),
    "lists.range": (overload("lists_range", "(int) -> list(int)", _range),),
    "reverse": (overload("list_reverse", "list(T).() -> list(T)", _reverse),),
    "distinct": (overload("list_distinct", "list(T).() -> list(T)", _distinct),),
}


def _contains(values: ListValue, part: ListValue) -> bool:
    _refuse_product(values, part)
    return all(is_element(values, demand(each)) for each in part.items)


def _equivalent(left: ListValue, right: ListValue) -> bool:
    return _contains(left, right) and _contains(right, left)


def _intersects(left: ListValue, right: ListValue) -> bool:
    _refuse_product(left, right)
    return any(_is_element(right, each) for each in left.items)


def _is_element(values: ListValue, wanted: Value) -> bool:
    try:
        return is_element(values, demand(wanted))
    except CelError:
        return False


def _refuse_product(left: ListValue, right: ListValue) -> None:
    if len(left) * len(right) > MAX_COST:
        raise CostLimitError("operation cancelled: actual cost limit exceeded")


_SETS: Final[Library] = {
    "sets.contains": (
        overload("list_sets_contains_list", "(list(T), list(T)) -> bool", _contains),
    ),
    "sets.equivalent": (
        overload("list_sets_equivalent_list", "(list(T), list(T)) -> bool", _equivalent),
    ),
    "sets.intersects": (
        overload("list_sets_intersects_list", "(list(T), list(T)) -> bool", _intersects),
    ),
}

LISTS: Final = (_EXTENDED, _KUBERNETES, _SETS)
"""The libraries."""
