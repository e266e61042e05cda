"""
What outlives the process: how far a run came, and what is known of a definition.

A document that does not read as expected is never taken for none: it may hold the only knowledge of
what is stored, so that a person must look at it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TypeVar

from espalier.crd import Definition
from espalier.engine.policy.consent import (
    NOTHING_SHOWN,
    ShownLoss,
    read_shown,
    read_texts,
    render_shown,
)
from espalier.engine.policy.record import (
    SchemaRecord,
    first_record,
    read_record,
    record_of_proof,
    render_record,
)
from espalier.engine.ports import ObjectKey
from espalier.engine.ports.state import RecordUnreadableError
from espalier.paths import JSON

FORMAT = 2
FORMAT_OF_ONE_VERSION = 1
"""The format before: its record has the paths of the storage version alone."""

REWRITE, VERIFY = "rewrite", "verify"
"""The phases of a run."""

T = TypeVar("T", str, int)


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

    def for_key(self, key: str, *, generation: int) -> "Progress":
        """
        Go on with the same key, or begin anew with another one.
        """
        if key == self.key:
            return replace(self, generation=generation)
        return Progress(key=key, generation=generation)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """
    All that is kept of one definition.

    Attributes:
        whole: Of runs on all objects.
        restricted: Of the last run on the objects of some namespaces; None if there was none.
        record: What the schemas have specified since the last proof.
        before: The digest of the record that the definition's pointer named when this was written;
            empty if there was none.
        shown: What was last shown that a run would lose.
        accepted: What was shown and then consented to.
        is_proved: Whether the record begins with a proof, so that it is about all objects. One that
            begins with the first generation is about those that are younger than the definition.
        storages: All versions that were the storage version since the record began; None if one of
            them may not be known.
    """

    whole: Progress
    record: SchemaRecord
    restricted: Progress | None = None
    before: str = ""
    shown: ShownLoss = field(default=NOTHING_SHOWN)
    accepted: ShownLoss = field(default=NOTHING_SHOWN)
    is_proved: bool = False
    storages: frozenset[str] | None = None

    @property
    def digests(self) -> tuple[str, ...]:
        """
        The digests that a pointer to this may have.
        """
        return tuple(filter(None, (self.record.digest(), self.before)))


def read_checkpoint(
    document: Mapping[str, JSON] | None, definition: Definition
) -> Checkpoint | None:
    """
    Read a document; None if there is none.

    Raises:
        RecordUnreadableError: It is not of our form, or of a newer one.
    """
    if document is None:
        return None
    reader = _Reader(definition)
    match document.get("format"):
        case 1:
            return reader.read_format_of_one_version(document)
        case 2:
            return reader.read(document)
        case int(number) if number > FORMAT:
            raise reader.error(
                f"is of the newer format {number}; this version reads up to {FORMAT}"
            )
        case _:
            raise reader.error("has no format that is known")


def render_checkpoint(checkpoint: Checkpoint) -> dict[str, JSON]:
    """
    Make the document.
    """
    restricted: JSON = None
    if checkpoint.restricted is not None:
        restricted = _render_progress(checkpoint.restricted)
    return {
        "format": FORMAT,
        **_render_progress(checkpoint.whole),
        "restricted": restricted,
        "record": render_record(checkpoint.record),
        "before": checkpoint.before,
        "shown": render_shown(checkpoint.shown),
        "accepted": render_shown(checkpoint.accepted),
        "spent": checkpoint.shown.spent,
        "isProved": checkpoint.is_proved,
        "storages": None if checkpoint.storages is None else [*sorted(checkpoint.storages)],
    }


def _render_progress(progress: Progress) -> dict[str, JSON]:
    return {
        "key": progress.key,
        "generation": progress.generation,
        "phase": progress.phase,
        "token": progress.token,
        "seen": progress.seen,
        "failed": [[key.namespace, key.name] for key in progress.failed],
        "failedTotal": progress.failed_total,
        "provedGeneration": progress.proved_generation,
        "provedObjects": progress.proved_objects,
    }


class _Reader:
    def __init__(self, definition: Definition) -> None:
        self._definition = definition

    def error(self, detail: str) -> RecordUnreadableError:
        """
        Make the error for a document that cannot be read.
        """
        return RecordUnreadableError(self._definition.name, f"the checkpoint {detail}")

    def read(self, document: Mapping[str, JSON]) -> Checkpoint:
        """
        Read a document of today's format.
        """
        # The first documents of this format did not have these. If this key was proved, the proof
        # began the record.
        proved = document.get("provedGeneration")
        document = {"spent": 0, "isProved": proved not in (None, 0), **document}
        spent = self._one(document, "spent", int)
        is_proved = document["isProved"]
        if not isinstance(is_proved, bool):
            raise self.error("has an odd part: isProved")
        record = read_record(document.get("record"))
        shown = read_shown(document.get("shown"), spent=spent)
        accepted = read_shown(document.get("accepted"), spent=spent)
        if record is None or shown is None or accepted is None:
            raise self.error("has an odd part: record, shown or accepted")
        return Checkpoint(
            whole=self._progress(document),
            restricted=self._restricted(document),
            record=record,
            before=self._one(document, "before", str),
            shown=shown,
            accepted=accepted,
            is_proved=is_proved,
            storages=self._storages(document),
        )

    def read_format_of_one_version(self, document: Mapping[str, JSON]) -> Checkpoint:
        """
        Read a document of the format before.

        Its record stays as knowledge of the storage version; of the others nothing is known, unless
        the run of this very generation was proved.
        """
        # The first documents of that format named no objects that failed.
        document = _with_failures(document)
        whole = self._progress(document)
        definition = self._definition
        record, is_proved = first_record(definition), False
        match document.get("record"):
            case None:
                pass
            case {"specified": [*texts], "dropped": [*_]}:
                if whole.proved_generation == definition.generation == whole.generation:
                    record, is_proved = record_of_proof(definition), True
                else:
                    record = self._with_paths(record, texts)
            case _:
                raise self.error("has an odd record")
        restricted = document.get("restricted")
        if isinstance(restricted, dict):
            document = {**document, "restricted": _with_failures(restricted)}
        restricted_progress = self._restricted(document)
        return Checkpoint(
            whole=whole, restricted=restricted_progress, record=record, is_proved=is_proved
        )

    def _with_paths(self, record: SchemaRecord, texts: list[JSON]) -> SchemaRecord:
        storage = self._definition.storage.name
        read = read_record({"generation": 0, "isComplete": False, "specified": {storage: texts}})
        if read is None:
            raise self.error("has an odd record")
        specified = {
            name: paths | read.specified.get(name, frozenset())
            for name, paths in record.specified.items()
        }
        return replace(record, is_complete=False, specified=MappingProxyType(specified))

    def _restricted(self, document: Mapping[str, JSON]) -> Progress | None:
        restricted = document.get("restricted")
        if restricted is None:
            return None
        if not isinstance(restricted, dict):
            raise self.error("has an odd part: restricted")
        return self._progress(restricted)

    def _progress(self, document: Mapping[str, JSON]) -> Progress:
        return Progress(
            key=self._one(document, "key", str),
            generation=self._one(document, "generation", int),
            phase=self._one(document, "phase", str),
            token=self._one(document, "token", str),
            seen=self._one(document, "seen", int),
            failed=self._keys(document),
            failed_total=self._one(document, "failedTotal", int),
            proved_generation=self._one(document, "provedGeneration", int),
            proved_objects=self._one(document, "provedObjects", int),
        )

    def _one(self, document: Mapping[str, JSON], name: str, kind: type[T]) -> T:
        value = document.get(name)
        # True is an int to Python.
        if not isinstance(value, kind) or isinstance(value, bool):
            raise self.error(f"has an odd part: {name}")
        return value

    def _storages(self, document: Mapping[str, JSON]) -> frozenset[str] | None:
        listed = document.get("storages")
        if listed is None:
            return None
        storages = read_texts(listed)
        if storages is None:
            raise self.error("has an odd part: storages")
        return storages

    def _keys(self, document: Mapping[str, JSON]) -> tuple[ObjectKey, ...]:
        keys = []
        listed = document.get("failed")
        for item in listed if isinstance(listed, list) else [None]:
            match item:
                case [str(namespace), str(name)]:
                    keys.append(ObjectKey(namespace, name))
                case _:
                    raise self.error("has an odd part: failed")
        return tuple(keys)


def _with_failures(document: Mapping[str, JSON]) -> dict[str, JSON]:
    # All that failed were kept by name then.
    listed = document.get("failed", [])
    total = len(listed) if isinstance(listed, list) else 0
    return {"failed": [], "failedTotal": total, **document}
