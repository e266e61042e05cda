"""
The Secrets that the pages of an archive are in, as their labels and annotations tell of them.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from espalier.engine.archives import ArchivePage

MAX_PART_BYTES = 700 * 1024
"""A Secret takes 1 MiB of data; base64 and the rest of it must fit into one request as well."""

HASH = "espalier.dev/crd-hash"
SEQUENCE, PART, PARTS = "espalier.dev/sequence", "espalier.dev/part", "espalier.dev/parts"
DIGEST, BYTES = "espalier.dev/sha256", "espalier.dev/bytes"
CRD, CREATED, OBJECTS = "espalier.dev/crd", "espalier.dev/created", "espalier.dev/objects"
ENTRIES = "espalier.dev/entries"
"""The fingerprints of the entries, so that a list tells what is archived already."""

# Longer ones are none of ours.
_NUMBER = re.compile(r"[0-9]{1,9}")


class _Metadata(msgspec.Struct):
    name: str
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class Partial(msgspec.Struct):
    """
    A Secret without its data.
    """

    metadata: _Metadata


class _ListMetadata(msgspec.Struct):
    continue_token: str = msgspec.field(default="", name="continue")


class PartialList(msgspec.Struct):
    """
    A page of a list of them.
    """

    metadata: _ListMetadata
    items: list[Partial] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """
    What one Secret says of itself.

    Attributes:
        entries: The fingerprints of its page's entries, as text; only the first part has some.
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
    entries: str = ""


def parts_of(items: Iterable[Partial]) -> Iterable[Part]:
    """
    Read what some Secrets say of themselves; nothing that they say is believed blindly.
    """
    for item in items:
        said = item.metadata.annotations or {}
        yield Part(
            name=item.metadata.name,
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
    )


def _number(text: str | None, otherwise: int) -> int:
    return int(text) if text and _NUMBER.fullmatch(text) else otherwise
