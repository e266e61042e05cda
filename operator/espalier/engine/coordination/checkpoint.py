"""
What outlives the process: how far a run came, and what the last proof knew.

A document that does not read as expected counts as none: the run starts over, and without a record
the proof against loss is the stricter one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from espalier.engine.policy.loss import Record
from espalier.engine.ports import ObjectKey
from espalier.paths import JSON

FORMAT = 1

REWRITE, VERIFY = "rewrite", "verify"
"""The phases of a run."""


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
        failed_total: How many failed, though not all are kept by name.
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
    failed_total: int = 0
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """
    All that is kept of one definition.

    Attributes:
        whole: Of runs on all objects; it has the record, whatever wrote objects last.
        restricted: Of the last run on the objects of some namespaces; None if there was none.
    """

    whole: Progress
    restricted: Progress | None = None


def read_checkpoint(document: Mapping[str, JSON] | None) -> Checkpoint | None:
    """
    Read a document; None if there is none, or if it is not of our form.
    """
    whole = read_progress(document)
    if document is None or whole is None:
        return None
    restricted = document.get("restricted")
    return Checkpoint(
        whole=whole,
        restricted=read_progress(restricted) if isinstance(restricted, dict) else None,
    )


def render_checkpoint(checkpoint: Checkpoint) -> dict[str, JSON]:
    """
    Make the document.
    """
    restricted: JSON = None
    if checkpoint.restricted is not None:
        restricted = render_progress(checkpoint.restricted)
    return {**render_progress(checkpoint.whole), "restricted": restricted}


def read_progress(document: Mapping[str, JSON] | None) -> Progress | None:
    """
    Read the progress of whole runs; None if there is none, or if it is not of our form.
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
    failed = _read_keys(document.get("failed"))
    return Progress(
        key=key,
        generation=generation,
        phase=phase,
        token=token,
        seen=seen,
        failed=failed,
        failed_total=_read_total(document.get("failedTotal"), failed),
        proved_generation=proved_generation,
        proved_objects=proved_objects,
        record=_read_record(document.get("record")),
    )


def render_progress(progress: Progress) -> dict[str, JSON]:
    """
    Make the document's part on the runs of one kind.
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
        "failedTotal": progress.failed_total,
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


def _read_total(value: JSON, failed: tuple[ObjectKey, ...]) -> int:
    # Earlier versions kept none.
    return max(len(failed), value) if type(value) is int else len(failed)


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
