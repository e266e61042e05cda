"""
What calls cost at run time, in the server's units.

Source:
    cel-go, ``interpreter/runtimecost.go``, ``ext/lists.go``, ``ext/sets.go``; apiserver,
    ``pkg/cel/library/cost.go``.
"""

import math
from collections.abc import Callable, Mapping
from typing import Final

from espalier.cel.values import (
    Duration,
    InternalError,
    Opaque,
    Optional,
    Timestamp,
    Uint,
    Value,
    go_name,
    is_list,
    is_map,
)

LIST_COST: Final = 10
MAP_COST: Final = 30
STRUCT_COST: Final = 40
_PER_CHARACTER: Final = 0.1
_PER_CHARACTER_OF_PATTERN: Final = 0.25

Args = tuple[Value, ...]
Cost = Callable[[Args, Value], int]


def size_of(value: Value) -> int:
    """
    Return a value's size in members, characters or bytes; 1 if it has none.
    """
    if isinstance(value, (str, bytes)) or is_list(value) or is_map(value):
        return len(value)
    if isinstance(value, Opaque):
        found = value.size()
        return 1 if found is None else found
    return 1


def _size_or_content(value: Value) -> int:
    if isinstance(value, Optional) and value.has_value:
        return _size_or_content(value.value)
    return size_of(value)


def _traversal(characters: float) -> int:
    return math.ceil(characters * _PER_CHARACTER)


def _of_first(factor: int = 1) -> Cost:
    return lambda args, _: _traversal(size_of(args[0]) * factor)


def _one(_: Args, __: Value) -> int:
    return 1


def _elements(args: Args, _: Value) -> int:
    return _visits(args[0])


def _visits(value: Value) -> int:
    # The server counts bytes here, and never rounds up.
    if isinstance(value, (str, bytes)):
        data = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
        return int(len(data) * _PER_CHARACTER)
    if is_list(value):
        return sum(map(_visits, value.items))
    if is_map(value):
        return sum(_visits(key) + _visits(value.find(key)[0]) for key in value.each_key())
    return 1


def _pattern_search(args: Args, _: Value) -> int:
    pattern = math.ceil(size_of(args[1]) * _PER_CHARACTER_OF_PATTERN)
    return _traversal(1 + size_of(args[0])) * pattern


def _joined(_: Args, result: Value) -> int:
    return _traversal(size_of(result) * 2)


def _contains_ip(args: Args, _: Value) -> int:
    return _traversal(size_of(args[0]) * 2)


def _contains_cidr(args: Args, _: Value) -> int:
    own = size_of(args[0])
    return _traversal(own * 2) + _traversal(own) + 1


def _and_parsing(cost: Cost) -> Cost:
    return lambda args, result: cost(args, result) + _traversal(size_of(args[1]))


def _permission(_: Args, __: Value) -> int:
    return 350_000


def _selector(args: Args, _: Value) -> int:
    # A list, and a requirement for every two characters.
    length = size_of(args[1])
    return LIST_COST + _traversal(length) + math.ceil(length / 2) * (LIST_COST + STRUCT_COST)


def _format_check(args: Args, _: Value) -> int:
    length: int | None = getattr(args[0], "max_pattern_length", None)
    if length is None:
        return 1
    pattern = math.ceil(length * _PER_CHARACTER_OF_PATTERN)
    return _traversal(1 + size_of(args[1])) * pattern


def _equality(args: Args, _: Value) -> int:
    left, right = args
    return _traversal(min(_size_or_content(left), _size_or_content(right)))


def _library_equality(args: Args, result: Value) -> int:
    # Only the left one counts: comparing with what a library made costs as much as one step.
    return 1 if isinstance(args[0], Opaque) else _equality(args, result)


def _prefix(args: Args, _: Value) -> int:
    return _traversal(_size_or_content(args[1]))


def _list_search(args: Args, _: Value) -> int:
    return _size_or_content(args[1])


def _joining(args: Args, _: Value) -> int:
    return _traversal(_size_or_content(args[0]) + _size_or_content(args[1]))


def _part_search(args: Args, _: Value) -> int:
    return _traversal(size_of(args[0])) * _traversal(size_of(args[1]))


