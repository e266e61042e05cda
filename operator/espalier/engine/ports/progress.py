"""
How far a run came, in numbers.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PassProgress:
    """
    How far a pass over the objects came.

    Attributes:
        phase: What is done with them: ``rewriting``, ``verifying``.
        number: Which one of several such passes it is; 0 if there is but one.
        done: How many objects are behind it.
        total: How many there are; None where the server has not reported it.
        objects_per_second: The pace of this process in this pass; None at its beginning.
    """

    phase: str
    number: int = 0
    done: int = 0
    total: int | None = None
    objects_per_second: float | None = None

    def __str__(self) -> str:
        return f"{self.phase} (pass {self.number})" if self.number else self.phase
