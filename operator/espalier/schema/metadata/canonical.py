"""
Recognize metadata in the form in which an API server writes it: it needs no decoding.
"""

from datetime import datetime
from typing import Annotated, Any, TypeAlias

import msgspec

_INT64_MAX = (1 << 63) - 1

_Text: TypeAlias = Annotated[str, msgspec.Meta(min_length=1)]
_TextMap: TypeAlias = Annotated[dict[str, str], msgspec.Meta(min_length=1)]
_Unset: TypeAlias = msgspec.UnsetType
_UNSET = msgspec.UNSET


class _Owner(msgspec.Struct, forbid_unknown_fields=True, gc=False, rename="camel"):
    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | _Unset = _UNSET
    block_owner_deletion: bool | _Unset = _UNSET


class _Manager(msgspec.Struct, forbid_unknown_fields=True, gc=False, rename="camel"):
    manager: _Text | _Unset = _UNSET
    operation: _Text | _Unset = _UNSET
    api_version: _Text | _Unset = _UNSET
    time: datetime | _Unset = _UNSET
    fields_type: _Text | _Unset = _UNSET
    fields_v1: Any = msgspec.field(default=_UNSET, name="fieldsV1")
    subresource: _Text | _Unset = _UNSET


class _CanonicalMetadata(msgspec.Struct, forbid_unknown_fields=True, gc=False, rename="camel"):
    name: _Text | _Unset = _UNSET
    generate_name: _Text | _Unset = _UNSET
    namespace: _Text | _Unset = _UNSET
    self_link: _Text | _Unset = _UNSET
    uid: _Text | _Unset = _UNSET
    resource_version: _Text | _Unset = _UNSET
    generation: Annotated[int, msgspec.Meta(ge=1, le=_INT64_MAX)] | _Unset = _UNSET
    creation_timestamp: datetime | _Unset = _UNSET
    deletion_timestamp: datetime | _Unset = _UNSET
    labels: _TextMap | _Unset = _UNSET
    annotations: _TextMap | _Unset = _UNSET
    owner_references: Annotated[list[_Owner], msgspec.Meta(min_length=1)] | _Unset = _UNSET
    finalizers: Annotated[list[str], msgspec.Meta(min_length=1)] | _Unset = _UNSET
    managed_fields: Annotated[list[_Manager], msgspec.Meta(min_length=1)] | _Unset = _UNSET


def is_canonical(metadata: Any) -> bool:
    """
    Report whether decoding surely leaves metadata unchanged; False may mean that it is not known.
    """
    if not isinstance(metadata, dict):
        return False
    try:
        decoded = msgspec.convert(metadata, _CanonicalMetadata)
    except (msgspec.ValidationError, UnicodeError, RecursionError):
        return False
    created, deleted = decoded.creation_timestamp, decoded.deletion_timestamp
    return (
        # The converter accepts an integral float as an integer.
        not isinstance(metadata.get("generation"), float)
        and (created is _UNSET or _is_utc_in_seconds(metadata["creationTimestamp"]))
        and (deleted is _UNSET or _is_utc_in_seconds(metadata["deletionTimestamp"]))
        and (decoded.managed_fields is _UNSET or all(map(_is_entry, metadata["managedFields"])))
    )


def _is_entry(manager: Any) -> bool:
    fields, time = manager.get("fieldsV1", _UNSET), manager.get("time", _UNSET)
    return fields is not None and (time is _UNSET or _is_utc_in_seconds(time))


def _is_utc_in_seconds(text: Any) -> bool:
    # A time converter in C and a check of the form cost a tenth of a pattern. The converter accepts
    # a time with any fraction and zone.
    return isinstance(text, str) and len(text) == _LENGTH and text[10] == "T" and text[-1] == "Z"


_LENGTH = len("2006-01-02T15:04:05Z")
