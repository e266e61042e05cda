"""
Recognise objects to which nothing is to be done, many times faster than a walk over them.

What ``PlaceActions`` leave alone is written as types of ``msgspec``, whose converter, in C, reports
whether an object is of such a type. It may miss one, and then the walk finds nothing to do; but it
never recognises an object that the walk would change.
"""

from typing import Any, Union
from weakref import WeakKeyDictionary

import msgspec

from espalier.paths import JSON
from espalier.schema.normalization.closures import (
    IDLE,
    PRUNING,
    ClosureShape,
    Done,
    OnValue,
    PlaceActions,
)

_FIRST_PAUSE = 256
"""So many objects are walked before types are made: for a few they do not pay."""

_LONGEST_PAUSE = 127
"""So many are walked between two trials where all objects are to be changed."""


def recognizing(change: PlaceActions) -> PlaceActions:
    """
    Let a change of objects end at once if there is nothing to do.
    """
    walk, shape = change.on_object, change.shape
    if walk is None or shape is None:
        return change
    return change._replace(on_object=_recognizer(walk, shape))


def _recognizer(walk: OnValue, shape: ClosureShape) -> OnValue:
    wanted: Any = None
    waiting = _FIRST_PAUSE
    pause = 0

    def change(fields: dict[str, JSON]) -> Done | None:
        nonlocal wanted, waiting, pause
        if waiting:
            waiting -= 1
            return walk(fields)
        if wanted is None:
            wanted = _object_type(shape)
        try:
            msgspec.convert(fields, wanted)
        except (msgspec.ValidationError, UnicodeError, RecursionError):
            waiting = pause = min(2 * pause + 1, _LONGEST_PAUSE)
            return walk(fields)
        # Slower down than up: where every third object is to be changed, trials cost more than
        # they save.
        waiting = pause = pause - (pause + 3) // 4
        return None

    return change


_NO_OBJECT = bool
"""A type that no object has."""

_types: WeakKeyDictionary[ClosureShape, Any] = WeakKeyDictionary()


def _object_type(shape: ClosureShape) -> Any:
    made = _types.get(shape)
    if made is None:
        try:
            made = _types[shape] = _make_object_type(shape)
        except (ValueError, RecursionError):
            # A name that no type can have, or a schema too deep for the stack that is left.
            made = _types[shape] = _NO_OBJECT
    return made


def _make_object_type(shape: ClosureShape) -> Any:
    if not shape.children and shape.rest is not PRUNING:
        return dict[str, _type_of(shape.rest)]  # type: ignore[misc]  # made as it runs
    if shape.rest not in (PRUNING, IDLE):
        return _NO_OBJECT
    members = []
    for index, (name, change) in enumerate(shape.children.items()):
        field = msgspec.field(name=name)
        if name not in shape.needed:
            field = msgspec.field(name=name, default=None)
        members.append((f"f{index}", _type_of(change), field))
    return msgspec.defstruct(
        "Recognized",
        members,
        kw_only=True,
        gc=False,
        forbid_unknown_fields=shape.rest is PRUNING,
    )


def _type_of(change: PlaceActions) -> Any:
    if change.is_idle():
        return Any
    members: list[Any] = [str, int, float, bool]
    if change.on_null is None:
        members.append(None)
    shape = change.shape
    if shape is not None and change.on_object is not None:
        members.append(_object_type(shape))
    if shape is not None and change.on_list is not None:
        members.append(list[_type_of(shape.item)])  # type: ignore[misc]  # made as it runs
    return Union[tuple(members)]  # noqa: UP007 - made as it runs
