"""
Does an object show all that its ``managedFields`` name?

What they name at a version and a read at that version does not show may still be stored, hidden by
the schema of the version that the bytes are stored at. Behind a conversion webhook no other look
from outside shows it, since the webhook may rename fields between the two versions.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from espalier.crd.field_sets import (
    KEPT,
    TYPE_META,
    PathPosition,
    root_position,
    segment_of,
    specifies,
)
from espalier.paths import JSON
from espalier.schema import Structural

_ABSENT: Final = object()


def unshown_paths(
    structural: Structural | None,
    managed_fields: Iterable[JSON],
    obj: Mapping[str, JSON],
    *,
    stored_by: Sequence[Structural | None],
) -> frozenset[str]:
    """
    Find the topmost paths that entries of ``managedFields`` name and an object does not show.

    A default makes a field appear whether it is stored or not. So a field with one counts as shown
    only if nothing hides it: all schemas specify it that the bytes may be stored by.

    Args:
        structural: The schema of the version that the entries name, and that the object was read
            at.
        managed_fields: Decoded entries of that version.
        stored_by: The schemas of the versions at which the object may be stored.

    Returns:
        Paths as ``specified_paths`` writes them; never deeper than the schema.

    Source:
        structured-merge-diff, ``fieldpath/serialize-pe.go``.
    """
    lost: set[str] = set()
    for entry in managed_fields:
        fields = entry.get("fieldsV1") if isinstance(entry, dict) else None
        lost |= _Walk(stored_by).unshown(root_position(structural), fields, dict(obj))
    return frozenset(lost)


class _Walk:
    def __init__(self, stored_by: Sequence[Structural | None]) -> None:
        self._stored_by = stored_by
        self._specified: dict[str, bool] = {}

    def unshown(self, root: PathPosition, fields: JSON, obj: JSON) -> set[str]:
        lost: set[str] = set()
        waiting: list[tuple[JSON, JSON, str, PathPosition, bool]] = [(fields, obj, "", root, False)]
        while waiting:
            node, value, here, place, is_filled = waiting.pop()
            children = _Children(value)
            for key, child in node.items() if isinstance(node, dict) else ():
                segment = segment_of(key)
                if segment is None or not isinstance(child, dict):
                    continue
                if not here and key[2:] in TYPE_META:
                    continue
                after = place.step(segment)
                # Beyond the schema paths end, however deep the object is.
                path = here if place == KEPT else here + place.rendered(segment)
                found = children.find(key)
                filled = is_filled or _has_default(after)
                if after is None or found is _ABSENT or (filled and not self._is_kept(path)):
                    lost.add(path)
                elif child:
                    waiting.append((child, found, path, after, filled))  # type: ignore[arg-type]
        return lost

    def _is_kept(self, path: str) -> bool:
        if path not in self._specified:
            self._specified[path] = all(specifies(each, path) for each in self._stored_by)
        return self._specified[path]


class _Children:
    """
    Finds the fields and items of one value by the keys of ``fieldsV1``.

    Items are indexed once, so that many keys of a long list are no quadratic work.
    """

    def __init__(self, value: JSON) -> None:
        self._value = value
        self._by_names: tuple[str, ...] | None = None
        self._index: dict[str, JSON] = {}
        self._scalars: set[str] | None = None

    def find(self, key: str) -> object:
        kind, _, text = key.partition(":")
        if kind == "f":
            return self._value.get(text, _ABSENT) if isinstance(self._value, dict) else _ABSENT
        if not isinstance(self._value, list):
            return _ABSENT
        try:
            wanted: JSON = json.loads(text)
        except (ValueError, RecursionError):
            return _ABSENT
        match kind, wanted:
            case "k", dict():
                return self._keyed(wanted)
            case "i", int(index):
                return self._value[index] if 0 <= index < len(self._value) else _ABSENT
            case "v", _:
                if self._scalars is None:
                    self._scalars = {*map(_canonical, self._value)}
                return wanted if _canonical(wanted) in self._scalars else _ABSENT
            case _:
                return _ABSENT

    def _keyed(self, wanted: dict[str, JSON]) -> object:
        names = tuple(sorted(wanted))
        if self._by_names is None:
            self._by_names = names
            for item in self._value if isinstance(self._value, list) else ():
                if isinstance(item, dict):
                    self._index[_key_of(item, names)] = item
        # All items of a list have the same keys; an entry with others is odd, and shows nothing.
        return (
            self._index.get(_key_of(wanted, names), _ABSENT) if names == self._by_names else _ABSENT
        )


def _has_default(place: PathPosition | None) -> bool:
    return place is not None and place.node is not None and place.node.default is not None


def _key_of(item: Mapping[str, JSON], names: Sequence[str]) -> str:
    return "\0".join(_canonical(item.get(name)) for name in names)


def _canonical(value: JSON) -> str:
    # Members of sets and keys of lists are scalars.
    return "" if isinstance(value, dict | list) else json.dumps(value)
