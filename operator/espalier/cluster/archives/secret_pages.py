"""
List, read and remove the pages of an archive in Secrets.
"""

import asyncio
import base64
import hashlib
import logging
from collections.abc import AsyncIterator, Callable

import msgspec

from espalier.cluster.archives import secret_parts as parts
from espalier.cluster.archives.compression import unpack_entries
from espalier.cluster.archives.secret_parts import PartialSecret, Parts, SecretPart
from espalier.cluster.transport import responses as answers
from espalier.cluster.transport.client import Client
from espalier.cluster.transport.paths import hash_of
from espalier.crd import Definition
from espalier.engine.ports.archive import DAMAGES, ArchiveEntry, ArchivePage, UnreadablePage
from espalier.errors import ConflictError, NotFoundError
from espalier.names import CRD_HASH
from espalier.paths import JSON

logger = logging.getLogger(__name__)

DATA_KEY = "entries.jsonl.gz"


class _WholeSecret(PartialSecret):
    data: dict[str, str] | None = None


_whole = msgspec.json.Decoder(_WholeSecret)


class SecretPages:
    """
    Implement ``espalier.engine.ports.archive.ArchivePages``.

    Args:
        namespace: The namespace of the Secrets.
    """

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self._parts = Parts(client, namespace)

    async def entries(
        self,
        definition: Definition,
        *,
        pass_over: "Callable[[UnreadablePage], None] | None" = None,
    ) -> AsyncIterator[ArchiveEntry]:
        """
        Read all entries of this definition, newest first.

        Args:
            pass_over: Called with each page that cannot be read; if None, that is an error.

        Raises:
            RejectedError: A page is damaged.
            NotFoundError: A page was deleted since it was listed.
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
        Return the pages of one definition or of all definitions, oldest first.
        """
        listed = await self._parts.listed({} if crd is None else {CRD_HASH: hash_of(crd)})
        return tuple(parts.page_of(self._namespace, page) for page in parts.by_page(listed))

    async def read_page(self, page: ArchivePage) -> list[ArchiveEntry]:
        """
        Return the entries of a page, in the order in which they were stored.

        Raises:
            NotFoundError: The page does not exist any more.
            RejectedError: The page is damaged, or a part is missing.
        """
        call = self._parts.get_call(page.name.partition("/")[2])
        held: list[SecretPart] = []
        pieces: list[bytes] = []
        for name in page.places:
            secret = await self._client.fetch(self._parts.get_call(name), _whole)
            held.append(parts.part_of(secret))
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
        Delete a page permanently; it is no error if it does not exist.
        """
        # The first part is deleted last, since it names the page while other parts exist.
        for name, uid in reversed([*zip(page.places, page.uids, strict=True)]):
            body: dict[str, JSON] = {"apiVersion": "v1", "kind": "DeleteOptions"}
            if uid:
                body["preconditions"] = {"uid": uid}
            call = self._parts.call_of_one("delete", "DELETE", name)
            try:
                await self._client.send(call._replace(body=body))
            except (NotFoundError, ConflictError):
                # The Secret does not exist, or another one has its name by now.
                continue
