"""
The archive of removed data, in immutable Secrets of the operator's namespace.

A page of entries is one gzip stream. It is cut into parts where it is too large for one Secret,
and all parts are stored before the page counts as kept; a page of which parts are missing was
never removed from anywhere. Pages of one definition are numbered, so that they have an order
that no clock can disturb. What is archived already is not archived again.
"""

import asyncio
import base64
import hashlib
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from espalier.cluster.archives import secret_parts as parts
from espalier.cluster.archives.compression import pack_entries, unpack_entries
from espalier.cluster.archives.fingerprints import (
    MAX_ENTRIES,
    Fingerprint,
    Kept,
    fingerprints_of,
    is_recent,
    read_text,
    text_of,
)
from espalier.cluster.archives.secret_parts import (
    LABELS,
    MAX_PART_BYTES,
    Part,
    PartialSecret,
    Parts,
)
from espalier.cluster.transport import responses as answers
from espalier.cluster.transport.client import Client
from espalier.cluster.transport.paths import FIELD_MANAGER, hash_of, name_of
from espalier.crd import Definition
from espalier.engine.ports.archive import DAMAGES, ArchiveEntry, ArchivePage, UnreadablePage
from espalier.errors import (
    ArchiveFullError,
    ClusterError,
    ConflictError,
    NotFoundError,
    TransientError,
)
from espalier.paths import JSON

logger = logging.getLogger(__name__)

MAX_TOTAL_BYTES = 64 * 1024 * 1024
"""Of all archives together: etcd keeps a few gigabytes, and not for us."""

SECRET_TYPE = "espalier.dev/archive"  # noqa: S105 - a type, and no secret
DATA_KEY = "entries.jsonl.gz"


class _Secret(msgspec.Struct):
    data: dict[str, str] | None = None


class _WholeSecret(PartialSecret):
    data: dict[str, str] | None = None


_secret = msgspec.json.Decoder(_Secret)
_whole = msgspec.json.Decoder(_WholeSecret)


@dataclass(frozen=True, slots=True)
class _ArchivedPage:
    """
    Where entries are.

    Attributes:
        names: Of the Secrets; another page may get them when this one was taken away.
    """

    names: tuple[str, ...]
    digest: str


