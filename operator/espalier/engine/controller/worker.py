"""
Prunes the queued objects of a legacy definition.
"""

from espalier.engine.controller.object_queue import UNREADABLE, ObjectQueue, Trouble
from espalier.engine.coordination.run_context import RunContext
from espalier.engine.coordination.write_gate import LeftAlone
from espalier.engine.flowcontrol.pacer import Pacer, work_through
from espalier.engine.legacy.removal import Removal, Remover
from espalier.engine.policy.field_managers import is_owned
from espalier.engine.policy.loss_message import describe_loss
from espalier.engine.policy.plan import Legacy
from espalier.engine.ports import ObjectKey
from espalier.engine.ports.records import size_of
from espalier.engine.rewriting.retries import Failed, Rewritten, WriteResult, retry_until_decided
from espalier.engine.status.causes import cause_of
from espalier.engine.status.conditions import Reason
from espalier.engine.status.text import enumerated
from espalier.errors import (
    ArchiveFullError,
    ClusterError,
    NotFoundError,
    RunStoppedError,
    UndecodableError,
)


class PruneWorker:
    """
    Reads objects anew, archives the fields to remove, and prunes the objects.

    It may be cancelled at any moment: objects that are not done go back to the queue.
    """

    def __init__(
        self, context: RunContext[Legacy], pacer: Pacer, remover: Remover, queue: ObjectQueue
    ) -> None:
        self._planned = context.planned
        self._objects = context.ports.objects
        self._clock = context.ports.clock
        self._guard = context.guard
        self._pacer = pacer
        self._remover = remover
        self._queue = queue

    async def prune_due(self, most: int) -> bool:
        """
        Prune objects that are due, at most as many as given; return False if there are none.

        Raises:
            DefinitionChangedError: The definition was deleted, replaced or changed.
            ConversionError: The conversion webhook does not answer.
        """
        keys = self._queue.take(most)
        if not keys:
            return False
        undone: dict[ObjectKey, Removal | None] = dict.fromkeys(keys)
        try:
            await self._guard.check()
            for key in keys:
                undone[key] = await self._read(key)
                if undone[key] is None:
                    del undone[key]
            await self._prune(undone)
        finally:
            for key, removal in undone.items():
                if removal is None or removal.met is None:
                    self._queue.add(key)
                else:
                    self._queue.mark_failed(key, _trouble_of(removal.met))
        return True

    async def _prune(self, undone: "dict[ObjectKey, Removal | None]") -> None:
        removals = [removal for removal in undone.values() if removal is not None]
        try:
            await self._remover.archive_page(removals)
        except (ArchiveFullError, ClusterError) as error:
            for key in [*undone]:
                del undone[key]
                self._queue.mark_failed(key, _trouble_of(error))
            return

        async def remove(removal: Removal) -> None:
            try:
                fate = await retry_until_decided(removal, self._clock, self._pacer)
            except RunStoppedError as error:
                self._queue.put_off(removal.key, _trouble_of(error))
            except ArchiveFullError as error:
                self._queue.mark_failed(removal.key, _trouble_of(error))
            else:
                self._settle(removal.key, fate)
            del undone[removal.key]

        await work_through(removals, remove, workers=self._pacer.max_in_flight)

    async def _read(self, key: ObjectKey) -> Removal | None:
        """
        Read an object as it is now; None if it needs no pruning, or cannot be pruned.
        """
        try:
            obj = await self._objects.get_object(self._planned.resource, key)
            if self._planned.policy.skips_owned and is_owned(obj):
                self._queue.mark_clean(key)
                return None
            removal = Removal(self._remover, obj)
            if emptied := removal.emptied():
                self._queue.put_off(key, _trouble_of_emptied(emptied))
                return None
            if removal.entry() is not None:
                size_bytes = size_of(obj)
                self._pacer.sampled([] if size_bytes is None else [size_bytes])
                return removal
            self._queue.mark_clean(key)
        except NotFoundError:
            self._queue.forget(key)
        except ClusterError as error:
            self._queue.mark_failed(key, _trouble_of(error))
        return None

    def _settle(self, key: ObjectKey, fate: WriteResult) -> None:
        match fate:
            case Failed(cause=cause):
                self._queue.mark_failed(key, Trouble(Reason.FAILED, cause))
            case Rewritten(is_pruned=True):
                self._queue.pruned(key)
            case LeftAlone(items=items):
                self._queue.put_off(key, _trouble_of_emptied(items))
            case _:
                self._queue.mark_clean(key)


def _trouble_of_emptied(items: frozenset[str]) -> Trouble:
    places = enumerated(map(describe_loss, sorted(items)))
    return Trouble(Reason.WOULD_LOSE_DATA, f"it would become empty at {places}")


def _trouble_of(error: ArchiveFullError | RunStoppedError | ClusterError) -> Trouble:
    match error:
        case ArchiveFullError(detail=detail):
            return Trouble(Reason.ARCHIVE_FULL, detail)
        case RunStoppedError(reason=reason, detail=detail):
            return Trouble(Reason(reason), detail)
        case UndecodableError():
            return Trouble(Reason.UNDECODABLE, UNREADABLE)
        case _:
            return Trouble(Reason.FAILED, cause_of(error))
