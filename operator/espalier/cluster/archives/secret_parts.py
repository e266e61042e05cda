"""
The Secrets that the pages of an archive are in, as their labels and annotations tell of them.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from espalier import names
from espalier.cluster.transport.client import (
    PARTIAL_LIST_TYPE,
    PARTIAL_TYPE,
    ApiRequest,
    Client,
    decode,
)
from espalier.cluster.transport.paths import segment
from espalier.engine.ports.archive import ArchivePage
from espalier.errors import ExpiredTokenError, NotFoundError

MAX_PART_BYTES = 700 * 1024
"""A Secret takes 1 MiB of data; base64 and the rest of it must fit into one request as well."""

LABELS = {**names.MANAGED_BY, names.COMPONENT: "archive"}

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
    items: list[msgspec.Raw] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """
    What one Secret says of itself.

    Attributes:
        size_bytes: As stored: the data in base64, and the metadata with the fingerprints.
        entries: The fingerprints of its page's entries, as text; only the first part has some.
        namespaces: How much of its page each namespace takes, likewise.
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
    namespaces: str = ""


_raw = msgspec.json.Decoder(msgspec.Raw)
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
            found += [_part_of(call, item) for item in page.items or ()]
            token = page.metadata.continue_token
            if not token:
                return found

    async def at(self, name: str) -> Part | None:
        """
        Read what the Secret of that name says of itself; None if there is none.
        """
        call = replace(self.get_call(name), accept=PARTIAL_TYPE)
        try:
            return _part_of(call, await self._client.fetch(call, _raw))
        except NotFoundError:
            return None

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


def part_of(item: PartialSecret, *, metadata_bytes: int = 0) -> Part:
    """
    Read what a Secret says of itself; nothing that it says is believed blindly.

    Args:
        metadata_bytes: Its size without the data.
    """
    annotations = item.metadata.annotations or {}
    # One that does not tell its size counts as a full one.
    data_bytes = _number(annotations.get(names.BYTES), MAX_PART_BYTES)
    return Part(
        name=item.metadata.name,
        uid=item.metadata.uid,
        crd_hash=(item.metadata.labels or {}).get(names.CRD_HASH, ""),
        sequence=_number(annotations.get(names.SEQUENCE), 0),
        part=_number(annotations.get(names.PART), 0),
        parts=_number(annotations.get(names.PARTS), 0),
        digest=annotations.get(names.SHA256, ""),
        size_bytes=metadata_bytes + stored_data_bytes(data_bytes),
        crd=annotations.get(names.CRD, ""),
        created=annotations.get(names.CREATED, ""),
        objects=_number(annotations.get(names.OBJECTS), 0),
        entries=annotations.get(names.ENTRIES, ""),
        namespaces=annotations.get(names.NAMESPACES, ""),
    )


def stored_data_bytes(data_bytes: int) -> int:
    """
    Compute what data takes in base64.
    """
    return -(-data_bytes // 3) * 4


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


def _part_of(call: ApiRequest, item: msgspec.Raw) -> Part:
    content = bytes(item)
    return part_of(decode(call, content, _partial), metadata_bytes=len(content))
