"""
Operators of CEL expressions.

Source:
    cel-go, ``common/types`` and ``common/stdlib/standard.go``.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any, Final

from espalier.cel.concatenation import concatenate
from espalier.cel.equality import NO_SUCH_OVERLOAD, equal, has_order, order
from espalier.cel.library.timestamps import checked_duration, checked_timestamp
from espalier.cel.signatures import Library, Overload, overload
from espalier.cel.values import (
    INT64_MAX,
    INT64_MIN,
    NANOSECONDS,
    UINT64_MAX,
    CelError,
    Duration,
    GrowingList,
    Timestamp,
    Uint,
    Value,
    demand,
    is_list,
    is_map,
)


def _int(number: int) -> int:
    if not INT64_MIN <= number <= INT64_MAX:
        raise CelError("integer overflow")
    return number


def _uint(number: int) -> Uint:
    if not 0 <= number <= UINT64_MAX:
        raise CelError("unsigned integer overflow")
    return Uint(number)


def no_trait(value: Value, name: str) -> CelError:
    """
    Make the error of a value for which an operator means nothing.
    """
    # Values that have methods are asked for one of that name; the error is shorter.
    if isinstance(value, (str, Duration, Timestamp)):
        return CelError(NO_SUCH_OVERLOAD)
    return CelError(f"{NO_SUCH_OVERLOAD}: {name}")


def _kind(left: Value, right: Value, name: str, known: tuple[type, ...]) -> type:
    if left.__class__ not in known:
        raise no_trait(left, name)
    if left.__class__ is not right.__class__:
        raise CelError(NO_SUCH_OVERLOAD)
    kind: type = left.__class__
    return kind


def add(left: Value, right: Value) -> Value:
    """
    Add numbers and times, join texts, bytes and lists.
    """
    if is_list(left):
        return _join(left, right)
    if isinstance(left, Timestamp) and isinstance(right, Duration):
        left, right = right, left
    if isinstance(left, Duration) and isinstance(right, Timestamp):
        return _shift(right, left.nanoseconds)
    kind = _kind(left, right, "_+_", (int, str, float, Uint, bytes, Duration, Timestamp))
    if kind is int:
        return _int(left + right)
    if kind is Uint:
        return _uint(int(left) + int(right))
    if kind is Duration:
        return checked_duration(left.nanoseconds + right.nanoseconds)
    if kind is Timestamp:
        raise CelError(NO_SUCH_OVERLOAD)
    return left + right


def _join(left: Value, right: Value) -> Value:
    if not is_list(right):
        raise CelError(NO_SUCH_OVERLOAD)
    if isinstance(left, GrowingList):
        left.items += right.items
        return left
    return concatenate(left, right)


def _shift(timestamp: Timestamp, nanoseconds: int) -> Timestamp:
    return checked_timestamp(timestamp.nanoseconds + nanoseconds, timestamp.offset_seconds)


def subtract(left: Value, right: Value) -> Value:
    """
    Subtract numbers and times.
    """
    if isinstance(left, Timestamp):
        if isinstance(right, Duration):
            return _shift(left, checked_duration(-right.nanoseconds).nanoseconds)
        if isinstance(right, Timestamp):
            _int((left.nanoseconds // NANOSECONDS - right.nanoseconds // NANOSECONDS) * NANOSECONDS)
            return checked_duration(left.nanoseconds - right.nanoseconds)
        raise CelError(NO_SUCH_OVERLOAD)
    kind = _kind(left, right, "_-_", (int, float, Uint, Duration))
    if kind is int:
        return _int(left - right)
    if kind is Uint:
        return _uint(int(left) - int(right))
    if kind is Duration:
        return checked_duration(left.nanoseconds - right.nanoseconds)
    return left - right


def multiply(left: Value, right: Value) -> Value:
    """
    Multiply numbers.
    """
    kind = _kind(left, right, "_*_", (int, float, Uint))
    if kind is int:
        return _int(left * right)
    return _uint(int(left) * int(right)) if kind is Uint else left * right


def divide(left: Value, right: Value) -> Value:
    """
    Divide numbers; integers towards zero.
    """
    kind = _kind(left, right, "_/_", (int, float, Uint))
    if kind is float:
        return _divide_floats(left, right)
    if right == 0:
        raise CelError("division by zero")
    if kind is Uint:
        return Uint(int(left) // int(right))
    quotient = abs(left) // abs(right)
    return _int(quotient if (left < 0) == (right < 0) else -quotient)


def _divide_floats(left: float, right: float) -> float:
    if right:
        return left / right
    if math.isnan(left) or not left:
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def modulo(left: Value, right: Value) -> Value:
    """
    Find the rest of a division; its sign is that of the dividend.
    """
    kind = _kind(left, right, "_%_", (int, Uint))
    if right == 0:
        raise CelError("modulus by zero")
    if kind is Uint:
        return Uint(int(left) % int(right))
    if left == INT64_MIN and right == -1:
        raise CelError("integer overflow")
    rest = abs(left) % abs(right)
    return rest if left >= 0 else -rest


def negate(value: Value) -> Value:
    """
    Change the sign of a number.
    """
    match value:
        case int() if value.__class__ is int:
            return _int(-value)
        case float():
            return -value
        case Duration():
            return checked_duration(-value.nanoseconds)
        case _:
            raise no_trait(value, "-_")


def logical_not(value: Value) -> bool:
    """
    Negate a boolean.
    """
    if not isinstance(value, bool):
        raise CelError(NO_SUCH_OVERLOAD)
    return not value


def contained_in(value: Value, container: Value) -> bool:
    """
    Report whether a list has an element, or a map has a key.
    """
    if is_map(container):
        found, is_there = container.find(value)
        demand(found)
        return bool(is_there)
    if not is_list(container):
        raise CelError(NO_SUCH_OVERLOAD)
    return is_element(container, value)


def is_element(container: Value, value: Value) -> bool:
    """
    Report whether a list has an element.
    """
    is_unsure = False
    for each in container.items:
        try:
            if equal(each, value) if container.is_of_schema else equal(value, each):
                return True
        except CelError:
            is_unsure = container.is_of_schema
    if is_unsure:
        raise CelError(NO_SUCH_OVERLOAD)
    return False


def size(value: Value) -> int:
    """
    Count the characters of a text, the bytes of bytes, the members of a list or a map.
    """
    if isinstance(value, (str, bytes)) or is_list(value) or is_map(value):
        return len(value)
    raise no_trait(value, "size")


def _ordering(name: str, accepted: tuple[int, ...]) -> Callable[[Value, Value], bool]:
    def compare(left: Value, right: Value) -> bool:
        if not has_order(left):
            raise no_trait(left, name)
        return order(left, right) in accepted

    return compare


_ORDERED: Final = {
    "bool": "bool",
    "int": "int64",
    "uint": "uint64",
    "double": "double",
    "string": "string",
    "bytes": "bytes",
    "timestamp": "timestamp",
    "duration": "duration",
}
_NUMERIC: Final = ("int", "uint", "double")


def _comparison(prefix: str, implementation: Any) -> tuple[Overload, ...]:
    def pairs() -> Iterator[tuple[str, str]]:
        for name in _ORDERED:
            yield name, name
            if name in _NUMERIC:
                yield from ((name, other) for other in _NUMERIC if other != name)

    return tuple(
        overload(
            f"{prefix}_{_ORDERED[left]}" + ("" if left == right else f"_{_ORDERED[right]}"),
            f"({left}, {right}) -> bool",
            implementation,
            is_guarded=False,
        )
        for left, right in pairs()
    )


def _arithmetic(verb: str, implementation: Any, *signatures: str) -> tuple[Overload, ...]:
    found = []
    for signature in signatures:
        id_, _, types = signature.partition(": ")
        found.append(overload(f"{verb}_{id_}", types, implementation, is_guarded=False))
    return tuple(found)


OPERATORS: Final[Library] = {
    "_?_:_": (overload("conditional", "(bool, A, A) -> A"),),
    "_&&_": (overload("logical_and", "(bool, bool) -> bool"),),
    "_||_": (overload("logical_or", "(bool, bool) -> bool"),),
    "!_": (overload("logical_not", "(bool) -> bool", logical_not, is_guarded=False),),
    "@not_strictly_false": (overload("not_strictly_false", "(bool) -> bool"),),
    "_==_": (overload("equals", "(A, A) -> bool"),),
    "_!=_": (overload("not_equals", "(A, A) -> bool"),),
    "_+_": _arithmetic(
        "add",
        add,
        "bytes: (bytes, bytes) -> bytes",
        "double: (double, double) -> double",
        "duration_duration: (duration, duration) -> duration",
        "duration_timestamp: (duration, timestamp) -> timestamp",
        "timestamp_duration: (timestamp, duration) -> timestamp",
        "int64: (int, int) -> int",
        "list: (list(A), list(A)) -> list(A)",
        "string: (string, string) -> string",
        "uint64: (uint, uint) -> uint",
    ),
    "_/_": _arithmetic(
        "divide",
        divide,
        "double: (double, double) -> double",
        "int64: (int, int) -> int",
        "uint64: (uint, uint) -> uint",
    ),
    "_%_": _arithmetic(
        "modulo", modulo, "int64: (int, int) -> int", "uint64: (uint, uint) -> uint"
    ),
    "_*_": _arithmetic(
        "multiply",
        multiply,
        "double: (double, double) -> double",
        "int64: (int, int) -> int",
        "uint64: (uint, uint) -> uint",
    ),
    "-_": _arithmetic("negate", negate, "double: (double) -> double", "int64: (int) -> int"),
    "_-_": _arithmetic(
        "subtract",
        subtract,
        "double: (double, double) -> double",
        "duration_duration: (duration, duration) -> duration",
        "int64: (int, int) -> int",
        "timestamp_duration: (timestamp, duration) -> timestamp",
        "timestamp_timestamp: (timestamp, timestamp) -> duration",
        "uint64: (uint, uint) -> uint",
    ),
    "_<_": _comparison("less", _ordering("_<_", (-1,))),
    "_<=_": _comparison("less_equals", _ordering("_<=_", (-1, 0))),
    "_>_": _comparison("greater", _ordering("_>_", (1,))),
    "_>=_": _comparison("greater_equals", _ordering("_>=_", (0, 1))),
    "_[_]": (
        overload("index_list", "(list(A), int) -> A"),
        overload("index_map", "(map(A, B), A) -> B"),
        overload("optional_list_index_int", "(optional(list(V)), int) -> optional(V)"),
        overload("optional_map_index_value", "(optional(map(K, V)), K) -> optional(V)"),
    ),
    "@in": (
        overload("in_list", "(A, list(A)) -> bool", contained_in, is_guarded=False),
        overload("in_map", "(A, map(A, B)) -> bool", contained_in, is_guarded=False),
    ),
    "size": tuple(
        overload(f"{id_}{suffix}", f"{form} -> int", size, is_guarded=False)
        for id_, type_ in (
            ("size_bytes", "bytes"),
            ("size_list", "list(A)"),
            ("size_map", "map(A, B)"),
            ("size_string", "string"),
        )
        for suffix, form in (("", f"({type_})"), ("_inst", f"{type_}.()"))
    ),
}
"""The library."""
