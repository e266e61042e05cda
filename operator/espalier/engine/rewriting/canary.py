"""
The first objects that are rewritten behind a conversion webhook: they show what a write loses.

A webhook may convert a read well and lose something when the object is written. So the first
objects, at most ten, of as many namespaces as there are, go ahead of all others: what each version
shows of them is archived, they are rewritten one after another, read back and compared. The run
stops at the first one that has lost something, and no other run goes on before the definition
changes or exactly this loss is consented to.
"""

from collections.abc import AsyncIterator, Sequence

from espalier import crd
from espalier.crd import Definition
from espalier.engine.conversion.read_back import (
    ObjectViews,
    additions_of,
    lost_by_write,
    read_views,
)
from espalier.engine.conversion.stored_version import StoredVersionWitness
from espalier.engine.conversion.webhook import converts_by_webhook
from espalier.engine.coordination.ledger import Ledger
from espalier.engine.coordination.run_context import RunContext
from espalier.engine.coordination.write_gate import WriteGate
from espalier.engine.flowcontrol.calls import retry_while_unavailable
from espalier.engine.flowcontrol.pacer import Pacer
from espalier.engine.listing.pages import Fetch
from espalier.engine.policy.evidence import MAX_ITEMS
from espalier.engine.policy.loss_message import conversion_loss_message, lost_items, were_lost
from espalier.engine.policy.plan import Plan, ServerPruned
from espalier.engine.ports import Endpoint, MetadataPage, StoredMetadata
from espalier.engine.ports.archive import ArchiveEntry
from espalier.engine.ports.records import resource_of
from espalier.engine.rewriting.noop_patch import Rewrite
from espalier.engine.rewriting.outages import count
from espalier.engine.rewriting.preflight import Preflight
from espalier.engine.rewriting.retries import Rewritten, retry_until_decided
from espalier.engine.rewriting.settled_writes import SettledWrites
from espalier.engine.status.conditions import Reason
from espalier.engine.status.tally import Tally
from espalier.errors import ArchiveFullError, ClusterError, RunStoppedError
from espalier.paths import JSON
from espalier.schema import Profile, compile_normalizer

MAX_CANARIES = 10


def needs_canary(planned: Plan) -> bool:
    """
    Report whether objects may be stored at a version from which a webhook converts them.
    """
    definition = planned.definition
    return (
        isinstance(planned, ServerPruned)
        and planned.rewrites
        and converts_by_webhook(definition)
        and any(name != definition.storage.name for name in definition.stored_versions)
    )


def stop_at_earlier_loss(definition: Definition, ledger: Ledger, gate: WriteGate) -> None:
    """
    End a run before its first write if an earlier one has shown what the webhook loses.

    Raises:
        RunStoppedError: It has, for this very generation, and that was not consented to.
    """
    shown = ledger.shown
    is_of_now = were_lost(shown.items, generation=definition.generation)
    if is_of_now and not gate.covers(shown.items):
        message = conversion_loss_message(definition, shown)
        raise RunStoppedError(Reason.CONVERSION_LOSES_DATA, message)


