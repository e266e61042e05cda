"""
One pass over the objects of a legacy definition: archive what goes, then prune.
"""

from collections.abc import Sequence

from espalier.engine.coordination.run_context import RunContext
from espalier.engine.flowcontrol.pacer import Pacer, work_through
from espalier.engine.legacy.removal import Removal, Remover
from espalier.engine.listing.lists import ObjectListing
from espalier.engine.policy.field_managers import is_owned
from espalier.engine.policy.plan import Legacy
from espalier.engine.ports import ObjectKey, key_of
from espalier.engine.rewriting.passes import count
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
        super().__init__(context, pacer)
        self.remover = Remover(context)

    def listing(self, namespace: str) -> ObjectListing:
        """
        List one namespace, or all of them for an empty text.
        """
        return ObjectListing(
            objects=self._ports.objects,
            resource=self.resource,
            page_size=self._page_size,
            namespace=namespace,
        )

    def item_of(self, obj: dict[str, JSON]) -> dict[str, JSON]:
        """
        Take a whole object as it is.
        """
        return obj

    def key_of(self, item: dict[str, JSON]) -> ObjectKey:
        """
        Name an object.
        """
        return key_of(item)

    def is_owned(self, item: dict[str, JSON]) -> bool:
        """
        Tell whether a GitOps controller manages fields of an object.
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
                await retry_until_decided(removal, self._ports.clock, self._pacer),
            )
            if removal.is_mistyped:
                tally.mistyped.add(removal.key)

        await work_through(removals, remove, workers=self._pacer.max_in_flight)
