"""
Who holds the checkpoint of a run: loads it, adds to it, saves it in time.
"""

from dataclasses import replace

from espalier.crd import Definition
from espalier.engine.coordination.checkpoint import (
    Checkpoint,
    Progress,
    read_checkpoint,
    render_checkpoint,
)
from espalier.engine.flowcontrol.calls import retry_while_unavailable
from espalier.engine.policy.loss import Record
from espalier.engine.ports.clock import Clock
from espalier.engine.ports.state import Checkpoints
from espalier.engine.status.tally import Tally
from espalier.errors import ConflictError

SAVE_EVERY_SECONDS = 3.0
"""How much work may have to be done again after a kill."""


MAX_REMEMBER_ATTEMPTS = 5
"""How often somebody else may save a checkpoint at the same moment."""


class Ledger:
    """
    Holds the progress of one run, and saves it.

    A run that is restricted to namespaces leaves alone what is known of whole ones.

    Attributes:
        passes: What the passes of this run have counted; this is not saved.
    """

    def __init__(
        self,
        checkpoints: Checkpoints,
        clock: Clock,
        definition: Definition,
        *,
        whole: Progress,
        restricted: Progress | None,
        is_restricted: bool,
    ) -> None:
        self._checkpoints = checkpoints
        self._clock = clock
        self._definition = definition
        self._whole = whole
        self._restricted = restricted
        self._is_restricted = is_restricted
        self._saved_at_seconds = float("-inf")
        self.passes: list[Tally] = []

    @property
    def progress(self) -> Progress:
        """
        How far the run is.
        """
        if self._restricted is None or not self._is_restricted:
            return self._whole
        return replace(self._restricted, record=self._whole.record)

    async def save(self, progress: Progress) -> None:
        """
        Take over new progress; it is durable on return.
        """
        self._take_over(progress)
        document = render_checkpoint(Checkpoint(whole=self._whole, restricted=self._restricted))
        await retry_while_unavailable(
            lambda: self._checkpoints.save(self._definition, document), self._clock
        )
        self._saved_at_seconds = self._clock.monotonic_seconds()

    async def note(self, progress: Progress) -> None:
        """
        Take over new progress, and save it if that was not done lately.
        """
        self._take_over(progress)
        if self._clock.monotonic_seconds() - self._saved_at_seconds >= SAVE_EVERY_SECONDS:
            await self.save(progress)

    def _take_over(self, progress: Progress) -> None:
        if self._is_restricted:
            self._restricted = replace(progress, record=None)
        else:
            self._whole = progress


async def open_ledger(
    checkpoints: Checkpoints,
    clock: Clock,
    definition: Definition,
    *,
    key: str,
    is_restricted: bool,
) -> Ledger:
    """
    Load what is known of a definition, and begin or go on with the work for a key.

    What the definition specifies is added to the record.

    Args:
        is_restricted: The run is on the objects of some namespaces alone.

    Raises:
        NoStorageVersionError: Not exactly one version is marked.
        SchemaParseError: Its schema cannot be read.
    """
    generation = definition.generation
    found = await load_checkpoint(checkpoints, clock, definition)
    # Of no run at all, unless this one is on all objects.
    whole = found.whole if found else Progress(key="", generation=generation)
    whole = _remembering(whole, definition)
    restricted = found.restricted if found else None
    if is_restricted:
        begun = restricted or Progress(key=key, generation=generation)
        restricted = begun.for_key(key, generation=generation)
    else:
        whole = whole.for_key(key, generation=generation)
    ledger = Ledger(
        checkpoints,
        clock,
        definition,
        whole=whole,
        restricted=restricted,
        is_restricted=is_restricted,
    )
    if found != Checkpoint(whole=whole, restricted=restricted):
        # At once: an earlier proof does not hold any more, and objects may be written under this
        # schema from now on, whatever becomes of this run.
        await ledger.save(ledger.progress)
    return ledger


async def remember(
    checkpoints: Checkpoints, definition: Definition, *, key: str, creates: bool
) -> None:
    """
    Add what a definition specifies to what is known of it, though nothing else is done with it.

    No lease is needed: what a run has saved stays, and is never overwritten unseen.

    Args:
        key: For a definition of which nothing is known yet.
        creates: Whether to begin a record of such a one.

    Raises:
        ClusterError: It cannot be read or saved, or others save it each time.
        NoStorageVersionError: Not exactly one version is marked.
        SchemaParseError: Its schema cannot be read.
    """
    for attempt in range(1, MAX_REMEMBER_ATTEMPTS + 1):
        found = read_checkpoint(await checkpoints.load(definition))
        if found is None and not creates:
            return
        known = found or Checkpoint(whole=Progress(key=key, generation=definition.generation))
        fresh = replace(known, whole=_remembering(known.whole, definition))
        if fresh == found:
            return
        try:
            await checkpoints.save(definition, render_checkpoint(fresh))
        except ConflictError:
            if attempt == MAX_REMEMBER_ATTEMPTS:
                raise
        else:
            return


def _remembering(progress: Progress, definition: Definition) -> Progress:
    record = (progress.record or Record()).with_definition(
        definition, is_next=definition.generation - progress.generation in (0, 1)
    )
    return replace(progress, generation=definition.generation, record=record)


async def load_checkpoint(
    checkpoints: Checkpoints, clock: Clock, definition: Definition
) -> Checkpoint | None:
    """
    Load what is known of a definition; None if nothing is, or if it is not of our form.
    """
    return read_checkpoint(
        await retry_while_unavailable(lambda: checkpoints.load(definition), clock)
    )
