"""
Operands of calls, and the estimated costs of a call.

Source:
    cel-go, ``checker/cost.go``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from espalier.cel.cost.ranges import ANY, Range, exactly
from espalier.cel.cost.slices import NO_STEPS, StepSlice
from espalier.cel.declared_type import Declaration
from espalier.cel.expr import Literal, Node
from espalier.cel.types import CelType

ONE: Final = exactly(1)
_PER_CHARACTER: Final = 0.1


@dataclass(frozen=True, slots=True)
class Estimate:
    """
    What a call costs, and the size of its result where that is known.
    """

    cost: Range
    size: Range | None = None


@dataclass(frozen=True, slots=True)
class Operand:
    """
    An argument, or what stands before the dot.

    Attributes:
        path: Where in the object it lies: a variable, then fields; empty if it is computed.
        type: Its type.
        node: The expression; None for the elements of a list.
        size: Its size, where the expression determines it.
        declared: Of what variables are.
    """

    path: StepSlice
    type: CelType
    node: Node | None
    size: Range | None
    declared: Declaration

    @property
    def known_size(self) -> Range:
        """
        The size by the expression.
        """
        return self.size or ANY

    @property
    def any_size(self) -> Range:
        """
        The size by the expression or the schema.
        """
        if self.size is not None:
            return self.size
        steps = self.path.steps
        found = self.declared.at(steps[1:]) if steps else None
        return ANY if found is None else Range(0, found.max_elements)

    def element(self) -> "Operand | None":
        """
        Describe the elements of a list.
        """
        if not self.type.params:
            return None
        steps = self.path.steps
        # The server copies the path here.
        path = StepSlice([*steps, "@items"], len(steps) + 1) if steps else NO_STEPS
        return Operand(path, self.type.params[0], None, None, self.declared)

    def integer(self, otherwise: int) -> int:
        """
        Return the value if it is written out as an integer, at least 0.
        """
        if isinstance(self.node, Literal) and type(self.node.value) is int:
            return max(self.node.value, 0)
        return otherwise


Target = Operand | None
Args = Sequence[Operand]
CostRule = Callable[[str, Target, Args], Estimate | None]


def traversal(size: Range, times: int = 1) -> Range:
    """
    Return the cost of going through a text.
    """
    return size.scaled(times * _PER_CHARACTER)
