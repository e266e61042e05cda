"""
The engine as the supervisor sees it: its runs, with their ports and settings bound.
"""

import asyncio
import logging
import secrets
from collections.abc import Hashable

from espalier.crd import Condition, Definition
from espalier.engine.controller.loop import keep_pruned
from espalier.engine.coordination.definition_guard import run_identity
from espalier.engine.ports.reporter import Reporter
from espalier.engine.runs.outcome import RunOutcome
from espalier.engine.runs.run import run
from espalier.engine.settings import Ports, RunSettings
from espalier.handlers.logs import run_id
from espalier.observe.outcomes import FAILED, STOPPED, outcome_of
from espalier.observe.recorder import Recorder

logger = logging.getLogger(__name__)


class EngineWork:
    """
    Implements ``espalier.handlers.supervisor.DefinitionWork``.
    """

    def __init__(
        self, ports: Ports, settings: RunSettings, reporter: Reporter, recorder: Recorder
    ) -> None:
        self._ports = ports
        self._settings = settings
        self._reporter = reporter
        self._recorder = recorder

    def key_of(self, definition: Definition) -> Hashable:
        """
        Return what identifies the purpose of a run on this definition.
        """
        return run_identity(definition)

    async def run(self, definition: Definition) -> RunOutcome:
        """
        Work on the definition once, and report progress and the outcome.
        """
        own_id = secrets.token_hex(4)
        # All that is logged in the run carries it.
        before = run_id.set(own_id)
        self._recorder.begin_run(definition, own_id)
        outcome, reason = FAILED, ""
        try:
            ended = await run(definition, self._ports, self._settings, self._reporter)
            outcome, reason = outcome_of(ended), ended.reason
        except asyncio.CancelledError:
            outcome = STOPPED
            raise
        else:
            return ended
        finally:
            self._end(definition, outcome, reason)
            run_id.reset(before)

    async def keep_pruned(
        self, definition: Definition, *, reported: tuple[Condition, ...] = ()
    ) -> None:
        """
        Prune new objects.
        """
        await keep_pruned(
            definition, self._ports, self._settings, self._reporter, reported=reported
        )

    def _end(self, definition: Definition, outcome: str, reason: str) -> None:
        ended = self._recorder.end_run(definition.name, outcome, reason=reason)
        if ended is None:
            return
        writes = ended.writes
        objects = sum(writes)
        logger.info(
            "The run ended.",
            extra={
                "crd": definition.name,
                "outcome": ended.outcome,
                "reason": reason,
                "seconds": round(ended.seconds, 1),
                "objects": objects,
                "rewritten": writes.rewritten,
                "objects_per_second": round(objects / ended.seconds, 1) if ended.seconds else 0.0,
            },
        )
