"""
The closures that change values, and their notes of the changes.

A closure returns None if nothing changes, otherwise a changed copy; it never edits its input.
Beside the copy it returns notes: the changes, each with the steps from the closure's value to the
changed one. Nested notes make whole paths. Notes cost nothing where nothing changes, and little
until the paths are requested.
"""

import enum
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct

from espalier.paths import JSON, Path
from espalier.schema.metadata.decoding import drop_unknown_metadata
from espalier.schema.values import SCALARS, copy_json


class Act(enum.Enum):
    """
    What was changed at a path.
    """

    PRUNED = enum.auto()
    NULL_DROPPED = enum.auto()
    FILLED = enum.auto()


# Looking up a member of an enumeration is expensive, and each change needs one of these.
_PRUNED, _NULL_DROPPED, _FILLED = Act

Note: TypeAlias = "Act | Notes"
Notes: TypeAlias = list[tuple[Path, Note]]
"""For each change, in order, the steps to it, and either its kind or further notes."""

Done: TypeAlias = tuple[JSON, Note]
"""The changed value, or ``GONE``, and the notes of its changes."""

OnValue: TypeAlias = Callable[[Any], Done | None]
"""A closure for objects, for lists or for nulls; it is called with such values only."""

GONE: Any = object()
"""The result for a value that is to be removed from its object."""


def paths_of(note: Note) -> Mapping[Act, tuple[Path, ...]]:
    """
    Return the paths of each kind of change, in the order of the changes.
    """
    found: dict[Act, list[Path]] = {act: [] for act in Act}
    waiting: list[tuple[Path, Note]] = [((), note)]
    while waiting:
        path, what = waiting.pop()
        if isinstance(what, Act):
            found[what].append(path)
        else:
            waiting.extend((path + steps, below) for steps, below in reversed(what))
    return {act: tuple(paths) for act, paths in found.items()}


def includes(note: Note, act: Act) -> bool:
    """
    Report whether there is a change of a kind.
    """
    waiting = [note]
    while waiting:
        what = waiting.pop()
        if what is act:
            return True
        if isinstance(what, list):
            waiting.extend(below for _, below in what)
    return False


class ClosureShape(Struct, frozen=True, weakref=True, eq=False):
    """
    The parts from which the closures of one place were made.

    Attributes:
        needed: The fields that are filled in if they are absent.
    """

    children: Mapping[str, "PlaceActions"]
    rest: "PlaceActions"
    needed: frozenset[str]
    item: "PlaceActions"


class PlaceActions(NamedTuple):
    """
    How to change the values of one place in the schema.

    Attributes:
        on_object: None if objects never change; likewise for the other two.
        on_null: Applies to fields only; an item of a list is never dropped.
        shape: None if only scalars are expected.
    """

    on_object: OnValue | None = None
    on_list: OnValue | None = None
    on_null: OnValue | None = None
    shape: ClosureShape | None = None

    def within(self, value: JSON) -> tuple[JSON, Note]:
        """
        Change the contents of a value, and return it with notes; the same value if nothing changes.
        """
        on_value: OnValue | None = None
        if isinstance(value, dict):
            on_value = self.on_object
        elif isinstance(value, list):
            on_value = self.on_list
        done = None if on_value is None else on_value(value)
        return (value, []) if done is None else done

    def for_value(self, value: JSON) -> OnValue | None:
        """
        Return the closure for a value of any type.
        """
        if isinstance(value, dict):
            return self.on_object
        if isinstance(value, list):
            return self.on_list
        return self.on_null if value is None or self is PRUNING else None

    def is_idle(self) -> bool:
        """
        Report whether no value would ever change.
        """
        return self.on_object is None and self.on_list is None and self.on_null is None


_BY_PRUNING: Done = (GONE, _PRUNED)
_BY_DROPPING: Done = (GONE, _NULL_DROPPED)


def _prune(_value: JSON) -> Done:
    return _BY_PRUNING


def drop_null(_value: None) -> Done:
    """
    Remove a null from its object.
    """
    return _BY_DROPPING


def null_filler(filling: JSON) -> OnValue:
    """
    Make a closure that replaces a null by a copy of a default.
    """

    def change(_value: None) -> Done:
        return copy_json(filling), _FILLED

    return change


IDLE = PlaceActions()
PRUNING = PlaceActions(_prune, _prune, _prune)
"""Remove a field, whatever its value."""


def metadata_filter(then: OnValue | None) -> OnValue:
    """
    Make a closure that drops unknown fields of metadata, and then calls the next closure.
    """

    def change(metadata: dict[str, JSON]) -> Done | None:
        known: JSON
        known, unknown = drop_unknown_metadata(metadata)
        notes: Notes = [(path, _PRUNED) for path in unknown]
        done = None if then is None else then(known)
        if done is not None:
            known, below = done
            notes.append(((), below))
        return (known, notes) if notes else None

    return change


