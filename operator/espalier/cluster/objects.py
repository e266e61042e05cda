"""
Stored objects over HTTP. The hot path: pages are not decoded before somebody wants an object.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeVar, overload

import msgspec

from espalier.cluster import answers
from espalier.cluster.numbers import decode_json
from espalier.cluster.places import FIELD_MANAGER, collection_path, object_path, segment, token_from
from espalier.cluster.requests import (
    JSON_PATCH_TYPE,
    JSON_TYPE,
    MERGE_PATCH_TYPE,
    PARTIAL_LIST_TYPE,
    PARTIAL_TYPE,
    Call,
    Client,
    TooLargeError,
)
from espalier.cluster.watching import watch
from espalier.engine.ports import (
    MetadataPage,
    ObjectKey,
    ObjectPage,
    Resource,
    StoredMetadata,
    WatchEvent,
)
from espalier.paths import JSON

MAX_PAGE_BYTES = 16 * 1024 * 1024
"""
An object has at most some 3 MiB, so a page of one always fits; larger pages are cut down. Decoded
objects take up to ten times their bytes, and a page of a legacy definition is held whole.
"""


_AS_US: Mapping[str, str] = MappingProxyType({"fieldManager": FIELD_MANAGER})


class _ListMetadata(msgspec.Struct, rename="camel"):
    continue_token: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None
    resource_version: str = ""


class _Metadata(msgspec.Struct, rename="camel"):
    name: str
    namespace: str = ""
    # An object that somebody put into etcd may lack these; one such must not cost its whole page.
    uid: str = ""
    resource_version: str = ""
    # JSON of any shape; msgspec cannot follow a type that names itself.
    managed_fields: list[Any] | None = None


class _Partial(msgspec.Struct):
    metadata: _Metadata


class _PartialList(msgspec.Struct):
    metadata: _ListMetadata
    items: list[_Partial] | None


class _RawList(msgspec.Struct):
    metadata: _ListMetadata
    items: list[msgspec.Raw] | None


class _WrittenMetadata(msgspec.Struct, rename="camel"):
    resource_version: str


class _Written(msgspec.Struct):
    metadata: _WrittenMetadata


_Listed = TypeVar("_Listed", _PartialList, _RawList)

_partial_list = msgspec.json.Decoder(_PartialList)
_raw_list = msgspec.json.Decoder(_RawList)
_written = msgspec.json.Decoder(_Written)


class HttpObjects:
    """
    Implements ``espalier.engine.ports.Objects``.

    Args:
        watches: Sends the calls that hold a connection for long.
    """

    def __init__(self, client: Client, watches: Client) -> None:
        self._client = client
        self._watches = watches

    async def list_metadata(
        self,
        resource: Resource,
        *,
        page_size: int,
        continue_token: str | None,
        namespace: str = "",
    ) -> MetadataPage:
        """
        List a page of PartialObjectMetadata, of one namespace or of all.
        """
        call = _list_call(resource, namespace, continue_token, PARTIAL_LIST_TYPE)
        page = await self._listed(call, page_size, _partial_list)
        return MetadataPage(
            objects=tuple(_stored_metadata(item.metadata) for item in page.items or ()),
            continue_token=page.metadata.continue_token or None,
            remaining=page.metadata.remaining_item_count,
            resource_version=page.metadata.resource_version,
        )

    async def list_objects(
        self,
        resource: Resource,
        *,
        page_size: int,
        continue_token: str | None,
        namespace: str = "",
    ) -> ObjectPage:
        """
        List a page of whole objects, of one namespace or of all.

        Each is decoded when it is taken from the page.

        Raises:
            RejectedError: Also while iterating: an object in it cannot be decoded.
        """
        call = _list_call(resource, namespace, continue_token, JSON_TYPE)
        page = await self._listed(call, page_size, _raw_list)
        return ObjectPage(
            objects=_LazyObjects(page.items or [], resource, call.attempt),
            continue_token=page.metadata.continue_token or None,
            remaining=page.metadata.remaining_item_count,
            resource_version=page.metadata.resource_version,
        )

    def token_after(self, key: ObjectKey, *, namespace: str) -> str:
        """
        Make a token by which a list goes on right behind an object, whether it is there or not.
        """
        place = key.name if namespace else str(key)
        return token_from(f"{place}\0")

    def token_after_namespace(self, name: str) -> str:
        """
        Make a token by which a list of all namespaces goes on behind one of them.
        """
        # All keys in it begin with its name and a slash; this is the first text after those.
        return token_from(f"{name}{chr(ord('/') + 1)}")

    async def get_object(self, resource: Resource, key: ObjectKey) -> dict[str, JSON]:
        """
        Read one object.
        """
        call = _object_call(resource, key, verb="get", method="GET", is_read=True)
        return read_object(await self._client.send(call), resource, call.attempt)

    async def rewrite(
        self, resource: Resource, key: ObjectKey, *, uid: str, resource_version: str | None
    ) -> str:
        """
        Have the server store an object anew by a merge patch that changes nothing.
        """
        metadata: dict[str, JSON] = {"uid": uid}
        if resource_version is not None:
            metadata["resourceVersion"] = resource_version
        call = _patch_call(resource, key, metadata, query=_AS_US, accept=PARTIAL_TYPE)
        return (await self._client.fetch(call, _written)).metadata.resource_version

    async def try_rewrite(
        self, resource: Resource, key: ObjectKey, *, uid: str, resource_version: str
    ) -> dict[str, JSON]:
        """
        Do the same as a dry run; nothing is stored.
        """
        metadata: dict[str, JSON] = {"uid": uid, "resourceVersion": resource_version}
        call = _patch_call(resource, key, metadata, query={**_AS_US, "dryRun": "All"})
        return read_object(await self._client.send(call), resource, call.attempt)

    async def annotate(
        self,
        resource: Resource,
        key: ObjectKey,
        *,
        uid: str,
        resource_version: str,
        annotations: Mapping[str, str | None],
    ) -> str:
        """
        Put annotations on an object by a merge patch, or take them off where a text is None.
        """
        metadata: dict[str, JSON] = {
            "uid": uid,
            "resourceVersion": resource_version,
            "annotations": {**annotations},
        }
        call = _patch_call(resource, key, metadata, query=_AS_US, accept=PARTIAL_TYPE)
        return (await self._client.fetch(call, _written)).metadata.resource_version

    async def replace_managed_fields(
        self,
        resource: Resource,
        key: ObjectKey,
        *,
        uid: str,
        resource_version: str,
        managed_fields: Sequence[JSON],
    ) -> None:
        """
        Replace ``metadata.managedFields`` by a JSON Patch that tests uid and resource version.
        """
        # An empty list would count as none given; a list of one empty entry takes all away.
        tests: list[JSON] = [
            {"op": "test", "path": "/metadata/uid", "value": uid},
            {"op": "test", "path": "/metadata/resourceVersion", "value": resource_version},
        ]
        value: list[JSON] = [*managed_fields] or [{}]
        change: JSON = {"op": "replace", "path": "/metadata/managedFields", "value": value}
        call = _object_call(resource, key, verb="patch", method="PATCH")
        call = replace(
            call,
            query={"fieldManager": FIELD_MANAGER},
            body=[*tests, change],
            content_type=JSON_PATCH_TYPE,
            accept=PARTIAL_TYPE,
        )
        await self._client.send(call)

    async def replace(
        self, resource: Resource, obj: dict[str, JSON], *, subresource: str | None
    ) -> dict[str, JSON]:
        """
        PUT an object that carries uid and resourceVersion.

        Raises:
            ValueError: It carries them not, so that it could overwrite another object.
        """
        call = _object_call(resource, _guarded_key(obj), verb="update", method="PUT")
        place = "" if subresource is None else f"/{segment(subresource)}"
        call = replace(
            call, path=call.path + place, query={"fieldManager": FIELD_MANAGER}, body=obj
        )
        return read_object(await self._client.send(call), resource, call.attempt)

    def watch_objects(
        self, resource: Resource, *, resource_version: str
    ) -> AsyncIterator[WatchEvent]:
        """
        Watch from a resource version until the server closes the stream.
        """
        return watch(self._watches, resource, resource_version=resource_version)

    async def _listed(
        self, call: Call, page_size: int, decoder: "msgspec.json.Decoder[_Listed]"
    ) -> _Listed:
        # A page of huge objects is asked for again in smaller pieces; the token stays the same.
        limit = page_size
        while True:
            try:
                return await self._client.fetch(
                    replace(call, query={**call.query, "limit": str(limit)}), decoder
                )
            except TooLargeError:
                if limit <= 1:
                    raise
                limit = max(1, limit // 4)


class _LazyObjects(Sequence[dict[str, JSON]]):
    """
    The objects of a page; each is decoded whenever it is asked for, and then forgotten.
    """

    def __init__(
        self, items: Sequence[msgspec.Raw], resource: Resource, attempt: answers.Attempt
    ) -> None:
        self._items = items
        self._resource = resource
        self._attempt = attempt

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> dict[str, JSON]: ...
    @overload
    def __getitem__(self, index: slice) -> "_LazyObjects": ...
    def __getitem__(self, index: int | slice) -> "dict[str, JSON] | _LazyObjects":
        if isinstance(index, slice):
            return _LazyObjects(self._items[index], self._resource, self._attempt)
        return read_object(memoryview(self._items[index]), self._resource, self._attempt)


def read_object(
    text: bytes | memoryview, resource: Resource, attempt: answers.Attempt
) -> dict[str, JSON]:
    """
    Decode an object; its apiVersion and kind are filled in where a list leaves them out.

    Raises:
        RejectedError: It is no object, or has no name.
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


