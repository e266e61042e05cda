"""
What a pass does with its pages, for both kinds of definitions.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Generic, TypeVar

from espalier.engine.coordination.run_context import RunContext
from espalier.engine.flowcontrol.pacer import Pacer, work_through
from espalier.engine.listing.lists import MetadataListing
from espalier.engine.listing.pages import Listing
from espalier.engine.listing.undecodable import UndecodableSkipper
from espalier.engine.policy.field_managers import names_owner
from espalier.engine.policy.plan import Plan
from espalier.engine.ports import ObjectKey, StoredMetadata
from espalier.engine.ports.records import Identity, metadata_of
from espalier.engine.rewriting.noop_patch import Rewrite
from espalier.engine.rewriting.passes import (
    EVERYWHERE,
    ItemPage,
    Listener,
    bring_into_form,
    count,
    go_through,
)
from espalier.engine.rewriting.preflight import Preflight
from espalier.engine.rewriting.rereads import read_again
from espalier.engine.rewriting.retries import retry_until_decided
from espalier.engine.status.tally import Tally
from espalier.paths import JSON

ItemT = TypeVar("ItemT")


class Workload(ABC, Generic[ItemT]):
    """
    What both kinds have in common; see ``espalier.engine.rewriting.passes.Work``.
    """

    lists_ahead: ClassVar[bool]

    def __init__(self, context: RunContext[Plan], pacer: Pacer) -> None:
        planned = context.planned
        self.resource = planned.resource
        self.namespaces = planned.policy.namespaces or EVERYWHERE
        self._context = context
        self._planned = planned
        self._ports = context.ports
        self._page_size = context.settings.page_size
        self._pacer = pacer

    @abstractmethod
    def listing(self, namespace: str) -> Listing[ItemPage[ItemT]]:
        """
        List one namespace, or all of them for an empty text.
        """

    @abstractmethod
    def item_of(self, obj: dict[str, JSON]) -> ItemT:
        """
        Make an item of a whole object.
        """

    @abstractmethod
    def key_of(self, item: ItemT) -> ObjectKey:
        """
        Name an item.
        """

    @abstractmethod
    def is_owned(self, item: ItemT) -> bool:
        """
        Tell whether a GitOps controller manages fields of an object.
        """

    @abstractmethod
    async def work_on(self, items: Sequence[ItemT], tally: Tally) -> None:
        """
        Bring objects into form, and count them.
        """

    def skipper(self) -> UndecodableSkipper:
        """
        Make what gets a list past objects that the server cannot read.
        """
        return UndecodableSkipper(self._ports.objects, self._planned.definition)

    def is_skipped(self, item: ItemT) -> bool:
        """
        Tell whether an object is to be left alone.
        """
        return self._planned.policy.skips_owned and self.is_owned(item)

    async def go(self, listener: Listener, *, start_token: str | None) -> Tally:
        """
        Do one pass.
        """
        preflight = Preflight(self._context, self._pacer)
        return await go_through(
            self, preflight, self._ports.clock, listener, start_token=start_token
        )

    async def try_again(self, keys: Sequence[ObjectKey], listener: Listener) -> Tally:
        """
        Do the same with some objects alone, by name, as many at a time as a page has.
        """
        tally = Tally()
        listener.begin(tally)
        preflight = Preflight(self._context, self._pacer)
        for start in range(0, len(keys), self._page_size):
            await listener.before_page()
            some = keys[start : start + self._page_size]
            found = await read_again(some, self.resource, self._ports, self._pacer, tally)
            await bring_into_form(self, preflight, [self.item_of(obj) for obj in found], tally)
            left = len(keys) - start - len(some)
            await listener.after_page(tally, token=None, remaining=left)
        return tally


class Rewriting(Workload[StoredMetadata]):
    """
    The work where Espalier itself removes nothing.

    Pages are metadata only, and each object gets a patch that changes nothing.

    Attributes:
        vet: Looks at objects before they are written; raises if they must not be.
    """

    lists_ahead = True
    vet: Callable[[Sequence[StoredMetadata]], None] | None = None

    def listing(self, namespace: str) -> MetadataListing:
        """
        List one namespace, or all of them for an empty text.
        """
        return MetadataListing(
            objects=self._ports.objects,
            resource=self.resource,
            page_size=self._page_size,
            namespace=namespace,
        )

    def item_of(self, obj: dict[str, JSON]) -> StoredMetadata:
        """
        Keep of a whole object what a list of metadata would tell.
        """
        return metadata_of(obj)

    def key_of(self, item: StoredMetadata) -> ObjectKey:
        """
        Name an object.
        """
        return item.key

    def is_owned(self, item: StoredMetadata) -> bool:
        """
        Tell whether a GitOps controller manages fields of an object.
        """
        return names_owner(item.managed_fields)

    async def work_on(self, items: Sequence[StoredMetadata], tally: Tally) -> None:
        """
        Rewrite objects.
        """
        if self.vet is not None:
            self.vet(items)

        async def rewrite(metadata: StoredMetadata) -> None:
            seen = Identity(metadata.uid, metadata.resource_version)
            what = Rewrite(self._ports.objects, self.resource, metadata.key, seen)
            fate = await retry_until_decided(what, self._ports.clock, self._pacer)
            count(tally, metadata.key, fate)

        await work_through(items, rewrite, workers=self._pacer.max_in_flight)
