"""
Where the demo plays: an API server, and the etcd behind it, which no client ever sees.
"""

import base64
from collections.abc import AsyncIterator, Mapping
from typing import Protocol

import orjson

from espalier.cluster.transport.client import ApiRequest, Client
from espalier.crd import Definition, read_definition
from espalier.engine.ports import Archive, ArchiveEntry
from espalier.errors import ConflictError, NotFoundError
from espalier.paths import JSON

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_NAMESPACES = "/api/v1/namespaces"
_MERGE_PATCH = "application/merge-patch+json"


class RawStore(Protocol):
    """
    Direct access to the storage behind the API server.
    """

    async def read(self, key: str) -> bytes | None:
        """
        Return the value of a key; None if there is none.
        """

    async def write(self, key: str, value: bytes) -> None:
        """
        Write the value of a key, without the checks of an API server.
        """


class EtcdGateway:
    """
    Direct access to a real etcd, through its JSON gateway.

    Args:
        client: A client for the gateway.
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    async def read(self, key: str) -> bytes | None:
        """
        Return the value of a key; None if there is none.
        """
        answer = await self._call("range", {"key": _encoded(key.encode())})
        match answer:
            case {"kvs": [{"value": str(value)}, *_]}:
                return base64.b64decode(value)
            case _:
                return None

    async def write(self, key: str, value: bytes) -> None:
        """
        Write the value of a key.
        """
        await self._call("put", {"key": _encoded(key.encode()), "value": _encoded(value)})

    async def _call(self, what: str, body: Mapping[str, JSON]) -> JSON:
        call = ApiRequest(
            verb=what, resource="etcd", method="POST", path=f"/v3/kv/{what}", body=body
        )
        answer: JSON = orjson.loads(await self._client.send(call))
        return answer


class Stage:
    """
    The calls to the API server that the people in the story make.
    """

    def __init__(self, client: Client, store: RawStore, archive: Archive) -> None:
        self._client = client
        self._archive = archive
        self.store = store

    async def definition(self, name: str) -> Definition:
        """
        Read a definition.
        """
        path = f"{CRDS}/{name}"
        call = ApiRequest(verb="get", resource=f"crd {name}", method="GET", path=path, is_read=True)
        return read_definition(orjson.loads(await self._client.send(call)))

    async def has_definition(self, name: str) -> bool:
        """
        Report whether a definition of this name exists.
        """
        return await self.has(f"{CRDS}/{name}")

    async def create(self, path: str, body: Mapping[str, JSON]) -> None:
        """
        Create an object.
        """
        call = ApiRequest(verb="create", resource=path, method="POST", path=path, body=body)
        await self._client.send(call)

    async def change(self, path: str, patch: Mapping[str, JSON]) -> None:
        """
        Change an object by a merge patch.
        """
        call = ApiRequest(
            verb="patch",
            resource=path,
            method="PATCH",
            path=path,
            body=patch,
            content_type=_MERGE_PATCH,
        )
        await self._client.send(call)

    async def has(self, path: str) -> bool:
        """
        Report whether the API server serves a path.
        """
        try:
            await self._client.send(
                ApiRequest(verb="get", resource=path, method="GET", path=path, is_read=True)
            )
        except NotFoundError:
            return False
        return True

    async def ensure_namespace(self, name: str) -> None:
        """
        Create a namespace unless it exists.
        """
        if await self.has(f"{_NAMESPACES}/{name}"):
            return
        try:
            await self.create(
                _NAMESPACES,
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}},
            )
        except ConflictError:
            # Another process has just created it.
            return

    def archived(self, definition: Definition) -> AsyncIterator[ArchiveEntry]:
        """
        Read the archive's entries for the objects of a definition.
        """
        return self._archive.entries(definition)


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()
