"""
Make the Secrets for a page of an archive.
"""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from espalier import names
from espalier.cluster.archives import secret_parts as parts
from espalier.cluster.archives.compression import pack_by_namespace
from espalier.cluster.archives.fingerprints import Fingerprint, text_of
from espalier.cluster.archives.secret_pages import DATA_KEY
from espalier.cluster.archives.usage import namespace_digest, weights_text
from espalier.cluster.transport.json_codec import encode_json
from espalier.cluster.transport.paths import hash_of, name_of
from espalier.crd import Definition
from espalier.engine.ports.archive import ArchiveEntry
from espalier.paths import JSON

_SERVER_ADDS_BYTES = 1000
"""The size of what the server adds: uid, times, and managedFields with each annotation."""

_FINGERPRINT_CHARACTERS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """
    The compressed entries of a page.

    Attributes:
        weights: The share of each namespace in the page, by its digest.
        crd_uid: The uid of the definition.
    """

    crd: str
    crd_uid: str
    packed: bytes
    digest: str
    fingerprints: tuple[Fingerprint, ...]
    weights: Mapping[bytes, int]


def contents_of(definition: Definition, entries: Mapping[Fingerprint, ArchiveEntry]) -> Contents:
    """
    Compress entries; for many entries this may take some time.

    Raises:
        ValueError: They have too many bytes to be read back.
    """
    packed, sizes = pack_by_namespace([*entries.values()])
    weights = {
        namespace_digest(name): parts.stored_data_bytes(size) for name, size in sizes.items()
    }
    for entry in entries.values():
        weights[namespace_digest(entry.key.namespace)] += _FINGERPRINT_CHARACTERS
    return Contents(
        crd=definition.name,
        crd_uid=definition.uid,
        packed=packed,
        digest=hashlib.sha256(packed).hexdigest(),
        fingerprints=tuple(entries),
        weights=weights,
    )


def secret_name(crd: str, sequence: int, part: int) -> str:
    """
    Return the name of the Secret for one part of a page.
    """
    return f"{name_of('archive', crd)}-{sequence:08d}-{part}"


def secrets_of(
    contents: Contents, *, namespace: str, sequence: int, max_part_bytes: int, created: str
) -> tuple[dict[str, JSON], ...]:
    """
    Return the Secrets of a page, in the order of its parts.

    Args:
        created: The time as RFC 3339 in UTC.
    """
    starts = range(0, len(contents.packed), max_part_bytes)
    secrets: list[dict[str, JSON]] = []
    for number, start in enumerate(starts, 1):
        piece = contents.packed[start : start + max_part_bytes]
        annotations: dict[str, JSON] = {
            names.CRD: contents.crd,
            names.CRD_UID: contents.crd_uid,
            names.CREATED: created,
            names.OBJECTS: str(len(contents.fingerprints)),
            names.SEQUENCE: str(sequence),
            names.PART: str(number),
            names.PARTS: str(len(starts)),
            names.SHA256: contents.digest,
            names.BYTES: str(len(piece)),
        }
        if number == 1:
            annotations[names.ENTRIES] = text_of(contents.fingerprints)
            annotations[names.NAMESPACES] = weights_text(contents.weights)
        metadata: dict[str, JSON] = {
            "name": secret_name(contents.crd, sequence, number),
            "namespace": namespace,
            "labels": {**parts.LABELS, names.CRD_HASH: hash_of(contents.crd)},
            "annotations": annotations,
        }
        secrets.append(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": metadata,
                "type": names.SECRET_TYPE,
                "immutable": True,
                "data": {DATA_KEY: base64.b64encode(piece).decode()},
            }
        )
    return tuple(secrets)


def stored_bytes(secrets: tuple[dict[str, JSON], ...]) -> int:
    """
    Return the estimated size of Secrets once they are stored.
    """
    return sum(len(encode_json(secret)) + _SERVER_ADDS_BYTES for secret in secrets)
