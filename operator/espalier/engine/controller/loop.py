"""
Keeps the objects of a legacy definition pruned after its run: list, watch, prune what is new.

The watch events of Espalier's own writes show nothing to prune, so they cause no further writes.
An object whose removed fields another client keeps writing, as a GitOps tool does, is left alone
for growing pauses. The condition names it, and every object that cannot be pruned.

Nothing is written without the lease. It is held for bursts of writes only, so that other processes
can take it.
"""

import logging

from espalier import names
from espalier.crd import Condition, Definition
from espalier.engine.controller.list_watch import ListWatch
from espalier.engine.controller.object_queue import ObjectQueue
from espalier.engine.controller.worker import PruneWorker
from espalier.engine.coordination.definition_guard import IDLE_CHECK_SECONDS
from espalier.engine.coordination.lease_bursts import BURST_SECONDS, LeaseBursts
from espalier.engine.coordination.ledger import load_known
from espalier.engine.coordination.run_context import RunContext, context_of
from espalier.engine.flowcontrol.calls import run_with_watchers
from espalier.engine.legacy.removal import Remover
from espalier.engine.policy.consent import consented
from espalier.engine.policy.labels import read_policy
from espalier.engine.policy.plan import Legacy, plan
from espalier.engine.policy.restrictions import closing, restrictions_of
from espalier.engine.ports.reporter import Reporter
from espalier.engine.settings import Ports, RunSettings, pacer_of
from espalier.engine.status import conditions
from espalier.engine.status.conditions import Reason
from espalier.engine.surveys.validation import validate_all
from espalier.errors import DefinitionChangedError, NotFoundError, RunStoppedError

logger = logging.getLogger(__name__)

MAX_AT_ONCE = 20
"""The most objects in memory at a time; each may have megabytes."""


async def keep_pruned(
    definition: Definition,
    ports: Ports,
    settings: RunSettings,
    reporter: Reporter,
    *,
    reported: tuple[Condition, ...] = (),
) -> None:
    """
    Watch the objects, and prune each one that has unknown fields within seconds.

    Returns only when the definition is deleted, replaced, or asks for something else.

    Args:
        reported: The conditions of a run that proved nothing. They are reported as long as no
            object is in trouble.

    Raises:
        ClusterError: The objects cannot be listed or watched; call again later.
    """
    planned = plan(definition, read_policy(definition))
    if not isinstance(planned, Legacy) or not planned.policy.does("prune") or settings.is_read_only:
        return
    context = context_of(planned, ports, settings, reporter)
    known = (await load_known(ports.record, definition)).checkpoint
    shown = (known.shown, known.accepted) if known else ()
    # The server prunes nothing of these objects; what Espalier removes is archived first.
    context.gate.open(None, consented(planned.policy.accepted_loss, shown))
    loop = _PruneLoop(context, reported or _condition_of(planned))
    idle_watch = context.guard.watch(pause_seconds=IDLE_CHECK_SECONDS)
    companions = [loop.serve(), loop.revalidate(), idle_watch]
    if planned.policy.window is not None:
        companions.append(closing(planned.policy.window, ports.clock))
    try:
        await run_with_watchers(loop.follow(), *companions)
    except (DefinitionChangedError, NotFoundError) as error:
        logger.info(
            "Pruning of new objects ends.", extra={"crd": definition.name, "error": str(error)}
        )
    except RunStoppedError as error:
        if error.reason != Reason.OUTSIDE_WINDOW:
            raise


class _PruneLoop:
    def __init__(self, context: RunContext[Legacy], reported: tuple[Condition, ...]) -> None:
        ports, settings, definition = context.ports, context.settings, context.planned.definition
        self._context = context
        self._definition = definition
        self._reporter = context.reporter
        self._guard = context.guard
        self._clock = ports.clock
        pacer = pacer_of(settings, ports)
        self._remover = remover = Remover(context)
        self._queue = ObjectQueue(ports.clock, definition.name)
        self._follower = ListWatch(context, remover.pruner, self._queue)
        self._worker = PruneWorker(context, pacer, remover, self._queue)
        self._turns = LeaseBursts(context, pacer)
        self._in_form = self._reported = reported

    async def follow(self) -> None:
        """
        List and watch the objects, and queue those that have to be pruned.
        """
        await self._follower.follow()

    async def serve(self) -> None:
        """
        Prune the queued objects when they are due.
        """
        while True:
            if self._queue.is_due:
                await self._turns.spend(self._prune_guarded)
            else:
                self._queue.forget_peaceful()
                await self._report()
                await self._queue.wait()

    async def revalidate(self) -> None:
        """
        Validate all stored objects at regular intervals.
        """
        reading_seconds = 0.0
        while True:
            await self._clock.sleep(self._context.settings.resurvey_after(reading_seconds))
            begun_seconds = self._clock.monotonic_seconds()
            validating = validate_all(self._context, turns=self._turns)
            valid = await run_with_watchers(validating, self._guard.watch())
            reading_seconds = self._clock.monotonic_seconds() - begun_seconds
            await self._reporter.report(self._definition, (*self._reported, valid))

    async def _prune_guarded(self) -> None:
        await run_with_watchers(self._prune_burst(), self._guard.watch())

    async def _prune_burst(self) -> None:
        self._remover.begin()
        until_seconds = self._clock.monotonic_seconds() + BURST_SECONDS / 2
        most = self._turns.portion(MAX_AT_ONCE)
        while await self._worker.prune_due(most):
            await self._report()
            if self._clock.monotonic_seconds() >= until_seconds:
                return

    async def _report(self) -> None:
        reported = self._queue.condition() or self._in_form
        if reported != self._reported:
            self._reported = reported
            await self._reporter.report(self._definition, reported)


def _condition_of(planned: Legacy) -> tuple[Condition, ...]:
    restrictions = restrictions_of(planned, None)
    if restrictions or planned.policy.skips_owned:
        why = "; ".join(restrictions) or f"label {names.SKIP_OWNED}=true"
        return conditions.not_current(
            Reason.PARTIAL, f"objects are pruned as they come. Restricted: {why}"
        )
    return conditions.current(planned.definition, objects=None)
