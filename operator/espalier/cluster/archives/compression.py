"""
Pack documents as gzipped JSON, and unpack them with a size limit.
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
"""More than any page has; the limit keeps a crafted archive from filling the memory."""

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
    patch: list[dict[str, Any]]  # decoded JSON; msgspec does not support the recursive type JSON


_entry = msgspec.json.Decoder(_Entry)


def pack(content: bytes) -> bytes:
    """
    Return compressed bytes; the same content always gives the same bytes.
    """
    return gzip.compress(content, mtime=0)


def unpack(packed: bytes, *, max_bytes: int = MAX_UNPACKED_BYTES) -> bytes:
    """
    Return the decompressed output of ``pack``.

    Raises:
        ValueError: It is not a complete gzip stream, or it has more than ``max_bytes``.
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
    Return entries as compressed JSON Lines.

    Raises:
        ValueError: They have too many bytes to be read back.
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
    Return entries as compressed JSON Lines, and the number of compressed bytes by namespace.

    Raises:
        ValueError: They have too many bytes to be read back.
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
        # Flush, so that the buffered output counts for this namespace; it stays one stream.
        pieces.append(stream.flush(zlib.Z_SYNC_FLUSH))
        sizes[namespace] += len(pieces[-1])
    pieces.append(stream.flush())
    return b"".join(pieces), sizes


def unpack_entries(packed: bytes) -> list[ArchiveEntry]:
    """
    Return the entries that ``pack_entries`` packed, in the same order.

    Raises:
        ValueError: The bytes are something else.
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
        # An entry that could not be read back must not be archived.
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
