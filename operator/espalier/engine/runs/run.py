"""
A whole run: plan, hold the lease, migrate, and report the outcome.
"""

import logging
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, TypeAlias

from espalier import names
from espalier.crd import Condition, Definition
from espalier.engine.coordination.checkpoint import Progress
from espalier.engine.coordination.lease import LeaseHolder
from espalier.engine.coordination.ledger import Ledger, open_ledger, remember
from espalier.engine.coordination.run_context import RunContext, context_of
from espalier.engine.flowcontrol.calls import retry_while_unavailable, run_with_watchers
from espalier.engine.policy.labels import Mode, read_policy
from espalier.engine.policy.plan import Legacy, Plan, ServerPruned, Stop, plan
from espalier.engine.policy.restrictions import closing, condition_of, outside_message
from espalier.engine.policy.windows import time_of_day_seconds
from espalier.engine.ports.meter import Phase
from espalier.engine.ports.reporter import Reporter
from espalier.engine.ports.state import OtherOperatorError
from espalier.engine.runs.gate_opening import open_gate
from espalier.engine.runs.managed_fields import clean_histories
from espalier.engine.runs.migration import Migration
from espalier.engine.runs.observation import OBSERVING, READ_ONLY, observe
from espalier.engine.runs.only_failed import failed_of, open_last_ledger
from espalier.engine.runs.outcome import RunOutcome, end
from espalier.engine.runs.permissions import check_rights
from espalier.engine.settings import Ports, RunSettings
from espalier.engine.status import conditions
from espalier.engine.status.conditions import Reason
from espalier.engine.status.stop_reasons import why_stopped
from espalier.engine.status.tally import total
from espalier.engine.surveys.validation import validate_all
from espalier.errors import (
    ClusterError,
    DefinitionChangedError,
    EspalierError,
    LeaseLostError,
    NotFoundError,
    RunStoppedError,
)

logger = logging.getLogger(__name__)

MAX_STARTS = 10
"""How often a run starts over by itself when the definition changes under it."""

# Before any of these it was proved that a rewrite loses nothing.
_VALIDATED = frozenset({Reason.FAILED, Reason.UNDECODABLE})

MAX_WINDOW_PAUSE_SECONDS = 600.0
"""However long a window stays closed, the clock is looked at again after so long."""

# Of what the planning stops for, only this ends without a change of the definition.
_PASSING = frozenset({Reason.PENDING, Reason.OTHER_MIGRATION})

# What enforcing would stop at, and looking need not.
_OBSERVABLE = frozenset(
    {
        Reason.NO_SCHEMA,
        Reason.NON_STRUCTURAL,
        Reason.STORAGE_VERSION_NOT_SERVED,
        Reason.OTHER_MIGRATION,
    }
)


Work: TypeAlias = Callable[[RunContext[Plan]], Coroutine[Any, Any, RunOutcome]]
"""What a run does while it holds its lease."""


async def run(
    definition: Definition,
    ports: Ports,
    settings: RunSettings,
    reporter: Reporter,
    work: Work | None = None,
) -> RunOutcome:
    """
    Do what a definition asks for, once.

    It is read anew first; if it changes meanwhile, the run starts over. May be cancelled at any
    moment: what is done stays done, and the next run goes on from the checkpoint.

    Args:
        reporter: Gets every report, progress too; it decides what is written when.
        work: What is done under the lease; ``work_on_all`` if None.

    Raises:
        ClusterError: The definition cannot be read.
    """
    for _ in range(MAX_STARTS):
        try:
            fresh = await retry_while_unavailable(
                lambda: ports.definitions.get_definition(definition.name), ports.clock
            )
        except NotFoundError as error:
            if not error.is_object:
                raise
            return RunOutcome(definition=None)
        if fresh.uid != definition.uid:
            return RunOutcome(definition=None)
        try:
            return await _run_on(fresh, ports, settings, reporter, work or work_on_all)
        except DefinitionChangedError as error:
            logger.info("The run starts over.", extra={"crd": definition.name, "error": str(error)})
    reported = conditions.not_current(
        Reason.PENDING, f"the definition changed {MAX_STARTS} times while the run went on"
    )
    return await end(definition, reporter, reported, retries=True)


