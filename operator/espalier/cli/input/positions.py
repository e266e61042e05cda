"""
Positions in texts: lines and columns.
"""

import re
from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple, TypeAlias

from espalier.paths import Step

Place: TypeAlias = tuple[int, Step]
"""The id of a container, and the step in it."""


class Mark(NamedTuple):
    """
    A position in a text; lines and columns begin at 1.
    """

    line: int
    column: int


class TextPositions:
    """
    The line and column of every offset in a text. The lines are counted when one is asked for.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    def mark(self, offset: int) -> Mark:
        """
        Return the line and column of an offset; both begin at 1 and count characters.
        """
        line = bisect_right(self._line_starts, offset)
        return Mark(line, offset - self._line_starts[line - 1] + 1)


class LazyMarks(Mapping[Place, Mark]):
    """
    The positions of a document's values. They are found when the first one is asked for.
    """

    def __init__(self, text: TextPositions) -> None:
        self._text = text

    def __getitem__(self, place: Place) -> Mark:
        return self._text.mark(self._offsets[place])

    def __iter__(self) -> Iterator[Place]:
        return iter(self._offsets)

    def __len__(self) -> int:
        return len(self._offsets)

    @cached_property
    def _offsets(self) -> dict[Place, int]:
        return dict(self._found())

    @abstractmethod
    def _found(self) -> Iterator[tuple[Place, int]]:
        """
        Yield the offset of each value.
        """
