"""
The closures that change values, and the journal that they keep.

A closure returns the very value that it was given if nothing changes, else a changed copy of it:
the input is never edited. What was done is written into a journal, innermost first: whoever holds
a changed child notes its step for all that the child has noted. So paths cost nothing where nothing
changes, and little until somebody asks for them.
"""

import enum
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from espalier.paths import JSON, Path
from espalier.schema.objectmeta import drop_unknown_metadata
from espalier.schema.values import SCALARS, copy_json


class Act(enum.Enum):
    """
    What was done at a path.
    """

    PRUNED = enum.auto()
    NULL_DROPPED = enum.auto()
    FILLED = enum.auto()
    WITHIN = enum.auto()
    """Nothing by itself: what was noted since a mark was done below these steps."""


class Gone(enum.Enum):
    """
    Stands for a value that is to be removed from the object that holds it.
    """

    GONE = enum.auto()


# A member of an enumeration is dear to look up, and these are looked up for each change.
_PRUNED, _NULL_DROPPED, _FILLED, _WITHIN = Act
_GONE = Gone.GONE

Entry: TypeAlias = tuple[Act, Path, int]
"""What was done, the steps to there, and the mark: only ``WITHIN`` needs it."""

Journal: TypeAlias = list[Entry]
Changed: TypeAlias = "JSON | Gone"
OnContainer: TypeAlias = Callable[[Any, Journal], Changed]
"""Made for objects, or for lists, and called with these alone."""


def paths_of(journal: Journal) -> Mapping[Act, tuple[Path, ...]]:
    """
    List where each act was done, in the order in which it was.
    """
    found: dict[Act, list[Path]] = {act: [] for act in Act}
    # From the end, so that the steps outside are known before what lies within.
    around: list[tuple[int, Path]] = [(0, ())]
    for position in range(len(journal) - 1, -1, -1):
        while around[-1][0] > position:
            around.pop()
        act, steps, mark = journal[position]
        path = around[-1][1] + steps
        if act is _WITHIN:
            around.append((mark, path))
        else:
            found[act].append(path)
    return {act: tuple(reversed(paths)) for act, paths in found.items()}


class OnNull(enum.Enum):
    """
    What becomes of a null.
    """

    KEEP = enum.auto()
    DROP = enum.auto()
    FILL = enum.auto()
    PRUNE = enum.auto()
    """The field goes, whether it is null or not."""


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Shape:
    """
    What the closures of one place were made of.

    Attributes:
        needed: The fields that are filled in where they are absent.
    """

    children: Mapping[str, "Change"]
    rest: "Change"
    needed: frozenset[str]
    item: "Change"


class Change(NamedTuple):
    """
    What to do at one place.

    Attributes:
        on_object: None where objects have nothing to be done to them; likewise ``on_list``.
        on_null: Applies to a field; an item of a list is never dropped.
        filling: What fills in; to be copied.
        shape: None where scalars are expected.
    """

    on_object: OnContainer | None = None
    on_list: OnContainer | None = None
    on_null: OnNull = OnNull.KEEP
    filling: JSON = None
    shape: Shape | None = None

    def within(self, value: JSON, journal: Journal) -> JSON:
        """
        Change what lies within a value.
        """
        if isinstance(value, dict) and self.on_object is not None:
            changed = self.on_object(value, journal)
        elif isinstance(value, list) and self.on_list is not None:
            changed = self.on_list(value, journal)
        else:
            return value
        return value if isinstance(changed, Gone) else changed

    def of_field(self, value: JSON, journal: Journal) -> Changed:
        """
        Change the value of a field, whatever it is.
        """
        if isinstance(value, dict):
            return value if self.on_object is None else self.on_object(value, journal)
        if isinstance(value, list):
            return value if self.on_list is None else self.on_list(value, journal)
        if self.on_null is OnNull.PRUNE:
            return _prune(value, journal)
        if value is not None or self.on_null is OnNull.KEEP:
            return value
        if self.on_null is OnNull.DROP:
            journal.append((_NULL_DROPPED, (), 0))
            return _GONE
        journal.append((_FILLED, (), 0))
        return copy_json(self.filling)

    def is_idle(self) -> bool:
        """
        Tell whether there is nothing to do, whatever the value.
        """
        return self.on_object is None and self.on_list is None and self.on_null is OnNull.KEEP


def _prune(_value: JSON, journal: Journal) -> Gone:
    journal.append((_PRUNED, (), 0))
    return _GONE


IDLE = Change()
PRUNING = Change(_prune, _prune, OnNull.PRUNE)
"""Takes a field away, whatever it is."""


def filtering_metadata(then: OnContainer | None) -> OnContainer:
    """
    Make a closure that drops what metadata does not have, and then goes on.
    """

    def change(metadata: dict[str, JSON], journal: Journal) -> Changed:
        known, unknown = drop_unknown_metadata(metadata)
        journal.extend((_PRUNED, path, 0) for path in unknown)
        return known if then is None else then(known, journal)

    return change


def object_closure(
    children: Mapping[str, Change], rest: Change, fillings: Mapping[str, JSON]
) -> OnContainer | None:
    """
    Make the closure of an object's fields; None if there is nothing to do, whatever the object.

    Args:
        children: What to do with the fields of these names.
        rest: What to do with the others.
        fillings: What fills in for fields that are absent; to be copied.
    """
    if not children and not fillings:
        return _map_closure(rest)
    if rest.is_idle() and not fillings and all(change.is_idle() for change in children.values()):
        return None
    return _fields_closure(children, rest, fillings)


