"""
The archive of removed data, in immutable Secrets of the operator's namespace.

A page of entries is one gzip stream. It is cut into parts where it is too large for one Secret,
and all parts are stored before the page counts as kept; a page of which parts are missing was
never removed from anywhere. Pages of one definition are numbered, so that they have an order
that no clock can disturb.
"""

import asyncio
import base64
import hashlib
import logging
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from espalier.cluster import answers
from espalier.cluster.packing import pack_entries, unpack_entries
from espalier.cluster.places import FIELD_MANAGER, MANAGED_BY, hash_of, name_of, segment
from espalier.cluster.requests import PARTIAL_LIST_TYPE, Call, Client
from espalier.crd import Definition
from espalier.engine.archives import ArchivePage
from espalier.engine.ports import ArchiveEntry
from espalier.errors import (
    ArchiveFullError,
    ClusterError,
    ConflictError,
    ExpiredTokenError,
    NotFoundError,
    TransientError,
)

logger = logging.getLogger(__name__)

MAX_TOTAL_BYTES = 64 * 1024 * 1024
"""Of all archives together: etcd keeps a few gigabytes, and not for us."""

MAX_PART_BYTES = 700 * 1024
"""A Secret takes 1 MiB of data; base64 and the rest of it must fit into one request as well."""

SECRET_TYPE = "espalier.dev/archive"  # noqa: S105 - a type, and no secret
DATA_KEY = "entries.jsonl.gz"

_COMPONENT = {"app.kubernetes.io/component": "archive"}
_HASH = "espalier.dev/crd-hash"
_SEQUENCE, _PART, _PARTS = "espalier.dev/sequence", "espalier.dev/part", "espalier.dev/parts"
_DIGEST, _BYTES = "espalier.dev/sha256", "espalier.dev/bytes"
_CRD, _CREATED, _OBJECTS = "espalier.dev/crd", "espalier.dev/created", "espalier.dev/objects"
_PAGE_SIZE = 500

# Longer ones are none of ours.
_NUMBER = re.compile(r"[0-9]{1,9}")


class _Metadata(msgspec.Struct):
    name: str
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class _Partial(msgspec.Struct):
    metadata: _Metadata


class _ListMetadata(msgspec.Struct):
    continue_token: str = msgspec.field(default="", name="continue")


class _PartialList(msgspec.Struct):
    metadata: _ListMetadata
    items: list[_Partial] | None


class _Secret(msgspec.Struct):
    data: dict[str, str] | None = None


_partial_list = msgspec.json.Decoder(_PartialList)
_secret = msgspec.json.Decoder(_Secret)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """
    What the annotations of one Secret say of it.
    """

    name: str
    crd_hash: str
    sequence: int
    part: int
    parts: int
    digest: str
    size_bytes: int
    crd: str = ""
    created: str = ""
    objects: int = 0


