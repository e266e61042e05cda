"""
What a pass does with its pages, for both kinds of definitions.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import ClassVar, Generic, TypeVar

from espalier.engine.conversion.stored_version import StoredVersionWitness
from espalier.engine.coordination.run_context import RunContext
from espalier.engine.flowcontrol.pacer import Pacer, work_through
from espalier.engine.listing.pages import Fetch, Listing, Page
from espalier.engine.listing.undecodable import UndecodableSkipper
from espalier.engine.policy.field_managers import names_owner
from espalier.engine.policy.plan import Plan
from espalier.engine.ports import MetadataPage, ObjectKey, StoredMetadata
from espalier.engine.ports.records import metadata_of
from espalier.engine.rewriting.canary import Canary
from espalier.engine.rewriting.noop_patch import Rewrite
from espalier.engine.rewriting.outages import count
from espalier.engine.rewriting.preflight import Preflight
from espalier.engine.rewriting.rereads import read_again
from espalier.engine.rewriting.retries import Rewritten, retry_until_decided
from espalier.engine.rewriting.settled_writes import Sample, SettledWrites
from espalier.engine.status.tally import Tally
from espalier.paths import JSON

EVERYWHERE = ("",)
"""Stands for the list of all namespaces at once."""

ItemT = TypeVar("ItemT")


class Workload(ABC, Generic[ItemT]):
    """
    What both kinds have in common.

    Attributes:
        resource: Whose objects they are.
        namespaces: What to list, one after another; an empty text stands for all.
        lists_ahead: Whether two of its pages may be in memory.
        key_of: Names an item.
        page_size: The most objects in a page.
    """

    lists_ahead: ClassVar[bool]

    def __init__(
        self,
        context: RunContext[Plan],
        pacer: Pacer,
        *,
        fetch: Fetch[Page[ItemT]],
        key_of: Callable[[ItemT], ObjectKey],
    ) -> None:
        planned = context.planned
        self.resource = planned.resource
        self.namespaces = planned.policy.namespaces or EVERYWHERE
        self.page_size = context.settings.page_size
        self.clock = context.ports.clock
        self.key_of = key_of
        self._fetch = fetch
        self._context = context
        self._planned = planned
        self._objects = context.ports.objects
        self._pacer = pacer

    def listing(self, namespace: str) -> Listing[Page[ItemT]]:
        """
        List one namespace, or all of them for an empty text.
        """
        return Listing(
            fetch=self._fetch,
            resource=self.resource,
            page_size=self.page_size,
            namespace=namespace,
        )

    @abstractmethod
    def item_of(self, obj: dict[str, JSON]) -> ItemT:
        """
        Make an item of a whole object.
        """

    @abstractmethod
    def is_owned(self, item: ItemT) -> bool:
        """
        Report whether a GitOps controller manages fields of an object.
        """

    def unproved(
        self, items: Sequence[ItemT], tally: Tally, sample: Sample | None
    ) -> Sequence[ItemT]:
        """
        Choose what must be written in a verify pass: all, unless a write was a proof already.

        Args:
            sample: Draws what is written all the same; None where nothing was proved.
        """
        del tally, sample
        return items

    @abstractmethod
    async def work_on(self, items: Sequence[ItemT], tally: Tally) -> None:
        """
        Bring objects into form, and count them.
        """

    async def go_ahead(
        self, items: Sequence[ItemT], preflight: Preflight, tally: Tally
    ) -> Sequence[ItemT]:
        """
        Work on objects that must go before all others; return the others.
        """
        del preflight, tally
        return items

    def end_pass(self) -> None:
        """
        Record that a pass went through all objects.
        """

    def is_skipped(self, item: ItemT) -> bool:
        """
        Report whether an object is to be left alone.
        """
        return self._planned.policy.skips_owned and self.is_owned(item)

    def skipper(self) -> UndecodableSkipper:
        """
        Make what gets a list past objects that the server cannot read.
        """
        return UndecodableSkipper(self._objects, self._planned.definition, self._context.probe)

    def preflight(self) -> Preflight:
        """
        Make what goes before the writes of one pass.
        """
        return Preflight(self._context, self._pacer)

    async def read_again(self, keys: Sequence[ObjectKey], tally: Tally) -> list[ItemT]:
        """
        Read some objects anew, by name, and count those that cannot be read.

        Raises:
            ConversionError: The conversion webhook does not answer as it must.
        """
        found = await read_again(keys, self._context, self._pacer, tally)
        return [self.item_of(obj) for obj in found]


class Rewriting(Workload[StoredMetadata]):
    """
    The work where Espalier itself removes nothing.

    Pages are metadata only, and each object gets a patch that changes nothing.

    Args:
        settled: The writes that are proofs.
        witness: Looks at objects before they are written, while it is asked.
        fetch: Lists the objects; None for all objects.
    """

    lists_ahead = True

    def __init__(
        self,
        context: RunContext[Plan],
        pacer: Pacer,
        settled: SettledWrites,
        witness: StoredVersionWitness,
        canary: Canary | None = None,
        fetch: Fetch[MetadataPage] | None = None,
    ) -> None:
        self._canary = canary
        super().__init__(
            context,
            pacer,
            fetch=fetch or context.ports.objects.list_metadata,
            key_of=attrgetter("key"),
        )
        self._settled = settled
        self._witness = witness

    async def go_ahead(
        self, items: Sequence[StoredMetadata], preflight: Preflight, tally: Tally
    ) -> Sequence[StoredMetadata]:
        """
        Rewrite the first objects behind a webhook, and see what they lose.
        """
        if self._canary is None:
            return items
        return await self._canary.go_ahead(items, preflight, tally)

    def end_pass(self) -> None:
        """
        Have no object go before others any more.
        """
        self._canary = None

    def item_of(self, obj: dict[str, JSON]) -> StoredMetadata:
        """
        Keep of a whole object what a metadata-only list holds.
        """
        return metadata_of(obj)

    def is_owned(self, item: StoredMetadata) -> bool:
        """
        Report whether a GitOps controller manages fields of an object.
        """
        return names_owner(item.managed_fields)

    def unproved(
        self, items: Sequence[StoredMetadata], tally: Tally, sample: Sample | None
    ) -> Sequence[StoredMetadata]:
        """
        Choose what must be written in a verify pass: what no write has proved, and a sample.
        """
        if sample is None:
            return items
        left = [item for item in items if not self._settled.proves(item) or sample.draws()]
        tally.seen += len(items) - len(left)
        tally.proved += len(items) - len(left)
        return left

    async def work_on(self, items: Sequence[StoredMetadata], tally: Tally) -> None:
        """
        Rewrite objects.
        """

        async def rewrite(metadata: StoredMetadata) -> None:
            was_proved = self._settled.proves(metadata)
            what = Rewrite(self._context, metadata, self._settled, self._witness)
            fate = await retry_until_decided(what, self.clock, self._pacer)
            if was_proved and isinstance(fate, Rewritten) and not what.has_changed:
                self._settled.refute()
                # Others were passed over in this pass on such an answer.
                fate = fate._replace(was_at_storage_version=False)
            count(tally, metadata.key, fate)

        await work_through(items, rewrite, workers=self._pacer.max_in_flight)