def _fields_closure(  # noqa: C901 - see below
    children: Mapping[str, Change], rest: Change, fillings: Mapping[str, JSON]
) -> OnContainer:
    on_objects = {name: change.on_object for name, change in children.items()}
    on_lists = {name: change.on_list for name, change in children.items()}
    keeps_scalars, needed = rest is not PRUNING, tuple(fillings)

    # The hottest loop of all: calls instead of these branches would double its time.
    def change(  # noqa: C901, PLR0912
        fields: dict[str, JSON], journal: Journal
    ) -> Changed:
        changed, mark = fields, len(journal)
        for name, old in fields.items():
            kind = old.__class__
            if kind in SCALARS:
                if keeps_scalars or name in on_objects:
                    continue
                new: Changed = _prune(old, journal)
            elif kind is dict:
                on_object = on_objects.get(name, rest.on_object)
                new = old if on_object is None else on_object(old, journal)
            elif kind is list:
                on_list = on_lists.get(name, rest.on_list)
                new = old if on_list is None else on_list(old, journal)
            else:
                new = children.get(name, rest).of_field(old, journal)
            if new is not old:
                if changed is fields:
                    changed = fields.copy()
                if isinstance(new, Gone):
                    del changed[name]
                else:
                    changed[name] = new
                journal.append((_WITHIN, (name,), mark))
                mark = len(journal)
        for name in needed:
            if name not in fields:
                return _fill(fields.copy() if changed is fields else changed, fillings, journal)
        return changed

    return change


def _fill(
    changed: dict[str, JSON], fillings: Mapping[str, JSON], journal: Journal
) -> dict[str, JSON]:
    for name, filling in fillings.items():
        if name not in changed:
            scalar = filling.__class__ in SCALARS
            changed[name] = filling if scalar else copy_json(filling)
            journal.append((_FILLED, (name,), 0))
    return changed


def _map_closure(value: Change) -> OnContainer | None:
    if value is PRUNING:
        return _empty_object
    if value.is_idle():
        return None
    of_value = value.of_field

    def change(fields: dict[str, JSON], journal: Journal) -> Changed:
        changed, mark = fields, len(journal)
        for name, old in fields.items():
            if old.__class__ in SCALARS:
                continue
            new = of_value(old, journal)
            if new is not old:
                if changed is fields:
                    changed = fields.copy()
                if isinstance(new, Gone):
                    del changed[name]
                else:
                    changed[name] = new
                journal.append((_WITHIN, (name,), mark))
                mark = len(journal)
        return changed

    return change


def list_closure(item: Change) -> OnContainer | None:
    """
    Make the closure of a list's items; None if there is nothing to do, whatever the list.

    No item is ever removed, so that the indexes of paths stay true.
    """
    if item.on_null is OnNull.DROP:
        item = item._replace(on_null=OnNull.KEEP)
    if item.is_idle():
        return None
    on_object, of_other = item.on_object, item.of_field

    def change(items: list[JSON], journal: Journal) -> Changed:
        changed, mark = items, len(journal)
        for index, old in enumerate(items):
            kind = old.__class__
            if kind in SCALARS:
                continue
            if kind is dict and on_object is not None:
                new: Changed = on_object(old, journal)
            else:
                new = of_other(old, journal)
            if new is old or isinstance(new, Gone):
                continue
            if changed is items:
                changed = items.copy()
            changed[index] = new
            journal.append((_WITHIN, (index,), mark))
            mark = len(journal)
        return changed

    return change


def _empty_object(fields: dict[str, JSON], journal: Journal) -> Changed:
    if not fields:
        return fields
    journal.extend((_PRUNED, (name,), 0) for name in fields)
    return {}


def _empty_items(items: list[JSON], journal: Journal) -> Changed:
    # No schema bounds how deep lists lie within lists here, so nothing recurses, and the steps
    # outwards are linked, not copied.
    before = len(journal)
    top: list[JSON] = items.copy()
    waiting: list[tuple[list[JSON], _Outward | None]] = [(top, None)]
    while waiting:
        target, outward = waiting.pop()
        for index, item in enumerate(target):
            if isinstance(item, dict) and item:
                target[index] = {}
                steps = (*reversed([*_steps_outwards(_Outward(index, outward))]),)
                journal.extend((_PRUNED, (*steps, name), 0) for name in item)
            elif isinstance(item, list):
                target[index] = copied = item.copy()
                waiting.append((copied, _Outward(index, outward)))
    return items if len(journal) == before else top


class _Outward(NamedTuple):
    """
    An index of a list, and where that list lies itself.
    """

    step: int
    beyond: "_Outward | None"


def _steps_outwards(place: _Outward | None) -> Iterator[int]:
    while place is not None:
        yield place.step
        place = place.beyond


EMPTYING = Change(on_object=_empty_object, on_list=_empty_items)
"""Empties objects, also those in lists; scalars stay."""

EMPTYING_ITEMS = EMPTYING._replace(on_list=list_closure(EMPTYING))
"""Does the same, in the order of the document: what a schema without any structure does."""