class SecretArchive:
    """
    Implements ``espalier.engine.ports.Archive``, and ``espalier.engine.archives.ArchivePages``.

    Args:
        namespace: Where the Secrets are.
        max_total_bytes: Of all archives in the namespace together, as stored.
    """

    def __init__(
        self,
        client: Client,
        namespace: str,
        *,
        max_total_bytes: int = MAX_TOTAL_BYTES,
        max_part_bytes: int = MAX_PART_BYTES,
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._max_total_bytes = max_total_bytes
        self._max_part_bytes = max_part_bytes
        self._total_bytes: int | None = None
        self._sequences: dict[str, int] = {}
        self._begun: dict[str, tuple[str, int]] = {}
        self._storing = asyncio.Lock()

    async def store(self, definition: Definition, entries: Sequence[ArchiveEntry]) -> str:
        """
        Keep the entries; they are durable on return.

        Returns:
            The name of the first Secret, with its namespace.
        """
        try:
            packed = await asyncio.to_thread(pack_entries, entries)
        except ValueError as error:
            raise ArchiveFullError(f"a page cannot be archived: {error}") from error
        async with self._storing:
            try:
                total_bytes = await self._make_room(len(packed))
                # Whatever fails now leaves parts behind that have to be counted anew.
                self._total_bytes = None
                name = await self._store_page(definition, packed, objects=len(entries))
            except TransientError:
                raise
            except ClusterError as error:
                raise ArchiveFullError(f"a page cannot be archived: {error}") from error
            self._total_bytes = total_bytes + len(packed)
            return f"{self._namespace}/{name}"

    async def entries(self, definition: Definition) -> AsyncIterator[ArchiveEntry]:
        """
        Read all entries of this definition, newest first.

        Raises:
            RejectedError: A page was damaged.
        """
        for ordered in reversed(await self._parted(definition.name)):
            if not _is_whole(ordered):
                logger.warning(
                    "A page of the archive is incomplete and was left out.",
                    extra={"crd": definition.name, "secret": ordered[0].name},
                )
                continue
            for entry in reversed(await self._read_page(ordered)):
                yield entry

    async def pages(self, crd: str | None = None) -> tuple[ArchivePage, ...]:
        """
        List the pages of one definition, or all, oldest first.
        """
        return tuple(self._page_of(parts) for parts in await self._parted(crd))

    async def read_page(self, page: ArchivePage) -> list[ArchiveEntry]:
        """
        Read the entries of a page, in the order in which they were kept.

        Raises:
            NotFoundError: It is gone.
            RejectedError: It is damaged, or a part is missing.
        """
        parts = await self._parts_of(page)
        call = self._get_call(page.name.partition("/")[2])
        if not parts:
            raise NotFoundError(verb="get", resource=call.resource, status=404, reason="NotFound")
        if not _is_whole(parts):
            raise answers.malformed(call.attempt, "the archive is damaged: a part is missing")
        return await self._read_page(parts)

    async def remove_page(self, page: ArchivePage) -> None:
        """
        Take a page away for good; one that is gone already is no error.
        """
        # The first part goes last: it names the page as long as something of it is left.
        for part in reversed(await self._parts_of(page)):
            call = self._call("delete", "DELETE", part.name)
            try:
                await self._client.send(replace(call, path=f"{call.path}/{segment(part.name)}"))
            except NotFoundError:
                continue

    def _page_of(self, parts: Sequence[_Part]) -> ArchivePage:
        first = parts[0]
        return ArchivePage(
            name=f"{self._namespace}/{first.name}",
            crd=first.crd,
            sequence=first.sequence,
            objects=first.objects,
            size_bytes=sum(part.size_bytes for part in parts),
            created=first.created,
            is_whole=_is_whole(parts),
        )

    async def _parts_of(self, page: ArchivePage) -> list[_Part]:
        for parts in await self._parted(page.crd or None):
            if self._page_of(parts).name == page.name:
                return parts
        return []

    async def _parted(self, crd: str | None) -> list[list[_Part]]:
        """
        List pages, oldest first, each with its parts in order.
        """
        pages: dict[tuple[str, int, str], list[_Part]] = defaultdict(list)
        for part in await self._listed({} if crd is None else {_HASH: hash_of(crd)}):
            pages[part.crd, part.sequence, part.digest].append(part)
        ordered = sorted(pages.items())
        return [sorted(parts, key=lambda part: part.part) for _, parts in ordered]

    async def _make_room(self, size_bytes: int) -> int:
        counted = self._total_bytes
        if counted is not None and counted + size_bytes <= self._max_total_bytes:
            return counted
        # Not counted yet, or somebody may have taken archives away since.
        parts = await self._listed({})
        self._total_bytes = sum(part.size_bytes for part in parts)
        for part in parts:
            known = self._sequences.get(part.crd_hash, 0)
            self._sequences[part.crd_hash] = max(known, part.sequence)
        if self._total_bytes + size_bytes > self._max_total_bytes:
            raise ArchiveFullError(
                f"the archives in namespace {self._namespace} hold {self._total_bytes} bytes, of "
                f"{self._max_total_bytes} that they may; delete Secrets of type {SECRET_TYPE} "
                "that are not needed any more"
            )
        return self._total_bytes

    async def _store_page(self, definition: Definition, packed: bytes, *, objects: int) -> str:
        crd_hash = hash_of(definition.name)
        digest = hashlib.sha256(packed).hexdigest()
        begun, sequence = self._begun.get(crd_hash, ("", 0))
        if begun != digest:
            sequence = self._sequences.get(crd_hash, 0) + 1
        # Should this fail, the next try of the same page finds its parts by their names.
        self._begun[crd_hash] = digest, sequence
        stem = f"{name_of('archive', definition.name)}-{sequence:08d}-{digest[:8]}"
        starts = range(0, len(packed), self._max_part_bytes)
        for number, start in enumerate(starts, 1):
            piece = packed[start : start + self._max_part_bytes]
            annotations = {
                _CRD: definition.name,
                "espalier.dev/crd-uid": definition.uid,
                _CREATED: self._client.clock.utc_timestamp(),
                _OBJECTS: str(objects),
                _SEQUENCE: str(sequence),
                _PART: str(number),
                _PARTS: str(len(starts)),
                _DIGEST: digest,
                _BYTES: str(len(piece)),
            }
            await self._create(f"{stem}-{number}", crd_hash, annotations, piece)
        del self._begun[crd_hash]
        self._sequences[crd_hash] = sequence
        return f"{stem}-1"

    async def _create(
        self, name: str, crd_hash: str, annotations: Mapping[str, str], piece: bytes
    ) -> None:
        data = base64.b64encode(piece).decode()
        call = replace(
            self._call("create", "POST", name),
            query={"fieldManager": FIELD_MANAGER},
            body={
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {
                    "name": name,
                    "namespace": self._namespace,
                    "labels": {**MANAGED_BY, **_COMPONENT, _HASH: crd_hash},
                    "annotations": {**annotations},
                },
                "type": SECRET_TYPE,
                "immutable": True,
                "data": {DATA_KEY: data},
            },
        )
        try:
            stored = await self._client.fetch(call, _secret)
        except ConflictError:
            # The answer to an earlier try of ours may have been lost on the way.
            stored = await self._client.fetch(self._get_call(name), _secret)
        if (stored.data or {}).get(DATA_KEY) != data:
            raise answers.malformed(call.attempt, "the Secret holds something else than was sent")

    async def _read_page(self, parts: Sequence[_Part]) -> list[ArchiveEntry]:
        call = self._get_call(parts[0].name)
        pieces: list[bytes] = []
        for part in parts:
            held = await self._client.fetch(self._get_call(part.name), _secret)
            try:
                pieces.append(base64.b64decode((held.data or {}).get(DATA_KEY, ""), validate=True))
            except ValueError as error:
                raise answers.malformed(call.attempt, "the archive is not base64") from error
        packed = b"".join(pieces)
        if hashlib.sha256(packed).hexdigest() != parts[0].digest:
            raise answers.malformed(call.attempt, "the archive is damaged: its digest differs")
        try:
            return await asyncio.to_thread(unpack_entries, packed)
        except ValueError as error:
            raise answers.malformed(call.attempt, f"the archive is damaged: {error}") from error

    async def _listed(self, labels: Mapping[str, str]) -> list[_Part]:
        wanted = {**MANAGED_BY, **_COMPONENT, **labels}
        selector = ",".join(f"{key}={value}" for key, value in wanted.items())
        call = replace(self._call("list", "GET", ""), accept=PARTIAL_LIST_TYPE, is_read=True)
        parts: list[_Part] = []
        token = ""
        while True:
            query = {"labelSelector": selector, "limit": str(_PAGE_SIZE)}
            if token:
                query["continue"] = token
            try:
                page = await self._client.fetch(replace(call, query=query), _partial_list)
            except ExpiredTokenError:
                if not token:
                    raise
                # All of them must be counted in one piece.
                parts, token = [], ""
                continue
            parts += _parts_of(page.items or ())
            token = page.metadata.continue_token
            if not token:
                return parts

    def _get_call(self, name: str) -> Call:
        call = self._call("get", "GET", name)
        return replace(call, path=f"{call.path}/{segment(name)}", is_read=True)

    def _call(self, verb: str, method: str, name: str) -> Call:
        return Call(
            verb=verb,
            resource=f"secrets {self._namespace}/{name}".removesuffix("/"),
            method=method,
            path=f"/api/v1/namespaces/{segment(self._namespace)}/secrets",
        )


def _is_whole(ordered: Sequence[_Part]) -> bool:
    return [part.part for part in ordered] == list(range(1, ordered[0].parts + 1))


def _parts_of(items: Iterable[_Partial]) -> Iterable[_Part]:
    for item in items:
        said = item.metadata.annotations or {}
        yield _Part(
            name=item.metadata.name,
            crd_hash=(item.metadata.labels or {}).get(_HASH, ""),
            sequence=_number(said.get(_SEQUENCE), 0),
            part=_number(said.get(_PART), 0),
            parts=_number(said.get(_PARTS), 0),
            digest=said.get(_DIGEST, ""),
            # One that does not tell its size counts as a full one.
            size_bytes=_number(said.get(_BYTES), MAX_PART_BYTES),
            crd=said.get(_CRD, ""),
            created=said.get(_CREATED, ""),
            objects=_number(said.get(_OBJECTS), 0),
        )


def _number(text: str | None, otherwise: int) -> int:
    return int(text) if text and _NUMBER.fullmatch(text) else otherwise
