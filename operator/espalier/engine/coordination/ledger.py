"""
Who holds the checkpoint of a run: loads it, adds to it, saves it in time.

The record is in it, and the definition points to that: see ``record_pointer``.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from espalier import names
from espalier.crd import Definition
from espalier.engine.coordination.checkpoint import (
    Checkpoint,
    Progress,
    read_checkpoint,
    render_checkpoint,
)
from espalier.engine.coordination.record_pointer import (
    Home,
    RecordPointer,
    check_pointer,
    read_pointer,
)
from espalier.engine.flowcontrol.calls import retry_while_unavailable
from espalier.engine.policy.consent import ShownLoss, after_both, are_kept, consented
from espalier.engine.policy.record import (
    SchemaRecord,
    first_record,
    is_unseen_between,
    record_of_proof,
)
from espalier.engine.ports.clock import Clock
from espalier.engine.ports.definitions import Definitions
from espalier.engine.ports.state import RecordUnreadableError
from espalier.engine.settings import RecordPorts
from espalier.engine.status.tally import Tally
from espalier.errors import ConflictError

SAVE_EVERY_SECONDS = 3.0
"""How much work may have to be done again after a kill."""

MAX_REMEMBER_ATTEMPTS = 5
"""How often another process may save a checkpoint at the same moment."""

MAX_LOOKS = 3
LOOK_AGAIN_SECONDS = 0.5
"""Between two reads of a record and its pointer that another process may be writing."""


class KnownState(NamedTuple):
    """
    What was found of a definition.

    Attributes:
        checkpoint: None if nothing is known.
        pointed: The digest that the definition's pointer names; empty without one.
    """

    checkpoint: Checkpoint | None
    pointed: str


class Ledger:
    """
    Holds the progress of one run and what is known of the definition, and saves both.

    A run that is restricted to namespaces leaves alone what is known of whole ones.

    Attributes:
        passes: What the passes of this run have counted; this is not saved.
    """

    def __init__(
        self,
        ports: RecordPorts,
        definition: Definition,
        checkpoint: Checkpoint,
        *,
        pointed: str,
        is_restricted: bool,
    ) -> None:
        self._ports = ports
        self._clock = ports.clock
        self._definition = definition
        self._checkpoint = checkpoint
        self._pointed = pointed
        self._is_restricted = is_restricted
        self._saved_at_seconds = float("-inf")
        self.passes: list[Tally] = []

    @property
    def progress(self) -> Progress:
        """
        How far the run is.
        """
        restricted = self._checkpoint.restricted
        if restricted is None or not self._is_restricted:
            return self._checkpoint.whole
        return restricted

    @property
    def record(self) -> SchemaRecord:
        """
        What the schemas have specified since the last proof.
        """
        return self._checkpoint.record

    @property
    def known(self) -> Checkpoint:
        """
        All that is kept of the definition.
        """
        return self._checkpoint

    def loss(self, items: Iterable[str]) -> ShownLoss:
        """
        Make what a condition may show of these items.
        """
        return ShownLoss(frozenset(items), self._checkpoint.shown.spent)

    @property
    def shown(self) -> ShownLoss:
        """
        What was last shown that a run would lose, or that a rewrite has lost.
        """
        return self._checkpoint.shown

    @property
    def accepted(self) -> ShownLoss:
        """
        What was shown and then consented to.
        """
        return self._checkpoint.accepted

    async def accept(self, digest: str) -> None:
        """
        Take a digest as consent to what was shown under it; any other one consents to nothing.
        """
        known = (self._checkpoint.shown, self._checkpoint.accepted)
        accepted = consented(digest, known)
        if accepted != self._checkpoint.accepted:
            await self._save(replace(self._checkpoint, accepted=accepted))

    async def show(self, loss: ShownLoss) -> None:
        """
        Keep what a condition is about to show, so that its digest can be consented to.
        """
        if loss != self._checkpoint.shown:
            await self._save(replace(self._checkpoint, shown=loss))

    async def prove(self, progress: Progress) -> None:
        """
        Take over the progress of a proof; what was known before is not needed any more.
        """
        nothing = after_both(self._checkpoint.shown, self._checkpoint.accepted)
        await self._save(
            replace(
                self._with(progress),
                record=record_of_proof(self._definition),
                shown=nothing,
                accepted=nothing,
                is_proved=True,
                storages=frozenset({self._definition.storage.name}),
            )
        )

    async def save(self, progress: Progress) -> None:
        """
        Take over new progress; it is durable on return.
        """
        await self._save(self._with(progress))

    async def note(self, progress: Progress) -> None:
        """
        Take over new progress, and save it if that was not done lately.
        """
        self._checkpoint = self._with(progress)
        if self._clock.monotonic_seconds() - self._saved_at_seconds >= SAVE_EVERY_SECONDS:
            await self.save(progress)

    async def _save(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint = replace(checkpoint, before=self._pointed)
        document = render_checkpoint(checkpoint)
        await retry_while_unavailable(
            lambda: self._ports.checkpoints.save(self._definition, document), self._clock
        )
        self._pointed = await retry_while_unavailable(
            lambda: _point(self._ports, self._definition, checkpoint, self._pointed), self._clock
        )
        self._saved_at_seconds = self._clock.monotonic_seconds()

    def _with(self, progress: Progress) -> Checkpoint:
        if self._is_restricted:
            return replace(self._checkpoint, restricted=progress)
        return replace(self._checkpoint, whole=progress)


async def open_ledger(
    ports: RecordPorts, definition: Definition, *, key: str, is_restricted: bool
) -> Ledger:
    """
    Load what is known of a definition, and begin or go on with the work for a key.

    What the definition specifies is added to the record.

    Args:
        is_restricted: The run is on the objects of some namespaces alone.

    Raises:
        RecordUnreadableError: What is known cannot be trusted.
        OtherOperatorError: It is another's.
        ClusterError: It cannot be read or saved.
    """
    generation = definition.generation
    found, pointed = await load_known(ports, definition)
    checkpoint = remembering(found, definition)
    restricted = checkpoint.restricted
    if is_restricted:
        begun = restricted or Progress(key=key, generation=generation)
        checkpoint = replace(checkpoint, restricted=begun.for_key(key, generation=generation))
    else:
        checkpoint = replace(checkpoint, whole=checkpoint.whole.for_key(key, generation=generation))
    ledger = Ledger(ports, definition, checkpoint, pointed=pointed, is_restricted=is_restricted)
    if found != checkpoint or pointed != checkpoint.record.digest():
        # At once: an earlier proof does not hold any more, and objects may be written under this
        # schema from now on, whatever becomes of this run.
        await ledger.save(ledger.progress)
    return ledger


async def remember(ports: RecordPorts, definition: Definition, *, creates: bool) -> None:
    """
    Add what a definition specifies to what is known of it, though nothing else is done with it.

    No lease is needed: what a run has saved stays, and is never overwritten unseen.

    Args:
        creates: Whether to begin a record of one of which nothing is known yet.

    Raises:
        RecordUnreadableError: What is known cannot be trusted.
        OtherOperatorError: It is another's.
        ClusterError: It cannot be read or saved, or others save it each time.
    """
    for attempt in range(1, MAX_REMEMBER_ATTEMPTS + 1):
        found, pointed = await load_known(ports, definition)
        if found is None and not creates:
            return
        fresh = replace(remembering(found, definition), before=pointed)
        try:
            if found is None or replace(fresh, before=found.before) != found:
                await ports.checkpoints.save(definition, render_checkpoint(fresh))
            await _point(ports, definition, fresh, pointed)
        except ConflictError:
            if attempt == MAX_REMEMBER_ATTEMPTS:
                raise
        else:
            return


async def load_known(ports: RecordPorts, definition: Definition) -> KnownState:
    """
    Load what is known of a definition, and see that it is what the definition points to.

    Raises:
        RecordUnreadableError: It is gone, cannot be read, or is another one.
        OtherOperatorError: It is kept elsewhere.
        ClusterError: It cannot be read.
    """
    home = Home(*ports.checkpoints.home_of(definition))
    looks = 0
    while True:
        looks += 1
        pointer = read_pointer(definition)
        found = await _load(ports, definition)
        try:
            check_pointer(definition, pointer, home, found.digests if found else ())
        except RecordUnreadableError:
            if looks == MAX_LOOKS:
                raise
        else:
            return KnownState(found, pointer.digest if pointer else "")
        # Another process may have written both between our two reads.
        await ports.clock.sleep(LOOK_AGAIN_SECONDS)
        definition = await _read_again(ports.definitions, ports.clock, definition)


async def _load(ports: RecordPorts, definition: Definition) -> Checkpoint | None:
    document = await retry_while_unavailable(
        lambda: ports.checkpoints.load(definition), ports.clock
    )
    return read_checkpoint(document, definition)


async def _read_again(definitions: Definitions, clock: Clock, definition: Definition) -> Definition:
    fresh = await retry_while_unavailable(
        lambda: definitions.get_definition(definition.name), clock
    )
    return replace(definition, conditions=fresh.conditions)


def remembering(found: Checkpoint | None, definition: Definition) -> Checkpoint:
    """
    Add what a definition specifies to what was found of it; other schemas may end a consent.
    """
    if found is None:
        whole = Progress(key="", generation=definition.generation)
        is_first = definition.generation == 1
        storages = frozenset({definition.storage.name}) if is_first else None
        return Checkpoint(whole=whole, record=first_record(definition), storages=storages)
    shown, accepted = found.shown, found.accepted
    if _ends_consents(found, definition):
        shown = accepted = after_both(shown, accepted)
    return replace(
        found,
        whole=replace(found.whole, generation=definition.generation),
        record=found.record.with_definition(definition),
        shown=shown,
        accepted=accepted,
        storages=_storages(found, definition),
    )


def _storages(found: Checkpoint, definition: Definition) -> frozenset[str] | None:
    if found.storages is None or is_unseen_between(found.record.generation, definition.generation):
        return None
    return found.storages | {version.name for version in definition.versions if version.storage}


def _ends_consents(found: Checkpoint, definition: Definition) -> bool:
    """
    Report whether other data may be stored by now at the paths that were shown or consented to.
    """
    before, after = found.record.generation, definition.generation
    if is_unseen_between(before, after):
        return True
    return after > before and are_kept(definition, found.shown.items | found.accepted.items)


async def _point(
    ports: RecordPorts, definition: Definition, checkpoint: Checkpoint, pointed: str
) -> str:
    """
    Have the definition point to the record that was just saved.

    Returns:
        The digest that it names now.
    """
    digest = checkpoint.record.digest()
    if digest != pointed:
        pointer = RecordPointer(Home(*ports.checkpoints.home_of(definition)), digest)
        await ports.definitions.apply_conditions(
            definition, [pointer.condition()], field_manager=names.RECORD_FIELD_MANAGER
        )
    return digest
