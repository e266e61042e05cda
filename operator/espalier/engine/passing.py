"""
One pass over all stored objects: list a page, work on it, tell how far it came.

The same for both kinds of definitions; they differ in what a page is and what is done with it.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from espalier import crd
from espalier.engine.converting import ask_webhook, converts_by_webhook
from espalier.engine.listing import MetadataListing, ObjectListing
from espalier.engine.narrowing import Skipper
from espalier.engine.owners import is_owned, names_owner
from espalier.engine.pacing import Pacer, work_through
from espalier.engine.paging import Listing, pages
from espalier.engine.planning import Legacy, Plan, ServerPruned
from espalier.engine.ports import (
    Clock,
    MetadataPage,
    ObjectKey,
    ObjectPage,
    Resource,
    StoredMetadata,
    key_of,
)
from espalier.engine.removing import Removal, Remover
from espalier.engine.rewriting import (
    Failed,
    Fate,
    Gone,
    Identity,
    Rewrite,
    Rewritten,
    Unchanged,
    persist,
)
from espalier.engine.sampling import sample
from espalier.engine.settings import Ports, RunSettings
from espalier.engine.tallying import Tally
from espalier.paths import JSON
from espalier.schema import Structural

EVERYWHERE = ("",)
"""Stands for the list of all namespaces at once."""


class Page(Protocol):
    """
    What all pages have.
    """

    @property
    def continue_token(self) -> str | None:
        """
        Asks for the next page; None after the last one.
        """

    @property
    def remaining(self) -> int | None:
        """
        How many objects follow, if the server said so.
        """

    @property
    def last_key(self) -> ObjectKey | None:
        """
        The last object's; None on an empty page.
        """


PageT = TypeVar("PageT", bound=Page)


class Work(Protocol[PageT]):
    """
    What a pass does with its pages.
    """

    @property
    def resource(self) -> Resource:
        """
        Whose objects they are.
        """

    @property
    def namespaces(self) -> Sequence[str]:
        """
        What to list, one after another; an empty text stands for all.
        """

    def listing(self, namespace: str) -> Listing[PageT]:
        """
        List one namespace, or all of them for an empty text.
        """

    def keys_of(self, page: PageT) -> Sequence[ObjectKey]:
        """
        Name the objects of a page.
        """

    def skipper(self) -> Skipper:
        """
        Make what gets a list past objects that the server cannot read.
        """

    async def before_writing(self, key: ObjectKey) -> None:
        """
        See, by one of a page's objects, that writing does no harm.

        Raises:
            ConversionError: The conversion webhook does not answer.
        """

    async def work_on(self, page: PageT, tally: Tally) -> None:
        """
        Bring the objects of a page into form, and count them.
        """


class Rewriting:
    """
    The work where Espalier itself removes nothing.

    Pages are metadata only, and each object gets a patch that changes nothing.
    """

    def __init__(self, planned: Plan, ports: Ports, settings: RunSettings, pacer: Pacer) -> None:
        self.resource = planned.resource
        self.namespaces = planned.policy.namespaces or EVERYWHERE
        self._skips_owned = planned.policy.skips_owned
        self._definition = planned.definition
        self._structural = None
        if isinstance(planned, ServerPruned):
            self._structural = crd.structural_of(planned.definition.storage)
        self._ports = ports
        self._settings = settings
        self._pacer = pacer

    def listing(self, namespace: str) -> MetadataListing:
        """
        List one namespace, or all of them for an empty text.
        """
        return MetadataListing(
            objects=self._ports.objects,
            resource=self.resource,
            page_size=self._settings.page_size,
            namespace=namespace,
        )

    def keys_of(self, page: MetadataPage) -> Sequence[ObjectKey]:
        """
        Name the objects of a page.
        """
        return [metadata.key for metadata in page.objects if not self._is_skipped(metadata)]

    def skipper(self) -> Skipper:
        """
        Make what gets a list past objects that the server cannot read.
        """
        return Skipper(self._ports.objects)

    async def before_writing(self, key: ObjectKey) -> None:
        """
        Ask the conversion webhook, if there is one.
        """
        if converts_by_webhook(self._definition):
            await ask_webhook(self._definition, self._ports.objects, key)

    async def work_on(self, page: MetadataPage, tally: Tally) -> None:
        """
        Rewrite the objects of a page.
        """
        for metadata in page.objects:
            if self._is_skipped(metadata):
                skip(tally, metadata.key)
        wanted = [metadata for metadata in page.objects if not self._is_skipped(metadata)]

        async def rewrite(metadata: StoredMetadata) -> None:
            seen = Identity(metadata.uid, metadata.resource_version)
            what = Rewrite(self._ports.objects, self.resource, metadata.key, seen)
            fate = await persist(what, self._ports.clock, self._pacer)
            count(tally, metadata.key, fate)

        await work_through(wanted, rewrite, workers=self._pacer.max_in_flight)

    def _is_skipped(self, metadata: StoredMetadata) -> bool:
        return self._skips_owned and names_owner(metadata.managed_fields)

    async def go(self, listener: "Listener", *, start_token: str | None) -> Tally:
        """
        Do one pass.
        """
        return await go_through(
            self,
            self._ports,
            self._pacer,
            listener,
            structural=self._structural,
            start_token=start_token,
        )


class Removing:
    """
    The work for a legacy definition: whole pages, an archive, and a PUT where something goes.
    """

    def __init__(
        self,
        planned: Legacy,
        ports: Ports,
        settings: RunSettings,
        pacer: Pacer,
        *,
        check: Callable[[], Awaitable[object]],
    ) -> None:
        self.resource = planned.resource
        self.namespaces = planned.policy.namespaces or EVERYWHERE
        self._skips_owned = planned.policy.skips_owned
        self._ports = ports
        self._settings = settings
        self._pacer = pacer
        self.remover = Remover(
            planned.definition,
            planned.resource,
            ports.objects,
            ports.archive,
            check=check,
            policy=planned.policy,
        )

    def listing(self, namespace: str) -> ObjectListing:
        """
        List one namespace, or all of them for an empty text.
        """
        return ObjectListing(
            objects=self._ports.objects,
            resource=self.resource,
            page_size=self._settings.page_size,
            namespace=namespace,
        )

    def keys_of(self, page: ObjectPage) -> Sequence[ObjectKey]:
        """
        Name the objects of a page.
        """
        return [key_of(obj) for obj in page.objects if not self.is_skipped(obj)]

    def skipper(self) -> Skipper:
        """
        Make what gets a list past objects that the server cannot read.
        """
        return Skipper(self._ports.objects)

    async def before_writing(self, key: ObjectKey) -> None:
        """
        Ask the conversion webhook, if there is one.
        """
        definition = self.remover.definition
        if converts_by_webhook(definition):
            await ask_webhook(definition, self._ports.objects, key)

    def is_skipped(self, obj: dict[str, JSON]) -> bool:
        """
        Tell whether an object is to be left alone.
        """
        return self._skips_owned and is_owned(obj)

    async def work_on(self, page: ObjectPage, tally: Tally) -> None:
        """
        Archive what is to go, then prune the objects of a page.
        """
        removals = []
        for obj in page.objects:
            if self.is_skipped(obj):
                skip(tally, key_of(obj))
            else:
                removals.append(Removal(self.remover, obj))
        await self.remover.archive_page(removals)

        async def remove(removal: Removal) -> None:
            count(tally, removal.key, await persist(removal, self._ports.clock, self._pacer))
            if removal.is_mistyped:
                tally.mistyped.add(removal.key)

        await work_through(removals, remove, workers=self._pacer.max_in_flight)

    async def go(self, listener: "Listener", *, start_token: str | None) -> Tally:
        """
        Do one pass.
        """
        return await go_through(
            self,
            self._ports,
            self._pacer,
            listener,
            structural=None,
            start_token=start_token,
        )


def skip(tally: Tally, key: ObjectKey) -> None:
    """
    Count an object that is left alone.
    """
    tally.seen += 1
    tally.skipped.add(key)


def count(tally: Tally, key: ObjectKey, fate: Fate) -> None:
    """
    Count what became of an object.
    """
    tally.seen += 1
    match fate:
        case Rewritten(is_pruned=is_pruned):
            tally.rewritten += 1
            tally.pruned += is_pruned
        case Unchanged():
            tally.unchanged += 1
        case Gone():
            tally.gone += 1
        case Failed(cause=cause, is_forbidden=is_forbidden):
            tally.fail(key, cause)
            tally.forbidden += is_forbidden


class Listener(Protocol):
    """
    Is told of each page.
    """

    async def before_page(self) -> None:
        """
        Look whether the pass may go on.

        Raises:
            DefinitionChangedError: The definition is another by now.
            RunStoppedError: Something else speaks against it.
        """

    async def after_page(self, tally: Tally, *, token: str | None, remaining: int | None) -> None:
        """
        Take note of how far the pass came; ``token`` asks for what follows.
        """


async def pages_of(
    work: Work[PageT],
    clock: Clock,
    skipper: Skipper,
    *,
    start_token: str | None = None,
) -> AsyncIterator[PageT]:
    """
    List some namespaces one after another, or all objects at once.

    Args:
        start_token: Where an earlier list is to go on; only if there is one list.
    """
    for namespace in work.namespaces:
        listing = work.listing(namespace)
        async for page, _ in pages(listing, clock, start_token=start_token, skipper=skipper):
            yield page


async def read_all(
    work: Work[PageT],
    look_at: Callable[[PageT], None],
    clock: Clock,
    listener: Listener,
) -> None:
    """
    Read all objects, and write nothing.

    Raises:
        RunStoppedError: What is stored cannot be read, or ``look_at`` says so.
    """
    async for page in pages_of(work, clock, work.skipper()):
        await listener.before_page()
        look_at(page)


async def go_through(
    work: Work[PageT],
    ports: Ports,
    pacer: Pacer,
    listener: Listener,
    *,
    structural: Structural | None,
    start_token: str | None = None,
) -> Tally:
    """
    Bring all objects into form; one that cannot be brought into form never stops the others.

    Before the first write a few objects are tried as a dry run.

    Args:
        structural: The schema that the server itself applies to what it is sent, if any.

    Raises:
        RunStoppedError: Admission changes objects, or what is stored cannot be read.
        DefinitionChangedError: The definition is another by now.
        ArchiveFullError: What would be removed cannot be archived.
    """
    tally = Tally()
    skipper = work.skipper()
    is_sampled = False
    async for page in pages_of(work, ports.clock, skipper, start_token=start_token):
        await listener.before_page()
        keys = work.keys_of(page)
        if keys:
            await work.before_writing(keys[0])
        if not is_sampled:
            await sample(ports.objects, work.resource, keys, pacer, structural=structural)
            is_sampled = True
        await work.work_on(page, tally)
        await listener.after_page(tally, token=page.continue_token, remaining=page.remaining)
    tally.undecodable = skipper.names
    return tally
