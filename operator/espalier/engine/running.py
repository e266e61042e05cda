"""
A whole run: plan, hold the lease, migrate, and say how it ended.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from espalier.crd import Condition, Definition
from espalier.engine import conditions
from espalier.engine.calling import accompanied, patiently
from espalier.engine.checkpointing import Ledger, open_ledger, read_progress
from espalier.engine.conditions import Reason, counted, forbidden_message
from espalier.engine.guarding import Holder, Sentry
from espalier.engine.migrating import Migration
from espalier.engine.planning import (
    Legacy,
    Mode,
    Plan,
    Policy,
    ServerPruned,
    Stop,
    plan,
    read_policy,
    run_key,
)
from espalier.engine.ports import Reporter
from espalier.engine.settings import Ports, RunSettings
from espalier.engine.tallying import cause_of
from espalier.errors import (
    ArchiveFullError,
    ClusterError,
    DefinitionChangedError,
    EspalierError,
    ForbiddenError,
    LeaseLostError,
    NotFoundError,
    RunStoppedError,
)

logger = logging.getLogger(__name__)

MAX_STARTS = 10
"""How often a run starts over by itself when the definition changes under it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """
    How a run ended.

    Attributes:
        definition: As last read; None if it is gone.
        conditions: What was reported last; none if the definition does not ask for anything.
        is_proved: Every stored object was shown to be current, and the stored versions are trimmed.
        tends: New objects must be looked at from now on, see ``tend``.
        retries: Trying again can help though the definition does not change.
    """

    definition: Definition | None
    conditions: tuple[Condition, ...] = ()
    is_proved: bool = False
    tends: bool = False
    retries: bool = False

    @property
    def reason(self) -> str:
        """
        The reason of ``espalier.dev/StoredObjectsCurrent``; empty without conditions.
        """
        return self.conditions[0].reason if self.conditions else ""


# Of what the planning stops for, only this ends without a change of the definition.
_PASSING = frozenset({Reason.PENDING})


async def run(
    definition: Definition, ports: Ports, settings: RunSettings, reporter: Reporter
) -> Outcome:
    """
    Do what a definition asks for, once.

    It is read anew first; if it changes meanwhile, the run starts over. May be cancelled at any
    moment: what is done stays done, and the next run goes on from the checkpoint.

    Args:
        reporter: Is told everything, progress too; it decides what is written when.
    """
    for _ in range(MAX_STARTS):
        try:
            fresh = await patiently(
                lambda: ports.definitions.get_definition(definition.name), ports.clock
            )
        except NotFoundError:
            return Outcome(definition=None)
        if fresh.uid != definition.uid:
            return Outcome(definition=None)
        try:
            return await _run_on(fresh, ports, settings, reporter)
        except DefinitionChangedError as error:
            logger.info("The run starts over.", extra={"crd": definition.name, "error": str(error)})
    words = conditions.not_current(
        Reason.PENDING, f"the definition changed {MAX_STARTS} times while the run went on"
    )
    return await _end(definition, reporter, words, retries=True)


async def _run_on(
    definition: Definition, ports: Ports, settings: RunSettings, reporter: Reporter
) -> Outcome:
    policy = read_policy(definition)
    if policy.mode is Mode.OFF:
        return Outcome(definition=definition)
    planned = plan(definition, policy)
    if isinstance(planned, Stop):
        await _remember(definition, policy, ports)
        words = conditions.not_current(planned.reason, planned.message)
        return await _end(definition, reporter, words, retries=planned.reason in _PASSING)
    try:
        if settings.is_read_only:
            return await _look_only(planned, ports, reporter)
        return await _run_with_lease(planned, ports, settings, reporter)
    except DefinitionChangedError:
        raise
    except EspalierError as error:
        words = conditions.not_current(*_why(planned, error))
        return await _end(definition, reporter, words, retries=True)


async def _run_with_lease(
    planned: Plan, ports: Ports, settings: RunSettings, reporter: Reporter
) -> Outcome:
    definition = planned.definition
    holder = Holder(ports.leases, ports.clock, definition)
    await patiently(holder.take, ports.clock)
    try:
        sentry = Sentry(ports.definitions, ports.clock, definition)
        return await accompanied(
            _run_alone(planned, ports, settings, reporter, sentry),
            holder.renew(),
            holder.expire(),
            sentry.watch(),
        )
    finally:
        await _release(definition, ports)


