"""
How far the passes of a run came: checked before each page; saved, logged and reported after it.
"""

import logging
from dataclasses import replace

from espalier.engine.coordination.checkpoint import REWRITE, Progress
from espalier.engine.coordination.ledger import Ledger
from espalier.engine.coordination.run_context import RunContext
from espalier.engine.policy.plan import Plan
from espalier.engine.ports.progress import PassProgress
from espalier.engine.runs.only_failed import with_failures
from espalier.engine.runs.permissions import check_rights
from espalier.engine.status import conditions
from espalier.engine.status.tally import Tally

logger = logging.getLogger(__name__)


class ProgressKeeper:
    """
    Implements ``espalier.engine.rewriting.passes.Listener`` for one run.

    Attributes:
        before: What earlier parts of the pass have come to.
    """

    def __init__(self, context: RunContext[Plan], ledger: Ledger) -> None:
        definition = context.planned.definition
        self.before = Progress(key=context.planned.key, generation=definition.generation)
        self._context = context
        self._definition = definition
        self._ledger = ledger
        self._clock = context.ports.clock
        self._pass = PassProgress(phase="")
        self._pass_begun_seconds = 0.0

    async def before_page(self) -> None:
        """
        Check that the definition is the one that the run was planned for.
        """
        await self._context.guard.check()

    def begin(self, tally: Tally) -> None:
        """
        Keep the counts of a pass, also if it ends by an error.
        """
        self._ledger.passes.append(tally)
        self._context.ports.meter.count_writes(self._definition.name, tally.writes)

    def begin_pass(self, phase: str, number: int = 0) -> None:
        """
        Measure the rate of a pass from now on.
        """
        self._pass = PassProgress(phase=phase, number=number)
        self._pass_begun_seconds = self._clock.monotonic_seconds()

    async def after_page(self, tally: Tally, *, token: str | None, remaining: int | None) -> None:
        """
        Save and report how far the pass came; stop if a right is missing now.
        """
        seen = self.before.seen + tally.seen
        progress = self._ledger.progress
        if progress.phase == REWRITE:
            # With several lists, one token does not show which list it belongs to.
            goes_on = token is not None and not self._context.planned.policy.namespaces
            if goes_on:
                progress = replace(progress, token=token or "", seen=seen)
            await self._ledger.note(with_failures(progress, tally, before=self.before))
        total = seen + remaining if remaining is not None else (None if token else seen)
        logger.info(
            "Worked through a page of stored objects.",
            extra={
                "crd": self._definition.name,
                "phase": progress.phase,
                "objects": seen,
                "rewritten": tally.rewritten,
                "failed": tally.failed,
            },
        )
        await self.report(seen, total=total, worked_on=tally.seen)
        if tally.forbidden:
            await check_rights(self._context)

    async def report(self, done: int, *, total: int | None, worked_on: int = 0) -> None:
        """
        Report how many objects of a pass are done, and at which rate.
        """
        seconds = self._clock.monotonic_seconds() - self._pass_begun_seconds
        self._pass = replace(
            self._pass,
            done=done,
            total=total,
            objects_per_second=worked_on / seconds if worked_on and seconds else None,
        )
        rewriting = conditions.rewriting(self._definition, str(self._pass), done=done, total=total)
        await self._context.reporter.report(self._definition, rewriting, self._pass)
