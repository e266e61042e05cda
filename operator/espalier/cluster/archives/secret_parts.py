"""
The Secrets that the pages of an archive are in, as their labels and annotations tell of them.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from espalier.cluster.transport.client import PARTIAL_LIST_TYPE, PARTIAL_TYPE, ApiRequest, Client
from espalier.cluster.transport.paths import MANAGED_BY, segment
from espalier.engine.ports.archive import ArchivePage
from espalier.errors import ExpiredTokenError, NotFoundError

MAX_PART_BYTES = 700 * 1024
"""A Secret takes 1 MiB of data; base64 and the rest of it must fit into one request as well."""

LABELS = {**MANAGED_BY, "app.kubernetes.io/component": "archive"}
HASH = "espalier.dev/crd-hash"
SEQUENCE, PART, PARTS = "espalier.dev/sequence", "espalier.dev/part", "espalier.dev/parts"
DIGEST, BYTES = "espalier.dev/sha256", "espalier.dev/bytes"
CRD, CREATED, OBJECTS = "espalier.dev/crd", "espalier.dev/created", "espalier.dev/objects"
ENTRIES = "espalier.dev/entries"
"""The fingerprints of the entries, so that a list tells what is archived already."""

_PAGE_SIZE = 500

# Longer ones are none of ours.
_NUMBER = re.compile(r"[0-9]{1,9}")


class _SecretMetadata(msgspec.Struct):
    name: str
    uid: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class PartialSecret(msgspec.Struct):
    """
    A Secret without its data.
    """

    metadata: _SecretMetadata


class _SecretListMetadata(msgspec.Struct):
    continue_token: str = msgspec.field(default="", name="continue")


class _PartialList(msgspec.Struct):
    """
    A page of a list of them.
    """

    metadata: _SecretListMetadata
    items: list[PartialSecret] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """
    What one Secret says of itself.

    Attributes:
        entries: The fingerprints of its page's entries, as text; only the first part has some.
    """

    name: str
    uid: str
    crd_hash: str
    sequence: int
    part: int
    parts: int
    digest: str
    size_bytes: int
    crd: str = ""
    created: str = ""
    objects: int = 0
    entries: str = ""


_partial = msgspec.json.Decoder(PartialSecret)
_partial_list = msgspec.json.Decoder(_PartialList)


class Parts:
    """
    The Secrets of a namespace that archives are in; of each only what it says of itself is read.
    """

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace

    async def listed(self, labels: Mapping[str, str]) -> list[Part]:
        """
        List those that have some labels, in one piece.
        """
        wanted = {**LABELS, **labels}
        selector = ",".join(f"{key}={value}" for key, value in wanted.items())
        call = replace(self.call("list", "GET", ""), accept=PARTIAL_LIST_TYPE, is_read=True)
        found: list[Part] = []
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
                found, token = [], ""
                continue
            found += parts_of(page.items or ())
            token = page.metadata.continue_token
            if not token:
                return found

    async def at(self, name: str) -> Part | None:
        """
        Read what the Secret of that name says of itself; None if there is none.
        """
        call = replace(self.get_call(name), accept=PARTIAL_TYPE)
        try:
            (part,) = parts_of([await self._client.fetch(call, _partial)])
        except NotFoundError:
            return None
        return part

    def get_call(self, name: str) -> ApiRequest:
        """
        Make the call that reads one.
        """
        return replace(self.call_of_one("get", "GET", name), is_read=True)

    def call_of_one(self, verb: str, method: str, name: str) -> ApiRequest:
        """
        Make a call to one.
        """
        call = self.call(verb, method, name)
        return replace(call, path=f"{call.path}/{segment(name)}")

    def call(self, verb: str, method: str, name: str) -> ApiRequest:
        """
        Make a call to all of them, or that creates one.
        """
        return ApiRequest(
            verb=verb,
            resource=f"secrets {self._namespace}/{name}".removesuffix("/"),
            method=method,
            path=f"/api/v1/namespaces/{segment(self._namespace)}/secrets",
        )


def parts_of(items: Iterable[PartialSecret]) -> Iterable[Part]:
    """
    Read what some Secrets say of themselves; nothing that they say is believed blindly.
    """
    for item in items:
        said = item.metadata.annotations or {}
        yield Part(
            name=item.metadata.name,
            uid=item.metadata.uid,
            crd_hash=(item.metadata.labels or {}).get(HASH, ""),
            sequence=_number(said.get(SEQUENCE), 0),
            part=_number(said.get(PART), 0),
            parts=_number(said.get(PARTS), 0),
            digest=said.get(DIGEST, ""),
            # One that does not tell its size counts as a full one.
            size_bytes=_number(said.get(BYTES), MAX_PART_BYTES),
            crd=said.get(CRD, ""),
            created=said.get(CREATED, ""),
            objects=_number(said.get(OBJECTS), 0),
            entries=said.get(ENTRIES, ""),
        )


def by_page(parts: Iterable[Part]) -> list[list[Part]]:
    """
    Sort parts into pages, oldest first, each with its parts in order.
    """
    pages: dict[tuple[str, int, str], list[Part]] = defaultdict(list)
    for part in parts:
        pages[part.crd, part.sequence, part.digest].append(part)
    return [sorted(page, key=lambda part: part.part) for _, page in sorted(pages.items())]


def is_whole(page: Sequence[Part]) -> bool:
    """
    Tell whether all parts of a page are there.
    """
    return [part.part for part in page] == list(range(1, page[0].parts + 1))


def page_of(namespace: str, page: Sequence[Part]) -> ArchivePage:
    """
    Describe a page by its parts.
    """
    first = page[0]
    return ArchivePage(
        name=f"{namespace}/{first.name}",
        crd=first.crd,
        sequence=first.sequence,
        objects=first.objects,
        size_bytes=sum(part.size_bytes for part in page),
        created=first.created,
        is_whole=is_whole(page),
        places=tuple(part.name for part in page),
        uids=tuple(part.uid for part in page),
    )


def _number(text: str | None, otherwise: int) -> int:
    return int(text) if text and _NUMBER.fullmatch(text) else otherwise
