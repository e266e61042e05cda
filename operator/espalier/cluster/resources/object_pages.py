"""
Decode pages of stored objects; whole objects are decoded one at a time, on access.
"""

from collections.abc import Iterator, Sequence
from typing import Any, overload

import msgspec

from espalier.cluster.transport import responses as answers
from espalier.cluster.transport.deep_nesting import with_large_stack_if_needed
from espalier.cluster.transport.json_codec import decode_json
from espalier.engine.ports import Endpoint, ObjectKey, StoredMetadata
from espalier.errors import RejectedError
from espalier.paths import JSON

NAMELESS = "an object without a name"


class ListMetadata(msgspec.Struct, rename="camel"):
    """
    The metadata of a list.
    """

    continue_token: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None
    resource_version: str = ""


class Metadata(msgspec.Struct, rename="camel"):
    """
    The fields of an object's metadata that a list of metadata is read for.
    """

    # An object that was written directly to etcd may lack these; the rest of the page must be read.
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: str | None = None
    # JSON of any shape; msgspec does not support the recursive type JSON.
    managed_fields: list[Any] | None = None
    generation: int | None = None
    labels: msgspec.Raw = msgspec.Raw()
    annotations: msgspec.Raw = msgspec.Raw()
    finalizers: msgspec.Raw = msgspec.Raw()


class PartialObject(msgspec.Struct):
    """
    A PartialObjectMetadata.
    """

    metadata: Metadata


class PartialList(msgspec.Struct):
    """
    A PartialObjectMetadataList.
    """

    metadata: ListMetadata
    items: list[PartialObject] | None


class RawList(msgspec.Struct):
    """
    A list of whole objects, none of which is decoded.
    """

    metadata: ListMetadata
    items: list[msgspec.Raw] | None


class WrittenMetadata(msgspec.Struct, rename="camel"):
    """
    The resource version in the answer of a write.
    """

    resource_version: str


class WrittenObject(msgspec.Struct):
    """
    The answer of a write; nothing else of it is decoded.
    """

    metadata: WrittenMetadata


written_version = msgspec.json.Decoder(WrittenObject)
partial = msgspec.json.Decoder(PartialObject)
partial_list = msgspec.json.Decoder(PartialList)
raw_list = msgspec.json.Decoder(RawList)


class LazyObjects(Sequence[dict[str, JSON]]):
    """
    The objects of a page, each decoded on access and not kept.

    Attributes:
        unread: The names of objects that an iteration could not decode, each with the reason.
    """

    def __init__(
        self, items: Sequence[msgspec.Raw], resource: Endpoint, attempt: answers.RequestedAction
    ) -> None:
        self._items = items
        self._resource = resource
        self._attempt = attempt
        self.unread: dict[str, None] = {}

    def __iter__(self) -> Iterator[dict[str, JSON]]:
        for item in self._items:
            try:
                obj = read_object(memoryview(item), self._resource, self._attempt)
            except RejectedError as error:
                self.unread[f"{_name_in(item)} ({error.detail})"] = None
            else:
                yield obj

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> dict[str, JSON]: ...
    @overload
    def __getitem__(self, index: slice) -> "LazyObjects": ...
    def __getitem__(self, index: int | slice) -> "dict[str, JSON] | LazyObjects":
        if isinstance(index, slice):
            return LazyObjects(self._items[index], self._resource, self._attempt)
        return read_object(memoryview(self._items[index]), self._resource, self._attempt)


def read_object(
    text: bytes | memoryview, resource: Endpoint, attempt: answers.RequestedAction
) -> dict[str, JSON]:
    """
    Decode an object; fill in apiVersion and kind, which the items of a list lack.

    Raises:
        RejectedError: The text is not an object, or the object has no name.
    """
    try:
        obj = decode_json(text)
    except ValueError as error:
        raise answers.malformed(attempt, "an object is not JSON, or nested too deeply") from error
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    if not isinstance(obj, dict) or not isinstance(metadata, dict):
        raise answers.malformed(attempt, "an object has no metadata")
    if not isinstance(metadata.get("name"), str):
        raise answers.malformed(attempt, "an object has no name")
    obj.setdefault("apiVersion", resource.api_version)
    obj.setdefault("kind", resource.kind)
    return obj


def _name_in(item: msgspec.Raw) -> str:
    try:
        metadata = with_large_stack_if_needed(lambda: partial.decode(item)).metadata
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return NAMELESS
    return str(ObjectKey(metadata.namespace, metadata.name)) if metadata.name else NAMELESS


def stored_metadata(metadata: Metadata, *, key: ObjectKey | None = None) -> StoredMetadata:
    """
    Return the metadata of one object from a list of metadata, or from the answer of a write.

    Args:
        key: Names the object that was written; None if the metadata do.
    """
    return StoredMetadata(
        key=key or ObjectKey(metadata.namespace, metadata.name),
        uid=metadata.uid,
        resource_version=metadata.resource_version,
        created_at=metadata.creation_timestamp or "",
        managed_fields=tuple(metadata.managed_fields or ()),
        generation=metadata.generation or 0,
        tags=_tags_of(metadata),
    )


# An object without labels, annotations and finalizers, as many are.
_NO_TAGS = hash((b"", b"", b""))


def _tags_of(metadata: Metadata) -> int:
    labels, annotations, finalizers = metadata.labels, metadata.annotations, metadata.finalizers
    if not (labels or annotations or finalizers):
        return _NO_TAGS
    return hash((bytes(labels), bytes(annotations), bytes(finalizers)))
