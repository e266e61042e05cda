"""
Field ownership: ``metadata.managedFields``, and server-side apply based on it.

Field sets have the form of ``fieldsV1``: nested objects whose keys are path elements, with ``.``
for the value itself. Field sets are not converted between versions. That is correct here, since
conversions only change the apiVersion and prune, so that paths are the same in all versions.

Source:
    structured-merge-diff, ``merge/update.go``; apimachinery, ``pkg/util/managedfields``.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, NamedTuple

from espalier.sandbox.shapes import SchemaShape, members
from espalier.sandbox.wire import Object, RequestRefusal

FieldSet = dict[str, Any]

# The server sets these itself; no field manager owns them.
_STRIPPED = ("apiVersion", "kind")
_STRIPPED_METADATA = (
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
    "managedFields",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """
    The field manager of a write, and the kind of write.
    """

    name: str
    operation: str
    api_version: str
    subresource: str
    now: str

    def is_author_of(self, entry: Mapping[str, Any]) -> bool:
        """
        Report whether an entry of managedFields belongs to this writer.
        """
        return (
            entry.get("manager") == self.name
            and entry.get("operation") == self.operation
            and entry.get("apiVersion") == self.api_version
            and entry.get("subresource", "") == self.subresource
        )

    def entry(self, fields: FieldSet, *, time: str) -> Object:
        """
        Return this writer's entry in managedFields.
        """
        made: Object = {
            "manager": self.name,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "time": time,
            "fieldsType": "FieldsV1",
            "fieldsV1": fields,
        }
        return {**made, "subresource": self.subresource} if self.subresource else made


class Difference(NamedTuple):
    """
    The fields that a new value has set, and those that it has removed.
    """

    written: FieldSet
    removed: FieldSet


def tracked(obj: Mapping[str, Any]) -> Object:
    """
    Return an object without the fields that no field manager can own.
    """
    kept = {key: value for key, value in obj.items() if key not in _STRIPPED}
    # In Go, metadata always exists, even if empty, so no manager has set it.
    metadata = obj.get("metadata") or {}
    kept["metadata"] = {k: v for k, v in metadata.items() if k not in _STRIPPED_METADATA}
    return kept


def compare(old: Any, new: Any, shape: SchemaShape) -> Difference:
    """
    Return the fields that differ between two values.
    """
    before, after = members(old, shape) or {}, members(new, shape) or {}
    written: FieldSet = {}
    removed: FieldSet = {}
    for key, (value, below) in after.items():
        if key not in before:
            written[key] = _everything(value, below, with_self=True)
            continue
        was = before[key][0]
        if was == value:
            continue
        if members(was, below) is None or members(value, below) is None:
            written[key] = {}
            continue
        deeper = compare(was, value, below)
        if deeper.written:
            written[key] = deeper.written
        if deeper.removed:
            removed[key] = deeper.removed
    for key, (value, below) in before.items():
        if key not in after:
            removed[key] = _everything(value, below, with_self=True)
    return Difference(written, removed)


def _everything(value: Any, shape: SchemaShape, *, with_self: bool) -> FieldSet:
    taken = members(value, shape)
    if not taken:
        return {}
    found = {
        key: _everything(item, below, with_self=with_self or key.startswith("k:"))
        for key, (item, below) in taken.items()
    }
    return {".": {}, **found} if with_self else found


def applied_set(value: Any, shape: SchemaShape) -> FieldSet:
    """
    Return the fields that an applied configuration has.
    """
    found: FieldSet = {}
    for key, (item, below) in (members(value, shape) or {}).items():
        deeper = applied_set(item, below)
        found[key] = {".": {}, **deeper} if key.startswith("k:") else deeper
    return found


def union(one: FieldSet, other: FieldSet) -> FieldSet:
    """
    Return the fields that are in either set.
    """
    joined = dict(one)
    for key, below in other.items():
        joined[key] = union(joined[key], below) if key in joined else below
    return joined


def difference(fields: FieldSet, taken: FieldSet) -> FieldSet:
    """
    Return a set without some fields, and without containers that become empty.
    """
    left: FieldSet = {}
    for key, below in fields.items():
        if key not in taken:
            left[key] = below
        elif below:
            # A leaf in one set and a container in the other are different fields.
            rest = difference(below, taken[key])
            if rest:
                left[key] = rest
        elif taken[key] and "." not in taken[key]:
            left[key] = below
    return left


def intersection(fields: FieldSet, other: FieldSet) -> FieldSet:
    """
    Return the fields that are in both sets.
    """
    found: FieldSet = {}
    for key in fields.keys() & other.keys():
        if not fields[key] and not other[key]:
            found[key] = {}
        elif deeper := intersection(fields[key], other[key]):
            found[key] = deeper
    return found


def entries_of(obj: Mapping[str, Any]) -> list[Object]:
    """
    Return ``managedFields``; empty if the object has none.
    """
    entries = obj.get("metadata", {}).get("managedFields") or []
    return [entry for entry in entries if isinstance(entry, dict) and entry.get("manager")]


def track_update(
    live: Object | None, new: Object, shape: SchemaShape, writer: Writer
) -> list[Object]:
    """
    Return ``managedFields`` after a create or an update.

    Args:
        live: The stored object; None for a create. Without managedFields, the new one has none.
        new: The written object. If it has managedFields itself, these are used.

    Returns:
        The entries, in the server's order.
    """
    given = new.get("metadata", {}).get("managedFields")
    if live is not None and given == [{}]:
        return []
    entries = entries_of(new) or (entries_of(live) if live is not None else [])
    if live is not None and "metadata" in live and not entries_of(live):
        return []
    changed = compare(tracked(live or {}), tracked(new), shape)
    own = next((entry for entry in entries if writer.is_author_of(entry)), None)
    kept = _without(
        [entry for entry in entries if entry is not own],
        union(changed.written, changed.removed),
    )
    had = own["fieldsV1"] if own else {}
    has = union(difference(had, changed.removed), changed.written)
    if has:
        time = own["time"] if own and has == had else writer.now
        kept.append(writer.entry(has, time=time))
    return _ordered(kept)


def _without(entries: list[Object], taken: FieldSet) -> list[Object]:
    left = []
    for entry in entries:
        fields = difference(entry.get("fieldsV1", {}), taken)
        if fields:
            left.append({**entry, "fieldsV1": fields})
    return left


def _ordered(entries: list[Object]) -> list[Object]:
    return sorted(
        entries,
        key=lambda e: (
            e.get("operation", ""),
            e.get("time", ""),
            e.get("manager", ""),
            e.get("apiVersion", ""),
            e.get("subresource", ""),
        ),
    )


def apply(
    live: Object | None,
    config: Object,
    shape: SchemaShape,
    writer: Writer,
    *,
    force: bool,
) -> Object:
    """
    Merge an applied configuration into the stored object.

    Fields that the writer applied before and no longer applies are removed, unless another manager
    owns them too.

    Returns:
        The object with its new managedFields.

    Raises:
        Refusal: 409 if other managers own fields that would change, and ``force`` is false.
    """
    base = live or {}
    entries = _entries_before(live, shape, writer)
    own = next((entry for entry in entries if writer.is_author_of(entry)), None)
    others = [entry for entry in entries if entry is not own]
    wanted = tracked(config)
    fields = applied_set(wanted, shape)
    if not fields.get("f:metadata"):
        fields.pop("f:metadata", None)
    merged: Object = _merge(base, {**config, "metadata": _metadata_of(config)}, shape)
    changed = compare(tracked(base), tracked(merged), shape).written
    conflicts = [(e, hit) for e in others if (hit := intersection(e["fieldsV1"], changed))]
    if conflicts and not force:
        raise _conflict(conflicts)
    others = _without(others, changed) if conflicts else others
    had = own["fieldsV1"] if own else {}
    owned = fields
    for entry in others:
        owned = union(owned, entry["fieldsV1"])
    merged = _prune(merged, had, owned, shape)
    if fields:
        time = own["time"] if own and had == fields else writer.now
        others.append(writer.entry(fields, time=time))
    merged.setdefault("metadata", {})["managedFields"] = _ordered(others)
    return merged


def _entries_before(live: Object | None, shape: SchemaShape, writer: Writer) -> list[Object]:
    entries = entries_of(live or {})
    if live is None or entries:
        return entries
    # Fields from the time before tracking belong to a manager of their own from now on.
    first = Writer(
        name="before-first-apply",
        operation="Update",
        api_version=writer.api_version,
        subresource="",
        now=writer.now,
    )
    owned = compare({}, tracked(live), shape).written
    return [first.entry(owned, time=writer.now)] if owned else []


def _metadata_of(config: Object) -> Object:
    return {k: v for k, v in config.get("metadata", {}).items() if k != "managedFields"}


def _merge(base: Any, config: Any, shape: SchemaShape) -> Any:
    if shape.atomic or type(base) is not type(config):
        return deepcopy(config)
    if isinstance(config, dict):
        merged = dict(base)
        for key, value in config.items():
            merged[key] = _merge(base.get(key), value, shape.member(key))
        return merged
    if isinstance(config, list) and members(base, shape) is not None:
        return _merge_list(base, config, shape)
    return deepcopy(config)


def _merge_list(base: list[Any], config: list[Any], shape: SchemaShape) -> list[Any]:
    wanted = members(config, shape) or {}
    merged = []
    for key, (item, below) in (members(base, shape) or {}).items():
        merged.append(_merge(item, wanted.pop(key)[0], below) if key in wanted else item)
    return [*merged, *(deepcopy(item) for item, _ in wanted.values())]


def _prune(value: Any, had: FieldSet, owned: FieldSet, shape: SchemaShape) -> Any:
    gone = {key for key in had if key != "." and key not in owned}
    deeper = {key for key in had if key != "." and key in owned and had[key]}
    if isinstance(value, dict):
        kept: Object = {k: v for k, v in value.items() if f"f:{k}" not in gone}
        for key in deeper:
            name = key[2:]
            if name in kept:
                kept[name] = _prune(kept[name], had[key], owned[key], shape.member(name))
        return kept
    if isinstance(value, list):
        return [
            _prune(item, had[key], owned[key], below) if key in deeper else item
            for key, (item, below) in (members(value, shape) or {}).items()
            if key not in gone
        ]
    return value


def _conflict(conflicts: list[tuple[Object, FieldSet]]) -> RequestRefusal:
    causes = []
    for entry, hit in conflicts:
        who = f'conflict with "{entry["manager"]}"'
        if entry.get("subresource"):
            who += f' with subresource "{entry["subresource"]}"'
        if entry.get("operation") == "Update":
            who += f" using {entry['apiVersion']}"
        causes += [
            {"reason": "FieldManagerConflict", "message": who, "field": path}
            for path in _paths(hit)
        ]
    count = f"{len(causes)} conflict" + ("" if len(causes) == 1 else "s")
    texts = ", ".join(f"{cause['message']}: {cause['field']}" for cause in causes)
    return RequestRefusal(
        status=409,
        reason="Conflict",
        message=f"Apply failed with {count}: {texts}",
        details={"causes": causes},
    )


def _paths(fields: FieldSet, above: str = "") -> list[str]:
    found = []
    for key, below in sorted(fields.items()):
        if key == ".":
            found.append(above)
            continue
        kind, _, name = key.partition(":")
        if kind == "f":
            here = f"{above}.{name}"
        elif kind == "k":
            here = f"{above}[{name.strip('{}').replace(':', '=').replace(chr(34), '', 2)}]"
        else:
            here = f"{above}[={name}]"
        found += _paths(below, here) if below else [here]
    return found
