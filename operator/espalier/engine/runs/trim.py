"""
The end of a proof: status.storedVersions is trimmed to the storage version.

That is done only if the definition is the one that was read before the verify pass's first page, in
all that matters, and under an optimistic lock.
"""

from espalier.crd import Definition
from espalier.engine.coordination.definition_guard import DefinitionGuard
from espalier.engine.flowcontrol.backoff import call_pause_seconds
from espalier.engine.ports.clock import Clock
from espalier.engine.ports.definitions import Definitions
from espalier.engine.status.conditions import Reason
from espalier.errors import ConflictError, DefinitionChangedError, RunStoppedError, TransientError

MAX_TRIM_ATTEMPTS = 10


async def trim(
    before: Definition, definitions: Definitions, guard: DefinitionGuard, clock: Clock
) -> Definition:
    """
    Trim the stored versions, if everything is as it was before the verify pass.

    Raises:
        DefinitionChangedError: It is not.
        RunStoppedError: The write does not get through.
    """
    only_storage = (before.storage.name,)
    for attempt in range(1, MAX_TRIM_ATTEMPTS + 1):
        fresh = await guard.check()
        if fresh.generation == before.generation and fresh.stored_versions == only_storage:
            return fresh
        if (fresh.generation, fresh.stored_versions) != (
            before.generation,
            before.stored_versions,
        ):
            raise DefinitionChangedError(
                fresh.name, "generation or status.storedVersions changed in the verify pass"
            )
        try:
            await definitions.set_stored_versions(fresh, only_storage)
        except (ConflictError, TransientError):
            # Perhaps only a condition was written meanwhile; perhaps it was trimmed after
            # all. The next read shows which.
            await clock.sleep(call_pause_seconds(attempt))
    raise RunStoppedError(
        Reason.FAILED,
        f"all objects are rewritten, but storedVersions could not be trimmed in"
        f" {MAX_TRIM_ATTEMPTS} attempts; the run is tried again",
    )
