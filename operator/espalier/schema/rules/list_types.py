"""
Compare and join lists of the types set and map in expressions.

Source:
    apiserver, ``pkg/cel/common/valuesunstructured.go`` and ``valuesreflect.go``.
"""

from collections.abc import Callable
from typing import Any, Final

from espalier.cel.concatenation import register_concatenation
from espalier.cel.equality import NO_SUCH_OVERLOAD, equal, register_equality
from espalier.cel.types import LIST
from espalier.cel.values import (
    CLASSES,
    CelError,
    Failure,
    ListValue,
    MapValue,
    Value,
    is_list,
    is_map,
)
from espalier.schema.rules.values import KeyedList, SchemaMap, SetList

_NOT_SCALAR: Final = "listSet operations are only supported on lists of scalar values"


class MergedSet(ListValue):
    """
    Two joined lists, the first of which is a set.
    """

    __slots__ = ()


class MergedList(ListValue):
    """
    Two joined lists, the first of which has keys.
    """

    __slots__ = ("key_names",)

    def __init__(self, items: list[Value], key_names: tuple[str, ...]) -> None:
        super().__init__(items)
        self.key_names = key_names


CLASSES[MergedSet] = LIST
CLASSES[MergedList] = LIST


def set_key(value: Value) -> Any:
    """
    Make a key that is equal for equal members of a set.

    Raises:
        CelError: The member is not a scalar.
    """
    if value.__class__ is Failure:
        raise CelError(value.text)
    if is_list(value) or is_map(value):
        raise CelError(_NOT_SCALAR)
    return (value.__class__, value)


def _equal_sets(left: ListValue, right: Value) -> bool:
    if not is_list(right):
        raise CelError(NO_SUCH_OVERLOAD)
    if len(left) != len(right):
        return False
    mine = {set_key(each) for each in left.items}
    seen = set()
    for each in right.items:
        key = set_key(each)
        if key not in mine:
            return False
        seen.add(key)
    return len(seen) == len(mine)


def _raw_key(element: Value, names: tuple[str, ...]) -> Any:
    # The server looks up the escaped names in the object itself.
    if not isinstance(element, SchemaMap):
        return object()
    return tuple(_hashable(element.raw.get(name)) for name in names)


def merge_key(element: Value, names: tuple[str, ...]) -> Any:
    """
    Make a key that is equal for items with the same map keys.
    """
    found = []
    for name in names:
        value, is_there = element.find(name) if is_map(element) else (None, False)
        found.append(_hashable(value if is_there and value.__class__ is not Failure else None))
    return tuple(found)


def _hashable(value: Value) -> Any:
    if isinstance(value, (dict, list, SchemaMap, ListValue, MapValue)):
        return ("container", repr(value))
    return (value.__class__, value)


def _equal_keyed(left: KeyedList, right: Value) -> bool:
    return _equal_by(left, right, lambda each: _raw_key(each, left.key_names))


def _equal_merged(left: MergedList, right: Value) -> bool:
    return _equal_by(left, right, lambda each: merge_key(each, left.key_names))


def _equal_by(left: ListValue, right: Value, key_of: Callable[[Value], Any]) -> bool:
    if not is_list(right):
        raise CelError(NO_SUCH_OVERLOAD)
    if len(left) != len(right):
        return False
    mine = {key_of(each): each for each in left.items}
    seen = set()
    for each in right.items:
        key = key_of(each)
        if key not in mine:
            return False
        if not equal(mine[key], each):
            return False
        seen.add(key)
    return len(seen) == len(mine)


register_equality(SetList, _equal_sets)
register_equality(MergedSet, _equal_sets)
register_equality(KeyedList, _equal_keyed)
register_equality(MergedList, _equal_merged)


def _join_set(left: ListValue, right: ListValue) -> ListValue:
    return MergedSet(_union(left, right))


def _join_keyed(left: Any, right: ListValue) -> ListValue:
    return MergedList(_merged(left, right, left.key_names), left.key_names)


def _union(left: ListValue, right: ListValue) -> list[Value]:
    known = {set_key(each) for each in left.items}
    items = [*left.items]
    for each in right.items:
        key = set_key(each)
        if key not in known:
            known.add(key)
            items.append(each)
    return items


def _merged(left: ListValue, right: ListValue, names: tuple[str, ...]) -> list[Value]:
    items = [*left.items]
    places = {merge_key(each, names): index for index, each in enumerate(items)}
    for each in right.items:
        place = places.get(merge_key(each, names))
        if place is None:
            items.append(each)
        else:
            items[place] = each
    return items


register_concatenation(SetList, _join_set)
register_concatenation(MergedSet, _join_set)
register_concatenation(KeyedList, _join_keyed)
register_concatenation(MergedList, _join_keyed)