def _stored_metadata(metadata: _Metadata) -> StoredMetadata:
    return StoredMetadata(
        key=ObjectKey(metadata.namespace, metadata.name),
        uid=metadata.uid,
        resource_version=metadata.resource_version,
        managed_fields=tuple(metadata.managed_fields or ()),
    )


def _list_call(resource: Resource, namespace: str, continue_token: str | None, accept: str) -> Call:
    return Call(
        verb="list",
        resource=f"{resource} {namespace}".rstrip(),
        method="GET",
        path=collection_path(resource, namespace=namespace),
        query={"continue": continue_token} if continue_token else {},
        accept=accept,
        is_read=True,
        max_answer_bytes=MAX_PAGE_BYTES,
    )


def _object_call(
    resource: Resource,
    key: ObjectKey,
    *,
    verb: str,
    method: str,
    is_read: bool = False,
) -> Call:
    return Call(
        verb=verb,
        resource=f"{resource} {key}",
        method=method,
        path=object_path(resource, key),
        is_read=is_read,
    )


def _patch_call(
    resource: Resource,
    key: ObjectKey,
    metadata: dict[str, JSON],
    *,
    query: Mapping[str, str],
    accept: str = JSON_TYPE,
) -> Call:
    # Made in one go: nothing else is called so often.
    return Call(
        verb="patch",
        resource=f"{resource} {key}",
        method="PATCH",
        path=object_path(resource, key),
        query=query,
        body={"metadata": metadata},
        content_type=MERGE_PATCH_TYPE,
        accept=accept,
    )


def _guarded_key(obj: Mapping[str, JSON]) -> ObjectKey:
    match obj.get("metadata"):
        case {"name": str(name), "uid": str(uid), "resourceVersion": str(version), **rest}:
            namespace = rest.get("namespace", "")
            if uid and version and isinstance(namespace, str):
                return ObjectKey(namespace, name)
        case _:
            pass
    raise ValueError("an object without name, uid and resourceVersion must not be replaced")
