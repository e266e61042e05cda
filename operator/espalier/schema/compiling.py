"""
A schema, compiled into closures that change values.

Each node of the schema becomes a ``Change``: what to do with an object, a list or a null that
stands there. Where there is nothing to do there is no closure, and a walk does not descend. Plain
scalars are never touched: a scalar is pruned or kept by the object that holds it. A walk is as deep
as the schema, never as deep as the value.

A closure returns the very value that it was given if nothing changes, else a changed copy of it:
the input is never edited. What was done is written into a journal. An entry holds its steps from
the innermost outwards, and whoever holds a changed child appends its own step to the entries that
the child has added: paths cost nothing where nothing changes.
"""

import dataclasses
import enum
import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from espalier.paths import JSON, Path, Step
from espalier.schema.model import Profile, Structural
from espalier.schema.objectmeta import drop_unknown_metadata
from espalier.schema.values import SCALARS, copy_json

OWN_FIELDS = ("apiVersion", "kind", "metadata")
"""The fields that every resource has, whatever its schema says."""


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


class Pruning(enum.Enum):
    """
    What becomes of the fields that a node does not specify.
    """

    OFF = enum.auto()
    PRUNE = enum.auto()
    KEEP = enum.auto()
    """They stay, but the specified ones are pruned by their own schemas."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """
    What a compiled schema is to do.

    Attributes:
        drop_nulls: Remove fields that are null, not nullable and without a default.
        fill: Fill in the defaults of absent fields.
        fill_nulls: Let a null that is not nullable count as absent.
        nulls_within_defaults: Drop nulls also from the defaults filled in.
    """

    profile: Profile
    prune: bool = False
    drop_nulls: bool = False
    fill: bool = False
    fill_nulls: bool = False
    nulls_within_defaults: bool = False

    def but(self, *, prune: bool, drop_nulls: bool | None = None) -> "Steps":
        """
        Choose other ones; None leaves a choice as it is.
        """
        drops = self.drop_nulls if drop_nulls is None else drop_nulls
        return dataclasses.replace(self, prune=prune, drop_nulls=drops)


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


_FREE = Structural(preserve_unknown_fields=True, nullable=True)


@functools.lru_cache(maxsize=256)
def compiled(structural: Structural | None, steps: Steps, *, is_resource: bool) -> Change:
    """
    Compile a schema with its own defaults; one that was compiled lately is kept.
    """
    return Compiler(steps, {}).root(structural, is_resource=is_resource)


class Compiler:
    """
    Compiles the nodes of one schema, each once per pruning mode.

    Args:
        defaults: Replaces the defaults of nodes; a node that is missing keeps its own.
    """

    def __init__(self, steps: Steps, defaults: Mapping[Structural, JSON]) -> None:
        self._steps = steps
        self._defaults = defaults
        self._changes: dict[tuple[Structural, Pruning], Change] = {}
        self._fillings: Compiler | None = None

    def root(
        self, structural: Structural | None, *, is_resource: bool, leaves_own_fields: bool = False
    ) -> Change:
        """
        Compile from the root.

        Args:
            structural: None prunes everything but the resource's own fields.
            is_resource: Whether apiVersion, kind and metadata are implied.
            leaves_own_fields: Whether those three stay as they are, whatever the schema says.
        """
        node = Structural() if structural is None else structural
        if leaves_own_fields:
            own = dict.fromkeys(OWN_FIELDS, _FREE)
            node = dataclasses.replace(node, properties={**node.properties, **own})
        pruning = Pruning.PRUNE if self._steps.prune else Pruning.OFF
        return self._within(node, pruning, is_resource=is_resource or node.embedded_resource)

    def filling_of(self, node: Structural) -> JSON:
        """
        Take a node's default with the defaults below it already filled in; None for none.
        """
        default = self._default(node)
        if default is None:
            return None
        steps = Steps(
            profile=self._steps.profile,
            drop_nulls=self._steps.nulls_within_defaults,
            nulls_within_defaults=self._steps.nulls_within_defaults,
            fill=True,
            fill_nulls=self._steps.fill_nulls,
        )
        if self._fillings is None:
            self._fillings = self if steps == self._steps else Compiler(steps, self._defaults)
        change = self._fillings._within(  # noqa: SLF001 - a compiler of the same schema
            node, Pruning.OFF, is_resource=False
        )
        return change.within(default, [])

    def _node(self, node: Structural, pruning: Pruning) -> Change:
        key = (node, pruning)
        found = self._changes.get(key)
        if found is None:
            within = self._within(node, pruning, is_resource=node.embedded_resource)
            on_null = self._on_null(node)
            filling = self.filling_of(node) if on_null is OnNull.FILL else None
            found = within._replace(on_null=on_null, filling=filling)
            self._changes[key] = found
        return found

    def _default(self, node: Structural) -> JSON:
        return self._defaults.get(node, node.default)

    def _on_null(self, node: Structural) -> OnNull:
        if node.nullable:
            return OnNull.KEEP
        if self._default(node) is not None:
            return OnNull.FILL if self._steps.fill_nulls else OnNull.KEEP
        return OnNull.DROP if self._steps.drop_nulls else OnNull.KEEP

    def _within(self, node: Structural, pruning: Pruning, *, is_resource: bool) -> Change:
        here, below, of_items = self._modes(node, pruning)
        children = {name: self._node(child, below) for name, child in node.properties.items()}
        additional = node.additional_properties
        if isinstance(additional, Structural):
            rest: Change | None = self._node(additional, below)
        elif additional is not None:
            rest = _of_unspecified(below)
        else:
            rest = None if here is Pruning.PRUNE else IDLE
        if is_resource and pruning is not Pruning.OFF:
            children |= self._resource_fields(node)
        fillings = {
            name: self.filling_of(child)
            for name, child in node.properties.items()
            if self._steps.fill and self._default(child) is not None
        }
        item = _of_unspecified(of_items) if node.items is None else self._node(node.items, of_items)
        return Change(
            on_object=_object_closure(children, rest, fillings),
            on_list=_list_closure(item),
        )

    def _modes(self, node: Structural, pruning: Pruning) -> tuple[Pruning, Pruning, Pruning]:
        # The modes of the node's own fields, of what its fields hold, and of items.
        if pruning is Pruning.OFF:
            return (Pruning.OFF,) * 3
        if self._steps.profile is Profile.APISERVER:
            # Preservation ends at the first specified field, but lists hand it on to their items.
            keeps = pruning is Pruning.KEEP or node.preserve_unknown_fields
            here = Pruning.KEEP if keeps else Pruning.PRUNE
            return here, Pruning.PRUNE, here
        # Preservation goes on until a schema that specifies properties itself.
        if node.preserve_unknown_fields:
            here = Pruning.KEEP
        elif node.properties:
            here = Pruning.PRUNE
        else:
            here = pruning
        return here, here, here

    def _resource_fields(self, node: Structural) -> Iterator[tuple[str, Change]]:
        for name in OWN_FIELDS:
            child = node.child(name)
            change = IDLE if child is None else self._node(child, Pruning.OFF)
            if name == "metadata" and self._steps.profile is Profile.KEP:
                change = change._replace(on_object=_filtered_metadata(change.on_object))
            yield name, change


def _filtered_metadata(then: OnObject | None) -> OnObject:
    def change(metadata: dict[str, JSON], journal: Journal) -> JSON:
        known, unknown = drop_unknown_metadata(metadata)
        journal.extend((Act.PRUNED, list(reversed(path))) for path in unknown)
        return known if then is None else then(known, journal)

    return change


def _of_unspecified(pruning: Pruning) -> Change:
    return _EMPTYING if pruning is Pruning.PRUNE else IDLE


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


def _object_closure(
    children: Mapping[str, Change], rest: Change | None, fillings: Mapping[str, JSON]
) -> OnObject | None:
    # `rest` is for the fields that are not among the children; None prunes them. Objects have a
    # table of their own and scalars none, which spares most of the calls.
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


def _list_closure(item: Change) -> OnList | None:
    # No item is ever removed, so that the indexes of paths stay true.
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
    # No schema bounds how deep lists lie within lists here, so nothing recurses.
    before = len(journal)
    top: list[JSON] = items.copy()
    waiting: list[tuple[list[JSON], tuple[int, ...]]] = [(top, ())]
    while waiting:
        target, outward = waiting.pop()
        for index, item in enumerate(target):
            if isinstance(item, dict):
                if item:
                    target[index] = {}
                journal.extend((Act.PRUNED, [name, index, *outward]) for name in item)
            elif isinstance(item, list):
                target[index] = copied = item.copy()
                waiting.append((copied, (index, *outward)))
    return items if len(journal) == before else top


_EMPTYING = Change(on_object=_empty_object, on_list=_empty_items)
