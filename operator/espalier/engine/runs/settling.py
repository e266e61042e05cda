"""
The settle time: how long the definition must have been seen unchanged before objects are verified.

After a flip of the storage version a server may store the old version for a moment, and nothing
reports when all of them have agreed.
"""

from espalier.crd import Definition
from espalier.engine.coordination.run_context import RunContext
from espalier.engine.policy.plan import Plan
from espalier.engine.rewriting.settled_writes import SettledWrites
from espalier.engine.status import conditions
from espalier.engine.status.conditions import Reason


class SettleTimer:
    """
    Begins when it is made.

    Args:
        settled: Remembers the writes that begin after the settle time.
    """

    def __init__(self, context: RunContext[Plan], settled: SettledWrites) -> None:
        self._settled = settled
        self._context = context
        self._clock = context.ports.clock
        self._restart(context.planned.definition)

    async def wait(self) -> Definition:
        """
        Wait until the definition has not changed for the settle time.

        Returns:
            The definition as read then.
        """
        while True:
            definition = await self._context.guard.check()
            if definition.generation != self._generation:
                # Its storage version may have moved and moved back, unseen.
                self._restart(definition)
            left_seconds = self._ends_at_seconds - self._clock.monotonic_seconds()
            if left_seconds <= 0:
                return definition
            message = (
                f"objects are rewritten; the verify pass begins in {left_seconds:.0f} s,"
                " when every API server is expected to store the storage version"
                f" {definition.storage.name}"
            )
            pending = conditions.not_current(Reason.PENDING, message)
            await self._context.reporter.report(definition, pending)
            await self._clock.sleep(left_seconds)

    def _restart(self, definition: Definition) -> None:
        # What another process has waited does not count: clocks of machines differ, and it is not
        # known what became of the definition meanwhile.
        self._generation = definition.generation
        self._ends_at_seconds = (
            self._clock.monotonic_seconds() + self._context.settings.settle_seconds
        )
        self._settled.restart(self._ends_at_seconds)
