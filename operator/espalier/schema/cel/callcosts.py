"""
What calls cost at most, and how large their results are.

Source:
    cel-go, ``checker/cost.go``, ``ext/lists.go``, ``ext/sets.go``; apiserver,
    ``pkg/cel/library/cost.go``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from espalier.schema.cel.objects import Declaration
from espalier.schema.cel.ranges import (
    ANY,
    MAX_UINT64,
    Range,
    ceil_of_quotient,
    exactly,
    wrapped,
)
from espalier.schema.cel.syntax import Literal, Node
from espalier.schema.cel.types import CIDR, FORMAT, IP, QUANTITY, SEMVER, URL, CelType

_TRAVERSAL: Final = 0.1
_REGEX: Final = 0.25
_ONE: Final = exactly(1)
_LIST_COST: Final = exactly(10)
_MAX_FORMAT: Final = 64
_MAX_FORMAT_REGEX: Final = 128
# The bytes of addresses of either family.
_ADDRESS: Final = Range(4, 16)


@dataclass(frozen=True, slots=True)
class Estimate:
    """
    What a call costs, and the size of its result where that can be told.
    """

    cost: Range
    size: Range | None = None


@dataclass(frozen=True, slots=True)
class Operand:
    """
    An argument, or what stands before the dot.

    Attributes:
        path: Where in the object it lies: a variable, then fields; empty if it is computed.
        type: Its type.
        node: The expression; None for the elements of a list.
        size: Its size, where the expression tells it.
        declared: Of what variables are.
    """

    path: tuple[str, ...]
    type: CelType
    node: Node | None
    size: Range | None
    declared: Declaration

    @property
    def known_size(self) -> Range:
        """
        The size as the expression tells it.
        """
        return self.size or ANY

    @property
    def any_size(self) -> Range:
        """
        The size as the expression or the schema tells it.
        """
        if self.size is not None:
            return self.size
        found = self.declared.at(self.path[1:]) if self.path else None
        return ANY if found is None else Range(0, found.max_elements)

    def element(self) -> "Operand | None":
        """
        Describe the elements of a list.
        """
        if not self.type.params:
            return None
        path = (*self.path, "@items") if self.path else ()
        return Operand(path, self.type.params[0], None, None, self.declared)

    def integer(self, otherwise: int) -> int:
        """
        Tell the value if it is written out as an integer, at least 0.
        """
        if isinstance(self.node, Literal) and type(self.node.value) is int:
            return max(self.node.value, 0)
        return otherwise


_Target = Operand | None
_Args = Sequence[Operand]
_Rule = Callable[[str, _Target, _Args], Estimate | None]


def estimate_call(
    function: str, overload_id: str, target: Operand | None, args: Sequence[Operand]
) -> Estimate | None:
    """
    Estimate a call without its arguments.

    Returns:
        None where it costs one unit, and nothing can be told of its result.
    """
    rule = _BY_OVERLOAD.get(overload_id)
    found = None if rule is None else rule(overload_id, target, args)
    if found is None:
        rule = _BY_FUNCTION.get(function)
        found = None if rule is None else rule(overload_id, target, args)
    if found is None:
        rule = _STANDARD.get(overload_id)
        found = None if rule is None else rule(overload_id, target, args)
    return found


def _traversal(size: Range, times: int = 1) -> Range:
    return size.scaled(times * _TRAVERSAL)


# The extension libraries for lists and sets.


def _allocating(factor: float, size: Range) -> Estimate:
    return Estimate(size.scaled(factor).plus(_ONE).plus(_LIST_COST), size)


def _slice(_: str, target: _Target, args: _Args) -> Estimate | None:
    if target is None:
        return None
    start, end = args[0].integer(0), args[1].integer(target.any_size.max)
    return _allocating(1, exactly(wrapped(end - start)))


def _range(_: str, __: _Target, args: _Args) -> Estimate:
    return _allocating(1, exactly(args[0].integer(MAX_UINT64)))


def _reverse(_: str, target: _Target, __: _Args) -> Estimate | None:
    return None if target is None else _allocating(1, target.any_size)


def _flatten(_: str, target: _Target, args: _Args) -> Estimate | None:
    if target is None:
        return None
    depth = args[0].integer(MAX_UINT64) if args else 1
    return _allocating(float(depth), target.any_size)


def _distinct(_: str, target: _Target, __: _Args) -> Estimate | None:
    if target is None:
        return None
    return _allocating(2, target.any_size.times(target.any_size))


def _sort(overload_id: str, target: _Target, args: _Args) -> Estimate | None:
    sorted_by = args[0] if overload_id.endswith("_sortByAssociatedKeys") else target
    if sorted_by is None:
        return None
    is_text = overload_id.startswith(("list_string_", "list_bytes_"))
    factor = 2 + _TRAVERSAL if is_text else 2.0
    return _allocating(factor, sorted_by.any_size.times(sorted_by.any_size))


def _compare_sets(overload_id: str, _: _Target, args: _Args) -> Estimate:
    factor = 2 if overload_id == "list_sets_equivalent_list" else 1
    product = args[0].any_size.times(args[1].any_size)
    return Estimate(product.scaled(factor).plus(_ONE))


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
_BY_OVERLOAD: Final[Mapping[str, _Rule]] = {
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


# The libraries of Kubernetes; these rules go by the functions' names.


def _nominal(_: str, __: _Target, ___: _Args) -> Estimate:
    return Estimate(_ONE)


def _walk_list(overload_id: str, target: _Target, _: _Args) -> Estimate | None:
    if target is None:
        return None
    element = target.element()
    if element is None and "includes" not in overload_id:
        return Estimate(_traversal(target.any_size))
    each = _ONE
    if element is not None and element.type.kind in ("string", "bytes"):
        each = each.plus(_traversal(element.any_size))
    return Estimate(target.any_size.times(each))


def _read_first(_: str, __: _Target, args: _Args) -> Estimate | None:
    return Estimate(_traversal(args[0].any_size)) if args else None


def _read_twice(_: str, __: _Target, args: _Args) -> Estimate | None:
    return Estimate(_traversal(args[0].any_size, 2)) if args else None


def _url(_: str, __: _Target, args: _Args) -> Estimate | None:
    size = args[0].any_size
    return Estimate(_traversal(size), size)


def _same_size(_: str, target: _Target, __: _Args) -> Estimate | None:
    if target is None:
        return None
    return Estimate(_traversal(target.any_size), target.any_size)


def _replace(_: str, target: _Target, args: _Args) -> Estimate | None:
    if target is None or len(args) < 2:  # noqa: PLR2004 - what to replace, and by what
        return None
    size, old, new = target.any_size, args[0].any_size, args[1].any_size
    most, longest = _count_most(size, old, new)
    least, shortest = _count_least(size, old, new)
    result = Range(least, most).times(new).plus(Range(shortest, longest))
    return Estimate(_traversal(size, 2), result)


def _count_most(size: Range, old: Range, new: Range) -> tuple[int, int]:
    # How often something is replaced at most, and how much of the text is kept.
    if old.min == 0:
        return min(size.max + 1, MAX_UINT64), size.max
    if new.max <= old.min:
        return 0, size.max
    return ceil_of_quotient(size.max, old.min), 0


def _count_least(size: Range, old: Range, new: Range) -> tuple[int, int]:
    if old.max == 0:
        return min(size.min + 1, MAX_UINT64), size.min
    if old.max <= new.min:
        return 0, size.min
    return ceil_of_quotient(size.min, old.max), 0


def _split(_: str, target: _Target, args: _Args) -> Estimate | None:
    if target is None:
        return None
    most = target.any_size.max
    limit = args[1].node if len(args) > 1 else None
    if isinstance(limit, Literal) and type(limit.value) is int:
        most = wrapped(limit.value)
    return Estimate(_traversal(target.any_size, 2), Range(0, most))


def _join(_: str, target: _Target, args: _Args) -> Estimate | None:
    if target is None:
        return None
    count, size = target.any_size, exactly(0)
    element = target.element()
    if element is not None:
        size = count.times(element.any_size)
    if args:
        separators = Range(max(count.min - 1, 0), max(count.max - 1, 0))
        size = size.plus(args[0].any_size.times(separators))
    return Estimate(_traversal(size), size)


def _find(_: str, target: _Target, args: _Args) -> Estimate | None:
    if target is None or not args:
        return None
    size = target.any_size
    cost = _traversal(size.plus(_ONE)).times(args[0].any_size.scaled(_REGEX))
    return Estimate(cost, Range(0, size.max))


def _ip(overload_id: str, target: _Target, args: _Args) -> Estimate | None:
    return Estimate(_ONE) if overload_id == "cidr_ip" else _read_first(overload_id, target, args)


def _contains_address(overload_id: str, _: _Target, args: _Args) -> Estimate | None:
    if not args:
        return None
    cost = _traversal(_ADDRESS.plus(_ADDRESS))
    if "contains_cidr" in overload_id:
        cost = cost.plus(_traversal(_ADDRESS)).plus(_ONE)
    if overload_id in ("cidr_contains_ip_string", "cidr_contains_cidr_string"):
        cost = cost.plus(_traversal(args[0].any_size))
    return Estimate(cost)


def _validate(_: str, __: _Target, args: _Args) -> Estimate | None:
    if not args:
        return None
    return Estimate(_traversal(args[0].any_size).scaled(_MAX_FORMAT_REGEX * _REGEX))


def _equal(_: str, __: _Target, args: _Args) -> Estimate | None:
    one, other = args
    if one.type != other.type:
        return None
    if one.type in (IP, CIDR, QUANTITY, SEMVER):
        return Estimate(_ONE)
    if one.type == FORMAT:
        return Estimate(_traversal(Range(1, _MAX_FORMAT)))
    if one.type == URL:
        # The server looks twice at the right one.
        most = 1 if other.size is None else other.size.max
        return Estimate(_traversal(Range(1, most)))
    return None


_NOMINAL: Final = (
    "masked",
    "prefixLength",
    "family",
    "isUnspecified",
    "isLoopback",
    "isLinkLocalMulticast",
    "isLinkLocalUnicast",
    "isGlobalUnicast",
    "format.named",
    "sign",
    "asInteger",
    "isInteger",
    "asApproximateFloat",
    "isGreaterThan",
    "isLessThan",
    "compareTo",
    "add",
    "sub",
    "major",
    "minor",
    "patch",
    "getScheme",
    "getHostname",
    "getHost",
    "getPort",
    "getEscapedPath",
    "getQuery",
)
_WALKED: Final = ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes")
_READ: Final = ("cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver")
_BY_FUNCTION: Final[Mapping[str, _Rule]] = {
    **dict.fromkeys(_NOMINAL, _nominal),
    **dict.fromkeys(_WALKED, _walk_list),
    **dict.fromkeys(_READ, _read_first),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _same_size),
    **dict.fromkeys(("find", "findAll"), _find),
    **dict.fromkeys(("containsIP", "containsCIDR"), _contains_address),
    "url": _url,
    "replace": _replace,
    "split": _split,
    "join": _join,
    "ip": _ip,
    "ip.isCanonical": _read_twice,
    "validate": _validate,
    "_==_": _equal,
}


# Standard functions whose cost depends on sizes.


def _format(_: str, target: _Target, __: _Args) -> Estimate | None:
    return None if target is None else Estimate(_traversal(target.known_size))


def _to_bytes(_: str, __: _Target, args: _Args) -> Estimate:
    size = args[0].known_size
    return Estimate(_traversal(size), Range(size.min, wrapped(size.max * 4)))


def _to_text(_: str, __: _Target, args: _Args) -> Estimate:
    size = args[0].known_size
    return Estimate(_traversal(size), Range(size.min // 4, size.max))


def _quote(_: str, __: _Target, args: _Args) -> Estimate:
    size = args[0].known_size
    return Estimate(
        _traversal(size), Range(wrapped(size.min + 2), wrapped(wrapped(size.max * 2) + 2))
    )


def _affix(_: str, __: _Target, args: _Args) -> Estimate:
    return Estimate(_traversal(args[0].known_size))


def _in_list(_: str, __: _Target, args: _Args) -> Estimate:
    return Estimate(args[1].known_size.scaled(1))


def _matches(_: str, target: _Target, args: _Args) -> Estimate:
    text, pattern = (args[0], args[1]) if target is None else (target, args[0])
    cost = _traversal(text.known_size.plus(_ONE)).times(pattern.known_size.scaled(_REGEX))
    return Estimate(cost)


def _contains(_: str, target: _Target, args: _Args) -> Estimate | None:
    if target is None:
        return None
    return Estimate(_traversal(target.known_size).times(_traversal(args[0].known_size)))


def _add(overload_id: str, _: _Target, args: _Args) -> Estimate:
    size = args[0].known_size.plus(args[1].known_size)
    return Estimate(_ONE if overload_id == "add_list" else _traversal(size), size)


def _compare(_: str, __: _Target, args: _Args) -> Estimate:
    most = min(args[0].known_size.max, args[1].known_size.max)
    return Estimate(_traversal(Range(min(most, 1), most)))


_COMPARED: Final = tuple(
    f"{verb}_{kind}"
    for verb in ("less", "greater", "less_equals", "greater_equals")
    for kind in ("string", "bytes")
)
_STANDARD: Final[Mapping[str, _Rule]] = {
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