async def _remember(definition: Definition, policy: Policy, ports: Ports) -> None:
    """
    Add the schema to what is known of a definition, though nothing else is done with it.

    Nothing is written for one of which nothing is known yet, except where it preserves unknown
    fields: should it stop doing so, only this tells that objects may hold some.

    Without the lease it is left to whoever holds it.
    """
    name = definition.name
    try:
        found = read_progress(await ports.checkpoints.load(definition))
        if found is None and not definition.preserve_unknown_fields:
            return
        await ports.leases.acquire(definition)
    except EspalierError as error:
        logger.info("Could not take note of a schema.", extra={"crd": name, "error": str(error)})
        return
    key = run_key(definition, policy)
    try:
        await open_ledger(ports.checkpoints, ports.clock, definition, key=key)
    except EspalierError as error:
        logger.info("Could not take note of a schema.", extra={"crd": name, "error": str(error)})
    finally:
        await _release(definition, ports)


async def _release(definition: Definition, ports: Ports) -> None:
    try:
        await ports.leases.release(definition)
    except ClusterError as error:
        # It runs out by itself; how the run ended is not changed by that.
        logger.warning(
            "Could not release a lease.", extra={"crd": definition.name, "error": str(error)}
        )


async def _run_alone(
    planned: Plan, ports: Ports, settings: RunSettings, reporter: Reporter, sentry: Sentry
) -> Outcome:
    definition = planned.definition
    ledger = await open_ledger(ports.checkpoints, ports.clock, definition, key=planned.key)
    trimmed, note = definition, ""
    if not _is_done(planned, ledger):
        trimmed, tally = await Migration(
            planned, ports, settings, ledger=ledger, reporter=reporter, sentry=sentry
        ).migrate()
        if tally.mistyped.count:
            values = f"{counted(tally.mistyped.count, 'object')} ({tally.mistyped})"
            note = f"Values of the wrong type stay, with all they hold: {values}"
    words = conditions.current(trimmed, objects=ledger.progress.proved_objects, note=note)
    return await _end(trimmed, reporter, words, is_proved=True, tends=isinstance(planned, Legacy))


def _is_done(planned: Plan, ledger: Ledger) -> bool:
    # A schema that came and went meanwhile has left another generation behind. Into a legacy
    # definition's objects anybody may have written anything since.
    definition = planned.definition
    return (
        isinstance(planned, ServerPruned)
        and ledger.progress.proved_generation == definition.generation
        and definition.stored_versions == (definition.storage.name,)
    )


async def _look_only(planned: Plan, ports: Ports, reporter: Reporter) -> Outcome:
    page = await patiently(
        lambda: ports.objects.list_metadata(planned.resource, page_size=1, continue_token=None),
        ports.clock,
    )
    objects = len(page.objects) + (page.remaining or 0)
    storage = planned.definition.storage.name
    words = conditions.not_current(
        Reason.OBSERVED,
        f"the operator is read-only: it would rewrite {counted(objects, 'object')} at the storage"
        f" version {storage} and trim storedVersions"
        f" ({', '.join(planned.definition.stored_versions)}) to {storage}",
    )
    return await _end(planned.definition, reporter, words, retries=False)


async def _end(
    definition: Definition,
    reporter: Reporter,
    words: Sequence[Condition],
    *,
    is_proved: bool = False,
    tends: bool = False,
    retries: bool = False,
) -> Outcome:
    await reporter.report(definition, words)
    return Outcome(
        definition=definition,
        conditions=tuple(words),
        is_proved=is_proved,
        tends=tends,
        retries=retries,
    )


def _why(planned: Plan, error: EspalierError) -> tuple[Reason, str]:
    """
    Turn what ended a run into a reason and a message, without any value of an object.
    """
    match error:
        case RunStoppedError(reason=reason, detail=detail):
            return Reason(reason), detail
        case ArchiveFullError(detail=detail):
            advice = (
                "what cannot be archived is not pruned. Move the archive's Secrets elsewhere,"
                " or specify in the schema what is to be kept"
            )
            return Reason.ARCHIVE_FULL, f"{detail}; {advice}"
        case LeaseLostError():
            return Reason.PENDING, f"{error}; this run waits for it"
        case ForbiddenError(verb=verb):
            return Reason.FORBIDDEN, forbidden_message(planned.resource, (verb,))
        case NotFoundError():
            return Reason.PENDING, f"{planned.resource} is not served yet, or not any more"
        case ClusterError(verb=verb, resource=resource):
            return Reason.FAILED, f"{verb} {resource}: {cause_of(error)}; the run is tried again"
        case _:
            return Reason.FAILED, f"{error}; the run is tried again"
