"""
Annotates objects that violate their schema, and removes the annotation once they are valid.

Best effort: an object that is being deleted is left alone, one that the server would refuse is
reported, and neither stops a run. A write of the annotation changes nothing else, and is guarded
by uid and resourceVersion like any other.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass

from espalier.engine.coordination.run_context import RunContext
from espalier.engine.coordination.write_gate import LeftAlone
from espalier.engine.flowcontrol.pacer import Pacer, work_through
from espalier.engine.policy.plan import Plan
from espalier.engine.ports import ObjectKey, StoredMetadata
from espalier.engine.ports.records import metadata_of, size_of
from espalier.engine.rewriting.outages import count
from espalier.engine.rewriting.preflight import SILENCE, Preflight
from espalier.engine.rewriting.retries import Rewritten, Unchanged, WriteResult, retry_until_decided
from espalier.engine.status.tally import Tally, describe_failures
from espalier.engine.surveys.report import Looked
from espalier.errors import ClusterError, ConversionError, RunStoppedError
from espalier.names import SCHEMA_VIOLATIONS
from espalier.paths import JSON
from espalier.plurals import counted

MAX_OBJECT_BYTES = 3 * 1024 * 1024
"""The most that an API server takes."""


@dataclass(frozen=True, slots=True)
class Note:
    """
    The annotation that an object is to have.

    Attributes:
        text: Its value; None if the annotation is to be removed.
    """

    seen: StoredMetadata
    text: str | None

    @property
    def key(self) -> ObjectKey:
        """
        Which object.
        """
        return self.seen.key

    @property
    def size_bytes(self) -> int:
        """
        How much of the object's metadata it holds, as JSON.
        """
        entries: dict[str, JSON] = {"managedFields": list(self.seen.managed_fields)}
        size_bytes = size_of(entries)
        # Nested too deeply to be measured; no entry is larger than an object may be.
        return MAX_OBJECT_BYTES if size_bytes is None else size_bytes


def note_for(obj: dict[str, JSON], looked: Looked) -> Note | None:
    """
    Decide on an object's annotation; None if it is right as it is, or must be left alone.

    An annotation stays where the object could not be validated.
    """
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or "deletionTimestamp" in metadata:
        return None
    seen = metadata_of(obj)
    if not (seen.uid and seen.resource_version):
        return None
    annotations = metadata.get("annotations")
    there = annotations.get(SCHEMA_VIOLATIONS) if isinstance(annotations, dict) else None
    text = looked.annotation
    if text == there or (text is None and not looked.is_complete):
        return None
    return Note(seen, text)


class Annotator:
    """
    Writes annotations, a page of notes at a time, as long as nothing speaks against writing.

    Args:
        decide: Makes the note of an object that was written meanwhile; None if it needs none.
    """

    def __init__(
        self,
        context: RunContext[Plan],
        pacer: Pacer,
        decide: Callable[[dict[str, JSON]], Awaitable[Note | None]],
    ) -> None:
        self._context = context
        self._clock = context.ports.clock
        self._pacer = pacer
        self._preflight = Preflight(context, pacer)
        self._decide = decide
        self._tally = Tally()
        crd = context.planned.definition.name
        context.ports.meter.count_annotations(crd, self._tally.writes)
        self._hindrance = ""

    async def write(self, notes: Sequence[Note]) -> None:
        """
        Write what is noted.

        Raises:
            ConversionError: The conversion webhook does not answer as it must.
        """
        if not self._hindrance:
            self._hindrance = await self._preflight.hindrance([note.key for note in notes])
        if self._hindrance:
            return
        try:
            await work_through(notes, self._write, workers=self._pacer.max_in_flight)
        except RunStoppedError:
            self._hindrance = SILENCE

    def summary(self) -> str:
        """
        Describe what was not written, and why; empty if all was.
        """
        return ". ".join(self._sentences())

    def _sentences(self) -> Iterator[str]:
        if self._tally.left_alone.count:
            left = self._tally.left_alone
            yield (
                f"{counted(left.count, 'object')} got no annotation, since its write would or might"
                f" remove something: {left}"
            )
        if self._tally.failed:
            failures = describe_failures(self._tally.failures)
            yield f"Annotations could not be written: {failures}"
        if self._hindrance:
            more = "further " if self._tally.seen else ""
            yield f"No {more}annotation is written: {self._hindrance}"
        note = self._preflight.note()
        if note:
            yield note

    async def _write(self, note: Note) -> None:
        what = _Annotation(self._context, note, self._decide)
        count(self._tally, note.key, await retry_until_decided(what, self._clock, self._pacer))


class _Annotation:
    """
    The annotation of one object on its way.
    """

    def __init__(
        self,
        context: RunContext[Plan],
        note: Note,
        decide: Callable[[dict[str, JSON]], Awaitable[Note | None]],
    ) -> None:
        self.key = note.key
        self._objects = context.ports.objects
        self._resource = context.planned.resource
        self._gate = context.gate
        self._probe = context.probe
        self._note: Note | None = note
        self._decide = decide

    async def attempt(self) -> WriteResult:
        """
        Write, after deciding anew if the object was written meanwhile.
        """
        try:
            return await self._attempt()
        except ConversionError as error:
            raise await self._probe.check_alone(error, self.key) from error

    async def _attempt(self) -> WriteResult:
        if self._note is None:
            obj = await self._objects.get_object(self._resource, self.key)
            self._note = await self._decide(obj)
        if self._note is None:
            return Unchanged()
        permit = await self._gate.permit(self._note.seen)
        if isinstance(permit, LeftAlone):
            return permit
        await self._objects.annotate(
            self._resource, permit, annotations={SCHEMA_VIOLATIONS: self._note.text}
        )
        return Rewritten()

    def note(self, error: ClusterError, *, reads_again: bool) -> None:  # noqa: ARG002 - a protocol
        """
        Forget the decision on an object that has changed since it was read.
        """
        if reads_again:
            self._note = None
