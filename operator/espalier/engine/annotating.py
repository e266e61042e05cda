"""
Says on each object that violates the schema that it does, and takes that off where it is mended.

Best effort: an object that is being deleted is left alone, one that the server would refuse is
told, and none of that stops a run. A write of the annotation changes nothing else, and is guarded
by uid and resourceVersion like any other.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from espalier.engine.causes import cause_of
from espalier.engine.counting import Counter, Counts
from espalier.engine.pacing import Pacer, work_through
from espalier.engine.policies import PREFIX
from espalier.engine.ports import ObjectKey, Objects, Resource
from espalier.engine.rewriting import Identity, identity_of
from espalier.errors import ClusterError, ConflictError, NotFoundError, TransientError
from espalier.findings import FieldError
from espalier.paths import JSON, render_path

ANNOTATION = f"{PREFIX}schema-violations"

MAX_ANNOTATION_BYTES = 4 * 1024


@dataclass(frozen=True, slots=True)
class Note:
    """
    What an object's annotation is to be.

    Attributes:
        text: None if there is to be none.
    """

    key: ObjectKey
    seen: Identity
    text: str | None


def note_for(obj: dict[str, JSON], key: ObjectKey, violations: Iterable[FieldError]) -> Note | None:
    """
    Decide on an object's annotation; None if it is right as it is, or must be left alone.
    """
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or "deletionTimestamp" in metadata:
        return None
    seen = identity_of(obj)
    if not seen.is_whole:
        return None
    annotations = metadata.get("annotations")
    there = annotations.get(ANNOTATION) if isinstance(annotations, dict) else None
    text = render_violations(violations)
    return None if text == there else Note(key, seen, text)


def render_violations(violations: Iterable[FieldError]) -> str | None:
    """
    Write violations as compact JSON of at most 4 KiB, without values; None without any.

    Returns:
        ``{"violations":[{"path":..,"reason":..,"detail":..}],"more":3}``; ``more`` only if
        something was cut off.
    """
    written: list[str] = []
    more, size_bytes = 0, len('{"violations":[],"more":1000000000}')
    for one in violations:
        entry = {"path": render_path(one.path), "reason": one.type.value.strip()}
        if one.detail:
            entry["detail"] = one.detail
        text = json.dumps(entry, separators=(",", ":"))
        if more or size_bytes + len(text) + 1 > MAX_ANNOTATION_BYTES:
            more += 1
            continue
        size_bytes += len(text) + 1
        written.append(text)
    if not written and not more:
        return None
    cut = f',"more":{more}' if more else ""
    return f'{{"violations":[{",".join(written)}]{cut}}}'


class Annotator:
    """
    Writes annotations, a page of notes at a time.
    """

    def __init__(self, objects: Objects, resource: Resource, pacer: Pacer) -> None:
        self._objects = objects
        self._resource = resource
        self._pacer = pacer
        self._refused = Counter()

    async def write(self, notes: Iterable[Note]) -> None:
        """
        Write what is noted; whoever was written meanwhile is left for the next survey.
        """
        await work_through(notes, self._write, workers=self._pacer.max_in_flight)

    def refused(self) -> Counts:
        """
        Tell which objects the server refused, and why.
        """
        return self._refused.counts()

    async def _write(self, note: Note) -> None:
        try:
            async with self._pacer.turn():
                await self._objects.annotate(
                    self._resource,
                    note.key,
                    uid=note.seen.uid,
                    resource_version=note.seen.resource_version,
                    annotations={ANNOTATION: note.text},
                )
        except (ConflictError, NotFoundError):
            return
        except TransientError as error:
            self._pacer.struggled(error)
            self._refused.add(note.key, [cause_of(error)])
        except ClusterError as error:
            self._refused.add(note.key, [cause_of(error)])
        else:
            self._pacer.succeeded(written=True)
