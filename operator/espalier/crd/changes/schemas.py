"""
Changes from one schema to another, node by node.

Each place of an object has a node in both schemas. It may also be open, so that any value is kept
there, or closed, so that nothing is.
"""

import enum
from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias

from espalier.crd.changes.change import Change
from espalier.crd.changes.keywords import OTHER, REFUSED, accepted_types, node_changes
from espalier.golang.printing import go_json
from espalier.paths import Key, Path
from espalier.schema import Structural
from espalier.schema.values import equal_json


class _Beyond(enum.Enum):
    """
    A place that has no node of its own.
    """

    OPEN = enum.auto()
    CLOSED = enum.auto()


_Place: TypeAlias = Structural | _Beyond
_OWN_FIELDS: Final = frozenset({"apiVersion", "kind", "metadata"})
_LOST: Final = "lost from stored objects at their next write (pruning)"
_REFUSALS: Final = {
    "root": "a stored object that violates it is refused at every write: the root is never"
    " tolerated",
    "list": "a stored object that violates it is refused once the list changes; an unchanged list"
    " is tolerated (ratcheting)",
    "value": "a stored object that violates it is refused once the value changes; an unchanged"
    " value is tolerated (ratcheting)",
}


class _At(NamedTuple):
    """
    The position of a node, and how its errors are tolerated.
    """

    path: Path
    version: str
    ratchets: str = "root"

    def change(self, kind: str, below: Path, detail: str, effect: str) -> Change:
        text = _REFUSALS[self.ratchets] if effect == REFUSED else effect
        return Change(
            kind=kind,
            path=(*self.path, *below),
            version=self.version,
            detail=detail,
            effect=text,
        )

    def property(self, name: str) -> "_At":
        ratchets = "value" if self.ratchets == "root" else self.ratchets
        return self._replace(path=(*self.path, "properties", Key(name)), ratchets=ratchets)

    def values(self) -> "_At":
        ratchets = "value" if self.ratchets == "root" else self.ratchets
        return self._replace(path=(*self.path, "additionalProperties"), ratchets=ratchets)

    def items(self, *, is_map: bool) -> "_At":
        ratchets = self.ratchets if is_map and self.ratchets != "root" else "list"
        return self._replace(path=(*self.path, "items"), ratchets=ratchets)


def schema_changes(old: Structural, new: Structural, path: Path, version: str) -> Iterator[Change]:
    """
    Yield the changes from one schema to another, from the root down.

    Args:
        path: The path of the new schema in its definition.
        version: The name of its version.
    """
    yield from _node(old, new, _At(path, version), is_resource=True)


def _node(
    old: Structural, new: Structural, at: _At, *, is_resource: bool = False
) -> Iterator[Change]:
    for one in node_changes(old, new):
        below = (one.keyword,) if one.keyword else ()
        yield at.change(one.kind, below, one.detail, one.effect)
    if not accepted_types(old) & accepted_types(new):
        # What is below has nothing in common.
        return
    yield from _required(old, new, at)
    yield from _pruning(old, new, at)
    names = [*new.properties, *(name for name in old.properties if name not in new.properties)]
    for name in names:
        before, after = _child(old, name), _child(new, name)
        if is_resource and name in _OWN_FIELDS:
            # They are never pruned, and their types are given.
            before, after = _kept(before), _kept(after)
            if before is _Beyond.OPEN and _has_only_type(after):
                continue
        yield from _member(before, after, at.property(name), name)
    yield from _others(old, new, at)
    if old.items is not None and new.items is not None:
        yield from _node(old.items, new.items, at.items(is_map=new.list_type == "map"))
    elif new.items is not None and _is_open(old):
        yield at.change("field-specified", ("items",), "items have a schema now", REFUSED)


