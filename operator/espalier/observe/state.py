"""
The record: the state of all definitions at one moment, frozen.

It holds names of definitions, versions, counts and messages of conditions; never a name or a value
of a stored object beyond what a condition's message shows.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from espalier import __version__, crd
from espalier.crd import Condition, Definition
from espalier.engine import Mode, read_policy
from espalier.engine.ports.meter import NO_WRITES, ObjectCounts, WriteCounts
from espalier.engine.ports.progress import PassProgress
from espalier.engine.status.conditions import read_progress
from espalier.errors import NoStorageVersionError, SchemaParseError
from espalier.names import NON_STRUCTURAL_SCHEMA, STORED_OBJECTS_CURRENT, STORED_OBJECTS_VALID

OBSERVED = "observed"
"""The outcome of a survey, which is no run that may write."""

_UNREADABLE = "StructuralError"
_NO_COUNTS: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionState:
    """
    One entry of ``spec.versions``, or of ``status.storedVersions`` alone.

    Attributes:
        is_stored: Whether ``status.storedVersions`` lists it.
    """

    name: str
    is_served: bool
    is_storage: bool
    is_stored: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseSpan:
    """
    A phase of a run, and how long it took.
    """

    phase: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """
    One run, under way or ended.

    Attributes:
        id: Stands in the log lines of the run.
        begun_at: RFC 3339.
        seconds: How long it took until now, or until its end.
        outcome: See ``espalier.observe.outcomes``; empty while it is under way.
        reason: Of the condition at its end.
        phases: In order; a phase that came twice is there twice.
        writes: What became of the objects in all its passes.
    """

    id: str
    begun_at: str
    seconds: float
    outcome: str = ""
    reason: str = ""
    phases: tuple[PhaseSpan, ...] = ()
    writes: WriteCounts = NO_WRITES


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """
    What was counted for one definition since the start of the process.

    Attributes:
        runs: By outcome.
    """

    writes: WriteCounts = NO_WRITES
    runs: Mapping[str, int] = field(default_factory=lambda: _NO_COUNTS, hash=False)
    annotations: int = 0
    trims: int = 0


NOTHING_COUNTED = Counters()


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionState:
    """
    One definition.

    Attributes:
        mode: ``observe`` or ``enforce``; empty without the label.
        is_structural: None where a schema cannot be parsed.
        storage: The storage version; empty where there is not exactly one.
        versions: In the order of the definition, then those that are only stored.
        conditions: Espalier's two and ``NonStructuralSchema``, as last reported.
        progress: How far the last pass came; None if none is known of.
        run: The run that is under way.
        runs: The last ones that ended, newest first.
        rates: Objects a second over the last half an hour of passes, oldest first.
        survey: What the last survey found.
        surveyed_at: RFC 3339; empty if there was none.
        succeeded_at: When the last run ended with a proof; empty if none did.
        counters: Zero for what this process has not done.
        cluster: Which one it is in; empty where there is but one.
        is_foreign: Whether it was read from a report: no command is taken from its messages.
    """

    name: str
    mode: str
    is_structural: bool | None
    storage: str
    versions: tuple[VersionState, ...]
    generation: int = 0
    conditions: tuple[Condition, ...] = ()
    progress: PassProgress | None = None
    run: RunState | None = None
    runs: tuple[RunState, ...] = ()
    rates: tuple[float, ...] = ()
    survey: ObjectCounts | None = None
    surveyed_at: str = ""
    succeeded_at: str = ""
    counters: Counters = NOTHING_COUNTED
    cluster: str = ""
    is_foreign: bool = False

    @property
    def title(self) -> str:
        """
        The name, with the cluster if there are several.
        """
        return f"{self.cluster}: {self.name}" if self.cluster else self.name

    @property
    def stored_versions(self) -> tuple[str, ...]:
        """
        The entries of ``status.storedVersions``.
        """
        return tuple(one.name for one in self.versions if one.is_stored)

    @property
    def current(self) -> Condition | None:
        """
        The condition ``espalier.dev/StoredObjectsCurrent``.
        """
        return self.condition(STORED_OBJECTS_CURRENT)

    @property
    def valid(self) -> Condition | None:
        """
        The condition ``espalier.dev/StoredObjectsValid``.
        """
        return self.condition(STORED_OBJECTS_VALID)

    def condition(self, type_: str) -> Condition | None:
        """
        Return the condition of a type; None if there is none.
        """
        return next((found for found in self.conditions if found.type == type_), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveFill:
    """
    How full the archive of removed data is.
    """

    held_bytes: int
    max_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterState:
    """
    One of several clusters.

    Attributes:
        taken_at: When its record was; empty if there is none.
        version: Of Espalier there.
        failure: Why there is no record; empty if there is one.
    """

    name: str
    taken_at: str = ""
    version: str = ""
    left_out: int = 0
    is_read_only: bool = False
    failure: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """
    The state of everything at one moment.

    Attributes:
        taken_at: RFC 3339.
        version: Of Espalier.
        definitions: All of them, by name.
        archive: None where it was not counted.
        is_read_only: Whether the operator may write no objects.
        left_out: How many definitions there was no room for.
        clusters: Those that it is of; empty where there is but one.
    """

    taken_at: str
    version: str
    definitions: tuple[DefinitionState, ...]
    archive: ArchiveFill | None = None
    is_read_only: bool = False
    left_out: int = 0
    clusters: tuple[ClusterState, ...] = ()

    @property
    def labelled(self) -> tuple[DefinitionState, ...]:
        """
        The definitions that Espalier is asked to work on.
        """
        return tuple(one for one in self.definitions if one.mode)


def snapshot_of(definitions: Iterable[Definition], *, taken_at: str) -> Snapshot:
    """
    Make the record from what the cluster shows; all schemas are read.
    """
    return Snapshot(
        taken_at=taken_at,
        version=__version__,
        definitions=tuple(examined(one) for one in sorted(definitions, key=lambda d: d.name)),
    )


def examined(definition: Definition) -> DefinitionState:
    """
    Make the state of a definition, and read its schemas to see whether it is structural.
    """
    try:
        is_structural = not crd.structural_findings(definition)
    except SchemaParseError:
        return replace(state_of(definition), is_structural=None)
    return replace(state_of(definition), is_structural=is_structural)


def state_of(definition: Definition) -> DefinitionState:
    """
    Make the state of a definition from what the cluster shows.

    Whether it is structural is what its condition shows, which API servers and the operator keep.
    """
    structural = definition.condition(NON_STRUCTURAL_SCHEMA)
    kept = tuple(c for c in definition.conditions if c.type in SHOWN)
    current = definition.condition(STORED_OBJECTS_CURRENT)
    mode = read_policy(definition).mode
    return DefinitionState(
        name=definition.name,
        mode="" if mode is Mode.OFF else mode.value,
        is_structural=_is_structural(structural),
        storage=_storage_of(definition),
        versions=_versions_of(definition),
        generation=definition.generation,
        conditions=kept,
        progress=read_progress(current) if current is not None else None,
    )


SHOWN = (NON_STRUCTURAL_SCHEMA, STORED_OBJECTS_CURRENT, STORED_OBJECTS_VALID)
"""The types of the conditions that a record has."""


def _is_structural(condition: Condition | None) -> bool | None:
    if condition is not None and condition.reason == _UNREADABLE:
        return None
    return condition is None or condition.status != "True"


def _storage_of(definition: Definition) -> str:
    try:
        return definition.storage.name
    except NoStorageVersionError:
        return ""


def _versions_of(definition: Definition) -> tuple[VersionState, ...]:
    stored = definition.stored_versions
    listed = tuple(
        VersionState(
            name=one.name,
            is_served=one.served,
            is_storage=one.storage,
            is_stored=one.name in stored,
        )
        for one in definition.versions
    )
    names = {one.name for one in listed}
    gone = (
        VersionState(name=name, is_served=False, is_storage=False, is_stored=True)
        for name in stored
        if name not in names
    )
    return (*listed, *gone)
