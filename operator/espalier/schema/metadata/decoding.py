"""
Metadata as the API server decodes it: known fields only, in their canonical form.

The server decodes ``metadata`` into a struct and encodes it again. That drops unknown fields and
empty texts, maps and lists; times lose their fractions and are converted to UTC.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from espalier.errors import MalformedValueError
from espalier.golang.printing import go_json
from espalier.golang.rfc3339 import TimeError, canonical_time
from espalier.paths import JSON, Path, render_unknown
from espalier.schema.metadata.canonical import is_canonical
from espalier.schema.values import type_of


class Decoded(NamedTuple):
    """
    Metadata in its canonical form, and the paths of its unknown fields.
    """

    value: JSON
    unknown: tuple[Path, ...] = ()


def drop_unknown_metadata(
    metadata: dict[str, JSON],
) -> tuple[dict[str, JSON], tuple[Path, ...]]:
    """
    Drop unknown fields of metadata at all three levels, and leave values unchanged.

    Returns:
        The metadata itself if all fields are known, otherwise a copy; and the dropped paths.

    Source:
        KEP-1101 (pruning for custom resources), "Metadata".
    """
    return _known_only(metadata, _META, ())


def decode_metadata(metadata: JSON, *, drop_malformed: bool) -> Decoded:
    """
    Decode metadata and encode it again, as the API server does.

    Args:
        metadata: Decoded JSON of any shape; never changed, and the same one comes back if it is
            canonical. Null gives empty metadata.
        drop_malformed: Leave out the top-level fields that do not decode, as reads from storage
            do, instead of raising.

    Raises:
        MalformedValueError: It does not decode; with the message of Go's decoder.

    Source:
        apiextensions-apiserver, ``pkg/apiserver/schema/objectmeta/coerce.go``,
        ``GetObjectMetaWithOptions``; apimachinery, ``pkg/apis/meta/v1/types.go``.
    """
    if metadata is None:
        return Decoded({})
    if not isinstance(metadata, dict):
        raise _not_an_object(metadata, from_storage=drop_malformed)
    if is_canonical(metadata):
        return Decoded(metadata)
    kept: dict[str, JSON] = {}
    _, unknown = _known_only(metadata, _META, ())
    # Go first encodes maps with sorted keys, so it finds errors in this order.
    for name in sorted(metadata):
        field = _META.get(name)
        if field is None:
            continue
        try:
            value = field.decode(metadata[name], f"ObjectMeta.{name}")
        except MalformedValueError:
            if not drop_malformed:
                _check_times(metadata)
                raise
            unknown = tuple(path for path in unknown if path[0] != name)
        else:
            if value is not None:
                kept[name] = value
    return Decoded(kept, tuple(sorted(unknown, key=render_unknown)))


def _check_times(metadata: dict[str, JSON]) -> None:
    # After a wrong type Go continues, and reports the first one at the end. Times have their own
    # decoder: its first error ends the decoding.
    for name in ("creationTimestamp", "deletionTimestamp"):
        _time(metadata.get(name), f"ObjectMeta.{name}")
    entries = metadata.get("managedFields")
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict):
            _time(entry.get("time"), "ManagedFieldsEntry.managedFields.time")


def _not_an_object(metadata: JSON, *, from_storage: bool) -> MalformedValueError:
    if from_storage:
        found = _GO_KINDS.get(type_of(metadata), "map[string]interface {}")
        return MalformedValueError(f"invalid metadata: expected object, got {found}")
    detail = f"json: cannot unmarshal {_found(metadata)} into Go value of type v1.ObjectMeta"
    return MalformedValueError(detail)


_GO_KINDS = {
    "string": "string",
    "boolean": "bool",
    "integer": "int64",
    "number": "float64",
    "array": "[]interface {}",
}

_INT64 = range(-(1 << 63), 1 << 63)
_NO_STRUCT: Mapping[str, "_Field"] = MappingProxyType({})

Decode: TypeAlias = Callable[[JSON, str], JSON]
"""Return a value in its canonical form, or None to omit the field; the text names the field."""


class _Field(NamedTuple):
    """
    One field of a struct; ``struct`` has the fields of its items if the items are structs.
    """

    decode: Decode
    struct: Mapping[str, "_Field"] = _NO_STRUCT


def _known_only(
    members: dict[str, JSON], struct: Mapping[str, _Field], path: Path
) -> tuple[dict[str, JSON], tuple[Path, ...]]:
    unknown: list[Path] = []
    kept: dict[str, JSON] = {}
    for name, member in members.items():
        field = struct.get(name)
        if field is None:
            unknown.append((*path, name))
        elif field.struct and isinstance(member, list):
            items: list[JSON] = []
            for index, item in enumerate(member):
                known: JSON = item
                if isinstance(item, dict):
                    known, dropped = _known_only(item, field.struct, (*path, name, index))
                    unknown += dropped
                items.append(known)
            kept[name] = items
        else:
            kept[name] = member
    return (kept, tuple(unknown)) if unknown else (members, ())


def _found(value: JSON) -> str:
    kind = type_of(value)
    return {"boolean": "bool", "integer": "number"}.get(kind, kind)


def _mistyped(value: JSON, field: str, go_type: str, *, digits: bool = False) -> Exception:
    found = f"number {go_json(value)}" if digits else _found(value)
    return MalformedValueError(
        f"json: cannot unmarshal {found} into Go struct field {field} of type {go_type}"
    )


def _text(go_type: str = "string", *, always: bool = False) -> Decode:
    def decode(value: JSON, field: str) -> JSON:
        if value is not None and not isinstance(value, str):
            raise _mistyped(value, field, go_type)
        return value or ("" if always else None)

    return decode


def _integer(*, keep_zero: bool) -> Decode:
    def decode(value: JSON, field: str) -> JSON:
        if value is None:
            return None
        if type_of(value) not in ("integer", "number"):
            raise _mistyped(value, field, "int64")
        # An integer is not converted to a float first, since that would lose digits.
        integral = int(value) if isinstance(value, float) and value.is_integer() else value
        if not isinstance(integral, int) or integral not in _INT64:
            raise _mistyped(value, field, "int64", digits=True)
        return integral if integral or keep_zero else None

    return decode


def _flag(value: JSON, field: str) -> JSON:
    if value is not None and not isinstance(value, bool):
        raise _mistyped(value, field, "bool")
    return value


def _time(value: JSON, field: str) -> JSON:
    if value is None:
        return None
    if not isinstance(value, str):
        raise _mistyped(value, field, "string")
    try:
        return canonical_time(value)
    except TimeError as error:
        raise MalformedValueError(str(error)) from error


def _raw(value: JSON, _field: str) -> JSON:
    return value


def _text_map(value: JSON, field: str) -> JSON:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise _mistyped(value, field, "map[string]string")
    texts = _text(always=True)
    return {key: texts(value[key], field) for key in sorted(value)} or None


def _text_list(value: JSON, field: str) -> JSON:
    if value is None:
        return None
    if not isinstance(value, list):
        raise _mistyped(value, field, "[]string")
    texts = _text(always=True)
    return [texts(item, field) for item in value] or None


def _struct_list(go_type: str, struct: Mapping[str, _Field]) -> _Field:
    short = go_type.removeprefix("v1.")

    def decode(value: JSON, field: str) -> JSON:
        if value is None:
            return None
        if not isinstance(value, list):
            raise _mistyped(value, field, f"[]{go_type}")
        return [decode_item(item, field) for item in value] or None

    def decode_item(item: JSON, field: str) -> JSON:
        members = {} if item is None else item
        if not isinstance(members, dict):
            raise _mistyped(item, field, go_type)
        name = field.rpartition(".")[2]
        decoded = {
            key: struct[key].decode(members.get(key), f"{short}.{name}.{key}")
            for key in (*(k for k in sorted(members) if k in struct), *struct)
        }
        return {key: value for key, value in decoded.items() if value is not None}

    return _Field(decode, struct)


_OWNER_REFERENCE = MappingProxyType(
    {
        "apiVersion": _Field(_text(always=True)),
        "kind": _Field(_text(always=True)),
        "name": _Field(_text(always=True)),
        "uid": _Field(_text("types.UID", always=True)),
        "controller": _Field(_flag),
        "blockOwnerDeletion": _Field(_flag),
    }
)

_MANAGED_FIELDS = MappingProxyType(
    {
        "manager": _Field(_text()),
        "operation": _Field(_text("v1.ManagedFieldsOperationType")),
        "apiVersion": _Field(_text()),
        "time": _Field(_time),
        "fieldsType": _Field(_text()),
        "fieldsV1": _Field(_raw),
        "subresource": _Field(_text()),
    }
)

_META: Mapping[str, _Field] = MappingProxyType(
    {
        "name": _Field(_text()),
        "generateName": _Field(_text()),
        "namespace": _Field(_text()),
        "selfLink": _Field(_text()),
        "uid": _Field(_text("types.UID")),
        "resourceVersion": _Field(_text()),
        "generation": _Field(_integer(keep_zero=False)),
        "creationTimestamp": _Field(_time),
        "deletionTimestamp": _Field(_time),
        "deletionGracePeriodSeconds": _Field(_integer(keep_zero=True)),
        "labels": _Field(_text_map),
        "annotations": _Field(_text_map),
        "ownerReferences": _struct_list("v1.OwnerReference", _OWNER_REFERENCE),
        "finalizers": _Field(_text_list),
        "managedFields": _struct_list("v1.ManagedFieldsEntry", _MANAGED_FIELDS),
    }
)

METADATA_FIELDS: Final = frozenset(_META)
"""What servers keep of the metadata of a resource, embedded ones included."""
