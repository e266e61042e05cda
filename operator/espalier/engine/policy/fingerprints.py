"""
Large sets of states of objects, in little memory.
"""

import hashlib
from array import array

_FIRST_SLOTS = 1024
_MOST_USED = 0.75
_GROWTH = 1.5


class FingerprintSet:
    """
    A set of 64-bit numbers: a table with open addresses, at most 16 bytes for each number.

    A built-in set of integers takes about 70 bytes for each.
    """

    __slots__ = ("_length", "_slots")

    def __init__(self) -> None:
        self._slots = array("Q", bytes(8 * _FIRST_SLOTS))
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def __contains__(self, number: int) -> bool:
        number = number or 1
        return self._slots[self._place_of(number)] == number

    @property
    def size_bytes(self) -> int:
        """
        What it takes in memory.
        """
        return len(self._slots) * self._slots.itemsize

    def add(self, number: int) -> None:
        """
        Add a number; 0, which marks a free slot, counts as 1.
        """
        number = number or 1
        place = self._place_of(number)
        if self._slots[place] == number:
            return
        if self._length + 1 > _MOST_USED * len(self._slots):
            self._grow()
            place = self._place_of(number)
        self._slots[place] = number
        self._length += 1

    def clear(self) -> None:
        """
        Remove all numbers, and give their memory back.
        """
        self._slots = array("Q", bytes(8 * _FIRST_SLOTS))
        self._length = 0

    def _place_of(self, number: int) -> int:
        slots = self._slots
        count = len(slots)
        place = number % count
        while slots[place] and slots[place] != number:
            place = (place + 1) % count
        return place

    def _grow(self) -> None:
        old = self._slots
        self._slots = array("Q", bytes(8 * int(_GROWTH * len(old))))
        for number in old:
            if number:
                self._slots[self._place_of(number)] = number


def fingerprint_of(uid: str, resource_version: str = "") -> int:
    """
    Return a number of 64 bits for a state of an object, or for the object itself.
    """
    digest = hashlib.blake2b(f"{uid}/{resource_version}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")