_BY_FUNCTION: Final[Mapping[str, Cost]] = {
    **dict.fromkeys(
        ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"), _elements
    ),
    **dict.fromkeys(("url", "lowerAscii", "upperAscii", "substring", "trim"), _of_first()),
    **dict.fromkeys(("replace", "split", "ip.isCanonical"), _of_first(2)),
    **dict.fromkeys(("cidr", "ip", "isIP", "isCIDR", "quantity", "isQuantity"), _of_first()),
    **dict.fromkeys(("semver", "isSemver"), _of_first()),
    "join": _joined,
    "find": _pattern_search,
    "findAll": _pattern_search,
    "check": _permission,
    **dict.fromkeys(("fieldSelector", "labelSelector"), _selector),
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "validate": _format_check,
    "_==_": _library_equality,
}
_BY_OVERLOAD: Final[Mapping[str, Cost]] = {
    **dict.fromkeys(("starts_with_string", "ends_with_string"), _prefix),
    **dict.fromkeys(("string_to_bytes", "bytes_to_string", "string_format"), _of_first()),
    **dict.fromkeys(("strings_quote",), _of_first()),
    "in_list": _list_search,
    **dict.fromkeys(
        [
            f"{verb}_{kind}"
            for verb in ("less", "greater", "less_equals", "greater_equals")
            for kind in ("string", "bytes")
        ],
        _equality,
    ),
    **dict.fromkeys(("equals", "not_equals"), _equality),
    **dict.fromkeys(("add_string", "add_bytes"), _joining),
    **dict.fromkeys(("matches", "matches_string"), _pattern_search),
    "contains_string": _part_search,
}


def _sets(factor: int) -> Cost:
    return lambda args, _: 1 + size_of(args[0]) * size_of(args[1]) * factor


def _made_list(_: Args, result: Value) -> int:
    return size_of(result) + 1 + LIST_COST


def _flattened(args: Args, _: Value) -> int:
    depth = args[1] if len(args) > 1 and args[1].__class__ is int else 1
    factor = 1.0 if depth < 0 else float(depth)
    return int(size_of(args[0]) * factor) + 1 + LIST_COST


def _compared_with_itself(index: int) -> Cost:
    def cost(args: Args, _: Value) -> int:
        values = args[index]
        if not is_list(values):
            raise _no_list(values)
        count = len(values)
        is_text = bool(count) and isinstance(values.items[0], (str, bytes))
        return int(count * count * (2.1 if is_text else 2.0)) + 1 + LIST_COST

    return cost


_ADDABLE: Final = (int, Uint, float, str, bytes, Duration, Timestamp)


def _no_list(value: Value) -> InternalError:
    # The server stumbles over what is no list; an error stands here as None.
    name = "*types.Err" if value is None else go_name(value)
    method = "Contains" if value.__class__ in _ADDABLE else "Add"
    conversion = f"interface conversion: {name} is not traits.Lister: missing method {method}"
    return InternalError(f"internal error: {conversion}")


_KINDS: Final = ("int", "uint", "double", "bool", "string", "bytes")
_TIMES: Final = ("google.protobuf.Duration", "google.protobuf.Timestamp")
_TRACKED: Final[Mapping[str, Cost]] = {
    "cidr_ip": _one,
    "cidr_contains_ip_string": _and_parsing(_contains_ip),
    "cidr_contains_cidr_string": _and_parsing(_contains_cidr),
    "list_sets_contains_list": _sets(1),
    "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
    **dict.fromkeys(("list_slice", "lists_range", "list_reverse"), _made_list),
    **dict.fromkeys(("list_flatten", "list_flatten_int"), _flattened),
    "list_distinct": _compared_with_itself(0),
    **{f"list_{kind}_sort": _compared_with_itself(0) for kind in (*_KINDS, *_TIMES)},
    **{
        f"list_{kind}_sortByAssociatedKeys": _compared_with_itself(1) for kind in (*_KINDS, *_TIMES)
    },
}


def cost_of(function: str, overload_id: str) -> Cost | None:
    """
    Find how the costs of a call are reckoned.

    Args:
        function: Its name.
        overload_id: The id of its overload; empty where several may be meant.

    Returns:
        What reckons the costs of arguments and a result; None where the call always costs 1.
    """
    return _TRACKED.get(overload_id) or _BY_FUNCTION.get(function) or _BY_OVERLOAD.get(overload_id)
