"""
The settle time: how long the definition must have been seen unchanged before objects are verified.

After a flip of the storage version a server may store the old version for a moment. Servers are
asked for the version that they store; but none of them may be reached by whoever asks, and none
shows by which schema it prunes. So there is a settle time as well, and it begins anew when a server
was behind.
"""

from collections.abc import Callable

from espalier.crd import Definition
from espalier.engine.coordination.run_context import RunContext
from espalier.engine.flowcontrol.calls import retry_while_unavailable
from espalier.engine.flowcontrol.sightings import Sightings
from espalier.engine.policy.plan import Plan
from espalier.engine.ports.servers import ServersSeen
from espalier.engine.rewriting.settled_writes import SettledWrites
from espalier.engine.status import conditions
from espalier.engine.status.conditions import Reason
from espalier.engine.status.stop_reasons import AGAIN, behind_message
from espalier.errors import RunStoppedError

MAX_LOOKS = 20
"""How often servers that are behind are asked again before the run ends; it is tried again."""

LOOK_AGAIN_SECONDS = 5.0


class SettleTimer:
    """
    Begins when this process has first seen the definition as it is.

    Args:
        settled: Remembers the writes that begin after the settle time.
    """

    def __init__(self, context: RunContext[Plan], settled: SettledWrites) -> None:
        self._settled = settled
        self._context = context
        self._clock = context.ports.clock
        self._sightings = context.ports.sightings or Sightings(self._clock)
        self._restart(context.planned.definition)

    async def wait(self) -> Definition:
        """
        Wait until neither the definition has changed nor a server was behind for the settle time.

        Returns:
            The definition as read then.

        Raises:
            RunStoppedError: Servers are behind for long.
        """
        while True:
            definition = await self._wait_for_definition()
            seen = await self.look()
            if not seen.behind:
                return definition
            await self._wait_for_servers(seen, lambda seen: not seen.behind)

    async def wait_for_a_server(self) -> None:
        """
        Wait until a server has caught up, so that objects can be rewritten through it.

        Raises:
            RunStoppedError: All are behind for long.
        """
        seen = await self.look()
        await self._wait_for_servers(seen, lambda seen: seen.caught_up > 0)

    async def look(self) -> ServersSeen:
        """
        Ask servers for the version that they store; if one is behind, the settle time begins anew.
        """
        objects, resource = self._context.ports.objects, self._context.planned.resource
        seen = await retry_while_unavailable(
            lambda: objects.look_for_servers_behind(resource), self._clock
        )
        if seen.behind:
            self._begin(self._clock.monotonic_seconds())
        return seen

    async def _wait_for_servers(
        self, seen: ServersSeen, is_enough: Callable[[ServersSeen], bool]
    ) -> None:
        for _ in range(MAX_LOOKS):
            if is_enough(seen):
                return
            definition = await self._context.guard.check()
            pending = conditions.not_current(Reason.SERVERS_BEHIND, behind_message(definition))
            await self._context.reporter.report(definition, pending)
            await self._clock.sleep(LOOK_AGAIN_SECONDS)
            seen = await self.look()
        raise RunStoppedError(
            Reason.SERVERS_BEHIND, f"{behind_message(self._context.planned.definition)}; {AGAIN}"
        )

    async def _wait_for_definition(self) -> Definition:
        while True:
            definition = await self._context.guard.check()
            if definition.generation != self._generation:
                # Its storage version may have moved and moved back, unseen.
                self._restart(definition)
            left_seconds = self._ends_at_seconds - self._clock.monotonic_seconds()
            if left_seconds <= 0 or self._context.settings.is_rehearsal:
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
        self._begin(self._sightings.see(definition))

    def _begin(self, at_seconds: float) -> None:
        self._ends_at_seconds = at_seconds + self._context.settings.settle_seconds
        self._settled.restart(self._ends_at_seconds)