async def _run_on(
    definition: Definition, ports: Ports, settings: RunSettings, reporter: Reporter, work: Work
) -> RunOutcome:
    policy = read_policy(definition)
    if policy.mode is Mode.OFF:
        return RunOutcome(definition=definition)
    # Of one that is only looked at, too: what enforcing would stop at is worth telling.
    planned = plan(definition, replace(policy, mode=Mode.ENFORCE))
    looks_only = policy.mode is Mode.OBSERVE or settings.is_read_only
    if isinstance(planned, Stop) or looks_only:
        await _remember(definition, ports)
    try:
        if isinstance(planned, Stop) and not (looks_only and planned.reason in _OBSERVABLE):
            reported = conditions.not_current(planned.reason, planned.message)
            return await end(definition, reporter, reported, retries=planned.reason in _PASSING)
        if looks_only or isinstance(planned, Stop):
            why = OBSERVING if policy.mode is Mode.OBSERVE else READ_ONLY
            hindrance = planned if isinstance(planned, Stop) else None
            begun_seconds = ports.clock.monotonic_seconds()
            reported = await observe(
                definition, policy, ports, settings, reporter, why=why, hindrance=hindrance
            )
            again_seconds = _resurvey_after(begun_seconds, ports, settings)
            return await end(definition, reporter, reported, again_seconds=again_seconds)
        return await _run_in_window(context_of(planned, ports, settings, reporter), work)
    except DefinitionChangedError:
        raise
    except EspalierError as error:
        if isinstance(error, LeaseLostError):
            ports.meter.lose_lease(definition.name)
            logger.info(
                "The run ended with its lease.",
                extra={"crd": definition.name, "holder": error.holder, "error": str(error)},
            )
        reported = conditions.not_current(*why_stopped(definition, error))
        if isinstance(error, OtherOperatorError) and definition.condition(
            names.STORED_OBJECTS_CURRENT
        ):
            # The other operator reports there; the two must not overwrite each other.
            logger.warning(
                "Another operator works on the definition.", extra={"crd": definition.name}
            )
            return RunOutcome(definition=definition, conditions=reported, retries=True)
        return await end(definition, reporter, reported, retries=True)


async def _run_in_window(context: RunContext[Plan], work: Work) -> RunOutcome:
    planned, ports = context.planned, context.ports
    window = planned.policy.window
    if window is None:
        return await _run_with_lease(context, work)
    if not window.opens_in_seconds(time_of_day_seconds(ports.clock)):
        try:
            running = _run_with_lease(context, work)
            return await run_with_watchers(running, closing(window, ports.clock))
        except RunStoppedError as error:
            if error.reason != Reason.OUTSIDE_WINDOW:
                raise
    await _remember(planned.definition, ports, creates=True)
    opens_in_seconds = window.opens_in_seconds(time_of_day_seconds(ports.clock))
    reported = conditions.not_current(Reason.OUTSIDE_WINDOW, outside_message(window))
    # The wall clock may be set meanwhile.
    again_seconds = min(max(opens_in_seconds, 1.0), MAX_WINDOW_PAUSE_SECONDS)
    return await end(planned.definition, context.reporter, reported, again_seconds=again_seconds)


async def _run_with_lease(context: RunContext[Plan], work: Work) -> RunOutcome:
    planned, ports = context.planned, context.ports
    definition = planned.definition
    try:
        await check_rights(context)
    except RunStoppedError:
        await _remember(definition, ports, creates=True)
        raise
    ports.meter.enter(definition.name, Phase.WAIT)
    holder = LeaseHolder(ports.leases, ports.clock, definition)
    try:
        await retry_while_unavailable(lambda: _take(holder, context), ports.clock)
        context.gate.under(holder)
        ports.meter.hold_lease(definition.name, is_held=True)
        return await run_with_watchers(
            work(context), holder.renew(), holder.expire(), context.guard.watch()
        )
    finally:
        context.gate.under(None)
        ports.meter.hold_lease(definition.name, is_held=False)
        await _release(definition, ports)


async def _take(holder: LeaseHolder[Definition], context: RunContext[Plan]) -> None:
    async def report_wait(error: LeaseLostError) -> None:
        message = f"waiting for the lease held by {error.holder or 'another process'}"
        pending = conditions.not_current(Reason.PENDING, message)
        await context.reporter.report(context.planned.definition, pending)

    if context.settings.waits_for_lease:
        await holder.take_in_time(report_wait)
    else:
        await holder.take()


async def _remember(definition: Definition, ports: Ports, *, creates: bool = False) -> None:
    """
    Add the schema to what is known of a definition, though nothing else is done with it.

    Args:
        creates: Whether to begin a record of one of which nothing is known yet. That is done in any
            case for one that preserves unknown fields: should it stop doing so, only the record
            shows that objects may hold unknown fields.

    """
    try:
        await remember(
            ports.record, definition, creates=creates or definition.preserve_unknown_fields
        )
    except EspalierError as error:
        logger.info(
            "Could not take note of a schema.",
            extra={"crd": definition.name, "error": str(error)},
        )


async def _release(definition: Definition, ports: Ports) -> None:
    try:
        await ports.leases.release(definition)
    except ClusterError as error:
        # It runs out by itself; how the run ended is not changed by that.
        logger.warning(
            "Could not release a lease.", extra={"crd": definition.name, "error": str(error)}
        )


