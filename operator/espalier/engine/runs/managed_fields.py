"""
Removes managedFields entries whose version is gone, once no object is stored at it any more.

The API server cannot read such an entry, and drops it with some later write; until then it stands
in the way of server-side apply. Best effort: where a write is refused, that is only reported.
"""

from contextlib import aclosing

from espalier.crd import Definition
from espalier.engine.coordination.run_context import RunContext
from espalier.engine.coordination.write_gate import LeftAlone
from espalier.engine.flowcontrol.pacer import work_through
from espalier.engine.listing.pages import Listing, pages
from espalier.engine.listing.undecodable import UndecodableSkipper
from espalier.engine.policy.field_managers import names_owner
from espalier.engine.policy.plan import Plan
from espalier.engine.ports import StoredMetadata
from espalier.engine.ports.records import metadata_of
from espalier.engine.rewriting.outages import count
from espalier.engine.rewriting.preflight import SILENCE, Preflight
from espalier.engine.rewriting.retries import (
    UNPROCESSABLE,
    Rewritten,
    Unchanged,
    WriteResult,
    retry_until_decided,
)
from espalier.engine.settings import pacer_of
from espalier.engine.status.tally import Tally, describe_failures
from espalier.errors import (
    ClusterError,
    ConflictError,
    ConversionError,
    RejectedError,
    RunStoppedError,
)
from espalier.paths import JSON
from espalier.plurals import counted


async def clean_histories(context: RunContext[Plan]) -> str:
    """
    Clean all objects of a definition whose objects are proved to be current.

    Returns:
        What was done, and what could not be, in a sentence; empty if nothing had to be done.

    Raises:
        ClusterError: They cannot be listed.
        ConversionError: The conversion webhook does not answer as it must.
    """
    planned, ports = context.planned, context.ports
    if planned.policy.keeps_managed_fields:
        return ""
    pacer = pacer_of(context.settings, ports)
    preflight = Preflight(context, pacer)
    tally = Tally()
    listing = Listing(
        fetch=ports.objects.list_metadata,
        resource=planned.resource,
        page_size=context.settings.page_size,
    )

    async def clean(metadata: StoredMetadata) -> None:
        what = _Cleaning(context, metadata)
        count(tally, metadata.key, await retry_until_decided(what, ports.clock, pacer))

    skipper = UndecodableSkipper(ports.objects, planned.definition, context.probe)
    async with aclosing(pages(listing, ports.clock, skipper=skipper)) as source:
        async for page, _ in source:
            wanted = [one for one in page.objects if left_of(planned, one) is not None]
            if not wanted:
                continue
            await context.guard.check()
            hindrance = await preflight.hindrance([one.key for one in wanted])
            if hindrance:
                return _summary(tally, hindrance)
            try:
                await work_through(wanted, clean, workers=pacer.max_in_flight)
            except RunStoppedError:
                return _summary(tally, SILENCE)
    return _summary(tally, "")


def _summary(tally: Tally, hindrance: str) -> str:
    of = "managedFields"
    old = "of versions that are not served any more"
    clauses = []
    if tally.rewritten:
        clauses.append(f"Cleaned the {of} of {counted(tally.rewritten, 'object')} {old}")
    if tally.left_alone.count:
        clauses.append(
            f"left {counted(tally.left_alone.count, 'object')} alone of which a write would or"
            f" might remove something ({tally.left_alone})"
        )
    if tally.failed:
        clauses.append(f"could not clean {describe_failures(tally.failures)}")
    if hindrance:
        clauses.append(f"{of} {old} stay: {hindrance}")
    text = "; ".join(clauses)
    return text[:1].upper() + text[1:] if tally.failed and not tally.rewritten else text


class _Cleaning:
    """
    One object on its way.
    """

    def __init__(self, context: RunContext[Plan], metadata: StoredMetadata) -> None:
        self.key = metadata.key
        self._gate = context.gate
        self._probe = context.probe
        self._planned = context.planned
        self._objects = context.ports.objects
        self._metadata: StoredMetadata | None = metadata

    async def attempt(self) -> WriteResult:
        """
        Clean, after deciding anew if the object was written meanwhile.

        Raises:
            ConflictError: It was written meanwhile.
        """
        try:
            return await self._attempt()
        except ConversionError as error:
            raise await self._probe.check_alone(error, self.key) from error

    async def _attempt(self) -> WriteResult:
        if self._metadata is None:
            obj = await self._objects.get_object(self._planned.resource, self.key)
            self._metadata = metadata_of(obj)
        left = left_of(self._planned, self._metadata)
        if left is None:
            return Unchanged()
        permit = await self._gate.permit(self._metadata)
        if isinstance(permit, LeftAlone):
            return permit
        try:
            await self._objects.replace_managed_fields(
                self._planned.resource, permit, managed_fields=left
            )
        except RejectedError as error:
            # A server gives no causes for a patch one of whose tests failed.
            if error.status == UNPROCESSABLE and not error.causes:
                raise ConflictError(
                    verb=error.verb,
                    resource=error.resource,
                    status=error.status,
                    reason=error.reason,
                    detail=error.detail,
                ) from error
            raise
        return Rewritten()

    def note(self, error: ClusterError, *, reads_again: bool) -> None:  # noqa: ARG002 - a protocol
        """
        Forget an object that has changed since it was read.
        """
        if reads_again:
            self._metadata = None


def left_of(planned: Plan, metadata: StoredMetadata) -> tuple[JSON, ...] | None:
    """
    Return the managedFields entries that an object keeps; None if the object is left alone.
    """
    there = metadata.managed_fields
    left = living_entries(planned.definition, there)
    if len(left) == len(there) or not (metadata.uid and metadata.resource_version):
        return None
    return None if planned.policy.skips_owned and names_owner(there) else left


def living_entries(definition: Definition, managed_fields: tuple[JSON, ...]) -> tuple[JSON, ...]:
    """
    Leave out the entries of this group whose version is served no more.
    """
    served = {f"{definition.group}/{one.name}" for one in definition.versions if one.served}
    return tuple(
        entry
        for entry in managed_fields
        if not _is_of(entry, definition.group) or _api_version(entry) in served
    )


def _is_of(entry: JSON, group: str) -> bool:
    return _api_version(entry).startswith(f"{group}/")


def _api_version(entry: JSON) -> str:
    return str(entry.get("apiVersion", "")) if isinstance(entry, dict) else ""
