# ruff: noqa: ARG002 - the ports name more arguments than a cluster in memory needs
"""
The port to objects, in memory.
"""

import asyncio
import posixpath
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence

from espalier.crd import Definition
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
from espalier.errors import (
    ConflictError,
    RejectedError,
)
from espalier.paths import JSON
from tests.fakes.etcd import FakeEtcd
from tests.fakes.faults import ScriptedCalls, failed_test


class FakeObjects(ScriptedCalls, FakeEtcd):
    """
    Implements ``espalier.engine.ports.objects.Objects``.

    Attributes:
        servers: What the next looks for servers that are behind find; then, none is.
        has_sharded_lists: Whether lists choose the objects of a shard.
    """

    def __init__(self, definition: Definition) -> None:
        ScriptedCalls.__init__(self)
        FakeEtcd.__init__(self, definition)
        self.servers: deque[ServersSeen] = deque()
        self.has_sharded_lists = False

    async def list_metadata(
        self,
        resource: Endpoint,
        *,
        page_size: int,
        continue_token: str | None,
        namespace: str = "",
        shard: HashRange | None = None,
    ) -> MetadataPage:
        await self._enter("list_metadata", "")
        keys, token, remaining = self._page(resource, page_size, continue_token, namespace)
        await self._leave("list_metadata", "")
        objects = tuple(map(self._metadata, keys))
        if shard is not None and self.has_sharded_lists:
            objects = tuple(one for one in objects if shard.holds(one.uid))
        return MetadataPage(
            objects=objects,
            continue_token=token,
            remaining=remaining,
            resource_version=str(self._version),
        )

    async def list_objects(
        self,
        resource: Endpoint,
        *,
        page_size: int,
        continue_token: str | None,
        namespace: str = "",
    ) -> ObjectPage:
        await self._enter("list_objects", "")
        keys, token, remaining = self._page(resource, page_size, continue_token, namespace)
        await self._leave("list_objects", "")
        return ObjectPage(
            objects=[self._read(key, resource.version) for key in keys],
            continue_token=token,
            remaining=remaining,
            resource_version=str(self._version),
        )

    async def list_namespaces(self) -> tuple[str, ...]:
        await self._enter("list_namespaces", "")
        return tuple({key.namespace for key in self.etcd if key.namespace})

    def token_at(self, place: str) -> str:
        # The server refuses all others.
        assert posixpath.normpath(f"/{place}") == f"/{place}"
        return place.removesuffix("\0")

    def place_of(self, token: str) -> str | None:
        return None if token in self.bad_tokens else f"{token}\0"

    async def get_object(self, resource: Endpoint, key: ObjectKey) -> dict[str, JSON]:
        await self._enter("get_object", key.name)
        obj = self._read(key, resource.version)
        await self._leave("get_object", key.name)
        return obj

    async def look_for_servers_behind(self, resource: Endpoint) -> ServersSeen:
        await self._enter("look_for_servers_behind", resource.version)
        return self.servers.popleft() if self.servers else ServersSeen(caught_up=1)

    async def rewrite(self, resource: Endpoint, permit: WritePermit) -> Written:
        key = permit.key
        await self._enter("rewrite", key.name)
        stored = self._check(*permit[:3])
        before = stored.version
        self._store_rewritten(key, keeps=not self.is_dry)
        written = Written(
            str(stored.version), None if stored.version == before else self._metadata(key)
        )
        await self._leave("rewrite", key.name)
        return written

    async def try_rewrite(
        self, resource: Endpoint, key: ObjectKey, *, uid: str, resource_version: str
    ) -> dict[str, JSON]:
        await self._enter("try_rewrite", key.name)
        self._check(key, uid, resource_version)
        read = self._read(key)
        tried = self._admitted(self._normal(read))
        return {**tried, "metadata": read["metadata"]}

    async def annotate(
        self, resource: Endpoint, permit: WritePermit, *, annotations: Mapping[str, str | None]
    ) -> str:
        key = permit.key
        await self._enter("annotate", key.name)
        stored = self._check(*permit[:3])
        merged = {**stored.annotations, **annotations}
        if not self.is_dry:
            stored.annotations = {name: text for name, text in merged.items() if text is not None}
            stored.version = self._next_version()
            self._publish("MODIFIED", key)
        await self._leave("annotate", key.name)
        return str(stored.version)

    async def replace_managed_fields(
        self, resource: Endpoint, permit: WritePermit, *, managed_fields: Sequence[JSON]
    ) -> None:
        key = permit.key
        await self._enter("replace_managed_fields", key.name)
        try:
            stored = self._check(*permit[:3])
        except (ConflictError, RejectedError):
            raise failed_test() from None
        if not self.is_dry:
            stored.managed_fields = [*managed_fields]
            stored.version = self._next_version()
            self._publish("MODIFIED", key)
        await self._leave("replace_managed_fields", key.name)

    async def replace(
        self,
        resource: Endpoint,
        obj: dict[str, JSON],
        permit: WritePermit,
        *,
        subresource: str | None,
    ) -> dict[str, JSON]:
        metadata = obj["metadata"]
        assert isinstance(metadata, dict)
        key = ObjectKey(str(metadata["namespace"]), str(metadata["name"]))
        call = "replace" if subresource is None else f"replace/{subresource}"
        await self._enter(call, key.name)
        assert permit[:3] == (key, metadata["uid"], metadata["resourceVersion"])
        stored = self._check(*permit[:3])
        sent = {name: value for name, value in obj.items() if name != "metadata"}
        assert self.definition is not None
        if self.definition.storage.has_status:
            old, new = stored.raw, sent
            if subresource is not None:
                old, new = sent, {k: v for k, v in stored.raw.items() if k != "status"}
            sent = {k: v for k, v in new.items() if k != "status"}
            if "status" in old:
                sent["status"] = old["status"]
        admitted = self._admitted(self._normal(sent))
        if not self.is_dry:
            self._store(key, admitted)
        answer = {**self._read(key), **admitted}
        await self._leave(call, key.name)
        return answer

    async def watch_objects(
        self, resource: Endpoint, *, resource_version: str
    ) -> AsyncIterator[WatchEvent]:
        await self._enter("watch_objects", "")
        queue: asyncio.Queue[WatchEvent | None] = asyncio.Queue()
        for key, stored in self.etcd.items():
            if stored.version > int(resource_version):
                queue.put_nowait(
                    WatchEvent(
                        type="MODIFIED",
                        object=self._read(key),
                        resource_version=str(stored.version),
                    )
                )
        self._watchers.append(queue)
        try:
            while (event := await queue.get()) is not None:
                yield event
        finally:
            self._watchers.remove(queue)
