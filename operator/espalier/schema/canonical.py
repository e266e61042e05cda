"""
Recognise metadata that an API server has written: it needs no decoding.
"""

from typing import Annotated, TypeAlias

import msgspec

from espalier.paths import JSON
from espalier.schema.times import CANONICAL_TIME

_INT64_MAX = (1 << 63) - 1

_Text: TypeAlias = Annotated[str, msgspec.Meta(min_length=1)]
_Time: TypeAlias = Annotated[str, msgspec.Meta(pattern=CANONICAL_TIME)]
_TextMap: TypeAlias = Annotated[dict[str, str], msgspec.Meta(min_length=1)]
_Unset: TypeAlias = msgspec.UnsetType


class _Present:
    """
    Stands for any value but null; nothing descends into it.
    """


def _take(expected: type, value: JSON) -> object:
    if value is None:
        raise ValueError
    return expected()


class _Owner(msgspec.Struct, forbid_unknown_fields=True, gc=False, rename="camel"):
    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | _Unset = msgspec.UNSET
    block_owner_deletion: bool | _Unset = msgspec.UNSET


class _Manager(msgspec.Struct, forbid_unknown_fields=True, gc=False, rename="camel"):
    manager: _Text | _Unset = msgspec.UNSET
    operation: _Text | _Unset = msgspec.UNSET
    api_version: _Text | _Unset = msgspec.UNSET
    time: _Time | _Unset = msgspec.UNSET
    fields_type: _Text | _Unset = msgspec.UNSET
    fields_v1: _Present = msgspec.field(default_factory=_Present, name="fieldsV1")
    subresource: _Text | _Unset = msgspec.UNSET


class _Metadata(msgspec.Struct, forbid_unknown_fields=True, gc=False, rename="camel"):
    name: _Text | _Unset = msgspec.UNSET
    generate_name: _Text | _Unset = msgspec.UNSET
    namespace: _Text | _Unset = msgspec.UNSET
    self_link: _Text | _Unset = msgspec.UNSET
    uid: _Text | _Unset = msgspec.UNSET
    resource_version: _Text | _Unset = msgspec.UNSET
    generation: Annotated[int, msgspec.Meta(ge=1, le=_INT64_MAX)] | _Unset = msgspec.UNSET
    creation_timestamp: _Time | _Unset = msgspec.UNSET
    deletion_timestamp: _Time | _Unset = msgspec.UNSET
    labels: _TextMap | _Unset = msgspec.UNSET
    annotations: _TextMap | _Unset = msgspec.UNSET
    owner_references: Annotated[list[_Owner], msgspec.Meta(min_length=1)] | _Unset = msgspec.UNSET
    finalizers: Annotated[list[str], msgspec.Meta(min_length=1)] | _Unset = msgspec.UNSET
    managed_fields: Annotated[list[_Manager], msgspec.Meta(min_length=1)] | _Unset = msgspec.UNSET


def is_canonical(metadata: dict[str, JSON]) -> bool:
    """
    Tell whether decoding surely leaves metadata as it is; some that it leaves is not recognised.
    """
    # The converter takes an integral float for an integer.
    if isinstance(metadata.get("generation"), float):
        return False
    try:
        msgspec.convert(metadata, _Metadata, dec_hook=_take)
    except (msgspec.ValidationError, UnicodeError, RecursionError):
        return False
    return True
