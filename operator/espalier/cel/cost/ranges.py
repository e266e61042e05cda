"""
Ranges of sizes and of costs, in the arithmetic of unsigned integers of 64 bits.
"""

import math
from dataclasses import dataclass
from typing import Final

MAX_UINT64: Final = (1 << 64) - 1
_TWO_TO_63: Final = 1 << 63
_TWO_TO_64: Final = float(1 << 64)


@dataclass(frozen=True, slots=True)
class Range:
    """
    The least and the most that something may be: elements, code points, units of cost.

    Sums and products stop at the greatest number instead of overflowing.

    Source:
        cel-go, ``checker/cost.go``, ``SizeEstimate`` and ``CostEstimate``.
    """

    min: int
    max: int

    def plus(self, other: "Range") -> "Range":
        """
        Add another range.
        """
        return Range(_capped(self.min + other.min), _capped(self.max + other.max))

    def times(self, other: "Range") -> "Range":
        """
        Multiply by another range.
        """
        return Range(_capped(self.min * other.min), _capped(self.max * other.max))

    def scaled(self, factor: float) -> "Range":
        """
        Multiply by a factor; what is not whole is rounded up.
        """
        return Range(_scaled(self.min, factor), _scaled(self.max, factor))

    def joined(self, other: "Range") -> "Range":
        """
        Find the range that holds both.
        """
        return Range(min(self.min, other.min), max(self.max, other.max))


def exactly(number: int) -> Range:
    """
    Make the range of one number.
    """
    return Range(number, number)


ANY: Final = Range(0, MAX_UINT64)
"""The range of what nothing is known about."""

NONE_YET: Final = Range(MAX_UINT64, 0)
"""The range which joined with another is the other."""


def wrapped(number: int) -> int:
    """
    Bring a number into 64 bits, where the server does not look for overflows.
    """
    return number & MAX_UINT64


def ceil_of_quotient(dividend: int, divisor: int) -> int:
    """
    Divide as floating-point numbers, and round up.

    What does not fit becomes 2**63, as on the processors that servers run on.
    """
    quotient = math.ceil(float(dividend) / float(divisor))
    return quotient if quotient <= MAX_UINT64 else _TWO_TO_63


def _capped(number: int) -> int:
    return min(number, MAX_UINT64)


def _scaled(number: int, factor: float) -> int:
    product = float(number) * factor
    return MAX_UINT64 if product >= _TWO_TO_64 else math.ceil(product)
