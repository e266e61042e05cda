"""
Read the labels and annotations of the Secrets in which an archive's pages are stored.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from espalier import names
from espalier.cluster.transport.client import ApiRequest, Client, decode
from espalier.cluster.transport.media_types import PARTIAL_LIST_TYPE, PARTIAL_TYPE
from espalier.cluster.transport.paths import segment
from espalier.engine.ports.archive import ArchivePage
from espalier.errors import ExpiredTokenError, NotFoundError

MAX_PART_BYTES = 700 * 1024
"""The data of one Secret. The limit is 1 MiB, and base64 must fit into one request too."""

LABELS = {**names.MANAGED_BY, names.COMPONENT: "archive"}

_PAGE_SIZE = 500

# Espalier writes no longer numbers.
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
    A page of a list of Secrets.
    """

    metadata: _SecretListMetadata
    items: list[msgspec.Raw] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretPart:
    """
    The metadata of one Secret: a part of a page.

    Attributes:
        size_bytes: The stored size: the data in base64, and the metadata with the fingerprints.
        entries: The fingerprints of the page's entries, as text; only in the first part.
        namespaces: The share of each namespace in the page, as text; only in the first part.
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
    The archives' Secrets in a namespace; only their metadata is read.
    """

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace

    async def listed(self, labels: Mapping[str, str]) -> list[SecretPart]:
        """
        Return the parts with the given labels, from one consistent list.
        """
        wanted = {**LABELS, **labels}
        selector = ",".join(f"{key}={value}" for key, value in wanted.items())
        call = self.call("list", "GET", "")._replace(accept=PARTIAL_LIST_TYPE, is_read=True)
        found: list[SecretPart] = []
        token = ""
        while True:
            query = {"labelSelector": selector, "limit": str(_PAGE_SIZE)}
            if token:
                query["continue"] = token
            try:
                page = await self._client.fetch(call._replace(query=query), _partial_list)
            except ExpiredTokenError:
                if not token:
                    raise
                # The list must be consistent, so it starts again.
                found, token = [], ""
                continue
            found += [_part_of(call, item) for item in page.items or ()]
            token = page.metadata.continue_token
            if not token:
                return found

    async def at(self, name: str) -> SecretPart | None:
        """
        Return the part in the Secret of this name; None if there is no such Secret.
        """
        call = self.get_call(name)._replace(accept=PARTIAL_TYPE)
        try:
            return _part_of(call, await self._client.fetch(call, _raw))
        except NotFoundError:
            return None

    def get_call(self, name: str) -> ApiRequest:
        """
        Return the call that reads one Secret.
        """
        return self.call_of_one("get", "GET", name)._replace(is_read=True)

    def call_of_one(self, verb: str, method: str, name: str) -> ApiRequest:
        """
        Return a call to one Secret.
        """
        call = self.call(verb, method, name)
        return call._replace(path=f"{call.path}/{segment(name)}")

    def call(self, verb: str, method: str, name: str) -> ApiRequest:
        """
        Return a call to all Secrets, or one that creates a Secret.
        """
        return ApiRequest(
            verb=verb,
            resource=f"secrets {self._namespace}/{name}".removesuffix("/"),
            method=method,
            path=f"/api/v1/namespaces/{segment(self._namespace)}/secrets",
        )


def part_of(item: PartialSecret, *, metadata_bytes: int = 0) -> SecretPart:
    """
    Return the part that a Secret's metadata describes; unusable values get defaults.

    Args:
        metadata_bytes: The size of the Secret without its data.
    """
    annotations = item.metadata.annotations or {}
    # A Secret without a size counts as a full one.
    data_bytes = _number(annotations.get(names.BYTES), MAX_PART_BYTES)
    return SecretPart(
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
    Return the size of data in base64.
    """
    return -(-data_bytes // 3) * 4


def by_page(parts: Iterable[SecretPart]) -> list[list[SecretPart]]:
    """
    Group parts by page; the oldest page comes first, and its parts are in order.
    """
    pages: dict[tuple[str, int, str], list[SecretPart]] = defaultdict(list)
    for part in parts:
        pages[part.crd, part.sequence, part.digest].append(part)
    return [sorted(page, key=lambda part: part.part) for _, page in sorted(pages.items())]


def is_whole(page: Sequence[SecretPart]) -> bool:
    """
    Report whether all parts of a page exist.
    """
    return [part.part for part in page] == list(range(1, page[0].parts + 1))


def page_of(namespace: str, page: Sequence[SecretPart]) -> ArchivePage:
    """
    Return the page that consists of these parts.
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


def _part_of(call: ApiRequest, item: msgspec.Raw) -> SecretPart:
    content = bytes(item)
    return part_of(decode(call, content, _partial), metadata_bytes=len(content))
