"""
Keeps ``NonStructuralSchema`` where the API server does not.

Every API server of the last years keeps this condition itself, once per generation. Espalier
computes it from the same rules, waits, and writes only what is still missing, at most once per
generation and process: where a server disagrees, its condition stays. An apply by a field manager
of its own never takes away what the server wrote.
"""

import logging
from dataclasses import dataclass

from espalier import crd
from espalier.crd import Condition, Definition
from espalier.engine.ports.clock import Clock
from espalier.engine.ports.definitions import Definitions
from espalier.errors import ConflictError, NotFoundError
from espalier.handlers.status_writer import stamped
from espalier.names import NON_STRUCTURAL_SCHEMA, STRUCTURAL_FIELD_MANAGER

logger = logging.getLogger(__name__)

_UNREADABLE = "StructuralError"


@dataclass(slots=True)
class _Seen:
    """
    A generation whose condition was found to differ.
    """

    uid: str
    generation: int
    since_seconds: float
    written: bool = False

    def is_of(self, definition: Definition) -> bool:
        return (self.uid, self.generation) == (definition.uid, definition.generation)


class StructuralKeeper:
    """
    Compares, waits, and writes at most once.
    """

    def __init__(self, definitions: Definitions, clock: Clock, *, grace_seconds: float) -> None:
        self._definitions = definitions
        self._clock = clock
        self._grace_seconds = grace_seconds
        self._seen: dict[str, _Seen] = {}

    async def keep(self, definition: Definition) -> float | None:
        """
        Write the condition of a definition if it is due and the API server has not written it.

        Returns:
            After how many seconds to look again; None if there is nothing to wait for.

        Raises:
            TransientError: It could not be written now; call again.
        """
        expected = crd.nonstructural_condition(definition)
        seen = self._seen.get(definition.name)
        if seen is not None and not seen.is_of(definition):
            seen = None
        if _same(expected, definition.condition(NON_STRUCTURAL_SCHEMA)):
            # Once written, it stays known: a server that differs must not cause another write.
            if seen is None or not seen.written:
                self._seen.pop(definition.name, None)
            return None
        now = self._clock.monotonic_seconds()
        if seen is None:
            seen = _Seen(uid=definition.uid, generation=definition.generation, since_seconds=now)
            self._seen[definition.name] = seen
        if seen.written:
            return None
        remaining_seconds = seen.since_seconds + self._grace_seconds - now
        if remaining_seconds > 0:
            return remaining_seconds
        await self._write(definition, expected)
        seen.written = True
        return None

    def forget(self, name: str) -> None:
        """
        Drop what is known of a definition that is gone.
        """
        self._seen.pop(name, None)

    async def _write(self, definition: Definition, expected: Condition | None) -> None:
        conditions: tuple[Condition, ...] = ()
        if expected is not None:
            now = self._clock.utc_timestamp()
            conditions = (stamped(expected, definition.conditions, now=now),)
        try:
            await self._definitions.apply_conditions(
                definition, conditions, field_manager=STRUCTURAL_FIELD_MANAGER
            )
        except (NotFoundError, ConflictError) as error:
            # Deleted, or replaced under the same name: that causes an event of its own.
            logger.info(
                "Wrote no structural condition: the definition is gone or another one.",
                extra={"crd": definition.name, "error": str(error)},
            )
            return
        logger.info(
            "Wrote the structural condition that no API server wrote.",
            extra={"crd": definition.name, "generation": definition.generation},
        )


def _same(expected: Condition | None, found: Condition | None) -> bool:
    if expected is None or found is None:
        return expected is found
    if (expected.status, expected.reason) != (found.status, found.reason):
        return False
    # Of several keywords that cannot be read the server names whichever its map order meets first.
    return expected.reason == _UNREADABLE or expected.message == found.message