class Canary:
    """
    Goes ahead of the objects of one pass, until enough of them were rewritten.

    Args:
        fetch: Lists the objects of the pass; None for all objects.
    """

    def __init__(
        self,
        context: RunContext[Plan],
        ledger: Ledger,
        pacer: Pacer,
        settled: SettledWrites,
        witness: StoredVersionWitness,
        fetch: Fetch[MetadataPage] | None = None,
    ) -> None:
        planned = context.planned
        self._definition = definition = planned.definition
        self._context = context
        self._ledger = ledger
        self._pacer = pacer
        self._settled = settled
        self._witness = witness
        self._objects = context.ports.objects
        self._fetch = fetch or context.ports.objects.list_metadata
        self._storage = planned.resource
        self._older: Sequence[Endpoint] = [
            resource_of(definition, version)
            for version in definition.versions
            if version.served and not version.storage and version.name in definition.stored_versions
        ]
        self._normalizer = compile_normalizer(
            crd.structural_of(definition.storage), profile=Profile.APISERVER
        )
        self._left = MAX_CANARIES
        self._looked_elsewhere = False
        self._rewritten = 0
        self._archived = ""

    async def go_ahead(
        self, items: Sequence[StoredMetadata], preflight: Preflight, tally: Tally
    ) -> Sequence[StoredMetadata]:
        """
        Rewrite the first objects, and compare.

        Args:
            items: Of the page that is to be rewritten next; it is known that they may be.
            preflight: Looks at those that are of other pages.

        Returns:
            The others.

        Raises:
            RunStoppedError: A rewrite has lost something that no comparison had shown.
            ArchiveFullError: The earlier views cannot be archived.
            ClusterError: The objects cannot be read, or not archived.
        """
        if self._left <= 0 or not items:
            return items
        chosen = [*_over_namespaces(items, most=self._left)]
        here = frozenset(one.key for one in chosen)
        if not self._looked_elsewhere:
            self._looked_elsewhere = True
            others = [one async for one in self._elsewhere(chosen)]
            await preflight.look([one.key for one in others])
            chosen = [*_over_namespaces([*others, *chosen], most=self._left)]
        views = [view for one in chosen if (view := await self._read(one)) is not None]
        done = set()
        for view in await self._archive(views):
            is_here = view.seen.key in here
            await self._try(view, tally if is_here else None, tally)
            done.add(view.seen.key)
        return [one for one in items if one.key not in done]

    async def _elsewhere(self, chosen: Sequence[StoredMetadata]) -> AsyncIterator[StoredMetadata]:
        """
        Find the first object of other namespaces, that later pages will bring.
        """
        planned = self._context.planned
        if planned.policy.namespaces or planned.policy.skips_owned or not self._storage.namespaced:
            return
        there = {one.key.namespace for one in chosen}
        try:
            names = [one for one in await self._objects.list_namespaces() if one not in there]
        except ClusterError:
            return
        for name in sorted(names)[:: max(1, len(names) // MAX_CANARIES)][:MAX_CANARIES]:
            try:
                page = await self._fetch(
                    self._storage, page_size=1, continue_token=None, namespace=name
                )
            except ClusterError:
                continue
            for metadata in page.objects:
                yield metadata

    async def _read(self, seen: StoredMetadata) -> ObjectViews | None:
        found = await self._views(seen)
        # What no older version shows is not stored at one, so its rewrite converts nothing.
        return found if found and (found.older or not self._older) else None

    async def _views(self, seen: StoredMetadata) -> ObjectViews | None:
        return await retry_while_unavailable(
            lambda: read_views(self._objects, self._storage, self._older, seen),
            self._context.ports.clock,
        )

    async def _archive(self, views: Sequence[ObjectViews]) -> Sequence[ObjectViews]:
        """
        Keep what each version shows; return the objects of which all of it is kept.
        """
        entries = [
            self._entry(view, obj) for view in views for obj in (view.storage, *view.older.values())
        ]
        archive, clock = self._context.ports.archive, self._context.ports.clock
        if not entries:
            return views
        archive.begin(self._definition)
        try:
            self._archived = await retry_while_unavailable(
                lambda: archive.store(self._definition, entries), clock
            )
        except ArchiveFullError as error:
            if not error.left:
                raise
            return [view for view in views if view.seen.key not in error.left]
        return views

    def _entry(self, view: ObjectViews, obj: dict[str, JSON]) -> ArchiveEntry:
        return ArchiveEntry(
            api_version=str(obj.get("apiVersion", "")),
            kind=self._storage.kind,
            key=view.seen.key,
            uid=view.seen.uid,
            resource_version=view.seen.resource_version,
            patch=additions_of(obj),
        )

    async def _try(self, before: ObjectViews, counted: Tally | None, tally: Tally) -> None:
        """
        Rewrite one object, read it back, and stop the run if it has lost something.

        Args:
            counted: Counts it; None if the pass will come to it later.
        """
        what = Rewrite(self._context, before.seen, self._settled, self._witness)
        fate = await retry_until_decided(what, self._context.ports.clock, self._pacer)
        if counted is not None:
            count(counted, before.seen.key, fate)
        elif isinstance(fate, Rewritten):
            tally.rewrite(before.seen.key, is_pruned=False)
        if not isinstance(fate, Rewritten) or what.stored is None:
            return
        after = await self._views(what.stored)
        if after is None:
            # It was written again meanwhile, or is gone.
            return
        lost = lost_by_write(self._storage.version, before, after, self._normalizer)
        generation = self._definition.generation
        items = lost_items(sorted(lost)[:MAX_ITEMS], generation=generation)
        if self._context.gate.covers(items):
            self._left -= 1
            self._rewritten += 1
            return
        shown = self._ledger.loss(items)
        # Before anybody can read its digest.
        await self._ledger.show(shown)
        message = conversion_loss_message(
            self._definition,
            shown,
            key=str(before.seen.key),
            before=self._rewritten,
            archive=self._archived,
        )
        raise RunStoppedError(Reason.CONVERSION_LOSES_DATA, message)


def _over_namespaces(items: Sequence[StoredMetadata], *, most: int) -> Sequence[StoredMetadata]:
    """
    Choose objects of as many namespaces as there are, in turn.
    """
    by_namespace: dict[str, list[StoredMetadata]] = {}
    for one in items:
        by_namespace.setdefault(one.key.namespace, []).append(one)
    chosen: list[StoredMetadata] = []
    turn = 0
    while len(chosen) < most:
        some = [of[turn] for of in by_namespace.values() if turn < len(of)]
        if not some:
            break
        chosen += some[: most - len(chosen)]
        turn += 1
    return chosen
