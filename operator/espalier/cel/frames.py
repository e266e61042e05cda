"""
One evaluation of an expression: its variables, and what it has cost.
"""

from collections.abc import Callable, Mapping
from typing import Final

from espalier.cel.values import CelError, CostLimitError, Failure, TimeLimitError, Value

MAX_COST: Final = 1_000_000
"""The most that one evaluation may cost, in the server's units."""

# How many steps of folds go by before the time is looked at.
_STEPS_PER_LOOK: Final = 64


class _Unset:
    """
    Stands for what was not computed yet.
    """


UNSET: Final = _Unset()


class Frame:
    """
    One evaluation.

    Attributes:
        variables: ``self`` and ``oldSelf``.
        slots: What macros iterate over and accumulate.
        cost: What it has cost so far, in the server's units.
    """

    __slots__ = ("_clock", "_deadline", "_steps", "cost", "max_cost", "slots", "variables")

    def __init__(
        self,
        variables: Mapping[str, Value],
        *,
        slots: int = 0,
        max_cost: int = MAX_COST,
        clock: Callable[[], float] | None = None,
        deadline: float = 0.0,
    ) -> None:
        """
        Begin an evaluation.

        Args:
            variables: ``self``, and ``oldSelf`` where there is one.
            slots: As many as the program needs.
            max_cost: In the server's units.
            clock: By which it is stopped after the ``deadline``; None if it never is.
            deadline: In the seconds of the clock.
        """
        self.variables = variables
        self.slots: list[Value] = [UNSET] * slots
        self.cost = 0
        self.max_cost = max_cost
        self._clock = clock
        self._deadline = deadline
        self._steps = 0

    def charge(self, cost: int) -> None:
        """
        Add to the costs.

        Raises:
            CostLimitError: They are too high now.
        """
        self.cost += cost
        if self.cost > self.max_cost:
            raise CostLimitError("operation cancelled: actual cost limit exceeded")

    def step(self) -> None:
        """
        Count a step of a fold.

        Raises:
            TimeLimitError: The time is over.
        """
        self._steps += 1
        is_look = self._clock is not None and self._steps % _STEPS_PER_LOOK == 0
        if is_look and self._clock is not None and self._clock() > self._deadline:
            raise TimeLimitError("the time for its rules was over")

    def variable(self, name: str) -> Value:
        """
        Look a variable up.

        Raises:
            CelError: It has no value.
        """
        if name not in self.variables:
            raise CelError(f"no such attribute(s): {name}")
        value = self.variables[name]
        if value.__class__ is Failure:
            raise CelError(value.text)
        return value
