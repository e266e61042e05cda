"""
The archive of removed data, in immutable Secrets of the operator's namespace.

A page of entries is one gzip stream. A page that is too large for one Secret is cut into parts. The
objects are pruned only after all parts are stored, so a page with missing parts is not needed. The
pages of one definition are numbered, so that their order does not depend on a clock. An entry that
is archived already is not archived again.

The stored size is counted: data in base64, metadata and fingerprints. A definition cannot fill the
archive for the others, and a namespace cannot fill a definition's part of it: see ``shares``. Pages
are listed before the first page of a definition is stored. Afterwards an index shows whether there
are changes, and the numbers and digests of pages are compared before they are relied on.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from espalier.cluster.archives import secret_parts as parts
from espalier.cluster.archives.fingerprints import (
    MAX_ENTRIES,
    Fingerprint,
    Kept,
    fingerprints_of,
    is_recent,
    read_text,
)
from espalier.cluster.archives.index import ArchiveIndex, bytes_in, mark_of
from espalier.cluster.archives.secret_drafts import (
    Contents,
    contents_of,
    secret_name,
    secrets_of,
    stored_bytes,
)
from espalier.cluster.archives.secret_pages import SecretPages
from espalier.cluster.archives.secret_parts import MAX_PART_BYTES, SecretPart
from espalier.cluster.archives.usage import Usage, namespace_digest, read_weights, split
from espalier.cluster.transport import responses as answers
from espalier.cluster.transport.client import Client
from espalier.cluster.transport.paths import hash_of
from espalier.crd import Definition
from espalier.engine.ports import ObjectKey
from espalier.engine.ports.archive import ROOM, ArchiveEntry
from espalier.errors import ArchiveFullError, ClusterError, ConflictError, TransientError
from espalier.names import CRD_HASH, FIELD_MANAGER
from espalier.paths import JSON

MAX_TOTAL_BYTES = 64 * 1024 * 1024
"""The limit for all archives together: etcd has only a few gigabytes, for the whole cluster."""

RECOUNT_SECONDS = 10.0
"""The time after which a full archive is counted again, since Secrets may have been deleted."""


class _Secret(msgspec.Struct):
    metadata: msgspec.Raw
    data: dict[str, str] | None = None


_secret = msgspec.json.Decoder(_Secret)


@dataclass(frozen=True, slots=True)
class _ArchivedPage:
    """
    A stored page.

    Attributes:
        names: The names of its Secrets; another page may get them after this one is deleted.
    """

    names: tuple[str, ...]
    digest: str


@dataclass(frozen=True, slots=True)
class _Last:
    """
    The last known page of a definition.

    Attributes:
        page: The page; None if there is none.
        mark: The definition's mark in the index at that time.
    """

    sequence: int
    page: _ArchivedPage | None
    mark: str


class SecretArchive(SecretPages):
    """
    Implement ``Archive`` and ``ArchivePages`` of ``espalier.engine.ports.archive``.

    Args:
        namespace: The namespace of the Secrets.
        max_total_bytes: The limit for all archives in the namespace together, as stored.
    """

    def __init__(
        self,
        client: Client,
        namespace: str,
        *,
        max_total_bytes: int = MAX_TOTAL_BYTES,
        max_part_bytes: int = MAX_PART_BYTES,
    ) -> None:
        super().__init__(client, namespace)
        self._max_part_bytes = max_part_bytes
        self._index = ArchiveIndex(client, namespace)
        self._usage = Usage(max_total_bytes)
        self._counted_at: float | None = None
        self._marks: dict[str, str] = {}
        # By the hash of a definition's name; if there is none, its pages must be listed first.
        self._lasts: dict[str, _Last] = {}
        self._unchecked: set[str] = set()
        self._begun: dict[str, tuple[str, int]] = {}
        self._kept: Kept[_ArchivedPage] = Kept()
        self._storing = asyncio.Lock()

    @property
    def held_bytes(self) -> int | None:
        """
        The stored bytes of all archives; None until this process has counted them.
        """
        return None if self._counted_at is None else self._usage.total_bytes

    @property
    def secret_verbs(self) -> tuple[str, ...]:
        """
        The verbs on Secrets that ``store`` needs; expiring pages needs more.
        """
        return ("get", "list", "create")

    def begin(self, definition: Definition) -> None:
        """
        Make the next ``store`` check whether other processes have stored pages of the definition.
        """
        self._unchecked.add(hash_of(definition.name))

    async def store(self, definition: Definition, entries: Sequence[ArchiveEntry]) -> str:
        """
        Store the entries that are not stored yet. They are durable on return.

        Returns:
            The namespace and name of the first Secret.
        """
        async with self._storing:
            try:
                name = await self._store(definition, entries)
            except TransientError:
                raise
            except (ClusterError, ValueError) as error:
                raise ArchiveFullError(f"a page cannot be archived: {error}") from error
        return f"{self._namespace}/{name}"

    async def _store(self, definition: Definition, entries: Sequence[ArchiveEntry]) -> str:
        await self._look_at(definition)
        new: dict[Fingerprint, ArchiveEntry] = {}
        found: dict[_ArchivedPage, bool] = {}
        fingerprints = await asyncio.to_thread(fingerprints_of, entries)
        for fingerprint, entry in zip(fingerprints, entries, strict=True):
            page = self._kept.page_with(fingerprint)
            if page is not None and page not in found:
                found[page] = await self._is_reliable(page)
            if page is None or not found[page]:
                new[fingerprint] = entry
        stored = [page.names[0] for page, is_reliable in found.items() if is_reliable]
        pending, left = [*new.items()], set[ObjectKey]()
        for start in range(0, len(pending), MAX_ENTRIES):
            admitted, refused = await self._admit(
                definition, dict(pending[start : start + MAX_ENTRIES])
            )
            left |= refused
            if admitted is not None:
                page = await self._store_page(definition, admitted)
                self._kept.add(admitted.fingerprints, page)
                stored.insert(start // MAX_ENTRIES, page.names[0])
        if left:
            raise ArchiveFullError(
                self._message(
                    definition, f"those of this object's namespace have had their share. {ROOM}"
                ),
                left=frozenset(left),
            )
        return next(iter(stored), "")

    async def _admit(
        self, definition: Definition, entries: Mapping[Fingerprint, ArchiveEntry]
    ) -> tuple[Contents | None, set[ObjectKey]]:
        """
        Compress the entries for which there is room; return also the objects of the others.

        Raises:
            ArchiveFullError: There is no room for any of them.
        """
        contents = await asyncio.to_thread(contents_of, definition, entries)
        sizes = split(stored_bytes(self._secrets_of(contents, sequence=0)), contents.weights)
        admitted = self._namespaces_with_room(definition, sizes)
        if admitted != sizes.keys() and self._may_recount():
            await self._count()
            admitted = self._namespaces_with_room(definition, sizes)
        if admitted == sizes.keys():
            return contents, set()
        if min(sizes.values()) > self._usage.room_of(hash_of(definition.name)):
            raise ArchiveFullError(
                self._message(definition, "those of this definition have had their share")
            )
        kept: dict[Fingerprint, ArchiveEntry] = {}
        refused: set[ObjectKey] = set()
        for fingerprint, entry in entries.items():
            if namespace_digest(entry.key.namespace) in admitted:
                kept[fingerprint] = entry
            else:
                refused.add(entry.key)
        if not kept:
            return None, refused
        return await asyncio.to_thread(contents_of, definition, kept), refused

    def _namespaces_with_room(
        self, definition: Definition, sizes: Mapping[bytes, int]
    ) -> set[bytes]:
        crd_hash = hash_of(definition.name)
        if definition.namespaced:
            return self._usage.rooms_of(crd_hash, sizes)
        has_room = sum(sizes.values()) <= self._usage.room_of(crd_hash)
        return {*sizes} if has_room else set()

    def _secrets_of(self, contents: Contents, *, sequence: int) -> tuple[dict[str, JSON], ...]:
        return secrets_of(
            contents,
            namespace=self._namespace,
            sequence=sequence,
            max_part_bytes=self._max_part_bytes,
            created=self._client.clock.utc_timestamp(),
        )

    def _message(self, definition: Definition, why: str) -> str:
        own_bytes = self._usage.bytes_of(hash_of(definition.name))
        return (
            f"the archives in namespace {self._namespace} hold {self._usage.total_bytes} bytes, of "
            f"{self._usage.max_total_bytes} that they may, {own_bytes} of them of this definition;"
            f" {why}"
        )

    async def _look_at(self, definition: Definition) -> None:
        """
        List the pages of a definition, unless they are known.

        A process that held the lease in between has stored the next page and changed the index.
        """
        crd_hash = hash_of(definition.name)
        last = self._lasts.get(crd_hash)
        is_known = last is not None
        if last is not None and crd_hash in self._unchecked:
            marks = await self._index.read()
            self._adopt(marks or {}, crd_hash)
            is_known = (
                marks is not None
                and marks.get(crd_hash, "") == last.mark
                and (last.page is None or await self._is_there(last.page))
            )
        if last is None or not is_known or await self._is_taken(definition, last.sequence + 1):
            await self._list(definition)
        self._unchecked.discard(crd_hash)

    def _adopt(self, marks: Mapping[str, str], own_hash: str) -> None:
        """
        Count the pages that other processes have stored for other definitions.
        """
        for crd_hash, mark in marks.items():
            size_bytes = bytes_in(mark)
            if crd_hash == own_hash or mark == self._marks.get(crd_hash) or size_bytes is None:
                continue
            self._usage.replace(crd_hash, [(size_bytes, {})])
            self._marks[crd_hash] = mark

    async def _list(self, definition: Definition) -> None:
        crd_hash = hash_of(definition.name)
        # The index is read before the pages, so that later changes are noticed the next time.
        marks = await self._index.read() or {}
        if self._counted_at is None:
            await self._count()
        listed = parts.by_page(await self._parts.listed({CRD_HASH: crd_hash}))
        self._usage.replace(crd_hash, map(_size_of, listed))
        sequence, last = 0, None
        known_pages: list[tuple[list[Fingerprint], _ArchivedPage]] = []
        self._begun.pop(crd_hash, None)
        for page in listed:
            first = page[0]
            sequence = max(sequence, first.sequence)
            if not parts.is_whole(page):
                # The page was stored only in part; the same page would be completed.
                self._begun[crd_hash] = first.digest, first.sequence
                continue
            fingerprints = read_text(first.entries)
            if len(fingerprints) < first.objects:
                # It may have newer entries of any object.
                known_pages.clear()
            last = _ArchivedPage(tuple(part.name for part in page), first.digest)
            known_pages.append((fingerprints, last))
        for fingerprints, where in known_pages:
            self._kept.add(fingerprints, where)
        while await self._is_taken(definition, sequence + 1):
            sequence += 1
        self._marks[crd_hash] = marks.get(crd_hash, "")
        self._lasts[crd_hash] = _Last(sequence, last, self._marks[crd_hash])

    def _may_recount(self) -> bool:
        now = self._client.clock.monotonic_seconds()
        return self._counted_at is None or now - self._counted_at >= RECOUNT_SECONDS

    async def _count(self) -> None:
        """
        Count all pages, since pages may have been deleted.
        """
        marks = await self._index.read() or {}
        listed = parts.by_page(await self._parts.listed({}))
        self._usage = Usage(self._usage.max_total_bytes)
        for page in listed:
            self._usage.add(page[0].crd_hash, *_size_of(page))
        self._marks = {**marks}
        self._counted_at = self._client.clock.monotonic_seconds()

    async def _is_taken(self, definition: Definition, sequence: int) -> bool:
        return await self._parts.at(secret_name(definition.name, sequence, 1)) is not None

    async def _is_there(self, page: _ArchivedPage) -> bool:
        first = await self._parts.at(page.names[0])
        return first is not None and first.digest == page.digest

    async def _is_reliable(self, page: _ArchivedPage) -> bool:
        """
        Report whether a page still exists and will not expire soon.
        """
        now = self._client.clock.utc_timestamp()
        for name in page.names:
            part = await self._parts.at(name)
            if part is None or part.digest != page.digest or not is_recent(part.created, now):
                return False
        return True

    async def _store_page(self, definition: Definition, contents: Contents) -> _ArchivedPage:
        crd_hash = hash_of(definition.name)
        # If this fails, the next attempt lists the stored parts and completes the page.
        last = self._lasts.pop(crd_hash)
        begun, sequence = self._begun.pop(crd_hash, ("", 0))
        if begun != contents.digest:
            sequence = last.sequence + 1
        secrets = self._secrets_of(contents, sequence=sequence)
        total_bytes = self._usage.bytes_of(crd_hash) + stored_bytes(secrets)
        mark = mark_of(sequence, contents.digest, total_bytes)
        # Other processes count the page too early rather than not at all.
        await self._index.put(crd_hash, mark)
        names = tuple(secret_name(contents.crd, sequence, part + 1) for part in range(len(secrets)))
        size_bytes = 0
        for name, secret in zip(names, secrets, strict=True):
            size_bytes += await self._create(name, secret)
        page = _ArchivedPage(names, contents.digest)
        self._usage.add(crd_hash, size_bytes, contents.weights)
        self._marks[crd_hash] = mark
        is_last = sequence > last.sequence
        self._lasts[crd_hash] = _Last(
            max(sequence, last.sequence), page if is_last else last.page, mark
        )
        return page

    async def _create(self, name: str, secret: dict[str, JSON]) -> int:
        """
        Create a Secret; return its stored size.
        """
        call = self._parts.call("create", "POST", name)._replace(
            query={"fieldManager": FIELD_MANAGER},
            body=secret,
        )
        try:
            stored = await self._client.fetch(call, _secret)
        except ConflictError:
            # An earlier attempt may have succeeded although its response was lost.
            stored = await self._client.fetch(self._parts.get_call(name), _secret)
        data = stored.data or {}
        if data != secret["data"]:
            raise answers.malformed(call.attempt, "the Secret has other content than was sent")
        return len(bytes(stored.metadata)) + sum(map(len, data.values()))


def _size_of(page: Sequence[SecretPart]) -> tuple[int, Mapping[bytes, int]]:
    return sum(part.size_bytes for part in page), read_weights(page[0].namespaces)