async def work_on_all(context: RunContext[Plan]) -> RunOutcome:
    """
    Rewrite all objects, prove that, trim, and follow up. The caller holds the lease.

    Raises:
        EspalierError: It must not or cannot go on.
    """
    planned, settings, reporter = context.planned, context.settings, context.reporter
    context.ports.meter.enter(planned.definition.name, Phase.PREFLIGHT)
    ledger = await _open_ledger(context)
    await open_gate(context, ledger)
    try:
        definition, reported, is_proved = await _bring_into_form(context, ledger)
    except RunStoppedError as error:
        if error.reason == Reason.ADMISSION_MUTATES:
            # A schema that changed meanwhile changes objects too.
            await context.guard.check()
        reported = conditions.not_current(Reason(error.reason), error.detail)
        is_validated = error.reason in _VALIDATED
        if is_validated:
            # What could not be written may be what violates the schema.
            await reporter.report(planned.definition, reported)
            reported, _ = await _follow_up(context, reported)
        return await end(
            planned.definition,
            reporter,
            reported,
            watches_on=is_validated and _is_watched_on(planned),
            retries=True,
            totals=total(ledger.passes),
        )
    await reporter.report(definition, reported)
    begun_seconds = context.ports.clock.monotonic_seconds()
    reported, is_whole = await _follow_up(context, reported, is_proved=is_proved)
    is_whole = is_whole and reported[0].reason != Reason.NOT_NORMAL
    return await end(
        definition,
        reporter,
        reported,
        is_proved=is_proved,
        watches_on=_is_watched_on(planned),
        retries=not is_whole,
        again_seconds=_resurvey_after(begun_seconds, context.ports, settings) if is_whole else None,
        totals=total(ledger.passes),
    )


def _resurvey_after(begun_seconds: float, ports: Ports, settings: RunSettings) -> float:
    return settings.resurvey_after(ports.clock.monotonic_seconds() - begun_seconds)


def _is_watched_on(planned: Plan) -> bool:
    return isinstance(planned, Legacy) and planned.policy.does("prune")


async def _follow_up(
    context: RunContext[Plan],
    reported: tuple[Condition, ...],
    *,
    is_proved: bool = False,
) -> tuple[tuple[Condition, ...], bool]:
    """
    Clean, and validate; a failure here leaves the earlier conditions as they are.

    Returns:
        All conditions, and whether nothing has failed.
    """
    try:
        if is_proved:
            cleaned = await clean_histories(context)
            reported = conditions.noted(reported, cleaned)
        return (*reported, await validate_all(context)), True
    except ClusterError as error:
        _, cause = why_stopped(context.planned.definition, error)
        return (*reported, conditions.not_checked(cause)), False


async def _open_ledger(context: RunContext[Plan]) -> Ledger:
    planned, ports = context.planned, context.ports
    if not context.settings.only_failed:
        ledger = await open_ledger(
            ports.record,
            planned.definition,
            key=planned.key,
            is_restricted=bool(planned.policy.namespaces),
        )
        if context.settings.again:
            generation = planned.definition.generation
            await ledger.save(Progress(key=planned.key, generation=generation))
        return ledger
    ledger = await open_last_ledger(planned, ports.record)
    if not is_proved(planned, ledger.progress):
        # Before anything is read or written for a run that has nothing to do.
        failed_of(ledger.progress, planned.policy)
    return ledger


async def _bring_into_form(
    context: RunContext[Plan], ledger: Ledger
) -> tuple[Definition, tuple[Condition, ...], bool]:
    """
    Rewrite, prove and trim, unless that is done already or not asked for.

    Returns:
        The definition as it is then, its conditions, and whether it is proved.
    """
    planned = context.planned
    definition = planned.definition
    if is_proved(planned, ledger.progress):
        objects = ledger.progress.proved_objects
        return definition, conditions.current(definition, objects=objects), True
    if not planned.rewrites:
        return definition, condition_of(planned, definition, None), False
    migrated = await Migration(context, ledger).migrate()
    if not migrated.is_normal:
        reported = conditions.not_current(Reason.NOT_NORMAL, migrated.note)
        return migrated.definition, reported, False
    reported = condition_of(
        planned,
        migrated.definition,
        migrated.tally,
        note=migrated.note,
        only_failed=context.settings.only_failed,
    )
    return migrated.definition, reported, migrated.is_proved


def is_proved(planned: Plan, progress: Progress) -> bool:
    """
    Report whether an earlier run has proved what is planned.
    """
    # A schema that came and went meanwhile has left another generation behind. Into a legacy
    # definition's objects anybody may have written anything since.
    definition = planned.definition
    return (
        isinstance(planned, ServerPruned)
        and progress.proved_generation == definition.generation
        and definition.stored_versions == (definition.storage.name,)
    )
