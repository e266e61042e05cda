"""
Paths that share their memory, as slices of Go do.

The server appends to the path of a part wherever it goes on from it. Where there is room behind the
path, the step is written there, and whatever was appended to the same path before changes with it:
of ``self.a.b.all(k, v, ...)`` the key has the path of the value. Estimates follow from that.

Source:
    cel-go, ``checker/cost.go``, ``pushIterKey``, ``pushIterValue`` and ``costSelect``.
"""

from typing import Final, Self


class StepSlice:
    """
    A path of an expression: a variable, then fields; empty if it is computed.
    """

    __slots__ = ("_cells", "_length")

    def __init__(self, cells: list[str], length: int) -> None:
        self._cells = cells
        self._length = length

    @property
    def steps(self) -> tuple[str, ...]:
        """
        Return the steps as they are now.
        """
        return tuple(self._cells[: self._length])

    def appended(self, step: str) -> Self:
        """
        Append a step; the memory is shared where there is room.
        """
        cells, length = self._cells, self._length
        if length == len(cells):
            # The room doubles.
            cells = [*cells, *([""] * max(1, length))]
        cells[length] = step
        return self.__class__(cells, length + 1)


NO_STEPS: Final = StepSlice([], 0)
"""The path of what is computed."""