class SecretArchive:
    """
    Implements ``Archive`` and ``ArchivePages`` of ``espalier.engine.ports.archive``.

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
        self._parts = Parts(client, namespace)
        self._namespace = namespace
        self._max_total_bytes = max_total_bytes
        self._max_part_bytes = max_part_bytes
        self._total_bytes: int | None = None
        # By the hash of a definition's name; without one its pages have to be listed first.
        self._sequences: dict[str, int] = {}
        self._begun: dict[str, tuple[str, int]] = {}
        self._kept: Kept[_ArchivedPage] = Kept()
        self._storing = asyncio.Lock()

    @property
    def secret_verbs(self) -> tuple[str, ...]:
        """
        What ``store`` does with Secrets; to expire them takes more.
        """
        return ("get", "list", "create")

    def begin(self, definition: Definition) -> None:
        """
        Forget how the pages of this definition are numbered; the next ``store`` lists them anew.
        """
        self._sequences.pop(hash_of(definition.name), None)

    async def store(self, definition: Definition, entries: Sequence[ArchiveEntry]) -> str:
        """
        Keep the entries, as far as they are not kept already; they are durable on return.

        Returns:
            The name of the first Secret, with its namespace.
        """
        async with self._storing:
            try:
                name = await self._store(definition, entries)
            except TransientError:
                raise
            except (ClusterError, ValueError) as error:
                raise ArchiveFullError(f"a page cannot be archived: {error}") from error
        return f"{self._namespace}/{name}"

    async def entries(
        self,
        definition: Definition,
        *,
        pass_over: "Callable[[UnreadablePage], None] | None" = None,
    ) -> AsyncIterator[ArchiveEntry]:
        """
        Read all entries of this definition, newest first.

        Args:
            pass_over: Takes the pages that cannot be read; without it a damaged one is an error.

        Raises:
            RejectedError: A page was damaged.
            NotFoundError: A page was taken away meanwhile.
        """
        for page in reversed(await self.pages(definition.name)):
            if not page.is_whole and pass_over is None:
                logger.warning(
                    "A page of the archive is incomplete and was left out.",
                    extra={"crd": definition.name, "secret": page.name},
                )
                continue
            try:
                entries = await self.read_page(page)
            except DAMAGES as error:
                if pass_over is None:
                    raise
                pass_over(UnreadablePage(page.name, str(error)))
                continue
            for entry in reversed(entries):
                yield entry

    async def pages(self, crd: str | None = None) -> tuple[ArchivePage, ...]:
        """
        List the pages of one definition, or all, oldest first.
        """
        listed = await self._parts.listed({} if crd is None else {parts.HASH: hash_of(crd)})
        return tuple(parts.page_of(self._namespace, page) for page in parts.by_page(listed))

    async def read_page(self, page: ArchivePage) -> list[ArchiveEntry]:
        """
        Read the entries of a page, in the order in which they were kept.

        Raises:
            NotFoundError: It is gone.
            RejectedError: It is damaged, or a part is missing.
        """
        call = self._parts.get_call(page.name.partition("/")[2])
        held: list[Part] = []
        pieces: list[bytes] = []
        for name in page.places:
            secret = await self._client.fetch(self._parts.get_call(name), _whole)
            held += parts.parts_of([secret])
            try:
                data = (secret.data or {}).get(DATA_KEY, "")
                pieces.append(base64.b64decode(data, validate=True))
            except ValueError as error:
                raise answers.malformed(call.attempt, "the archive is not base64") from error
        if not held or not parts.is_whole(held):
            raise answers.malformed(call.attempt, "the archive is damaged: a part is missing")
        packed = b"".join(pieces)
        if hashlib.sha256(packed).hexdigest() != held[0].digest:
            raise answers.malformed(call.attempt, "the archive is damaged: its digest differs")
        try:
            return await asyncio.to_thread(unpack_entries, packed)
        except ValueError as error:
            raise answers.malformed(call.attempt, f"the archive is damaged: {error}") from error

    async def remove_page(self, page: ArchivePage) -> None:
        """
        Take a page away for good; one that is gone already is no error.
        """
        # The first part goes last: it names the page as long as something of it is left.
        for name, uid in reversed([*zip(page.places, page.uids, strict=True)]):
            body: dict[str, JSON] = {"apiVersion": "v1", "kind": "DeleteOptions"}
            if uid:
                body["preconditions"] = {"uid": uid}
            call = self._parts.call_of_one("delete", "DELETE", name)
            try:
                await self._client.send(replace(call, body=body))
            except (NotFoundError, ConflictError):
                # Gone, or another Secret has the name by now.
                continue

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
        pending = [*new.items()]
        for start in range(0, len(pending), MAX_ENTRIES):
            some = dict(pending[start : start + MAX_ENTRIES])
            packed = await asyncio.to_thread(pack_entries, [*some.values()])
            total_bytes = await self._make_room(len(packed))
            # Whatever fails now leaves parts behind that have to be counted anew.
            self._total_bytes = None
            page = await self._store_page(definition, packed, [*some])
            self._total_bytes = total_bytes + len(packed)
            self._kept.add(some, page)
            stored.insert(start // MAX_ENTRIES, page.names[0])
        return next(iter(stored), "")

    async def _look_at(self, definition: Definition) -> None:
        """
        See which pages a definition has, unless that is known.

        Whoever else has the lease in between stores the next page: it is looked for.
        """
        crd_hash = hash_of(definition.name)
        known = self._sequences.get(crd_hash)
        if known is not None and not await self._is_taken(definition, known + 1):
            return
        sequence = 0
        told: list[tuple[list[Fingerprint], _ArchivedPage]] = []
        self._begun.pop(crd_hash, None)
        for page in parts.by_page(await self._parts.listed({parts.HASH: crd_hash})):
            first = page[0]
            sequence = max(sequence, first.sequence)
            if not parts.is_whole(page):
                # Whoever stored it did not get through: the same page would be completed.
                self._begun[crd_hash] = first.digest, first.sequence
                continue
            fingerprints = read_text(first.entries)
            if len(fingerprints) < first.objects:
                # It may have newer entries of any object.
                told.clear()
            told.append(
                (fingerprints, _ArchivedPage(tuple(part.name for part in page), first.digest))
            )
        for fingerprints, where in told:
            self._kept.add(fingerprints, where)
        while await self._is_taken(definition, sequence + 1):
            sequence += 1
        self._sequences[crd_hash] = sequence

    async def _is_taken(self, definition: Definition, sequence: int) -> bool:
        return await self._parts.at(_name_of(definition, sequence, 1)) is not None

    async def _is_reliable(self, page: _ArchivedPage) -> bool:
        """
        See whether a page is still there, and will be for a while.
        """
        now = self._client.clock.utc_timestamp()
        for name in page.names:
            part = await self._parts.at(name)
            if part is None or part.digest != page.digest or not is_recent(part.created, now):
                return False
        return True

    async def _make_room(self, size_bytes: int) -> int:
        counted = self._total_bytes
        if counted is not None and counted + size_bytes <= self._max_total_bytes:
            return counted
        # Not counted yet, or somebody may have taken archives away since.
        self._total_bytes = sum(part.size_bytes for part in await self._parts.listed({}))
        if self._total_bytes + size_bytes > self._max_total_bytes:
            raise ArchiveFullError(
                f"the archives in namespace {self._namespace} hold {self._total_bytes} bytes, of "
                f"{self._max_total_bytes} that they may; delete Secrets of type {SECRET_TYPE} "
                "that are not needed any more"
            )
        return self._total_bytes

    async def _store_page(
        self, definition: Definition, packed: bytes, fingerprints: Sequence[Fingerprint]
    ) -> _ArchivedPage:
        crd_hash = hash_of(definition.name)
        digest = hashlib.sha256(packed).hexdigest()
        # Should this fail, the next try lists what there is of the page, and completes it.
        last = self._sequences.pop(crd_hash)
        begun, sequence = self._begun.pop(crd_hash, ("", 0))
        if begun != digest:
            sequence = last + 1
        starts = range(0, len(packed), self._max_part_bytes)
        names = tuple(_name_of(definition, sequence, part + 1) for part in range(len(starts)))
        for number, start in enumerate(starts, 1):
            piece = packed[start : start + self._max_part_bytes]
            annotations = {
                parts.CRD: definition.name,
                "espalier.dev/crd-uid": definition.uid,
                parts.CREATED: self._client.clock.utc_timestamp(),
                parts.OBJECTS: str(len(fingerprints)),
                parts.SEQUENCE: str(sequence),
                parts.PART: str(number),
                parts.PARTS: str(len(starts)),
                parts.DIGEST: digest,
                parts.BYTES: str(len(piece)),
            }
            if number == 1:
                annotations[parts.ENTRIES] = text_of(fingerprints)
            await self._create(names[number - 1], crd_hash, annotations, piece)
        self._sequences[crd_hash] = max(sequence, last)
        return _ArchivedPage(names, digest)

    async def _create(
        self, name: str, crd_hash: str, annotations: Mapping[str, str], piece: bytes
    ) -> None:
        data = base64.b64encode(piece).decode()
        call = replace(
            self._parts.call("create", "POST", name),
            query={"fieldManager": FIELD_MANAGER},
            body={
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {
                    "name": name,
                    "namespace": self._namespace,
                    "labels": {**LABELS, parts.HASH: crd_hash},
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
            stored = await self._client.fetch(self._parts.get_call(name), _secret)
        if (stored.data or {}).get(DATA_KEY) != data:
            raise answers.malformed(call.attempt, "the Secret holds something else than was sent")


def _name_of(definition: Definition, sequence: int, part: int) -> str:
    return f"{name_of('archive', definition.name)}-{sequence:08d}-{part}"
