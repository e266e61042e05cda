"""
Recognize objects that need no change, many times faster than by walking over them.

Objects that ``PlaceActions`` would leave unchanged are described by types of ``msgspec``. Its
converter, written in C, reports whether an object has such a type. It may fail to recognize an
object; then the walk changes nothing. But it never recognizes an object that the walk would change.
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

_FIRST_PAUSE = 512
"""
How many objects are walked before types are made. Making them takes as long as some hundred walks.
"""

_LONGEST_PAUSE = 127
"""How many objects are walked at most between two trials, if all objects need changes."""


def recognizing(change: PlaceActions) -> PlaceActions:
    """
    Wrap a change of objects so that it ends at once if nothing changes.
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
        # The pause grows faster than it shrinks: if every third object changes, trials cost more
        # than they save.
        waiting = pause = pause - (pause + 3) // 4
        return None

    return change


_NO_OBJECT = bool
"""A type that matches no object."""

_types: WeakKeyDictionary[ClosureShape, Any] = WeakKeyDictionary()


def _object_type(shape: ClosureShape) -> Any:
    made = _types.get(shape)
    if made is None:
        try:
            made = _types[shape] = _make_object_type(shape)
        except (ValueError, RecursionError):
            # A type cannot have this name, or the schema is too deep for the remaining stack.
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
