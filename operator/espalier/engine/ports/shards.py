"""
Parts of the objects of one definition, divided by a hash of their uids.

The hash is FNV-1a of 64 bits, the one of the API server's sharded lists, so that a server that has
them can choose the very objects of a part.

Source:
    apimachinery, ``pkg/sharding/hash.go``; KEP-5866.
"""

import re
from dataclasses import dataclass

MAX_PARTS = 1000
"""Each part keeps a ConfigMap and a Lease."""

_PART = re.compile(r"([0-9]{1,4})/([0-9]{1,4})", re.ASCII)

_SPACE = 1 << 64
_OFFSET_BASIS = 0xCBF29CE484222325
_PRIME = 0x100000001B3


def hash_of_uid(uid: str) -> int:
    """
    Return FNV-1a of 64 bits of a text's UTF-8.
    """
    digest = _OFFSET_BASIS
    for byte in uid.encode():
        digest = ((digest ^ byte) * _PRIME) % _SPACE
    return digest


@dataclass(frozen=True, slots=True)
class HashRange:
    """
    The hashes from ``start`` up to, and without, ``end``.
    """

    start: int
    end: int

    def holds(self, uid: str) -> bool:
        """
        Report whether the hash of a uid is in the range.
        """
        return self.start <= hash_of_uid(uid) < self.end

    @property
    def selector(self) -> str:
        """
        The shard selector of a list.
        """
        return f"shardRange(object.metadata.uid, '0x{self.start:016x}', '0x{self.end:016x}')"


@dataclass(frozen=True, slots=True)
class Part:
    """
    One of several parts of a definition's objects.

    Attributes:
        number: From 0 on.
        count: How many parts there are.

    Raises:
        ValueError: There is no such part.
    """

    number: int
    count: int

    def __post_init__(self) -> None:
        if not 0 <= self.number < self.count <= MAX_PARTS:
            raise ValueError(f"there is no part {self}")

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    @property
    def hashes(self) -> HashRange:
        """
        The hashes of the uids of its objects; the parts together hold each hash once.
        """
        return HashRange(
            self.number * _SPACE // self.count, (self.number + 1) * _SPACE // self.count
        )


def read_part(text: str) -> Part:
    """
    Read a part as the command line has it: ``0/8`` is the first one of eight.

    Raises:
        ValueError: It has another form, or there is no such part.
    """
    match = _PART.fullmatch(text)
    if match is None:
        raise ValueError(f"not a part: {text!r}")
    return Part(int(match[1]), int(match[2]))
