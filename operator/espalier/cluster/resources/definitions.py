"""
Read, list and update CustomResourceDefinitions over HTTP.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import msgspec

from espalier.cluster.resources.storage_version_migrations import other_migrations
from espalier.cluster.resources.watch import watch
from espalier.cluster.transport import responses as answers
from espalier.cluster.transport.client import ApiRequest, Client
from espalier.cluster.transport.json_codec import decode_json
from espalier.cluster.transport.media_types import (
    APPLY_PATCH_TYPE,
    JSON_TYPE,
    MERGE_PATCH_TYPE,
    PARTIAL_LIST_TYPE,
    PARTIAL_TYPE,
)
from espalier.cluster.transport.paths import DEFINITIONS_PATH, definition_path
from espalier.crd import Condition, Definition, read_definition
from espalier.engine.ports import Endpoint
from espalier.errors import ClusterError, ExpiredTokenError, MalformedDefinitionError
from espalier.names import FIELD_MANAGER
from espalier.paths import JSON

# Names are small, but the server reads each definition in full to return its name.
_NAMES_PAGE_SIZE = 250

_ENDPOINT = Endpoint(
    group="apiextensions.k8s.io",
    version="v1",
    plural="customresourcedefinitions",
    kind="CustomResourceDefinition",
    namespaced=False,
)
_RESOURCE = str(_ENDPOINT)
_TYPE: Mapping[str, JSON] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
}
# What servers before 1.35 answer to a condition with a generation, which they do not know.
_NO_GENERATION = "observedGeneration: field not declared in schema"


@dataclass(frozen=True, slots=True)
class MalformedDefinition:
    """
    A CustomResourceDefinition in a list that cannot be read.

    Attributes:
        name: Its name; empty if it has none.
    """

    name: str
    error: MalformedDefinitionError


class _DefinitionListMetadata(msgspec.Struct):
    continue_token: str = msgspec.field(default="", name="continue")


class _DefinitionList(msgspec.Struct):
    metadata: _DefinitionListMetadata
    items: list[msgspec.Raw] | None


class _VersionedMetadata(msgspec.Struct, rename="camel"):
    resource_version: str


class _Versioned(msgspec.Struct):
    metadata: _VersionedMetadata


class _NamedMetadata(msgspec.Struct):
    name: str


class _Named(msgspec.Struct):
    metadata: _NamedMetadata


class _NamedList(msgspec.Struct):
    metadata: _DefinitionListMetadata
    items: list[_Named] | None


_Page = TypeVar("_Page", _DefinitionList, _NamedList)

_list = msgspec.json.Decoder(_DefinitionList)
_versioned = msgspec.json.Decoder(_Versioned)
_named_list = msgspec.json.Decoder(_NamedList)


class HttpDefinitions:
    """
    Implement ``espalier.engine.ports.definitions.Definitions``, and list definitions.

    Args:
        may_begin: Asked, with a definition's name, right before each write of a status is sent;
            None for none.
    """

    def __init__(self, client: Client, *, may_begin: Callable[[str], bool] | None = None) -> None:
        self._client = client
        self._may_begin = may_begin

    async def get_definition(self, name: str) -> Definition:
        """
        Read a definition from etcd, not from the server's cache.

        Raises:
            MalformedDefinitionError: The object cannot be read as a definition.
        """
        call = _get_call(name)
        return _read(await self._client.send(call), call)

    async def get_with_managers(self, name: str) -> tuple[Definition, frozenset[str]]:
        """
        Read one from etcd, and the managers that its managedFields name.

        Raises:
            MalformedDefinitionError: What the server holds is no definition to us.
        """
        call = _get_call(name)
        manifest = _typed(await self._client.send(call), call)
        return read_definition(manifest), _managers_in(manifest)

    async def get_resource_version(self, name: str) -> str:
        """
        Read only the resource version, from etcd; a whole definition may have a megabyte.
        """
        call = _get_call(name)._replace(accept=PARTIAL_TYPE)
        return (await self._client.fetch(call, _versioned)).metadata.resource_version

    async def other_migrations(self, definition: Definition) -> tuple[str, ...]:
        """
        Return the names of the server's own unfinished migrations of these objects.
        """
        return await other_migrations(self._client, definition)

    async def list_definitions(
        self, *, page_size: int = 50, label_selector: str = ""
    ) -> AsyncIterator[Definition | MalformedDefinition]:
        """
        List all definitions, a page at a time.

        Args:
            page_size: The maximum in a page; a single definition may have a megabyte.
            label_selector: Only definitions with these labels; empty for all.

        Yields:
            Each definition, or the name of one that cannot be read. If the continue token expires,
            the list continues at a newer resource version, and a definition that was created in
            between may be missing.

        Raises:
            ClusterError: As for ``get_definition``.
        """
        async for page, call in self._pages(JSON_TYPE, _list, page_size, label_selector):
            for item in page.items or ():
                yield _read_listed(bytes(item), call)

    async def definition_names(self, *, label_selector: str = "") -> tuple[str, ...]:
        """
        Return the names of all definitions, without reading them in full.

        Args:
            label_selector: Only definitions with these labels; empty for all.

        Raises:
            ClusterError: As for ``get_definition``.
        """
        names: list[str] = []
        async for page, _ in self._pages(
            PARTIAL_LIST_TYPE, _named_list, _NAMES_PAGE_SIZE, label_selector
        ):
            names += [item.metadata.name for item in page.items or ()]
        return tuple(dict.fromkeys(names))

    async def watch_definitions(
        self, *, label_selector: str = ""
    ) -> AsyncIterator[tuple[str, Definition | MalformedDefinition]]:
        """
        Watch definitions until the server ends the watch: all as they are, and then each change.

        Args:
            label_selector: Only definitions with these labels; empty for all.

        Yields:
            The type of the event, ``DELETED`` or another one, and the definition.

        Raises:
            ClusterError: The watch broke.
        """
        async for event in watch(
            self._client, _ENDPOINT, resource_version="", label_selector=label_selector
        ):
            if event.type != "BOOKMARK":
                yield event.type, _read_manifest(event.object)

    async def _pages(
        self,
        accept: str,
        decoder: "msgspec.json.Decoder[_Page]",
        page_size: int,
        label_selector: str,
    ) -> AsyncIterator[tuple[_Page, ApiRequest]]:
        token = ""
        while True:
            query = {"limit": str(page_size)} | ({"continue": token} if token else {})
            query |= {"labelSelector": label_selector} if label_selector else {}
            call = ApiRequest(
                verb="list",
                resource=_RESOURCE,
                method="GET",
                path=DEFINITIONS_PATH,
                query=query,
                accept=accept,
                is_read=True,
            )
            try:
                page = await self._client.fetch(call, decoder)
            except ExpiredTokenError as error:
                if not error.fresh_token or error.fresh_token == token:
                    raise
                token = error.fresh_token
                continue
            yield page, call
            token = page.metadata.continue_token
            if not token:
                return

    async def set_stored_versions(
        self, definition: Definition, versions: Sequence[str]
    ) -> Definition:
        """
        Replace ``status.storedVersions`` with a merge patch that has uid and resourceVersion.

        Raises:
            ValueError: The list lacks the storage version, or has a version that the definition
                lacks. The server would accept that, and could not read stored objects any more.
            NoStorageVersionError: The definition has no storage version.
            ConflictError: The definition changed since it was read.
        """
        unknown = set(versions) - {version.name for version in definition.versions}
        if definition.storage.name not in versions or unknown:
            raise ValueError(
                f"{definition.name}: {list(versions)} must hold the storage version, "
                "and versions of the definition only"
            )
        if not definition.uid or not definition.resource_version:
            raise ValueError(f"{definition.name}: has no uid or resourceVersion to be guarded by")
        call = _status_call(
            definition,
            {
                "metadata": {
                    "uid": definition.uid,
                    "resourceVersion": definition.resource_version,
                },
                "status": {"storedVersions": list(versions)},
            },
            content_type=MERGE_PATCH_TYPE,
            query={"fieldManager": FIELD_MANAGER},
        )
        return _read(await self._write(definition, call), call)

    async def _write(self, definition: Definition, call: ApiRequest) -> bytes:
        if self._may_begin is not None:
            call = call._replace(may_begin=partial(self._may_begin, definition.name))
        return await self._client.send(call)

    async def apply_conditions(
        self, definition: Definition, conditions: Sequence[Condition], *, field_manager: str
    ) -> None:
        """
        Apply ``status.conditions`` server-side, with the definition's uid.

        An empty sequence removes the conditions that this field manager has applied before. A
        server that does not know the generation of a condition gets the conditions without it.
        """
        try:
            await self._apply(definition, conditions, field_manager)
        except ClusterError as error:
            if _NO_GENERATION not in error.detail:
                raise
            without = [replace(one, observed_generation=0) for one in conditions]
            await self._apply(definition, without, field_manager)

    async def _apply(
        self, definition: Definition, conditions: Sequence[Condition], field_manager: str
    ) -> None:
        rendered: list[JSON] = [one.manifest() for one in conditions]
        body: dict[str, JSON] = {
            **_TYPE,
            "metadata": {"name": definition.name, "uid": definition.uid},
            "status": {"conditions": rendered} if rendered else {},
        }
        call = _status_call(
            definition,
            body,
            content_type=APPLY_PATCH_TYPE,
            query={"fieldManager": field_manager, "force": "true"},
        )
        await self._write(definition, call)

    async def remove_metadata(
        self, definition: Definition, what: str, names: Sequence[str]
    ) -> None:
        """
        Take labels or annotations off by a merge patch with the definition's uid.
        """
        # The uid guards against another definition of the same name.
        gone: dict[str, JSON] = dict.fromkeys(names)
        await self._client.send(
            ApiRequest(
                verb="patch",
                resource=f"{_RESOURCE} {definition.name}",
                method="PATCH",
                path=definition_path(definition.name),
                query={"fieldManager": FIELD_MANAGER},
                body={"metadata": {"uid": definition.uid, what: gone}},
                content_type=MERGE_PATCH_TYPE,
            )
        )


def _get_call(name: str) -> ApiRequest:
    return ApiRequest(
        verb="get",
        resource=f"{_RESOURCE} {name}",
        method="GET",
        path=definition_path(name),
        is_read=True,
    )


def _status_call(
    definition: Definition, body: dict[str, JSON], *, content_type: str, query: dict[str, str]
) -> ApiRequest:
    return ApiRequest(
        verb="patch",
        resource=f"{_RESOURCE}/status {definition.name}",
        method="PATCH",
        path=f"{definition_path(definition.name)}/status",
        query=query,
        body=body,
        content_type=content_type,
    )


def _read(body: bytes, call: ApiRequest) -> Definition:
    return read_definition(_typed(body, call))


def _read_listed(item: bytes, call: ApiRequest) -> Definition | MalformedDefinition:
    return _read_manifest(_typed(item, call))


def _read_manifest(manifest: dict[str, JSON]) -> Definition | MalformedDefinition:
    try:
        return read_definition(manifest)
    except MalformedDefinitionError as error:
        metadata = manifest.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else None
        return MalformedDefinition(name if isinstance(name, str) else "", error)


def _managers_in(manifest: JSON) -> frozenset[str]:
    match manifest:
        case {"metadata": {"managedFields": list(entries)}}:
            named = (entry.get("manager") for entry in entries if isinstance(entry, dict))
            return frozenset(manager for manager in named if isinstance(manager, str))
        case _:
            return frozenset()


def _typed(body: bytes, call: ApiRequest) -> dict[str, JSON]:
    try:
        manifest = decode_json(body)
    except ValueError as error:
        raise answers.malformed(call.attempt, "not JSON, or nested too deeply") from error
    if not isinstance(manifest, dict):
        raise answers.malformed(call.attempt, "not a JSON object")
    # The items of a typed list have no apiVersion and no kind.
    return {**_TYPE, **manifest}
