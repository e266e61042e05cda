"""
The closures that change values, and the journal that they keep.

A closure returns the very value that it was given if nothing changes, else a changed copy of it:
the input is never edited. What was done is written into a journal. An entry holds its steps from
the innermost outwards, and whoever holds a changed child appends its own step to the entries that
the child has added: paths cost nothing where nothing changes.
"""

import enum
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from espalier.paths import JSON, Path, Step
from espalier.schema.objectmeta import drop_unknown_metadata
from espalier.schema.values import SCALARS, copy_json


class Act(enum.Enum):
    """
    What was done at a path.
    """

    PRUNED = enum.auto()
    NULL_DROPPED = enum.auto()
    FILLED = enum.auto()


Entry: TypeAlias = tuple[Act, list[Step]]
Journal: TypeAlias = list[Entry]
OnObject: TypeAlias = Callable[[dict[str, JSON], Journal], JSON]
OnList: TypeAlias = Callable[[list[JSON], Journal], JSON]


class OnNull(enum.Enum):
    """
    What becomes of a null.
    """

    KEEP = enum.auto()
    DROP = enum.auto()
    FILL = enum.auto()


class Gone(enum.Enum):
    """
    Stands for a value that is to be removed from the object that holds it.
    """

    GONE = enum.auto()


class Change(NamedTuple):
    """
    What to do at one place.

    Attributes:
        on_object: None where objects have nothing to be done to them; likewise ``on_list``.
        on_null: Applies to a field; an item of a list is never dropped.
        filling: What fills in; to be copied.
    """

    on_object: OnObject | None = None
    on_list: OnList | None = None
    on_null: OnNull = OnNull.KEEP
    filling: JSON = None

    def within(self, value: JSON, journal: Journal) -> JSON:
        """
        Change what lies within a value.
        """
        if isinstance(value, dict):
            return value if self.on_object is None else self.on_object(value, journal)
        if isinstance(value, list):
            return value if self.on_list is None else self.on_list(value, journal)
        return value

    def is_idle(self) -> bool:
        """
        Tell whether there is nothing to do, whatever the value.
        """
        return self.on_object is None and self.on_list is None and self.on_null is OnNull.KEEP


IDLE = Change()

OnField: TypeAlias = Callable[[JSON, Journal], "JSON | Gone"]


def _prune(_value: JSON, journal: Journal) -> "JSON | Gone":
    journal.append((Act.PRUNED, []))
    return Gone.GONE


def paths_of(journal: Journal, act: Act) -> tuple[Path, ...]:
    """
    List where an act was done, in the order of the journal.
    """
    return tuple(tuple(reversed(steps)) for done, steps in journal if done is act)


def filtering_metadata(then: OnObject | None) -> OnObject:
    """
    Make a closure that drops what metadata does not have, and then goes on.
    """

    def change(metadata: dict[str, JSON], journal: Journal) -> JSON:
        known, unknown = drop_unknown_metadata(metadata)
        journal.extend((Act.PRUNED, list(reversed(path))) for path in unknown)
        return known if then is None else then(known, journal)

    return change


def _unless_idle(change: Change) -> OnField | None:
    return None if change.is_idle() else _field_closure(change)


def _field_closure(change: Change) -> OnField:
    # Unpacked once: this is the most frequent call of all.
    on_object, on_list, on_null, filling = change

    def of_field(value: JSON, journal: Journal) -> "JSON | Gone":
        if isinstance(value, dict):
            return value if on_object is None else on_object(value, journal)
        if isinstance(value, list):
            return value if on_list is None else on_list(value, journal)
        if value is not None or on_null is OnNull.KEEP:
            return value
        if on_null is OnNull.DROP:
            journal.append((Act.NULL_DROPPED, []))
            return Gone.GONE
        journal.append((Act.FILLED, []))
        return copy_json(filling)

    return of_field


def object_closure(
    children: Mapping[str, Change], rest: Change | None, fillings: Mapping[str, JSON]
) -> OnObject | None:
    """
    Make the closure of an object's fields; None if there is nothing to do, whatever the object.

    Args:
        children: What to do with the fields of these names.
        rest: What to do with the others; None prunes them.
        fillings: What fills in for fields that are absent; to be copied.
    """
    # Objects have a table of their own and scalars none, which spares most of the calls.
    busy = [change for change in children.values() if not change.is_idle()]
    if rest is not None and rest.is_idle() and not busy and not fillings:
        return None
    on_objects = {name: change.on_object for name, change in children.items()}
    on_others = {name: _unless_idle(change) for name, change in children.items()}
    of_rest = _prune if rest is None else rest.on_object
    of_other_rest = _prune if rest is None else _unless_idle(rest)
    prunes, filled = rest is None, fillings.keys()

    def change(fields: dict[str, JSON], journal: Journal) -> JSON:
        changed = fields
        mark = len(journal)
        for name, old in fields.items():
            if old.__class__ in SCALARS:
                if not prunes or name in on_others:
                    continue
                new = _prune(old, journal)
            elif isinstance(old, dict):
                on_object = on_objects.get(name, of_rest)
                new = old if on_object is None else on_object(old, journal)
            else:
                on_other = on_others.get(name, of_other_rest)
                new = old if on_other is None else on_other(old, journal)
            if new is not old:
                changed = _put(fields.copy() if changed is fields else changed, name, new)
                mark = _prefix(journal, mark, name)
        if filled and not filled <= fields.keys():
            return _fill(fields.copy() if changed is fields else changed, fillings, journal)
        return changed

    return change


def _put(changed: dict[str, JSON], name: str, new: "JSON | Gone") -> dict[str, JSON]:
    if isinstance(new, Gone):
        del changed[name]
    else:
        changed[name] = new
    return changed


def _fill(
    changed: dict[str, JSON], fillings: Mapping[str, JSON], journal: Journal
) -> dict[str, JSON]:
    for name, filling in fillings.items():
        if name not in changed:
            changed[name] = copy_json(filling)
            journal.append((Act.FILLED, [name]))
    return changed


def list_closure(item: Change) -> OnList | None:
    """
    Make the closure of a list's items; None if there is nothing to do, whatever the list.

    No item is ever removed, so that the indexes of paths stay true.
    """
    on_null = OnNull.KEEP if item.on_null is OnNull.DROP else item.on_null
    on_other = _unless_idle(item._replace(on_null=on_null))
    if on_other is None:
        return None
    on_object = item.on_object

    def change(items: list[JSON], journal: Journal) -> JSON:
        changed = items
        mark = len(journal)
        for index, old in enumerate(items):
            if old.__class__ in SCALARS:
                continue
            if isinstance(old, dict) and on_object is not None:
                new: JSON | Gone = on_object(old, journal)
            else:
                new = on_other(old, journal)
            if new is old or isinstance(new, Gone):
                continue
            if changed is items:
                changed = items.copy()
            changed[index] = new
            mark = _prefix(journal, mark, index)
        return changed

    return change


def _prefix(journal: Journal, mark: int, step: Step) -> int:
    for position in range(mark, len(journal)):
        journal[position][1].append(step)
    return len(journal)


def _empty_object(fields: dict[str, JSON], journal: Journal) -> JSON:
    if not fields:
        return fields
    journal.extend((Act.PRUNED, [name]) for name in fields)
    return {}


def _empty_items(items: list[JSON], journal: Journal) -> JSON:
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
                steps = list(_steps_outwards(_Outward(index, outward)))
                journal.extend((Act.PRUNED, [name, *steps]) for name in item)
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
