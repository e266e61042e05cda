"""
Equality and order of values of CEL expressions.
"""

import math
from collections.abc import Callable
from typing import Any

from espalier.cel.types import CelType
from espalier.cel.values import (
    CelError,
    Duration,
    GrowingList,
    GrowingMap,
    ListValue,
    MapValue,
    Opaque,
    Optional,
    Timestamp,
    Uint,
    Value,
    demand,
    is_list,
    is_map,
)

NO_SUCH_OVERLOAD = "no such overload"
_NUMBERS = (int, float)


def equal(left: Value, right: Value) -> bool:
    """
    Report whether values are equal; numbers of different types may be.

    Raises:
        CelError: They cannot be compared.

    Source:
        cel-go, ``common/types``, ``Equal``; apiserver, ``pkg/cel/common/valuesunstructured.go``.
    """
    demand(left)
    demand(right)
    if left is None or right is None:
        return left is None and right is None
    compare = _EQUALITIES.get(left.__class__)
    if compare is not None:
        return compare(left, right)
    return bool(left.is_equal(right))


def _scalars(left: Value, right: Value) -> bool:
    return left.__class__ is right.__class__ and bool(left == right)


def _numbers(left: Value, right: Value) -> bool:
    if isinstance(right, bool) or not isinstance(right, _NUMBERS):
        return False
    if isinstance(left, float) or isinstance(right, float):
        return float(left) == float(right)
    return int(left) == int(right)


def _times(left: Timestamp, right: Value) -> bool:
    return isinstance(right, Timestamp) and left.nanoseconds == right.nanoseconds


def _types(left: CelType, right: Value) -> bool:
    return isinstance(right, CelType) and left.name == right.name


def _optionals(left: Optional, right: Value) -> bool:
    if not isinstance(right, Optional) or left.has_value is not right.has_value:
        return False
    return not left.has_value or equal(left.value, right.value)


def _lists(left: ListValue, right: Value) -> bool:
    if not is_list(right) or len(left) != len(right):
        return False
    return all(map(equal_unless_told_otherwise, left.items, right.items))


def _maps(left: MapValue, right: Value) -> bool:
    if not is_map(right) or len(left) != len(right):
        return False
    for key, value in left.entries.values():
        other, found = right.find(key)
        if not found or not equal_unless_told_otherwise(value, other):
            return False
    return True


def equal_unless_told_otherwise(left: Value, right: Value) -> bool:
    """
    Report whether values are equal, or cannot be compared.
    """
    try:
        return equal(left, right)
    except CelError:
        return True


def is_equal_for_sure(left: Value, right: Value) -> bool:
    """
    Report whether values can be compared and are equal.
    """
    try:
        return equal(left, right)
    except CelError:
        return False


_EQUALITIES: dict[type, Callable[[Any, Any], bool]] = {
    **dict.fromkeys((bool, str, bytes, Duration), _scalars),
    **dict.fromkeys((int, float), _numbers),
    Timestamp: _times,
    CelType: _types,
    Optional: _optionals,
}


def register_equality(class_: type, compare: Callable[[Any, Any], bool]) -> None:
    """
    Register how values of a class are compared with others.
    """
    _EQUALITIES[class_] = compare


register_equality(ListValue, _lists)
register_equality(GrowingList, _lists)
register_equality(MapValue, _maps)
register_equality(GrowingMap, _maps)
register_equality(Uint, _numbers)


def order(left: Value, right: Value) -> int:
    """
    Compare values: -1, 0 or 1.

    Raises:
        CelError: They have no order.

    Source:
        cel-go, ``common/types``, ``Compare``.
    """
    if isinstance(left, _NUMBERS) and not isinstance(left, bool):
        return _order_numbers(left, right)
    if isinstance(left, Timestamp) and isinstance(right, Timestamp):
        return _sign(left.nanoseconds, right.nanoseconds)
    if left.__class__ is right.__class__ and isinstance(left, (bool, bytes, Duration)):
        return _sign(left, right)
    if isinstance(left, str) and isinstance(right, str):
        # Go compares the bytes; that is the order of code points.
        return _sign(left, right)
    raise CelError(NO_SUCH_OVERLOAD)


def has_order(value: Value) -> bool:
    """
    Report whether values of this kind have an order.
    """
    return isinstance(value, (bool, int, float, str, bytes, Duration, Timestamp))


def _order_numbers(left: Value, right: Value) -> int:
    if math.isnan(left):
        raise CelError("NaN values cannot be ordered")
    if right.__class__ not in (int, float, Uint):
        raise CelError(NO_SUCH_OVERLOAD)
    if math.isnan(right):
        raise CelError("NaN values cannot be ordered")
    if isinstance(left, float) or isinstance(right, float):
        return _sign(float(left), float(right))
    return _sign(int(left), int(right))


def _sign(left: Any, right: Any) -> int:
    return int(left > right) - int(left < right)


def opaque_equality(left: Opaque, right: Value) -> bool:
    """
    Compare values of libraries: those of different classes cannot be compared.
    """
    if left.__class__ is not right.__class__:
        raise CelError(NO_SUCH_OVERLOAD)
    return left == right
