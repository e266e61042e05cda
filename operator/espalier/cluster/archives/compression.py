"""
Documents as bytes: gzip JSON, unpacked within bounds.
"""

import gzip
import zlib
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import msgspec

from espalier.cluster.transport.deep_nesting import with_large_stack_if_needed
from espalier.cluster.transport.json_codec import encode_json
from espalier.engine.ports import ObjectKey
from espalier.engine.ports.archive import ArchiveEntry
from espalier.paths import JSON

MAX_UNPACKED_BYTES = 128 * 1024 * 1024
"""More than any page holds; a crafted archive must not fill the memory."""

_GZIP = 16 + zlib.MAX_WBITS


class _Reference(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str
    name: str
    namespace: str = ""


class _Entry(msgspec.Struct, rename="camel"):
    reference: _Reference
    uid: str
    resource_version: str
    patch: list[dict[str, Any]]  # decoded JSON; msgspec follows no recursive type


_entry = msgspec.json.Decoder(_Entry)


def pack(content: bytes) -> bytes:
    """
    Compress; the same content always gives the same bytes.
    """
    return gzip.compress(content, mtime=0)


def unpack(packed: bytes, *, max_bytes: int = MAX_UNPACKED_BYTES) -> bytes:
    """
    Decompress what ``pack`` made.

    Raises:
        ValueError: It is no whole gzip stream, or has more bytes than that in it.
    """
    stream = zlib.decompressobj(_GZIP)
    try:
        content = stream.decompress(packed, max_bytes + 1)
    except zlib.error as error:
        raise ValueError("no gzip stream") from error
    if len(content) > max_bytes:
        raise ValueError(f"more than {max_bytes} bytes when unpacked")
    if not stream.eof:
        raise ValueError("cut off")
    return content


def pack_entries(entries: Sequence[ArchiveEntry]) -> bytes:
    """
    Pack entries as JSON Lines.

    Raises:
        ValueError: They would have too many bytes to be read back.
    """
    lines: list[bytes] = []
    size_bytes = 0
    for entry in entries:
        lines.append(_line(entry))
        size_bytes += len(lines[-1])
        if size_bytes > MAX_UNPACKED_BYTES:
            raise ValueError(f"more than {MAX_UNPACKED_BYTES} bytes in one page")
    return pack(b"".join(lines))


def pack_by_namespace(entries: Sequence[ArchiveEntry]) -> tuple[bytes, dict[str, int]]:
    """
    Pack entries as JSON Lines, and measure how many of the packed bytes each namespace takes.

    Raises:
        ValueError: They would have too many bytes to be read back.
    """
    stream = zlib.compressobj(level=9, wbits=_GZIP)
    pieces: list[bytes] = []
    sizes: dict[str, int] = {}
    size_bytes = 0
    for namespace, group in groupby(entries, key=lambda entry: entry.key.namespace):
        for entry in group:
            line = _line(entry)
            size_bytes += len(line)
            if size_bytes > MAX_UNPACKED_BYTES:
                raise ValueError(f"more than {MAX_UNPACKED_BYTES} bytes in one page")
            pieces.append(stream.compress(line))
            sizes[namespace] = sizes.get(namespace, 0) + len(pieces[-1])
        # What is still to come out belongs to this namespace; the stream stays one.
        pieces.append(stream.flush(zlib.Z_SYNC_FLUSH))
        sizes[namespace] += len(pieces[-1])
    pieces.append(stream.flush())
    return b"".join(pieces), sizes


def unpack_entries(packed: bytes) -> list[ArchiveEntry]:
    """
    Read what ``pack_entries`` packed, in the same order.

    Raises:
        ValueError: It is something else.
    """
    try:
        return [_read_entry(line) for line in unpack(packed).splitlines() if line]
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _line(entry: ArchiveEntry) -> bytes:
    reference: dict[str, JSON] = {
        "apiVersion": entry.api_version,
        "kind": entry.kind,
        "namespace": entry.key.namespace,
        "name": entry.key.name,
    }
    document: dict[str, JSON] = {
        "reference": reference,
        "uid": entry.uid,
        "resourceVersion": entry.resource_version,
        "patch": [*entry.patch],
    }
    line = encode_json(document) + b"\n"
    try:
        # What cannot be read back is not archived.
        with_large_stack_if_needed(lambda: _entry.decode(line))
    except RecursionError as error:
        raise ValueError("an object in it is nested too deeply") from error
    return line


def _read_entry(line: bytes) -> ArchiveEntry:
    entry = with_large_stack_if_needed(lambda: _entry.decode(line))
    return ArchiveEntry(
        api_version=entry.reference.api_version,
        kind=entry.reference.kind,
        key=ObjectKey(entry.reference.namespace, entry.reference.name),
        uid=entry.uid,
        resource_version=entry.resource_version,
        patch=tuple(entry.patch),
    )
