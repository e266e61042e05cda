"""
Functions of optional values, and the one by which macros fill maps.

Source:
    cel-go, ``cel/library.go`` and ``ext/comprehensions.go``.
"""

from typing import Final

from espalier.cel.signatures import Library, overload
from espalier.cel.values import (
    MIN_UNIX_SECONDS,
    NANOSECONDS,
    NONE,
    CelError,
    Duration,
    GrowingMap,
    ListValue,
    MapValue,
    Opaque,
    Optional,
    Timestamp,
    Value,
    demand,
    key_of,
    show,
    some,
)


def _of_non_zero(value: Value) -> Optional:
    return NONE if _is_zero(value) else some(value)


def _is_zero(value: Value) -> bool:
    match value:
        case None:
            return True
        case bool() | int() | float() | str() | bytes():
            return not value
        case Duration():
            return not value.nanoseconds
        case Timestamp():
            # The first moment of Go's calendar.
            return value.nanoseconds == MIN_UNIX_SECONDS * NANOSECONDS
        case Opaque() | Optional():
            return False
        case _:
            # Lists and maps of a schema never count as empty.
            return value.__class__ in (ListValue, MapValue) and not len(value)


def _value(optional: Optional) -> Value:
    if not optional.has_value:
        raise CelError("optional.none() dereference")
    return optional.value


def _has_value(optional: Optional) -> bool:
    return optional.has_value


def _first(values: ListValue) -> Optional:
    return some(demand(values.items[0])) if len(values) else NONE


def _last(values: ListValue) -> Optional:
    return some(demand(values.items[-1])) if len(values) else NONE


def _unwrapped(values: ListValue) -> ListValue:
    found = []
    for each in values.items:
        if not isinstance(each, Optional):
            raise CelError(f"value {show(each)} is not optional")
        if each.has_value:
            found.append(each.value)
    return ListValue(found)


OPTIONALS: Final[Library] = {
    "optional.of": (overload("optional_of", "(V) -> optional(V)", some),),
    "optional.ofNonZeroValue": (
        overload("optional_ofNonZeroValue", "(V) -> optional(V)", _of_non_zero),
    ),
    "optional.none": (overload("optional_none", "() -> optional(V)", lambda: NONE),),
    "value": (overload("optional_value", "optional(V).() -> V", _value),),
    "hasValue": (overload("optional_hasValue", "optional(V).() -> bool", _has_value),),
    "or": (overload("optional_or_optional", "optional(V).(optional(V)) -> optional(V)"),),
    "orValue": (overload("optional_orValue_value", "optional(V).(V) -> V"),),
    "_?._": (overload("select_optional_field", "(dyn, string) -> optional(V)"),),
    "_[?_]": (
        overload("list_optindex_optional_int", "(list(V), int) -> optional(V)"),
        overload("optional_list_optindex_optional_int", "(optional(list(V)), int) -> optional(V)"),
        overload("map_optindex_optional_value", "(map(K, V), K) -> optional(V)"),
        overload("optional_map_optindex_optional_value", "(optional(map(K, V)), K) -> optional(V)"),
    ),
    "last": (overload("list_last", "list(V).() -> optional(V)", _last),),
    "first": (overload("list_first", "list(V).() -> optional(V)", _first),),
    "optional.unwrap": (overload("optional_unwrap", "(list(optional(V))) -> list(V)", _unwrapped),),
    "unwrapOpt": (overload("optional_unwrapOpt", "list(optional(V)).() -> list(V)", _unwrapped),),
}
"""The library."""


def _insert(target: MapValue, key: Value, value: Value) -> MapValue:
    if target.find(key)[1]:
        raise CelError(f"insert failed: key {show(key)} already exists")
    if isinstance(target, GrowingMap):
        target.entries[key_of(key)] = (key, value)
        return target
    return MapValue({**target.entries, key_of(key): (key, value)})


def _insert_all(target: MapValue, update: Value) -> MapValue:
    for key in update.each_key():
        target = _insert(target, key, demand(update.find(key)[0]))
    return target


INSERTION: Final[Library] = {
    "cel.@mapInsert": (
        overload("cel_@mapInsert_map_key_value", "(map(K, V), K, V) -> map(K, V)", _insert),
        overload("cel_@mapInsert_map_map", "(map(K, V), map(K, V)) -> map(K, V)", _insert_all),
    ),
}
"""The function."""
