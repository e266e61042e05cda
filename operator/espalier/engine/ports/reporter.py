"""
The port to whoever publishes conditions and progress.
"""

from collections.abc import Sequence
from typing import Protocol

from espalier.crd import Condition, Definition
from espalier.engine.ports.progress import PassProgress


class Reporter(Protocol):
    """
    Takes what a run has to say, whenever its state changes.
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
            progress: What the first condition says of a pass that is under way, in numbers.
        """
