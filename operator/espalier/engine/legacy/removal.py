"""
Prunes the objects of a legacy definition: archive first, then PUT.

Nothing is removed that is not in the archive already, with the resource version at which it was
found first. A conflict means that the object has changed, so it is read, pruned and archived anew,
if something else is to be removed from it. On a version with the status subresource the main
endpoint ignores ``status`` and the other one everything else, so an object may need both.
"""

from collections.abc import Hashable, Mapping, Sequence

from espalier.engine.coordination.run_context import RunContext
from espalier.engine.coordination.write_gate import LeftAlone
from espalier.engine.flowcontrol.calls import retry_while_unavailable
from espalier.engine.flowcontrol.pacer import may_have_written
from espalier.engine.legacy.inverse_patches import invert
from espalier.engine.legacy.pruner import Pruner, PruneResult
from espalier.engine.policy.field_managers import is_owned
from espalier.engine.policy.plan import Legacy
from espalier.engine.ports import key_of
from espalier.engine.ports.archive import ArchiveEntry
from espalier.engine.ports.records import identity_of, metadata_of
from espalier.engine.rewriting.retries import UNGUARDED, Failed, Rewritten, Unchanged, WriteResult
from espalier.errors import ArchiveFullError, ClusterError, ConversionError
from espalier.paths import JSON

COMES_BACK = "removed fields come back with the write itself, as by an admission webhook"

NOT_ARCHIVED = "what is to be removed cannot be archived"


class Remover:
    """
    Prunes objects of one definition at its storage version.
    """

    def __init__(self, context: RunContext[Legacy]) -> None:
        planned, ports = context.planned, context.ports
        self.definition = planned.definition
        self.resource = planned.resource
        self.policy = planned.policy
        self.objects = ports.objects
        self.pruner = Pruner(planned.definition)
        self.guard = context.guard
        self.gate = context.gate
        self.probe = context.probe
        self.answers = context.answers
        self._archive = ports.archive
        self._meter = ports.meter
        self._clock = ports.clock
        self._has_begun = False

    def examine(self, obj: dict[str, JSON]) -> PruneResult:
        """
        Prune a value; it is not changed.
        """
        return self.pruner.prune(obj)

    def emptied(self, careful: PruneResult) -> frozenset[str]:
        """
        Name what would become empty without consent: ``v1.spec``, the version and the part.
        """
        version = self.resource.version
        items = frozenset(f"{version}.{part}" for part in careful.emptied)
        return frozenset() if self.gate.covers(items) else items

    def has_removed(self, fields: int) -> None:
        """
        Count fields that were removed from an object.
        """
        self._meter.prune(fields)

    def begin(self) -> None:
        """
        Begin a burst of writes: other processes may have archived pages since the last one.
        """
        self._has_begun = False

    async def archive_page(self, removals: "Sequence[Removal]") -> None:
        """
        Archive what is to be removed from many objects at once.

        Raises:
            ArchiveFullError: None of it can be kept, so nothing of it may be removed. Where only
                part of it cannot, the removals of these objects will fail.
            ClusterError: The archive could not be written.
        """
        entries = [entry for removal in removals if (entry := removal.entry()) is not None]
        causes: Mapping[Hashable, str] = {}
        if entries:
            causes = await retry_while_unavailable(lambda: self.store(entries), self._clock)
        for removal in removals:
            removal.cause = causes.get(removal.key, "")
            removal.is_archived = not removal.cause

    async def store(self, entries: Sequence[ArchiveEntry]) -> Mapping[Hashable, str]:
        """
        Archive entries.

        Returns:
            Why the objects cannot be archived that cannot while others can, by their keys.

        Raises:
            ArchiveFullError: None of them can be kept.
            ClusterError: The archive could not be written.
        """
        if not self._has_begun:
            self._archive.begin(self.definition)
            self._has_begun = True
        try:
            await self._archive.store(self.definition, entries)
        except ArchiveFullError as error:
            if not error.left:
                raise
            return dict.fromkeys(error.left, f"{NOT_ARCHIVED}: {error}")
        return {}


