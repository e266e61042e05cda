"""
Would a rewrite lose something? The proof for definitions whose objects the API server prunes.

What a schema no longer specifies is still stored, invisible, until the next write. Three things
tell of it: the schemas since the last proof, which the checkpoint keeps; the paths that the
objects' managedFields name; and, where neither is complete, the schemas of the stored versions.
What they cannot tell counts as lost.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from espalier import crd, names
from espalier.crd import Definition
from espalier.crd.field_sets import (
    is_atomic,
    named_paths,
    specified_paths,
    specifies,
    unspecified,
)
from espalier.crd.path_index import PathIndex
from espalier.engine.ports import StoredMetadata
from espalier.engine.status.text import enumerated, printable
from espalier.errors import SchemaParseError, UnknownVersionError
from espalier.paths import JSON
from espalier.plurals import counted
from espalier.schema import Structural

ADVICE = f"Specify in the schema what is to be kept, or accept the loss: label {names.LOSS}=accept"
"""What to do where something would be lost."""

MAX_PATHS = 1000
"""How many distinct unspecified paths a survey keeps."""

ANYTHING = ".**"
"""The path of all that an object may hold whose definition preserves unknown fields."""

_PRESERVED = "unknown fields were preserved before, and nothing tells which are stored"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """
    What is known since the last proved run, or since a definition was first seen.

    Attributes:
        specified: All paths that the storage version's schemas specified, then and since;
            ``ANYTHING`` among them, if unknown fields were preserved.
        dropped: Paths that managedFields name, and that were known to be gone at the proof.
    """

    specified: frozenset[str] = frozenset()
    dropped: frozenset[str] = frozenset()

    def with_definition(self, definition: Definition, *, is_next: bool) -> "Record":
        """
        Add what a definition specifies, since objects may be written under it from now on.

        Args:
            is_next: Whether no other generation can have come between, whose schema might have
                specified again what was known to be gone.
        """
        structural = _structural_of(definition)
        dropped = self.dropped if is_next else frozenset()
        known_again = {path for path in dropped if specifies(structural, path)}
        return Record(
            specified=self.specified | _specified_by(definition),
            dropped=dropped - known_again,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """
    What a metadata-only pass has found.

    Attributes:
        objects: How many objects are stored.
        without_history: How many of them have no managedFields at all.
        unspecified: Named paths that the storage version's schema does not specify, with the
            number of objects that name each.
        wholes: Specified paths that are named without anything in them.
        is_cut: Whether there were more such paths than are kept.
    """

    objects: int = 0
    without_history: int = 0
    unspecified: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    wholes: frozenset[str] = frozenset()
    is_cut: bool = False

    def paths_held(self, paths: Sequence[str], *structurals: Structural | None) -> Sequence[str]:
        """
        Select the paths that some object may hold, though none names them.

        Args:
            structurals: The schemas under which objects may have been written.
        """
        if self.without_history:
            return paths
        wholes = PathIndex(
            whole
            for whole in self.wholes
            if any(is_atomic(structural, whole) for structural in structurals)
        )
        return [path for path in paths if wholes.may_hold(path)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """
    What a rewrite would remove, as far as can be told.

    Attributes:
        paths: Each with what tells of it.
        unprovable: Sentences on stored versions of which nothing can be told.
        is_cut: Whether there are more paths.
    """

    paths: Mapping[str, str]
    unprovable: tuple[str, ...] = ()
    is_cut: bool = False

    @property
    def is_nothing(self) -> bool:
        """
        Whether it is proved that nothing would be lost.
        """
        return not self.paths and not self.unprovable

    def summary(self) -> str:
        """
        Say what would be lost.
        """
        sentences = list(self.unprovable)
        if self.paths:
            more = "at least " if self.is_cut else ""
            named = enumerated(
                f"{printable(path)} ({why})" for path, why in sorted(self.paths.items())
            )
            sentences.append(
                f"rewriting would remove {more}{counted(len(self.paths), 'path')} that the storage"
                f" version's schema does not specify: {named}"
            )
        return "; ".join(sentences)

    def describe(self) -> str:
        """
        Say what would be lost, and what to do.
        """
        return f"{self.summary()}. Nothing was rewritten. {ADVICE}"


class ManagedFieldsScan:
    """
    Counts what managedFields name, an object at a time.

    Where a webhook converts, each entry names paths of its own version, and is held to that one's
    schema; of an entry whose version is gone nothing can be said.
    """

    def __init__(self, definition: Definition) -> None:
        self._structural = _structural_of(definition)
        self._by_api_version: dict[str, Structural | None] | None = None
        if definition.conversion != "None":
            self._by_api_version = {
                f"{definition.group}/{version.name}": crd.structural_of(version)
                for version in definition.versions
            }
        self._objects = 0
        self._without_history = 0
        self._unspecified: dict[str, int] = {}
        self._wholes: set[str] = set()
        self._is_cut = False

    def add(self, metadata: StoredMetadata) -> None:
        """
        Take an object into account.
        """
        self._objects += 1
        if not metadata.managed_fields:
            self._without_history += 1
        unspecified_paths: set[str] = set()
        for structural, entries in self._by_schema(metadata.managed_fields):
            named = named_paths(structural, entries)
            self._wholes |= named.wholes
            unspecified_paths |= named.unspecified
        for path in unspecified_paths:
            if path in self._unspecified or len(self._unspecified) < MAX_PATHS:
                self._unspecified[path] = self._unspecified.get(path, 0) + 1
            else:
                self._is_cut = True

    def _by_schema(
        self, entries: tuple[JSON, ...]
    ) -> Iterator[tuple[Structural | None, tuple[JSON, ...]]]:
        if self._by_api_version is None:
            yield self._structural, entries
            return
        for entry in entries:
            api_version = entry.get("apiVersion") if isinstance(entry, dict) else None
            if isinstance(api_version, str) and api_version in self._by_api_version:
                yield self._by_api_version[api_version], (entry,)

    def history(self) -> History:
        """
        Tell what was found.
        """
        return History(
            objects=self._objects,
            without_history=self._without_history,
            unspecified=MappingProxyType(dict(self._unspecified)),
            wholes=frozenset(self._wholes),
            is_cut=self._is_cut,
        )


def judge(
    definition: Definition,
    structural: Structural | None,
    record: Record | None,
    history: History,
) -> Loss:
    """
    Tell what a rewrite of all objects would lose.

    Args:
        structural: The schema of the storage version.
        record: Known since the last proved run; None without one.
    """
    if not history.objects:
        return Loss(paths={})
    by_webhook = definition.conversion != "None"
    paths: dict[str, str] = {}
    unprovable: list[str] = []
    for name in definition.stored_versions:
        if name == definition.storage.name:
            continue
        try:
            stored = crd.structural_of(definition.version(name))
        except (UnknownVersionError, SchemaParseError) as error:
            unprovable.append(f"what is stored at {name} cannot be told: {error}")
            continue
        if stored is None:
            unprovable.append(f"what is stored at {name} cannot be told: it has no schema")
        elif not by_webhook:
            lost = unspecified(structural, specified_paths(stored))
            held = history.paths_held(lost, structural, stored)
            paths |= dict.fromkeys(held, f"specified at the stored version {name}")
    if record is not None:
        # What a webhook converts may have another name at the storage version.
        schemas = _all_structurals(definition) if by_webhook else (structural,)
        lost = _lost_in_all(schemas, record.specified)
        paths |= {path: _PRESERVED if path == ANYTHING else "specified before" for path in lost}
    dropped = record.dropped if record is not None else frozenset()
    for path, objects in history.unspecified.items():
        if path not in dropped:
            paths[path] = f"named by managedFields of {counted(objects, 'object')}"
    return Loss(paths=paths, unprovable=tuple(unprovable), is_cut=history.is_cut)


def _lost_in_all(
    schemas: Sequence[Structural | None], specified: frozenset[str]
) -> tuple[str, ...]:
    lost = [frozenset(unspecified(structural, specified)) for structural in schemas]
    return tuple(sorted(frozenset.intersection(*lost)))


def _all_structurals(definition: Definition) -> tuple[Structural | None, ...]:
    return tuple(crd.structural_of(version) for version in definition.versions)


def record_of_proof(definition: Definition, history: History) -> Record:
    """
    Make the record of a run that has just been proved.
    """
    return Record(specified=_specified_by(definition), dropped=frozenset(history.unspecified))


def _specified_by(definition: Definition) -> frozenset[str]:
    specified = specified_paths(_structural_of(definition))
    return specified | {ANYTHING} if definition.preserve_unknown_fields else specified


def _structural_of(definition: Definition) -> Structural | None:
    try:
        return crd.structural_of(definition.storage)
    except SchemaParseError:
        # Where anything may be stored, it does not matter what else is specified.
        if definition.preserve_unknown_fields:
            return None
        raise
