"""
What outlives the process: how far a run came, and what the last proof knew.

A document that does not read as expected counts as none: the run starts over, and without a record
the proof against loss is the stricter one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from espalier.crd import Definition
from espalier.engine.calling import patiently
from espalier.engine.losing import Record
from espalier.engine.ports import Checkpoints, Clock, ObjectKey
from espalier.paths import JSON

FORMAT = 1

SAVE_EVERY_SECONDS = 3.0
"""How much work may have to be done again after a kill."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """
    The state of the work on one definition.

    Attributes:
        key: What the run is for.
        generation: Of the definition when it was last looked at.
        phase: ``rewrite`` or ``verify``; empty before the first write and after the proof.
        token: Where the rewrite pass goes on; empty at its start. A verify pass starts anew.
        seen: How many objects the rewrite pass has seen up to the token.
        failed: The objects that failed in the last pass, or the first of them.
        proved_generation: For which generation the run for this key was proved; 0 if for none.
        proved_objects: How many objects its last pass has seen.
        record: What was known at the last proof, and since; without one, what is known since the
            definition was first seen. None where nothing is.
    """

    key: str
    generation: int
    phase: str = ""
    token: str = ""
    seen: int = 0
    failed: tuple[ObjectKey, ...] = ()
    proved_generation: int = 0
    proved_objects: int = 0
    record: Record | None = None

    def for_key(self, key: str, *, generation: int) -> "Progress":
        """
        Go on with the same key, or begin anew with another one; the record stays.
        """
        if key == self.key:
            return replace(self, generation=generation)
        return Progress(key=key, generation=generation, record=self.record)


class Ledger:
    """
    Holds the progress of one run, and saves it.
    """

    def __init__(
        self, checkpoints: Checkpoints, clock: Clock, definition: Definition, progress: Progress
    ) -> None:
        self._checkpoints = checkpoints
        self._clock = clock
        self._definition = definition
        self._saved_at_seconds = float("-inf")
        self.progress = progress

    async def save(self, progress: Progress) -> None:
        """
        Take over new progress; it is durable on return.
        """
        self.progress = progress
        document = render_progress(progress)
        await patiently(lambda: self._checkpoints.save(self._definition, document), self._clock)
        self._saved_at_seconds = self._clock.monotonic_seconds()

    async def note(self, progress: Progress) -> None:
        """
        Take over new progress, and save it if that was not done lately.
        """
        self.progress = progress
        if self._clock.monotonic_seconds() - self._saved_at_seconds >= SAVE_EVERY_SECONDS:
            await self.save(progress)


async def open_ledger(
    checkpoints: Checkpoints, clock: Clock, definition: Definition, *, key: str
) -> Ledger:
    """
    Load what is known of a definition, and begin or go on with the work for a key.

    What the definition specifies is added to the record.

    Raises:
        NoStorageVersionError: Not exactly one version is marked.
        SchemaParseError: Its schema cannot be read.
    """
    document = await patiently(lambda: checkpoints.load(definition), clock)
    found = read_progress(document)
    if found is None:
        found = Progress(key=key, generation=definition.generation)
    progress = found.for_key(key, generation=definition.generation)
    record = (found.record or Record()).with_definition(
        definition, is_next=definition.generation - found.generation in (0, 1)
    )
    progress = replace(progress, record=record)
    ledger = Ledger(checkpoints, clock, definition, progress)
    if document is None or progress != found:
        # At once: an earlier proof does not hold any more, and objects may be written under this
        # schema from now on, whatever becomes of this run.
        await ledger.save(progress)
    return ledger


def read_progress(document: Mapping[str, JSON] | None) -> Progress | None:
    """
    Read a checkpoint's document; None if there is none, or if it is not of our form.
    """
    if document is None or document.get("format") != FORMAT:
        return None
    texts = [document.get(name) for name in ("key", "phase", "token")]
    numbers = [
        document.get(name) for name in ("generation", "seen", "provedGeneration", "provedObjects")
    ]
    if not all(isinstance(text, str) for text in texts):
        return None
    if not all(type(number) is int for number in numbers):
        return None
    key, phase, token = (str(text) for text in texts)
    generation, seen, proved_generation, proved_objects = (int(str(n)) for n in numbers)
    return Progress(
        key=key,
        generation=generation,
        phase=phase,
        token=token,
        seen=seen,
        failed=_read_keys(document.get("failed")),
        proved_generation=proved_generation,
        proved_objects=proved_objects,
        record=_read_record(document.get("record")),
    )


def render_progress(progress: Progress) -> dict[str, JSON]:
    """
    Make the checkpoint's document.
    """
    record: JSON = None
    if progress.record is not None:
        record = {
            "specified": _sorted(progress.record.specified),
            "dropped": _sorted(progress.record.dropped),
        }
    return {
        "format": FORMAT,
        "key": progress.key,
        "generation": progress.generation,
        "phase": progress.phase,
        "token": progress.token,
        "seen": progress.seen,
        "failed": [[key.namespace, key.name] for key in progress.failed],
        "provedGeneration": progress.proved_generation,
        "provedObjects": progress.proved_objects,
        "record": record,
    }


def _read_keys(value: JSON) -> tuple[ObjectKey, ...]:
    # Earlier versions kept none.
    keys = []
    for item in value if isinstance(value, list) else []:
        match item:
            case [str(namespace), str(name)]:
                keys.append(ObjectKey(namespace, name))
            case _:
                continue
    return tuple(keys)


def _read_record(value: JSON) -> Record | None:
    if not isinstance(value, dict):
        return None
    specified, dropped = (_texts(value.get(name)) for name in ("specified", "dropped"))
    if specified is None or dropped is None:
        return None
    return Record(specified=specified, dropped=dropped)


def _texts(value: JSON) -> frozenset[str] | None:
    if not isinstance(value, list):
        return None
    texts = frozenset(item for item in value if isinstance(item, str))
    return texts if len(texts) == len(value) else None


def _sorted(texts: frozenset[str]) -> JSON:
    return [*sorted(texts)]
