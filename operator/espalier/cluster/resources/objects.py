"""
Read and write stored objects over HTTP.

This is the hot path: an object of a page is decoded only when it is used.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeVar

import msgspec

from espalier.cluster.resources.object_pages import (
    NAMELESS,
    LazyObjects,
    PartialList,
    RawList,
    partial,
    partial_list,
    raw_list,
    read_object,
    stored_metadata,
    written_version,
)
from espalier.cluster.resources.page_sizes import PageSizes
from espalier.cluster.resources.watch import watch
from espalier.cluster.transport.client import ApiRequest, Client, TooLargeError, decode
from espalier.cluster.transport.lanes import Lanes
from espalier.cluster.transport.media_types import (
    JSON_PATCH_TYPE,
    JSON_TYPE,
    MERGE_PATCH_TYPE,
    PARTIAL_LIST_TYPE,
    PARTIAL_TYPE,
)
from espalier.cluster.transport.paths import (
    NAMESPACES_PATH,
    collection_path,
    object_path,
    place_of_token,
    segment,
    token_from,
)
from espalier.engine.ports import (
    Endpoint,
    HashRange,
    MetadataPage,
    ObjectKey,
    ObjectPage,
    WatchEvent,
    WritePermit,
)
from espalier.engine.ports.records import Written
from espalier.engine.ports.servers import ServersSeen
from espalier.names import FIELD_MANAGER
from espalier.paths import JSON

MAX_PAGE_BYTES = 16 * 1024 * 1024
"""
The largest page. An object has at most about 3 MiB, so a page of one object always fits; a larger
page is requested again in smaller parts.
"""

MAX_METADATA_PAGE_BYTES = 4 * 1024 * 1024
"""Of several objects. managedFields take some ten times their bytes once they are decoded."""

TARGET_PAGE_BYTES = 4 * 1024 * 1024
"""Decoded objects take up to ten times their bytes; a legacy definition's page is held whole."""

TARGET_METADATA_PAGE_BYTES = 2 * 1024 * 1024

_NAMESPACES_A_PAGE = "500"

_AS_US: Mapping[str, str] = MappingProxyType({"fieldManager": FIELD_MANAGER})

_Listed = TypeVar("_Listed", PartialList, RawList)


class _PageRequest(NamedTuple):
    """
    A page that is asked for.

    Attributes:
        max_bytes: Of a page of several objects.
    """

    call: ApiRequest
    resource: Endpoint
    page_size: int
    sizes: PageSizes
    max_bytes: int

    def call_for(self, limit: int) -> ApiRequest:
        return self.call._replace(
            query={**self.call.query, "limit": str(limit)},
            max_answer_bytes=self.max_bytes if limit > 1 else MAX_PAGE_BYTES,
        )


