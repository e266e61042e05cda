"""
The engine as the supervisor sees it: its runs, with their ports and settings bound.
"""

from collections.abc import Hashable

from espalier.crd import Condition, Definition
from espalier.engine.controller.loop import keep_pruned
from espalier.engine.coordination.definition_guard import run_identity
from espalier.engine.ports.reporter import Reporter
from espalier.engine.runs.outcome import RunOutcome
from espalier.engine.runs.run import run
from espalier.engine.settings import Ports, RunSettings


class EngineWork:
    """
    Implements ``espalier.handlers.supervisor.DefinitionWork``.
    """

    def __init__(self, ports: Ports, settings: RunSettings, reporter: Reporter) -> None:
        self._ports = ports
        self._settings = settings
        self._reporter = reporter

    def key_of(self, definition: Definition) -> Hashable:
        """
        Return what identifies the purpose of a run on this definition.
        """
        return run_identity(definition)

    async def run(self, definition: Definition) -> RunOutcome:
        """
        Work on the definition once, and report progress and the outcome.
        """
        return await run(definition, self._ports, self._settings, self._reporter)

    async def keep_pruned(
        self, definition: Definition, *, reported: tuple[Condition, ...] = ()
    ) -> None:
        """
        Prune new objects.
        """
        await keep_pruned(
            definition, self._ports, self._settings, self._reporter, reported=reported
        )
