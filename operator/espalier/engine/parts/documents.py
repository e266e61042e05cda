"""
What is kept of each part: how far it is, beside a copy of the record by which it judges objects.

A part reads what is known of the definition, and never writes to it but to add the schemas of now.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from espalier.crd import Definition
from espalier.engine.coordination.checkpoint import Checkpoint, Progress, read_checkpoint
from espalier.engine.coordination.ledger import Ledger
from espalier.engine.flowcontrol.calls import retry_while_unavailable
from espalier.engine.policy.parts import PartState
from espalier.engine.policy.plan import Plan
from espalier.engine.ports import Checkpoints, Clock, Part
from espalier.engine.ports.state import RecordUnreadableError
from espalier.engine.settings import RecordPorts
from espalier.paths import JSON

DocumentsOf: TypeAlias = Callable[[int], Checkpoints]
"""Returns the documents of the parts with a number; each definition has one of them."""

_PART = "part"


class PartDocument:
    """
    Implements ``Checkpoints`` for one part; each document also has the part and its result.
    """

    def __init__(self, inner: Checkpoints, part: Part) -> None:
        self._inner = inner
        self._part = part
        self._objects: int | None = None

    def home_of(self, definition: Definition) -> tuple[str, str]:
        """
        Name the namespace and the ConfigMap.
        """
        return self._inner.home_of(definition)

    async def load(self, definition: Definition) -> dict[str, JSON] | None:
        """
        Read the document.
        """
        return await self._inner.load(definition)

    async def forget(self, definition: Definition) -> None:
        """
        Delete the document.
        """
        await self._inner.forget(definition)

    async def save(self, definition: Definition, document: Mapping[str, JSON]) -> None:
        """
        Store a document, with the part.
        """
        part: dict[str, JSON] = {
            "number": self._part.number,
            "count": self._part.count,
            "isDone": self._objects is not None,
            "objects": self._objects or 0,
        }
        await self._inner.save(definition, {**document, _PART: part})

    def finish(self, objects: int) -> None:
        """
        Have the next document show that the part is done.
        """
        self._objects = objects


async def read_state(checkpoints: Checkpoints, clock: Clock, planned: Plan) -> PartState | None:
    """
    Read how far a part is; None if nothing is kept of it for this definition.

    Raises:
        RecordUnreadableError: The document is not of our form.
        ClusterError: It cannot be read.
    """
    definition = planned.definition
    document = await retry_while_unavailable(lambda: checkpoints.load(definition), clock)
    found = read_checkpoint(document, definition)
    if document is None or found is None:
        return None
    return _state_of(document, found, definition)


async def open_part(
    ports: RecordPorts, document: PartDocument, planned: Plan, known: Checkpoint, part: Part
) -> tuple[Ledger, PartState]:
    """
    Begin or go on with the work on a part, for exactly this generation.

    Args:
        known: What is known of the definition.

    Raises:
        RecordUnreadableError: What is kept of the part cannot be trusted.
        ClusterError: It cannot be read.
    """
    definition = planned.definition
    fresh = Progress(key=planned.key, generation=definition.generation)
    begun = PartState(
        part=part, key=planned.key, generation=definition.generation, is_done=False, objects=0
    )
    loaded = await retry_while_unavailable(lambda: document.load(definition), ports.clock)
    found = read_checkpoint(loaded, definition)
    checkpoint = replace(known, whole=fresh, restricted=None)
    if loaded is not None and found is not None:
        state = _state_of(loaded, found, definition)
        if (state.part, state.key, state.generation) == (part, begun.key, begun.generation):
            begun = state
            # The record is the definition's; consents are to what this part has shown.
            checkpoint = replace(
                checkpoint, whole=found.whole, shown=found.shown, accepted=found.accepted
            )
    ledger = Ledger(
        replace(ports, checkpoints=document),
        definition,
        checkpoint,
        pointed=checkpoint.record.digest(),
        is_restricted=False,
    )
    return ledger, begun


def _state_of(document: Mapping[str, JSON], found: Checkpoint, definition: Definition) -> PartState:
    match document.get(_PART):
        case {
            "number": int(number),
            "count": int(count),
            "isDone": bool(is_done),
            "objects": int(objects),
        } if 0 <= number < count:
            return PartState(
                part=Part(number, count),
                key=found.whole.key,
                generation=found.whole.generation,
                is_done=is_done,
                objects=objects,
                accepted=found.accepted,
            )
        case _:
            raise RecordUnreadableError(definition.name, "the checkpoint of a part is odd")