class HttpObjects:
    """
    Implement ``espalier.engine.ports.objects.Objects``.

    Args:
        watches: The client for watches, which occupy a connection for a long time.
        lanes: For all writes.
    """

    def __init__(self, client: Client, watches: Client, lanes: Lanes) -> None:
        self._client = client
        self._lanes = lanes
        self._watches = watches
        self._page_sizes = PageSizes(TARGET_PAGE_BYTES)
        self._metadata_page_sizes = PageSizes(TARGET_METADATA_PAGE_BYTES)

    async def list_metadata(
        self,
        resource: Endpoint,
        *,
        page_size: int,
        continue_token: str | None,
        namespace: str = "",
        shard: HashRange | None = None,
    ) -> MetadataPage:
        """
        List a page of PartialObjectMetadata, of one namespace or of all namespaces.
        """
        call = _list_call(resource, namespace, continue_token, PARTIAL_LIST_TYPE, shard)
        asked = _PageRequest(
            call, resource, page_size, self._metadata_page_sizes, MAX_METADATA_PAGE_BYTES
        )
        page = await self._listed(asked, partial_list)
        items = page.items or ()
        return MetadataPage(
            objects=tuple(stored_metadata(item.metadata) for item in items if item.metadata.name),
            continue_token=page.metadata.continue_token or None,
            remaining=page.metadata.remaining_item_count,
            resource_version=page.metadata.resource_version,
            unread=() if all(item.metadata.name for item in items) else (NAMELESS,),
        )

    async def list_objects(
        self,
        resource: Endpoint,
        *,
        page_size: int,
        continue_token: str | None,
        namespace: str = "",
    ) -> ObjectPage:
        """
        List a page of whole objects, of one namespace or of all namespaces.

        An object is decoded when it is read from the page. An object that cannot be decoded is
        left out and named in the page's ``unread``.
        """
        call = _list_call(resource, namespace, continue_token, JSON_TYPE, None)
        asked = _PageRequest(call, resource, page_size, self._page_sizes, MAX_PAGE_BYTES)
        page = await self._listed(asked, raw_list)
        objects = LazyObjects(page.items or [], resource, call.attempt)
        return ObjectPage(
            objects=objects,
            continue_token=page.metadata.continue_token or None,
            remaining=page.metadata.remaining_item_count,
            resource_version=page.metadata.resource_version,
            unread=objects.unread,
        )

    async def list_namespaces(self) -> tuple[str, ...]:
        """
        Return the names of all namespaces.
        """
        names: list[str] = []
        query: dict[str, str] = {}
        while True:
            call = ApiRequest(
                verb="list",
                resource="namespaces",
                method="GET",
                path=NAMESPACES_PATH,
                query={**query, "limit": _NAMESPACES_A_PAGE},
                accept=PARTIAL_LIST_TYPE,
                is_read=True,
            )
            page = await self._client.fetch(call, partial_list)
            names += [item.metadata.name for item in page.items or ()]
            if not page.metadata.continue_token:
                return tuple(names)
            query = {"continue": page.metadata.continue_token}

    def token_at(self, place: str) -> str:
        """
        Return a token with which a list continues at a place; no object needs to be there.
        """
        return token_from(place)

    def place_of(self, token: str) -> str | None:
        """
        Return the place at which a token continues; None if its form is unknown.
        """
        return place_of_token(token)

    async def get_object(self, resource: Endpoint, key: ObjectKey) -> dict[str, JSON]:
        """
        Read one object.
        """
        call = _object_call(resource, key, verb="get", method="GET", is_read=True)
        return read_object(await self._client.send(call), resource, call.attempt)

    async def rewrite(self, resource: Endpoint, permit: WritePermit) -> Written:
        """
        Make the server store an object again, with a merge patch that changes nothing.
        """
        call = _write_call(resource, permit, _guard_of(permit))
        body = await self._lanes.send(resource, call)
        after = decode(call, body, written_version).metadata.resource_version
        if after == permit.resource_version:
            return Written(after)
        answer = decode(call, body, partial).metadata
        return Written(after, stored_metadata(answer, key=permit.key))

    async def try_rewrite(
        self, resource: Endpoint, key: ObjectKey, *, uid: str, resource_version: str
    ) -> dict[str, JSON]:
        """
        Return the object that a rewrite would store; this is a dry run.
        """
        metadata: dict[str, JSON] = {"uid": uid, "resourceVersion": resource_version}
        call = _object_call(resource, key, verb="patch", method="PATCH")._replace(
            query={**_AS_US, "dryRun": "All"},
            body={"metadata": metadata},
            content_type=MERGE_PATCH_TYPE,
        )
        return read_object(await self._client.send(call), resource, call.attempt)

    async def annotate(
        self, resource: Endpoint, permit: WritePermit, *, annotations: Mapping[str, str | None]
    ) -> str:
        """
        Set annotations of an object with a merge patch; None removes an annotation.
        """
        metadata: dict[str, JSON] = {**_guard_of(permit), "annotations": {**annotations}}
        call = _write_call(resource, permit, metadata)
        body = await self._lanes.send(resource, call)
        return decode(call, body, written_version).metadata.resource_version

    async def replace_managed_fields(
        self, resource: Endpoint, permit: WritePermit, *, managed_fields: Sequence[JSON]
    ) -> None:
        """
        Replace ``metadata.managedFields`` with a JSON Patch that tests uid and resource version.
        """
        # The server ignores an empty list; a list of one empty entry removes all entries.
        tests: list[JSON] = [
            {"op": "test", "path": f"/metadata/{name}", "value": value}
            for name, value in _guard_of(permit).items()
        ]
        left: list[JSON] = [*managed_fields] or [{}]
        change: JSON = {"op": "replace", "path": "/metadata/managedFields", "value": left}
        call = _object_call(resource, permit.key, verb="patch", method="PATCH")
        call = call._replace(
            query={"fieldManager": FIELD_MANAGER},
            body=[*tests, change],
            content_type=JSON_PATCH_TYPE,
            accept=PARTIAL_TYPE,
            may_begin=permit.may_begin,
        )
        await self._lanes.send(resource, call)

    async def replace(
        self,
        resource: Endpoint,
        obj: dict[str, JSON],
        permit: WritePermit,
        *,
        subresource: str | None,
    ) -> dict[str, JSON]:
        """
        PUT an object that has uid and resourceVersion.

        Raises:
            ValueError: The object lacks them, so that the call could overwrite another object.
        """
        if permit[:3] != _identified(obj):
            raise ValueError("the object is not the one that the permit is for")
        call = _object_call(resource, permit.key, verb="update", method="PUT")
        place = "" if subresource is None else f"/{segment(subresource)}"
        call = call._replace(
            path=call.path + place,
            query={"fieldManager": FIELD_MANAGER},
            body=obj,
            may_begin=permit.may_begin,
        )
        return read_object(await self._lanes.send(resource, call), resource, call.attempt)

    async def look_for_servers_behind(self, resource: Endpoint) -> ServersSeen:
        """
        Ask servers in discovery, by their ``storageVersionHash``, whether they have caught up.
        """
        return await self._lanes.look(resource)

    def watch_objects(
        self, resource: Endpoint, *, resource_version: str
    ) -> AsyncIterator[WatchEvent]:
        """
        Watch from a resource version until the server closes the stream.
        """
        return watch(self._watches, resource, resource_version=resource_version)

    async def _listed(
        self, asked: _PageRequest, decoder: "msgspec.json.Decoder[_Listed]"
    ) -> _Listed:
        # A page that is too large is requested again with a smaller limit and the same token.
        sizes = asked.sizes
        while True:
            limit = sizes.limit(asked.resource, asked.page_size)
            call = asked.call_for(limit)
            try:
                body = await self._client.send(call)
            except TooLargeError:
                if limit <= 1:
                    raise
                sizes.too_large(asked.resource, limit)
                continue
            page = decode(call, body, decoder)
            sizes.fitted(asked.resource, limit, objects=len(page.items or ()), size_bytes=len(body))
            return page


