"""
What calls of the libraries of Kubernetes cost at most.

Source:
    apiserver, ``pkg/cel/library/cost.go``.
"""

from collections.abc import Mapping
from typing import Final

from espalier.cel.cost.operands import ONE, Args, CostRule, Estimate, Target, traversal
from espalier.cel.cost.ranges import MAX_UINT64, Range, ceil_of_quotient, exactly, wrapped
from espalier.cel.expr import Literal
from espalier.cel.types import CIDR, FORMAT, IP, QUANTITY, SEMVER, URL

_REGEX: Final = 0.25
_MAX_FORMAT: Final = 64
_MAX_FORMAT_REGEX: Final = 128
# The bytes of addresses of either family.
_ADDRESS: Final = Range(4, 16)


def _nominal(_: str, __: Target, ___: Args) -> Estimate:
    return Estimate(ONE)


def _walk_list(overload_id: str, target: Target, _: Args) -> Estimate | None:
    if target is None:
        return None
    element = target.element()
    if element is None and "includes" not in overload_id:
        return Estimate(traversal(target.any_size))
    each = ONE
    if element is not None and element.type.kind in ("string", "bytes"):
        each = each.plus(traversal(element.any_size))
    return Estimate(target.any_size.times(each))


def _read_first(_: str, __: Target, args: Args) -> Estimate | None:
    return Estimate(traversal(args[0].any_size)) if args else None


def _read_twice(_: str, __: Target, args: Args) -> Estimate | None:
    return Estimate(traversal(args[0].any_size, 2)) if args else None


def _url(_: str, __: Target, args: Args) -> Estimate | None:
    size = args[0].any_size
    return Estimate(traversal(size), size)


def _same_size(_: str, target: Target, __: Args) -> Estimate | None:
    if target is None:
        return None
    return Estimate(traversal(target.any_size), target.any_size)


def _replace(_: str, target: Target, args: Args) -> Estimate | None:
    if target is None or len(args) < 2:  # noqa: PLR2004 - what to replace, and by what
        return None
    size, old, new = target.any_size, args[0].any_size, args[1].any_size
    most, longest = _count_most(size, old, new)
    least, shortest = _count_least(size, old, new)
    result = Range(least, most).times(new).plus(Range(shortest, longest))
    return Estimate(traversal(size, 2), result)


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


def _split(_: str, target: Target, args: Args) -> Estimate | None:
    if target is None:
        return None
    most = target.any_size.max
    limit = args[1].node if len(args) > 1 else None
    if isinstance(limit, Literal) and type(limit.value) is int:
        most = wrapped(limit.value)
    return Estimate(traversal(target.any_size, 2), Range(0, most))


def _join(_: str, target: Target, args: Args) -> Estimate | None:
    if target is None:
        return None
    count, size = target.any_size, exactly(0)
    element = target.element()
    if element is not None:
        size = count.times(element.any_size)
    if args:
        separators = Range(max(count.min - 1, 0), max(count.max - 1, 0))
        size = size.plus(args[0].any_size.times(separators))
    return Estimate(traversal(size), size)


def _find(_: str, target: Target, args: Args) -> Estimate | None:
    if target is None or not args:
        return None
    size = target.any_size
    cost = traversal(size.plus(ONE)).times(args[0].any_size.scaled(_REGEX))
    return Estimate(cost, Range(0, size.max))


def _ip(overload_id: str, target: Target, args: Args) -> Estimate | None:
    return Estimate(ONE) if overload_id == "cidr_ip" else _read_first(overload_id, target, args)


def _contains_address(overload_id: str, _: Target, args: Args) -> Estimate | None:
    if not args:
        return None
    cost = traversal(_ADDRESS.plus(_ADDRESS))
    if "contains_cidr" in overload_id:
        cost = cost.plus(traversal(_ADDRESS)).plus(ONE)
    if overload_id in ("cidr_contains_ip_string", "cidr_contains_cidr_string"):
        cost = cost.plus(traversal(args[0].any_size))
    return Estimate(cost)


def _validate(_: str, __: Target, args: Args) -> Estimate | None:
    if not args:
        return None
    return Estimate(traversal(args[0].any_size).scaled(_MAX_FORMAT_REGEX * _REGEX))


def _equal(_: str, __: Target, args: Args) -> Estimate | None:
    one, other = args
    if one.type != other.type:
        return None
    if one.type in (IP, CIDR, QUANTITY, SEMVER):
        return Estimate(ONE)
    if one.type == FORMAT:
        return Estimate(traversal(Range(1, _MAX_FORMAT)))
    if one.type == URL:
        # The server looks twice at the right one.
        most = 1 if other.size is None else other.size.max
        return Estimate(traversal(Range(1, most)))
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
BY_FUNCTION: Final[Mapping[str, CostRule]] = {
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
"""The rules, by the names of functions."""
