"""
The port through which a run publishes conditions and progress.
"""

from collections.abc import Sequence
from typing import Protocol

from espalier.crd import Condition, Definition
from espalier.engine.ports.progress import PassProgress


class Reporter(Protocol):
    """
    Takes a run's conditions and progress, whenever its state changes.
    """

    async def report(
        self,
        definition: Definition,
        conditions: Sequence[Condition],
        progress: PassProgress | None = None,
    ) -> None:
        """
        Publish Espalier's conditions; the receiver decides how often progress is written.

        Args:
            progress: The numbers in the first condition's message about a pass that is under way.
        """