def _list_call(
    resource: Endpoint, namespace: str, token: str | None, accept: str, shard: HashRange | None
) -> ApiRequest:
    return ApiRequest(
        verb="list",
        resource=f"{resource} {namespace}".rstrip(),
        method="GET",
        path=collection_path(resource, namespace=namespace),
        # A server without sharded lists ignores the selector.
        query=({"continue": token} if token else {})
        | ({"shardSelector": shard.selector} if shard else {}),
        accept=accept,
        is_read=True,
    )


def _object_call(
    resource: Endpoint,
    key: ObjectKey,
    *,
    verb: str,
    method: str,
    is_read: bool = False,
) -> ApiRequest:
    return ApiRequest(
        verb=verb,
        resource=f"{resource} {key}",
        method=method,
        path=object_path(resource, key),
        is_read=is_read,
    )


def _write_call(resource: Endpoint, permit: WritePermit, metadata: dict[str, JSON]) -> ApiRequest:
    # Built in one call, since no other request is made so often.
    return ApiRequest(
        verb="patch",
        resource=f"{resource} {permit.key}",
        method="PATCH",
        path=object_path(resource, permit.key),
        query=_AS_US,
        body={"metadata": metadata},
        content_type=MERGE_PATCH_TYPE,
        accept=PARTIAL_TYPE,
        may_begin=permit.may_begin,
    )


def _guard_of(permit: WritePermit) -> dict[str, JSON]:
    metadata: dict[str, JSON] = {"uid": permit.uid}
    if permit.resource_version is not None:
        metadata["resourceVersion"] = permit.resource_version
    return metadata


def _identified(obj: Mapping[str, JSON]) -> tuple[ObjectKey, str, str]:
    match obj.get("metadata"):
        case {"name": str(name), "uid": str(uid), "resourceVersion": str(version), **rest}:
            namespace = rest.get("namespace", "")
            if uid and version and isinstance(namespace, str):
                return ObjectKey(namespace, name), uid, version
        case _:
            pass
    raise ValueError("an object without name, uid and resourceVersion must not be replaced")
