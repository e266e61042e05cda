"""
One pass over the objects of a legacy definition: archive what goes, then prune.
"""

from collections.abc import Sequence

from espalier.engine.coordination.run_context import RunContext
from espalier.engine.flowcontrol.pacer import Pacer, work_through
from espalier.engine.legacy.removal import Removal, Remover
from espalier.engine.policy.field_managers import is_owned
from espalier.engine.policy.plan import Legacy
from espalier.engine.ports import key_of
from espalier.engine.rewriting.outages import count
from espalier.engine.rewriting.retries import retry_until_decided
from espalier.engine.rewriting.workload import Workload
from espalier.engine.status.tally import Tally
from espalier.paths import JSON


class Removing(Workload[dict[str, JSON]]):
    """
    The work for a legacy definition: whole pages, an archive, and a PUT where something goes.
    """

    # Its pages hold whole objects.
    lists_ahead = False

    def __init__(self, context: RunContext[Legacy], pacer: Pacer) -> None:
        super().__init__(context, pacer, fetch=context.ports.objects.list_objects, key_of=key_of)
        self.remover = Remover(context)

    def item_of(self, obj: dict[str, JSON]) -> dict[str, JSON]:
        """
        Take a whole object as it is.
        """
        return obj

    def is_owned(self, item: dict[str, JSON]) -> bool:
        """
        Report whether a GitOps controller manages fields of an object.
        """
        return is_owned(item)

    async def work_on(self, items: Sequence[dict[str, JSON]], tally: Tally) -> None:
        """
        Archive what is to go, then prune objects.
        """
        removals = [Removal(self.remover, obj) for obj in items]
        await self.remover.archive_page(removals)

        async def remove(removal: Removal) -> None:
            count(
                tally,
                removal.key,
                await retry_until_decided(removal, self.clock, self._pacer),
            )
            if removal.is_mistyped:
                tally.mistyped.add(removal.key)

        await work_through(removals, remove, workers=self._pacer.max_in_flight)
