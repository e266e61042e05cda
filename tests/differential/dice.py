"""
Chance, from a seed.
"""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

Side = TypeVar("Side")


class Dice:
    """
    Decides by a source of random numbers; the smaller its numbers, the plainer what is decided.

    Any source will do: hypothesis has one whose numbers it shrinks.
    """

    def __init__(self, random: Random) -> None:
        self.number = random.random

    def pick(self, options: Sequence[Side]) -> Side:
        """
        Choose one of several.
        """
        return options[int(self.number() * len(options))]

    def seldom(self, one_in: float) -> bool:
        """
        Say yes once in so many times.
        """
        return self.number() >= 1 - 1 / one_in

    def count(self, most: int) -> int:
        """
        Choose a number from 0 to the most.
        """
        return int(self.number() * (most + 1))