class Removal:
    """
    One object on its way.

    Attributes:
        met: The last error on it.
        cause: Why it cannot be archived while others can; empty if it can.
    """

    def __init__(self, remover: Remover, obj: dict[str, JSON]) -> None:
        self.key = key_of(obj)
        self.is_archived = False
        self.cause = ""
        self.is_mistyped = False
        self.met: ClusterError | None = None
        self._remover = remover
        self._obj = obj
        self._first = identity_of(obj)
        self._is_stale = False
        self._may_be_written = False
        self._is_pruned = False

    def entry(self) -> ArchiveEntry | None:
        """
        Make the archive's entry for the object as it was read; None if nothing is to be removed.
        """
        careful = self._remover.examine(self._obj)
        if not careful.removed or self._remover.emptied(careful):
            return None
        return self._entry_of(careful)

    def emptied(self) -> frozenset[str]:
        """
        Name what would become empty without consent, of the object as it was read.
        """
        return self._remover.emptied(self._remover.examine(self._obj))

    async def attempt(self) -> WriteResult:
        """
        Archive, unless that is done, and write; or patch without a change if nothing goes.

        Raises:
            DefinitionChangedError: The definition was deleted, replaced or changed.
        """
        try:
            return await self._attempt()
        except ConversionError as error:
            raise await self._remover.probe.check_alone(error, self.key) from error

    async def _attempt(self) -> WriteResult:
        remover = self._remover
        if self._is_stale and await self._is_left_to_its_owner():
            return self._done()
        if not identity_of(self._obj).is_whole:
            return Failed(UNGUARDED)
        careful = remover.examine(self._obj)
        self.is_mistyped = bool(careful.mistyped)
        if emptied := remover.emptied(careful):
            return LeftAlone(emptied)
        if careful.removed:
            return await self._remove(careful)
        return await self._rewrite() if remover.policy.does("migrate") else self._done()

    async def _is_left_to_its_owner(self) -> bool:
        """
        Read the object anew, and report whether it is to be left alone.
        """
        remover = self._remover
        seen = identity_of(self._obj)
        self._obj = await remover.objects.get_object(remover.resource, self.key)
        # Had the server begun to prune, it would have hidden what has to be archived.
        await remover.guard.check()
        self._is_stale = False
        self.is_archived = self.is_archived and identity_of(self._obj) == seen
        return remover.policy.skips_owned and is_owned(self._obj)

    def _done(self) -> WriteResult:
        return Rewritten(is_pruned=True) if self._is_pruned else Unchanged()

    async def _remove(self, careful: PruneResult) -> WriteResult:
        remover = self._remover
        if not self.is_archived and not self.cause:
            causes = await remover.store([self._entry_of(careful)])
            self.cause = causes.get(self.key, "")
            self.is_archived = not self.cause
        if self.cause:
            return Failed(self.cause)
        # Until both writes are answered, it is not known what is stored.
        self._is_stale = True
        replaced = await self._replace(careful)
        if isinstance(replaced, LeftAlone):
            return replaced
        written, calls = replaced
        remover.has_removed(len(careful.removed))
        self._is_pruned = True
        self._obj, self._is_stale = written, False
        if remover.pruner.prune(written).removed:
            return Failed(COMES_BACK)
        return Rewritten(is_pruned=True, calls=calls)

    def note(self, error: ClusterError, *, reads_again: bool) -> None:
        """
        Remember whether to read anew, and whether something may have been written already.
        """
        self.met = error
        self._is_stale = self._is_stale or reads_again
        self._may_be_written = self._may_be_written or may_have_written(error)

    async def _rewrite(self) -> WriteResult:
        remover = self._remover
        seen = identity_of(self._obj)
        permit = await remover.gate.permit(metadata_of(self._obj))
        if isinstance(permit, LeftAlone):
            return permit
        written = await remover.objects.rewrite(remover.resource, permit)
        if written.metadata is not None:
            remover.answers.check(metadata_of(self._obj), written.metadata)
        if self._is_pruned:
            return Rewritten(is_pruned=True)
        if written.resource_version != seen.resource_version:
            return Rewritten()
        return Rewritten() if self._may_be_written and seen != self._first else Unchanged()

    async def _replace(self, careful: PruneResult) -> tuple[dict[str, JSON], int] | LeftAlone:
        """
        Write what is left.

        Returns:
            The object as stored, and how many writes it took.
        """
        remover = self._remover
        has_status = remover.definition.storage.has_status
        in_status = [path for path in careful.removed if has_status and path[0] == "status"]
        written, calls = self._obj, 0
        if len(in_status) < len(careful.removed):
            permit = await remover.gate.permit(metadata_of(self._obj))
            if isinstance(permit, LeftAlone):
                return permit
            written = await remover.objects.replace(
                remover.resource, careful.value, permit, subresource=None
            )
            self._is_pruned = True
            calls = 1
        if not in_status:
            return written, calls
        # The resource version chains both writes: no other client has written in between.
        rest = remover.pruner.prune(written)
        if not set(rest.removed) <= set(in_status):
            return written, calls
        permit = await remover.gate.permit(metadata_of(written))
        if isinstance(permit, LeftAlone):
            return permit
        stored = await remover.objects.replace(
            remover.resource, rest.value, permit, subresource="status"
        )
        return stored, calls + 1

    def _entry_of(self, careful: PruneResult) -> ArchiveEntry:
        seen = identity_of(self._obj)
        return ArchiveEntry(
            api_version=self._remover.resource.api_version,
            kind=self._remover.resource.kind,
            key=self.key,
            uid=seen.uid,
            resource_version=seen.resource_version,
            patch=invert(self._obj, careful.value, careful.removed),
        )
