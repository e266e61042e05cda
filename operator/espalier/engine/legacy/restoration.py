"""
Brings back what pruning removed, from the archive.

An entry's fields are put back one by one, and only where nothing speaks against it: the object is
the same one, the place of the field is there and empty, the lists on the way to it are what they
were right after pruning, and neither the server nor Espalier would remove it again. Entries come
newest first, so that of several values of a field the last one wins.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from espalier.crd import Definition
from espalier.engine.conversion.webhook import converts_by_webhook
from espalier.engine.coordination.lease import LeaseHolder
from espalier.engine.coordination.write_gate import LeftAlone, WriteGate
from espalier.engine.flowcontrol.backoff import call_pause_seconds
from espalier.engine.flowcontrol.calls import retry_while_unavailable, run_with_watchers
from espalier.engine.flowcontrol.pacer import Pacer, may_have_written
from espalier.engine.legacy.inverse_patches import Addition, added, find
from espalier.engine.legacy.restorable import Pointer, RestorableFields, removal_of
from espalier.engine.policy.loss_message import describe_loss
from espalier.engine.ports import ObjectKey, WritePermit
from espalier.engine.ports.archive import ArchiveEntry, UnreadablePage
from espalier.engine.ports.clock import Clock
from espalier.engine.ports.definitions import Definitions
from espalier.engine.ports.objects import Objects
from espalier.engine.ports.records import identity_of, metadata_of, resource_of, size_of
from espalier.engine.ports.state import Leases
from espalier.engine.status.causes import cause_of
from espalier.engine.status.text import enumerated
from espalier.errors import (
    ClusterError,
    ConflictError,
    LeaseLostError,
    NotFoundError,
    RejectedError,
    TransientError,
)
from espalier.paths import JSON, render_pointer

MAX_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Refusal:
    """
    What was not brought back, and why.

    Attributes:
        pointer: A JSON Pointer; empty for the whole entry.
    """

    key: ObjectKey
    pointer: str
    reason: str


@dataclass(slots=True)
class RestoreReport:
    """
    What became of the entries.

    Attributes:
        restored: The fields that were put back and read back, as JSON Pointers, by object.
        present: How many fields were there already with the archived value.
        unreadable: The pages of which nothing was brought back. An older value may have come
            back in the place of one that such a page had.
    """

    restored: dict[ObjectKey, list[str]] = field(default_factory=dict)
    refused: list[Refusal] = field(default_factory=list)
    present: int = 0
    unreadable: list[UnreadablePage] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """
        Whether nothing was begun yet.
        """
        return not (self.restored or self.refused or self.present or self.unreadable)


async def restore(  # noqa: PLR0913 - each is another thing
    definition: Definition,
    entries: AsyncIterator[ArchiveEntry],
    objects: Objects,
    clock: Clock,
    gate: WriteGate,
    *,
    is_wanted: Callable[[ObjectKey], bool] = lambda _: True,
    report: RestoreReport | None = None,
) -> RestoreReport:
    """
    Put back what the entries hold.

    Args:
        definition: As it is now; read it right before.
        entries: Newest first, as ``Archive.entries`` gives them.
        gate: Permits each write; see ``open_gate``.
        is_wanted: Chooses objects.
        report: Filled entry by entry, so that it also holds what was done before an error.

    Raises:
        ClusterError: The archive cannot be read, or the objects are not served.
    """
    restorer = _Restorer(
        definition, objects, clock, gate, RestoreReport() if report is None else report
    )
    async for entry in entries:
        if is_wanted(entry.key):
            await restorer.restore(entry)
    return restorer.report


async def restore_alone(
    definition: Definition,
    definitions: Definitions,
    leases: Leases,
    clock: Clock,
    *,
    restoring: Callable[[Definition], Coroutine[Any, Any, RestoreReport]],
    on_waiting: Callable[[LeaseLostError], Awaitable[None]],
) -> RestoreReport:
    """
    Restore under the lease of the definition, so that no operator prunes the restored fields.

    Args:
        restoring: Called with the definition, read anew under the lease.
        on_waiting: Called once for each other holder of the lease; the error names it.

    Raises:
        LeaseLostError: Another process holds the lease, or it could not be renewed.
        ClusterError: The definition cannot be read.
        EspalierError: Whatever ``restoring`` raised.
    """
    holder = LeaseHolder(leases, clock, definition)
    await holder.take_in_time(on_waiting)
    try:
        # Read anew: the operator may have been at work on it until just now.
        fresh = await definitions.get_definition(definition.name)
        return await run_with_watchers(restoring(fresh), holder.renew(), holder.expire())
    finally:
        # It runs out by itself; how the work ended is not changed by that.
        with contextlib.suppress(ClusterError):
            await leases.release(definition)


class _Restorer:
    def __init__(
        self,
        definition: Definition,
        objects: Objects,
        clock: Clock,
        gate: WriteGate,
        report: RestoreReport,
    ) -> None:
        self._by_webhook = converts_by_webhook(definition)
        self._has_status = definition.storage.has_status
        self._resource = resource_of(definition, definition.storage)
        self._objects = objects
        self._clock = clock
        self._gate = gate
        self._removed_again = removal_of(definition)
        # By uid. A newer entry's fields must not make an older one's lists look changed.
        self._restored: dict[str, set[Pointer]] = {}
        self.report = report
        # One object at a time, at the rate of a process.
        self._pacer = Pacer(clock, max_in_flight=1)

    async def restore(self, entry: ArchiveEntry) -> None:
        if self._by_webhook and entry.api_version != self._resource.api_version:
            # The same path may mean something else there.
            version = entry.api_version.rpartition("/")[2]
            self._refuse(entry, (), f"it is what version {version} showed, and a webhook converts")
            return
        written: set[Pointer] = set()
        try:
            for attempt in range(1, MAX_ATTEMPTS + 1):
                try:
                    await self._attempt(entry, written)
                except ClusterError as error:
                    if attempt < MAX_ATTEMPTS and _may_pass(error):
                        await self._clock.sleep(_pause_seconds(error, attempt))
                        continue
                    await self._conclude(entry, written, error)
                return
        except asyncio.CancelledError:
            self._refuse(entry, (), "it was interrupted; restore it again")
            raise

    async def _attempt(self, entry: ArchiveEntry, written: set[Pointer]) -> None:
        obj = await self._objects.get_object(self._resource, entry.key)
        found = self._look(obj, entry)
        if found is not None and found.wanted:
            await self._put_in_turn(obj, found.wanted, written)
            found = self._look(await self._objects.get_object(self._resource, entry.key), entry)
        self._report_entry(entry, found, written, otherwise="it was written, but is not there")

    def _look(self, obj: dict[str, JSON], entry: ArchiveEntry) -> RestorableFields | None:
        """
        Look at an object as it is now; None if it is another one.
        """
        if identity_of(obj).uid != entry.uid:
            return None
        restored = self._restored.setdefault(entry.uid, set())
        found = RestorableFields(obj, restored, entry, self._removed_again)
        # Perhaps an earlier restore put them back.
        restored.update(found.present)
        return found

    async def _put_in_turn(
        self, obj: dict[str, JSON], wanted: list[Addition], written: set[Pointer]
    ) -> None:
        sizes_bytes = [size_of({"": value}) for value in (obj, *(one.value for one in wanted))]
        self._pacer.sampled([sum(size for size in sizes_bytes if size is not None)])
        async with self._pacer.turn() as turn:
            await self._put(obj, wanted, written)
            turn.succeeded(written=True)

    async def _put(
        self, obj: dict[str, JSON], wanted: list[Addition], written: set[Pointer]
    ) -> None:
        in_status = [a for a in wanted if self._has_status and a.pointer[0] == "status"]
        elsewhere = [a for a in wanted if a not in in_status]
        for group, subresource in ((elsewhere, None), (in_status, "status")):
            # Admission may have taken away what held a field.
            some = [a for a in group if isinstance(find(obj, a.pointer[:-1]), dict)]
            if some:
                pointers = [addition.pointer for addition in some]
                permit = await self._permit(obj)
                try:
                    obj = await self._objects.replace(
                        self._resource, added(obj, some), permit, subresource=subresource
                    )
                except ClusterError as error:
                    if may_have_written(error):
                        written.update(pointers)
                    raise
                written.update(pointers)

    async def _permit(self, obj: dict[str, JSON]) -> WritePermit:
        permit = await self._gate.permit(metadata_of(obj))
        if isinstance(permit, LeftAlone):
            named = enumerated(map(describe_loss, sorted(permit.items)))
            raise RejectedError(
                verb="update",
                resource=str(self._resource),
                reason="WouldLoseData",
                detail=f"not written, since the write would or might remove more: {named}",
            )
        return permit

    async def _conclude(
        self, entry: ArchiveEntry, written: set[Pointer], error: ClusterError
    ) -> None:
        """
        Report the outcome of an entry whose writes failed.
        """
        if isinstance(error, NotFoundError):
            if not error.is_object:
                if written:
                    self._refuse(entry, (), f"{cause_of(error)}; it could not be read back")
                raise error
            self._refuse(entry, (), "the object is gone; it is never created again")
            return
        if not written:
            self._refuse(entry, (), cause_of(error))
            return
        try:
            obj = await retry_while_unavailable(
                lambda: self._objects.get_object(self._resource, entry.key), self._clock
            )
        except ClusterError as unread:
            reason = f"{cause_of(error)}; and it could not be read back: {cause_of(unread)}"
            self._refuse(entry, (), reason)
        else:
            self._report_entry(entry, self._look(obj, entry), written, otherwise=cause_of(error))

    def _report_entry(
        self,
        entry: ArchiveEntry,
        found: RestorableFields | None,
        written: set[Pointer],
        *,
        otherwise: str,
    ) -> None:
        """
        Report which fields are there now; ``otherwise`` is the reason for those that are missing.
        """
        if found is None:
            self._refuse(entry, (), "another object has this name now")
            return
        for pointer in found.present:
            if pointer in written:
                self.report.restored.setdefault(entry.key, []).append(render_pointer(pointer))
            else:
                self.report.present += 1
        for addition in found.wanted:
            self._refuse(entry, addition.pointer, otherwise)
        for pointer, reason in found.refused:
            self._refuse(entry, pointer, reason)

    def _refuse(self, entry: ArchiveEntry, pointer: Pointer, reason: str) -> None:
        self.report.refused.append(Refusal(entry.key, render_pointer(pointer), reason))


def _may_pass(error: ClusterError) -> bool:
    if isinstance(error, NotFoundError):
        # One of several servers does not serve the resource yet, or not any more.
        return not error.is_object
    return isinstance(error, (ConflictError, TransientError))


def _pause_seconds(error: ClusterError, attempt: int) -> float:
    asked = error.retry_after_seconds if isinstance(error, TransientError) else None
    return call_pause_seconds(attempt, asked_seconds=asked)
