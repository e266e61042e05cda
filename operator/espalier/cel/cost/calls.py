"""
What calls cost at most, and how large their results are.

Source:
    cel-go, ``checker/cost.go``, ``ext/lists.go``, ``ext/sets.go``.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from espalier.cel.cost.library import BY_FUNCTION
from espalier.cel.cost.operands import ONE, Args, CostRule, Estimate, Operand, Target, traversal
from espalier.cel.cost.ranges import MAX_UINT64, Range, exactly, wrapped

_TRAVERSAL: Final = 0.1
_REGEX: Final = 0.25
_LIST_COST: Final = exactly(10)


def estimate_call(
    function: str, overload_id: str, target: Operand | None, args: Sequence[Operand]
) -> Estimate | None:
    """
    Estimate a call without its arguments.

    Returns:
        None where it costs one unit, and nothing is known about its result.
    """
    rule = _BY_OVERLOAD.get(overload_id)
    found = None if rule is None else rule(overload_id, target, args)
    if found is None:
        rule = BY_FUNCTION.get(function)
        found = None if rule is None else rule(overload_id, target, args)
    if found is None:
        rule = _STANDARD.get(overload_id)
        found = None if rule is None else rule(overload_id, target, args)
    return found


# The extension libraries for lists and sets.


def _allocating(factor: float, size: Range) -> Estimate:
    return Estimate(size.scaled(factor).plus(ONE).plus(_LIST_COST), size)


def _slice(_: str, target: Target, args: Args) -> Estimate | None:
    if target is None:
        return None
    start, end = args[0].integer(0), args[1].integer(target.any_size.max)
    return _allocating(1, exactly(wrapped(end - start)))


def _range(_: str, __: Target, args: Args) -> Estimate:
    return _allocating(1, exactly(args[0].integer(MAX_UINT64)))


def _reverse(_: str, target: Target, __: Args) -> Estimate | None:
    return None if target is None else _allocating(1, target.any_size)


def _flatten(_: str, target: Target, args: Args) -> Estimate | None:
    if target is None:
        return None
    depth = args[0].integer(MAX_UINT64) if args else 1
    return _allocating(float(depth), target.any_size)


def _distinct(_: str, target: Target, __: Args) -> Estimate | None:
    if target is None:
        return None
    return _allocating(2, target.any_size.times(target.any_size))


def _sort(overload_id: str, target: Target, args: Args) -> Estimate | None:
    sorted_by = args[0] if overload_id.endswith("_sortByAssociatedKeys") else target
    if sorted_by is None:
        return None
    is_text = overload_id.startswith(("list_string_", "list_bytes_"))
    factor = 2 + _TRAVERSAL if is_text else 2.0
    return _allocating(factor, sorted_by.any_size.times(sorted_by.any_size))


def _compare_sets(overload_id: str, _: Target, args: Args) -> Estimate:
    factor = 2 if overload_id == "list_sets_equivalent_list" else 1
    product = args[0].any_size.times(args[1].any_size)
    return Estimate(product.scaled(factor).plus(ONE))


_SORTED: Final = (
    "int",
    "uint",
    "double",
    "bool",
    "google.protobuf.Duration",
    "google.protobuf.Timestamp",
    "string",
    "bytes",
)
_BY_OVERLOAD: Final[Mapping[str, CostRule]] = {
    "list_slice": _slice,
    "lists_range": _range,
    "list_reverse": _reverse,
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    "list_distinct": _distinct,
    **{f"list_{name}_sort": _sort for name in _SORTED},
    **{f"list_{name}_sortByAssociatedKeys": _sort for name in _SORTED},
    "list_sets_contains_list": _compare_sets,
    "list_sets_intersects_list": _compare_sets,
    "list_sets_equivalent_list": _compare_sets,
}


# Standard functions whose cost depends on sizes.


def _format(_: str, target: Target, __: Args) -> Estimate | None:
    return None if target is None else Estimate(traversal(target.known_size))


def _to_bytes(_: str, __: Target, args: Args) -> Estimate:
    size = args[0].known_size
    return Estimate(traversal(size), Range(size.min, wrapped(size.max * 4)))


def _to_text(_: str, __: Target, args: Args) -> Estimate:
    size = args[0].known_size
    return Estimate(traversal(size), Range(size.min // 4, size.max))


def _quote(_: str, __: Target, args: Args) -> Estimate:
    size = args[0].known_size
    return Estimate(
        traversal(size), Range(wrapped(size.min + 2), wrapped(wrapped(size.max * 2) + 2))
    )


def _affix(_: str, __: Target, args: Args) -> Estimate:
    return Estimate(traversal(args[0].known_size))


def _in_list(_: str, __: Target, args: Args) -> Estimate:
    return Estimate(args[1].known_size.scaled(1))


def _matches(_: str, target: Target, args: Args) -> Estimate:
    text, pattern = (args[0], args[1]) if target is None else (target, args[0])
    cost = traversal(text.known_size.plus(ONE)).times(pattern.known_size.scaled(_REGEX))
    return Estimate(cost)


def _contains(_: str, target: Target, args: Args) -> Estimate | None:
    if target is None:
        return None
    return Estimate(traversal(target.known_size).times(traversal(args[0].known_size)))


def _add(overload_id: str, _: Target, args: Args) -> Estimate:
    size = args[0].known_size.plus(args[1].known_size)
    return Estimate(ONE if overload_id == "add_list" else traversal(size), size)


def _compare(_: str, __: Target, args: Args) -> Estimate:
    most = min(args[0].known_size.max, args[1].known_size.max)
    return Estimate(traversal(Range(min(most, 1), most)))


_COMPARED: Final = tuple(
    f"{verb}_{kind}"
    for verb in ("less", "greater", "less_equals", "greater_equals")
    for kind in ("string", "bytes")
)
_STANDARD: Final[Mapping[str, CostRule]] = {
    "string_format": _format,
    "string_to_bytes": _to_bytes,
    "bytes_to_string": _to_text,
    "strings_quote": _quote,
    "starts_with_string": _affix,
    "ends_with_string": _affix,
    "in_list": _in_list,
    "matches": _matches,
    "matches_string": _matches,
    "contains_string": _contains,
    **dict.fromkeys(("add_string", "add_bytes", "add_list"), _add),
    **dict.fromkeys(("equals", "not_equals", *_COMPARED), _compare),
}