def _required(old: Structural, new: Structural, at: _At) -> Iterator[Change]:
    before, after = old.value_validation.required, new.value_validation.required
    for name in after:
        child, was = new.properties.get(name), old.properties.get(name)
        if child is not None and child.default is not None:
            if name not in before:
                detail = f"{name} is required now, and has a default"
                yield at.change("required-defaulted", ("required",), detail, OTHER)
        elif name not in before:
            yield at.change("required-added", ("required",), f"{name} is required now", REFUSED)
        elif was is not None and was.default is not None:
            detail = f"{name} is required, and has no default any more"
            yield at.change("required-added", ("required",), detail, REFUSED)
    for name in before:
        if name not in after:
            detail = f"{name} is not required any more"
            yield at.change("required-removed", (), detail, OTHER)


def _pruning(old: Structural, new: Structural, at: _At) -> Iterator[Change]:
    if (
        _is_open(old)
        and not _is_open(new)
        and not isinstance(new.additional_properties, Structural)
    ):
        keyword = "additionalProperties" if new.additional_properties is False else ""
        effect = REFUSED if keyword else _LOST
        detail = "unknown fields are not preserved any more"
        yield at.change("pruning-enabled", (keyword,) if keyword else (), detail, effect)
    elif _is_open(new) and not _is_open(old):
        detail = "unknown fields are preserved now"
        yield at.change("field-opened", (), detail, OTHER)


def _is_open(node: Structural) -> bool:
    return node.preserve_unknown_fields or node.additional_properties is True


def _child(node: Structural, name: str) -> _Place:
    if name in node.properties:
        return node.properties[name]
    return _rest(node)


def _kept(place: _Place) -> _Place:
    return _Beyond.OPEN if place is _Beyond.CLOSED else place


def _rest(node: Structural) -> _Place:
    if isinstance(node.additional_properties, Structural):
        return node.additional_properties
    return _Beyond.OPEN if _is_open(node) else _Beyond.CLOSED


def _others(old: Structural, new: Structural, at: _At) -> Iterator[Change]:
    # The members that neither schema lists.
    before, after = _rest(old), _rest(new)
    if isinstance(before, Structural) or (before is _Beyond.OPEN and isinstance(after, Structural)):
        yield from _member(before, after, at.values(), "the values")


def _member(old: _Place, new: _Place, at: _At, name: str) -> Iterator[Change]:
    match old, new:
        case Structural(), Structural():
            yield from _defaults(old, new, at)
            yield from _node(old, new, at)
        case Structural(), _Beyond.CLOSED:
            yield at.change("field-removed", (), f"{name} removed", _LOST)
        case Structural(), _Beyond.OPEN:
            detail = f"{name} has no schema any more, and takes any value"
            yield at.change("field-opened", (), detail, OTHER)
        case _Beyond.OPEN, Structural() if not _accepts_all(new):
            detail = f"{name} has a schema now, and took any value before"
            yield at.change("field-specified", (), detail, REFUSED)
        case _:
            # What was pruned before is in no stored object.
            pass


def _has_only_type(place: _Place) -> bool:
    return isinstance(place, Structural) and _accepts_all(place, "type")


def _accepts_all(node: Structural, *beside: str) -> bool:
    return node.differs_only_in(
        *beside, "preserve_unknown_fields", "title", "description", "example", "external_docs"
    )


def _defaults(old: Structural, new: Structural, at: _At) -> Iterator[Change]:
    if old.default is None and new.default is not None:
        detail = f"default {go_json(new.default)} added"
        effect = "stored objects without the field get it when they are read"
        yield at.change("default-added", ("default",), detail, effect)
    elif old.default is not None and new.default is None:
        detail = f"default {go_json(old.default)} removed"
        effect = "stored objects without the field are read without it"
        yield at.change("default-removed", (), detail, effect)
    elif not equal_json(old.default, new.default):
        detail = f"default changed from {go_json(old.default)} to {go_json(new.default)}"
        effect = "stored objects without the field are read with another value"
        yield at.change("default-changed", ("default",), detail, effect)
