"""
Checkpoints: one ConfigMap for each definition, deleted with the definition.
"""

import asyncio
import base64
import contextlib
from collections.abc import Callable, Mapping
from functools import partial

import msgspec
import orjson

from espalier import names
from espalier.cluster.archives.compression import pack, unpack
from espalier.cluster.transport import responses as answers
from espalier.cluster.transport.client import ApiRequest, Client
from espalier.cluster.transport.paths import hash_of, name_of, segment
from espalier.crd import Definition
from espalier.errors import ConflictError, NotFoundError, RejectedError
from espalier.paths import JSON

MAX_PACKED_BYTES = 900 * 1024
"""The largest checkpoint; the server accepts at most 1 MiB of data in a ConfigMap."""

_DATA_KEY = "checkpoint.json.gz"


class _ConfigMapMetadata(msgspec.Struct, rename="camel"):
    # Absent in the answer to a dry run.
    resource_version: str = ""
    annotations: dict[str, str] | None = None


class _ConfigMap(msgspec.Struct, rename="camel"):
    metadata: _ConfigMapMetadata
    binary_data: dict[str, str] | None = None

    @property
    def uid(self) -> str:
        return (self.metadata.annotations or {}).get(names.CRD_UID, "")

    @property
    def packed(self) -> str:
        return (self.binary_data or {}).get(_DATA_KEY, "")


_config_map = msgspec.json.Decoder(_ConfigMap)


class ConfigMapCheckpoints:
    """
    Implement ``espalier.engine.ports.state.Checkpoints``.

    A document is replaced only if this process knows the previous one. So a second process that
    runs on the same definition causes a ConflictError.

    Args:
        may_begin: Asked, with a definition's name, right before each write is sent; None for none.
        part: The number of the part whose documents these are; None for those of whole definitions.
    """

    def __init__(
        self,
        client: Client,
        namespace: str,
        *,
        may_begin: Callable[[str], bool] | None = None,
        part: int | None = None,
    ) -> None:
        self._client = client
        self._may_begin = may_begin
        self._kind = "checkpoint" if part is None else f"checkpoint-part-{part}"
        self._namespace = namespace
        self._versions: dict[str, str] = {}

    def home_of(self, definition: Definition) -> tuple[str, str]:
        """
        Name the namespace and the ConfigMap in which the document of this definition is kept.
        """
        return self._namespace, self._name(definition)

    async def load(self, definition: Definition) -> dict[str, JSON] | None:
        """
        Return the document of a definition; None if there is none, or one of another uid.

        Raises:
            RejectedError: The document cannot be read; a person must delete it.
        """
        found = await self._found(definition)
        if found is None or found.uid != definition.uid:
            return None
        try:
            packed = base64.b64decode(found.packed, validate=True)
            document = orjson.loads(await asyncio.to_thread(unpack, packed))
        except ValueError as error:
            raise self._damaged(definition, str(error)) from error
        if not isinstance(document, dict):
            raise self._damaged(definition, "not a JSON object")
        return document

    async def save(self, definition: Definition, document: Mapping[str, JSON]) -> None:
        """
        Store the document. It is durable on return.

        Raises:
            ConflictError: Another process has stored a document since this one read or saved it.
            RejectedError: The document is too large.
        """
        packed = await asyncio.to_thread(pack, orjson.dumps(dict(document)))
        if len(packed) > MAX_PACKED_BYTES:
            raise RejectedError(
                verb="update",
                resource=self._resource(definition),
                reason="CheckpointTooLarge",
                detail=f"{len(packed)} bytes, but the maximum is {MAX_PACKED_BYTES}",
            )
        data = base64.b64encode(packed).decode()
        if definition.name not in self._versions:
            await self._found(definition)
        try:
            stored = await self._write(definition, data)
        except ConflictError:
            # An earlier attempt of ours may have succeeded although its response was lost.
            found = await self._found(definition)
            if found is None or found.packed != data or found.uid != definition.uid:
                self._versions.pop(definition.name, None)
                raise
            stored = found
        self._versions[definition.name] = stored.metadata.resource_version

    async def forget(self, definition: Definition) -> None:
        """
        Delete the document of this definition; one that is not there is not an error.
        """
        call = self._call(definition, "delete", "DELETE")
        call = call._replace(path=f"{call.path}/{segment(self._name(definition))}")
        with contextlib.suppress(NotFoundError):
            await self._client.send(call)
        self._versions.pop(definition.name, None)

    async def _write(self, definition: Definition, data: str) -> _ConfigMap:
        version = self._versions.get(definition.name)
        call = self._call(definition, "create", "POST")
        if version is not None:
            call = self._call(definition, "update", "PUT")
            call = call._replace(path=f"{call.path}/{segment(self._name(definition))}")
        body = self._body(definition, data, version)
        call = call._replace(query={"fieldManager": names.FIELD_MANAGER}, body=body)
        if self._may_begin is not None:
            call = call._replace(may_begin=partial(self._may_begin, definition.name))
        try:
            return await self._client.fetch(call, _config_map)
        except NotFoundError:
            if version is None:
                raise
            # It was deleted since it was read.
            del self._versions[definition.name]
            return await self._write(definition, data)

    def _body(self, definition: Definition, data: str, version: str | None) -> dict[str, JSON]:
        metadata: dict[str, JSON] = {
            "name": self._name(definition),
            "namespace": self._namespace,
            "labels": {**names.MANAGED_BY, names.CRD_HASH: hash_of(definition.name)},
            "annotations": {names.CRD: definition.name, names.CRD_UID: definition.uid},
            # The garbage collector deletes the checkpoint together with its definition.
            "ownerReferences": [
                {
                    "apiVersion": "apiextensions.k8s.io/v1",
                    "kind": "CustomResourceDefinition",
                    "name": definition.name,
                    "uid": definition.uid,
                }
            ],
        }
        if version is not None:
            metadata["resourceVersion"] = version
        return {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata,
            "binaryData": {_DATA_KEY: data},
        }

    async def _found(self, definition: Definition) -> _ConfigMap | None:
        call = self._call(definition, "get", "GET")
        call = call._replace(path=f"{call.path}/{segment(self._name(definition))}", is_read=True)
        try:
            found = await self._client.fetch(call, _config_map)
        except NotFoundError:
            self._versions.pop(definition.name, None)
            return None
        self._versions[definition.name] = found.metadata.resource_version
        return found

    def _call(self, definition: Definition, verb: str, method: str) -> ApiRequest:
        return ApiRequest(
            verb=verb,
            resource=self._resource(definition),
            method=method,
            path=f"/api/v1/namespaces/{segment(self._namespace)}/configmaps",
        )

    def _resource(self, definition: Definition) -> str:
        return f"configmaps {self._namespace}/{self._name(definition)}"

    def _name(self, definition: Definition) -> str:
        return name_of(self._kind, definition.name)

    def _damaged(self, definition: Definition, detail: str) -> RejectedError:
        attempt = answers.RequestedAction(verb="get", resource=self._resource(definition))
        return answers.malformed(
            attempt,
            f"the checkpoint cannot be read ({detail}); delete it to start from the beginning",
        )
