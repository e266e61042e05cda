"""
The index of an archive: one ConfigMap that names the last page of each definition.

It spares a listing where nothing has changed, and is never trusted for more than that. A page's
place is taken by creating a Secret, which fails where there is one; an index that is lost, stale
or somebody else's only leads to a listing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import msgspec

from espalier.cluster.transport.client import ApiRequest, Client
from espalier.cluster.transport.paths import segment
from espalier.errors import ClusterError, ConflictError, NotFoundError, TransientError
from espalier.names import COMPONENT, FIELD_MANAGER, MANAGED_BY
from espalier.paths import JSON

NAME = "espalier-archive-index"

_ATTEMPTS = 5
_MARK = re.compile(r"(?P<bytes>[0-9]{1,15})-[0-9]{1,9}-[0-9a-f]{16}", re.ASCII)


class _IndexMetadata(msgspec.Struct, rename="camel"):
    resource_version: str


class _Index(msgspec.Struct):
    metadata: _IndexMetadata
    data: dict[str, str] | None = None


_index = msgspec.json.Decoder(_Index)


@dataclass(frozen=True, slots=True)
class _Held:
    resource_version: str
    marks: Mapping[str, str]


def mark_of(sequence: int, digest: str, total_bytes: int) -> str:
    """
    Write the last page of a definition, and what its pages take together, as the index holds it.
    """
    return f"{total_bytes}-{sequence}-{digest[:16]}"


def bytes_in(mark: str) -> int | None:
    """
    Read what the pages of a definition take; None if the mark is somebody else's.
    """
    match = _MARK.fullmatch(mark)
    return int(match["bytes"]) if match else None


class ArchiveIndex:
    """
    Reads and writes the index of the archive in one namespace.
    """

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self._held: _Held | None = None

    async def read(self) -> Mapping[str, str] | None:
        """
        Read the marks by the hash of a definition's name; None if there is no index.

        Raises:
            TransientError: The server was busy or away.
        """
        call = self._call("get", "GET")
        try:
            found = await self._client.fetch(replace(call, is_read=True), _index)
        except TransientError:
            raise
        except ClusterError:
            # There is none, or it may not be read: pages are listed.
            self._held = None
            return None
        self._held = _Held(found.metadata.resource_version, found.data or {})
        return self._held.marks

    async def put(self, crd_hash: str, mark: str) -> None:
        """
        Write the mark of one definition, where that is possible; without an index pages are listed.

        Raises:
            TransientError: The server was busy or away.
        """
        for attempt in range(_ATTEMPTS):
            if self._held is None or attempt:
                await self.read()
            try:
                await self._write(crd_hash, mark)
            except (ConflictError, NotFoundError):
                # Others have written or removed it; in a namespace that is gone, nothing helps.
                continue
            except TransientError:
                raise
            except ClusterError:
                return
            else:
                return

    async def _write(self, crd_hash: str, mark: str) -> None:
        metadata: dict[str, JSON] = {
            "name": NAME,
            "namespace": self._namespace,
            "labels": {**MANAGED_BY, COMPONENT: "archive-index"},
        }
        marks = {crd_hash: mark}
        call = replace(self._call("create", "POST"), query={"fieldManager": FIELD_MANAGER})
        if self._held is not None:
            metadata["resourceVersion"] = self._held.resource_version
            marks = {**self._held.marks, **marks}
            call = replace(self._call("update", "PUT"), query=call.query)
        body: dict[str, JSON] = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata,
            "data": {**marks},
        }
        stored = await self._client.fetch(replace(call, body=body), _index)
        self._held = _Held(stored.metadata.resource_version, stored.data or {})

    def _call(self, verb: str, method: str) -> ApiRequest:
        path = f"/api/v1/namespaces/{segment(self._namespace)}/configmaps"
        return ApiRequest(
            verb=verb,
            resource=f"configmaps {self._namespace}/{NAME}",
            method=method,
            path=path if method == "POST" else f"{path}/{NAME}",
        )
