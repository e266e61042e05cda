"""
Which stored objects violate the schema? What follows a proof, and is repeated now and then.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from functools import cache, partial

from espalier.crd import Condition
from espalier.engine.coordination.definition_guard import DefinitionGuard
from espalier.engine.coordination.lease_bursts import LeaseBursts
from espalier.engine.coordination.run_context import RunContext
from espalier.engine.listing.pages import Listing, pages
from espalier.engine.listing.undecodable import UndecodableSkipper
from espalier.engine.policy.field_managers import is_owned
from espalier.engine.policy.plan import Legacy, Plan
from espalier.engine.policy.restrictions import within_text
from espalier.engine.ports import ObjectPage
from espalier.engine.ports.meter import Phase
from espalier.engine.settings import pacer_of
from espalier.engine.surveys.annotations import Annotator, Note, note_for
from espalier.engine.surveys.page_examiner import PageExaminer
from espalier.engine.surveys.valid_condition import LEFT_OUT, validity_of
from espalier.paths import JSON

MAX_NOTED_BYTES = 1024 * 1024
"""
How much of the metadata of a page's objects waits for annotations. An object may have a megabyte of
managedFields, which take ten times as much once they are decoded.
"""


async def validate_all(context: RunContext[Plan], *, turns: LeaseBursts | None = None) -> Condition:
    """
    Read all objects, annotate those that violate the schema, and make the condition.

    An annotation is a write like any other: where the server prunes, it is done only if it is
    known that a rewrite loses nothing.

    Args:
        turns: By which the lease is had for each write; None if the caller holds it.

    Raises:
        ClusterError: They cannot be listed.
    """
    planned, ports = context.planned, context.ports
    policy = planned.policy
    if not policy.does("validate"):
        return LEFT_OUT
    ports.meter.enter(planned.definition.name, Phase.SURVEY)
    examiner = PageExaminer(planned.definition, clock=ports.clock, workers=ports.workers)
    pacer = pacer_of(context.settings, ports) if turns is None else turns.pacer
    annotator = Annotator(context, pacer, _decider(context))
    skipper = UndecodableSkipper(ports.objects, planned.definition, context.probe)
    is_asked = may_annotate(planned)
    async for page in _pages(context, skipper):
        notes: list[Note] = []
        size_bytes = 0
        async for obj, looked in examiner.looks(page.objects):
            if not is_asked or (policy.skips_owned and is_owned(obj)):
                continue
            note = note_for(obj, looked)
            if note is None:
                continue
            notes.append(note)
            size_bytes += note.size_bytes
            if size_bytes > MAX_NOTED_BYTES:
                await _write(notes, annotator, context.guard, turns)
                notes, size_bytes = [], 0
        if notes:
            await _write(notes, annotator, context.guard, turns)
    found = replace(examiner.survey(), undecodable=skipper.names)
    ports.meter.survey(planned.definition.name, found.counts)
    return validity_of(found, within=within_text(policy.namespaces), note=annotator.summary())


def _decider(
    context: RunContext[Plan],
) -> Callable[[dict[str, JSON]], Awaitable[Note | None]]:
    """
    Make what decides on objects that were written meanwhile; the survey has counted them before.
    """
    planned, ports = context.planned, context.ports
    examiner = cache(
        lambda: PageExaminer(planned.definition, clock=ports.clock, workers=ports.workers)
    )

    async def decide(obj: dict[str, JSON]) -> Note | None:
        if planned.policy.skips_owned and is_owned(obj):
            return None
        return note_for(obj, await examiner().look(obj))

    return decide


async def _write(
    notes: Sequence[Note],
    annotator: Annotator,
    guard: DefinitionGuard,
    turns: LeaseBursts | None,
) -> None:
    async def write(some: Sequence[Note]) -> None:
        # The earlier holder of the lease may have worked for a changed definition.
        await guard.check()
        await annotator.write(some)

    if turns is None:
        await write(notes)
        return
    for some in turns.portions(notes):
        await turns.spend(partial(write, some))


def may_annotate(planned: Plan) -> bool:
    """
    Report whether annotations are asked for, and whether writing them loses nothing.

    Only a run that rewrites has proved before that a write loses nothing.
    """
    is_harmless = planned.policy.does("migrate") or isinstance(planned, Legacy)
    return planned.policy.does("annotate") and is_harmless


async def _pages(
    context: RunContext[Plan], skipper: UndecodableSkipper
) -> AsyncIterator[ObjectPage]:
    planned, ports = context.planned, context.ports
    for namespace in planned.policy.namespaces or ("",):
        listing = Listing(
            fetch=ports.objects.list_objects,
            resource=planned.resource,
            page_size=context.settings.page_size,
            namespace=namespace,
        )
        async for page, _ in pages(listing, ports.clock, skipper=skipper):
            yield page
