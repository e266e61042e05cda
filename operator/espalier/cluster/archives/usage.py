"""
Count the stored bytes of an archive, by definition and by namespace.
"""

import base64
import binascii
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from espalier.cluster.archives.shares import room

UNKNOWN = b""
"""The namespace for pages without namespaces, from earlier releases."""

_HASH_BYTES, _WEIGHT_BYTES = 8, 4
_BYTES = _HASH_BYTES + _WEIGHT_BYTES
_MAX_WEIGHT = 256**_WEIGHT_BYTES - 1

Weights = Mapping[bytes, int]
"""The share of each namespace in a page, by the digest of its name."""


def namespace_digest(namespace: str) -> bytes:
    """
    Return the digest of a namespace's name, which is empty for cluster-scoped objects.
    """
    return hashlib.sha256(namespace.encode("utf-8", "surrogatepass")).digest()[:_HASH_BYTES]


def weights_text(weights: Weights) -> str:
    """
    Return weights as the text of an annotation.
    """
    pieces = [
        name.ljust(_HASH_BYTES, b"\0") + min(weight, _MAX_WEIGHT).to_bytes(_WEIGHT_BYTES)
        for name, weight in weights.items()
    ]
    return base64.b64encode(b"".join(pieces)).decode()


def read_weights(text: str) -> dict[bytes, int]:
    """
    Return the weights in a text of ``weights_text``; none if it is anything else.
    """
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return {}
    if len(content) % _BYTES:
        return {}
    pieces = [content[start : start + _BYTES] for start in range(0, len(content), _BYTES)]
    return {piece[:_HASH_BYTES]: int.from_bytes(piece[_HASH_BYTES:]) for piece in pieces}


def split(size_bytes: int, weights: Weights) -> dict[bytes, int]:
    """
    Divide the size of a page among its namespaces, rounded up.
    """
    total = sum(weights.values())
    if total <= 0:
        return {UNKNOWN: size_bytes}
    return {name: -(-size_bytes * weight // total) for name, weight in weights.items()}


@dataclass(slots=True)
class Usage:
    """
    Count the stored bytes.

    Attributes:
        max_total_bytes: The limit for all definitions together.
    """

    max_total_bytes: int
    _held: dict[str, dict[bytes, int]] = field(default_factory=dict)

    @property
    def total_bytes(self) -> int:
        """
        The stored bytes of all definitions.
        """
        return sum(map(self.bytes_of, self._held))

    def bytes_of(self, crd: str) -> int:
        """
        Return the stored bytes of one definition.
        """
        return sum(self._held.get(crd, {}).values())

    def room_of(self, crd: str) -> int:
        """
        Return the number of bytes that may be added for a definition.
        """
        totals = {name: self.bytes_of(name) for name in self._held}
        return room(self.max_total_bytes, totals, crd)

    def rooms_of(self, crd: str, sizes: Weights) -> set[bytes]:
        """
        Return the namespaces with room in a definition; smaller sizes are admitted first.

        Args:
            sizes: The bytes to add for each namespace.
        """
        held = dict(self._held.get(crd, {}))
        cap_bytes = self.bytes_of(crd) + self.room_of(crd)
        found = set()
        for name, size in sorted(sizes.items(), key=lambda item: item[1]):
            if size <= room(cap_bytes, held, name):
                held[name] = held.get(name, 0) + size
                found.add(name)
        return found

    def add(self, crd: str, size_bytes: int, weights: Weights) -> None:
        """
        Add a page.
        """
        held = self._held.setdefault(crd, {})
        for name, size in split(size_bytes, weights).items():
            held[name] = held.get(name, 0) + size

    def forget(self, crd: str) -> None:
        """
        Set the stored bytes of a definition to zero.
        """
        self._held.pop(crd, None)

    def replace(self, crd: str, pages: Iterable[tuple[int, Weights]]) -> None:
        """
        Set the stored bytes of a definition to those of the given pages.
        """
        self.forget(crd)
        for size_bytes, weights in pages:
            self.add(crd, size_bytes, weights)
