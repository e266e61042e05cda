"""
What a pass does with its pages, for both kinds of definitions.
"""

from collections.abc import Awaitable, Callable, Sequence

from espalier import crd
from espalier.engine.converting import ask_webhook, converts_by_webhook
from espalier.engine.listing import MetadataListing, ObjectListing
from espalier.engine.narrowing import Skipper
from espalier.engine.owners import is_owned, names_owner
from espalier.engine.pacing import Pacer, work_through
from espalier.engine.passing import EVERYWHERE, Listener, go_through
from espalier.engine.planning import Legacy, Plan, ServerPruned
from espalier.engine.ports import MetadataPage, ObjectKey, ObjectPage, StoredMetadata, key_of
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
from espalier.engine.settings import Ports, RunSettings
from espalier.engine.tallying import Tally
from espalier.errors import NotFoundError
from espalier.paths import JSON


class Rewriting:
    """
    The work where Espalier itself removes nothing.

    Pages are metadata only, and each object gets a patch that changes nothing.
    """

    def __init__(self, planned: Plan, ports: Ports, settings: RunSettings, pacer: Pacer) -> None:
        self.resource = planned.resource
        self.lists_ahead = True
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
        return [metadata.key for metadata in page.objects if not self.is_skipped(metadata)]

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
            if self.is_skipped(metadata):
                skip(tally, metadata.key)
        wanted = [metadata for metadata in page.objects if not self.is_skipped(metadata)]

        async def rewrite(metadata: StoredMetadata) -> None:
            seen = Identity(metadata.uid, metadata.resource_version)
            what = Rewrite(self._ports.objects, self.resource, metadata.key, seen)
            fate = await persist(what, self._ports.clock, self._pacer)
            count(tally, metadata.key, fate)

        await work_through(wanted, rewrite, workers=self._pacer.max_in_flight)

    def is_skipped(self, metadata: StoredMetadata) -> bool:
        """
        Tell whether an object is to be left alone.
        """
        return self._skips_owned and names_owner(metadata.managed_fields)

    async def try_again(self, keys: Sequence[ObjectKey]) -> Tally:
        """
        Work on some objects, by name.
        """
        tally = Tally()

        async def rewrite(key: ObjectKey) -> None:
            what = Rewrite(self._ports.objects, self.resource, key, None)
            count(tally, key, await persist(what, self._ports.clock, self._pacer))

        await work_through(keys, rewrite, workers=self._pacer.max_in_flight)
        return tally

    async def go(self, listener: Listener, *, start_token: str | None) -> Tally:
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
        # Its pages hold whole objects.
        self.lists_ahead = False
        self.namespaces = planned.policy.namespaces or EVERYWHERE
        self._skips_owned = planned.policy.skips_owned
        self._ports = ports
        self._settings = settings
        self._pacer = pacer
        self.remover = Remover(planned, ports, check=check)

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

    async def try_again(self, keys: Sequence[ObjectKey]) -> Tally:
        """
        Work on some objects, by name.

        Raises:
            ClusterError: One of them cannot be read.
        """
        tally = Tally()
        for key in keys:
            try:
                obj = await self._ports.objects.get_object(self.resource, key)
            except NotFoundError as error:
                if not error.is_object:
                    raise
                count(tally, key, Gone())
                continue
            page = ObjectPage(
                objects=[obj], continue_token=None, remaining=None, resource_version=""
            )
            await self.work_on(page, tally)
        return tally

    async def go(self, listener: Listener, *, start_token: str | None) -> Tally:
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
