"""
Random decisions from a seed.
"""

from collections.abc import Sequence
from typing import Protocol, TypeVar

Side = TypeVar("Side")


class Source(Protocol):
    """
    Where the decisions come from.
    """

    def random(self) -> float:
        """
        Return a number from 0 to below 1.
        """
        ...


class Dice:
    """
    Make random decisions; smaller numbers of the source lead to simpler results.

    Any source of numbers works. Hypothesis has one that can shrink its numbers.
    """

    def __init__(self, random: Source) -> None:
        self.number = random.random

    def pick(self, options: Sequence[Side]) -> Side:
        """
        Return one of several items.
        """
        return options[int(self.number() * len(options))]

    def seldom(self, one_in: float) -> bool:
        """
        Return True once in ``one_in`` times, on average.
        """
        return self.number() >= 1 - 1 / one_in

    def count(self, most: int) -> int:
        """
        Return a number from 0 to the maximum.
        """
        return int(self.number() * (most + 1))