def object_closure(
    children: Mapping[str, PlaceActions], rest: PlaceActions, fillings: Mapping[str, JSON]
) -> OnValue | None:
    """
    Make the closure for an object's fields; None if no object would ever change.

    Args:
        children: How to change the fields with these names.
        rest: How to change all other fields.
        fillings: The defaults of absent fields; they are copied.
    """
    if rest is PRUNING and not children and not fillings:
        return _empty_object
    if rest.is_idle() and not fillings and all(change.is_idle() for change in children.values()):
        return None
    return _fields_closure(children, rest, fillings)


def _fields_closure(  # noqa: C901, PLR0915 - see below
    children: Mapping[str, PlaceActions], rest: PlaceActions, fillings: Mapping[str, JSON]
) -> OnValue:
    on_objects = {name: change.on_object for name, change in children.items()}
    on_lists = {name: change.on_list for name, change in children.items()}
    on_nulls = {name: change.on_null for name, change in children.items()}
    on_other_object, on_other_list, on_other_null, _ = rest
    keeps_scalars, needed = rest is not PRUNING, tuple(fillings)

    # This is the hottest loop: calls instead of branches would double its time.
    def change(fields: dict[str, JSON]) -> Done | None:  # noqa: C901, PLR0912, PLR0915
        changed = fields
        notes: Notes | None = None
        for name, old in fields.items():
            kind = type(old)
            if kind in SCALARS:
                if name in on_objects or keeps_scalars:
                    continue
                done = _BY_PRUNING
            else:
                if kind is dict:
                    on_value = on_objects.get(name, on_other_object)
                elif kind is list:
                    on_value = on_lists.get(name, on_other_list)
                elif old is None:
                    on_value = on_nulls.get(name, on_other_null)
                else:
                    on_value = children.get(name, rest).for_value(old)
                if on_value is None:
                    continue
                by_value = on_value(old)
                if by_value is None:
                    continue
                done = by_value
            if notes is None:
                changed, notes = fields.copy(), []
            new, note = done
            if new is GONE:
                del changed[name]
            else:
                changed[name] = new
            notes.append(((name,), note))
        for name in needed:
            if name not in fields:
                return _fill(fields.copy() if notes is None else changed, fillings, notes or [])
        return None if notes is None else (changed, notes)

    return change


def _fill(changed: dict[str, JSON], fillings: Mapping[str, JSON], notes: Notes) -> Done:
    for name, filling in fillings.items():
        if name not in changed:
            scalar = filling.__class__ in SCALARS
            changed[name] = filling if scalar else copy_json(filling)
            notes.append(((name,), _FILLED))
    return changed, notes


def list_closure(item: PlaceActions) -> OnValue | None:
    """
    Make the closure for a list's items; None if no list would ever change.

    Items are never removed, so the indexes in paths remain valid.
    """
    if item.on_null is drop_null:
        item = item._replace(on_null=None)
    if item.is_idle():
        return None
    on_object, for_value = item.on_object, item.for_value

    def change(items: list[JSON]) -> Done | None:
        changed = items
        notes: Notes | None = None
        for index, old in enumerate(items):
            kind = type(old)
            if kind in SCALARS:
                continue
            on_value = on_object if kind is dict else for_value(old)
            done = None if on_value is None else on_value(old)
            if done is None:
                continue
            if notes is None:
                changed, notes = items.copy(), []
            changed[index], note = done
            notes.append(((index,), note))
        return None if notes is None else (changed, notes)

    return change


def _empty_object(fields: dict[str, JSON]) -> Done | None:
    if not fields:
        return None
    return {}, [((name,), _PRUNED) for name in fields]


def _empty_items(items: list[JSON]) -> Done | None:
    # No schema limits how deep lists are nested here, so the walk does not recurse, and the steps
    # to the parents are linked and not copied.
    notes: Notes = []
    top: list[JSON] = items.copy()
    waiting: list[tuple[list[JSON], _Outward | None]] = [(top, None)]
    while waiting:
        target, outward = waiting.pop()
        for index, item in enumerate(target):
            if isinstance(item, dict) and item:
                target[index] = {}
                steps = (*reversed([*_steps_outwards(_Outward(index, outward))]),)
                notes.extend(((*steps, name), _PRUNED) for name in item)
            elif isinstance(item, list):
                target[index] = copied = item.copy()
                waiting.append((copied, _Outward(index, outward)))
    return (top, notes) if notes else None


class _Outward(NamedTuple):
    """
    An index in a list, and the position of that list.
    """

    step: int
    beyond: "_Outward | None"


def _steps_outwards(place: _Outward | None) -> Iterator[int]:
    while place is not None:
        yield place.step
        place = place.beyond


EMPTYING = PlaceActions(on_object=_empty_object, on_list=_empty_items)
"""Empty objects, also those in lists; scalars stay."""

EMPTYING_ITEMS = EMPTYING._replace(on_list=list_closure(EMPTYING))
"""The same in document order: the effect of a schema without any structure."""
