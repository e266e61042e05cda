"""
The index of an archive: one ConfigMap with the last page of each definition.

It avoids listing pages when nothing has changed, and is used for nothing else. A page is stored by
creating a Secret, which fails if the Secret exists. So an index that is missing, stale or written
by another program only causes a listing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

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
    Return the index's mark for a definition: its last page, and the size of all its pages.
    """
    return f"{total_bytes}-{sequence}-{digest[:16]}"


def bytes_in(mark: str) -> int | None:
    """
    Return the size of a definition's pages in its mark; None if the mark has another form.
    """
    match = _MARK.fullmatch(mark)
    return int(match["bytes"]) if match else None


class ArchiveIndex:
    """
    Read and write the index of the archive in one namespace.
    """

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self._held: _Held | None = None

    async def read(self) -> Mapping[str, str] | None:
        """
        Return the marks by the hash of the definition's name; None if there is no index.

        Raises:
            TransientError: The server was busy or unreachable.
        """
        call = self._call("get", "GET")
        try:
            found = await self._client.fetch(call._replace(is_read=True), _index)
        except TransientError:
            raise
        except ClusterError:
            # There is no index, or no permission to read it: the pages are listed.
            self._held = None
            return None
        self._held = _Held(found.metadata.resource_version, found.data or {})
        return self._held.marks

    async def put(self, crd_hash: str, mark: str) -> None:
        """
        Write the mark of one definition, if possible; without it, pages are listed.

        Raises:
            TransientError: The server was busy or unreachable.
        """
        for attempt in range(_ATTEMPTS):
            if self._held is None or attempt:
                await self.read()
            try:
                await self._write(crd_hash, mark)
            except (ConflictError, NotFoundError):
                # Another process has changed or deleted it; or the namespace is gone.
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
        call = self._call("create", "POST")._replace(query={"fieldManager": FIELD_MANAGER})
        if self._held is not None:
            metadata["resourceVersion"] = self._held.resource_version
            marks = {**self._held.marks, **marks}
            call = self._call("update", "PUT")._replace(query=call.query)
        body: dict[str, JSON] = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata,
            "data": {**marks},
        }
        stored = await self._client.fetch(call._replace(body=body), _index)
        self._held = _Held(stored.metadata.resource_version, stored.data or {})

    def _call(self, verb: str, method: str) -> ApiRequest:
        path = f"/api/v1/namespaces/{segment(self._namespace)}/configmaps"
        return ApiRequest(
            verb=verb,
            resource=f"configmaps {self._namespace}/{NAME}",
            method=method,
            path=path if method == "POST" else f"{path}/{NAME}",
        )
