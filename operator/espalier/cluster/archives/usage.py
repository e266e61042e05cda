"""
What an archive holds, by definition and by namespace, in bytes as stored.
"""

import base64
import binascii
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from espalier.cluster.archives.shares import room

UNKNOWN = b""
"""The namespace of what does not name its namespaces, as pages of earlier releases."""

_HASH_BYTES, _WEIGHT_BYTES = 8, 4
_BYTES = _HASH_BYTES + _WEIGHT_BYTES
_MAX_WEIGHT = 256**_WEIGHT_BYTES - 1

Weights = Mapping[bytes, int]
"""How much of a page each namespace takes, by a digest of its name."""


def namespace_digest(namespace: str) -> bytes:
    """
    Digest a namespace's name; cluster-scoped objects have an empty one.
    """
    return hashlib.sha256(namespace.encode("utf-8", "surrogatepass")).digest()[:_HASH_BYTES]


def weights_text(weights: Weights) -> str:
    """
    Write weights as an annotation holds them.
    """
    pieces = [
        name.ljust(_HASH_BYTES, b"\0") + min(weight, _MAX_WEIGHT).to_bytes(_WEIGHT_BYTES)
        for name, weight in weights.items()
    ]
    return base64.b64encode(b"".join(pieces)).decode()


def read_weights(text: str) -> dict[bytes, int]:
    """
    Read what ``weights_text`` wrote; nothing of anything else.
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
    Divide what a page takes among its namespaces, rounded up.
    """
    total = sum(weights.values())
    if total <= 0:
        return {UNKNOWN: size_bytes}
    return {name: -(-size_bytes * weight // total) for name, weight in weights.items()}


@dataclass(slots=True)
class Usage:
    """
    Counts what is stored.

    Attributes:
        max_total_bytes: Of all definitions together.
    """

    max_total_bytes: int
    _held: dict[str, dict[bytes, int]] = field(default_factory=dict)

    @property
    def total_bytes(self) -> int:
        """
        All that is stored.
        """
        return sum(map(self.bytes_of, self._held))

    def bytes_of(self, crd: str) -> int:
        """
        What is stored of one definition.
        """
        return sum(self._held.get(crd, {}).values())

    def room_of(self, crd: str) -> int:
        """
        How many bytes may be added for a definition.
        """
        totals = {name: self.bytes_of(name) for name in self._held}
        return room(self.max_total_bytes, totals, crd)

    def rooms_of(self, crd: str, sizes: Weights) -> set[bytes]:
        """
        Find the namespaces for which there is room in a definition, smaller pieces first.

        Args:
            sizes: What is to be added for each namespace, in bytes.
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
        Count a page.
        """
        held = self._held.setdefault(crd, {})
        for name, size in split(size_bytes, weights).items():
            held[name] = held.get(name, 0) + size

    def forget(self, crd: str) -> None:
        """
        Count a definition as one that has nothing.
        """
        self._held.pop(crd, None)

    def replace(self, crd: str, pages: Iterable[tuple[int, Weights]]) -> None:
        """
        Count a definition anew.
        """
        self.forget(crd)
        for size_bytes, weights in pages:
            self.add(crd, size_bytes, weights)
