"""
Reads a report that someone handed on, or that stands in a cluster: hostile until it is read.

Every text that may end in a command or in markup has a pattern: names of definitions and versions,
reasons, times. Commands are not read; they are made anew from what is.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Literal, NamedTuple

import msgspec
from msgspec import Meta

from espalier.crd import Condition
from espalier.engine.ports.meter import ObjectCounts, WriteCounts
from espalier.engine.ports.progress import PassProgress
from espalier.errors import EspalierError
from espalier.observe.report import API_VERSION
from espalier.observe.state import (
    SHOWN,
    ArchiveFill,
    ClusterState,
    DefinitionState,
    PhaseSpan,
    RunState,
    Snapshot,
    VersionState,
)

MAX_BYTES = 16 * 1024 * 1024
"""The largest report that is read."""

MAX_DEFINITIONS = 20_000
MAX_CLUSTERS = 2000

MAX_CONFIG_MAP_BYTES = 1024 * 1024
"""The largest report that is read from a ConfigMap: the server takes no more."""

_KEY = re.compile(r"bucket-(0|[1-9]\d?)-of-([1-9]\d?)\.json", re.ASCII)

_LABEL = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_DefinitionName = Annotated[str, Meta(max_length=253, pattern=rf"\A{_LABEL}(\.{_LABEL})+\Z")]
_VersionName = Annotated[str, Meta(max_length=63, pattern=rf"\A{_LABEL}\Z")]
_Word = Annotated[str, Meta(max_length=128, pattern=r"\A([A-Za-z][A-Za-z0-9_-]*)?\Z")]
_Time = Annotated[
    str, Meta(max_length=40, pattern=r"\A(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z)?\Z")
]
_Text = Annotated[str, Meta(max_length=64, pattern=r"\A[A-Za-z0-9 ()._+-]*\Z")]
# A context may have any name, but none that moves the cursor or turns the text around.
_ClusterName = Annotated[
    str,
    Meta(
        max_length=253,
        pattern=r"\A[^\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]+\Z",
    ),
]
_Message = Annotated[str, Meta(max_length=32_768)]
_Path = Annotated[str, Meta(max_length=32_768)]
# JSON numbers beyond are no counts, and programs that read the output need not take them.
_Count = Annotated[int, Meta(ge=0, le=2**53)]
_Seconds = Annotated[float, Meta(ge=0, le=1e12)]


class UnreadableReportError(EspalierError):
    """
    What was given is no report.

    Attributes:
        detail: What is wrong with it.
    """

    detail: str

    def __str__(self) -> str:
        return f"not a report of Espalier: {self.detail}"


class _GivenVersion(msgspec.Struct, rename="camel"):
    name: _VersionName
    served: bool
    storage: bool
    stored: bool


class _GivenCondition(msgspec.Struct, rename="camel"):
    type: str
    status: Literal["True", "False", "Unknown"]
    reason: _Word
    last_transition_time: _Time = ""
    message: _Message = ""


class _GivenProgress(msgspec.Struct, rename="camel"):
    pass_name: _Text = msgspec.field(name="pass")
    done: _Count
    total: _Count | None = None
    objects_per_second: _Seconds | None = None


class _GivenSurvey(msgspec.Struct, rename="camel"):
    objects: _Count
    invalid: _Count = 0
    unwritable: _Count = 0
    undecodable: _Count = 0
    lost: Annotated[tuple[tuple[_Path, _Count], ...], Meta(max_length=20)] = ()
    violated: Annotated[tuple[tuple[_Path, _Count], ...], Meta(max_length=20)] = ()


class _GivenPhase(msgspec.Struct, rename="camel"):
    phase: _Word
    seconds: _Seconds


class _GivenWrites(msgspec.Struct, rename="camel"):
    rewritten: _Count = 0
    unchanged: _Count = 0
    conflict: _Count = 0
    gone: _Count = 0
    rejected: _Count = 0
    unanswered: _Count = 0


class _GivenRun(msgspec.Struct, rename="camel"):
    id: _Text
    begun_at: _Time
    seconds: _Seconds
    outcome: _Word
    reason: _Word
    phases: Annotated[tuple[_GivenPhase, ...], Meta(max_length=1000)]
    writes: _GivenWrites


class _GivenDefinition(msgspec.Struct, rename="camel"):
    name: _DefinitionName
    mode: Literal["", "observe", "enforce"]
    structural: bool | None
    storage: _VersionName | Literal[""]
    versions: Annotated[tuple[_GivenVersion, ...], Meta(max_length=200)]
    generation: _Count
    conditions: Annotated[tuple[_GivenCondition, ...], Meta(max_length=20)]
    progress: _GivenProgress | None = None
    survey: _GivenSurvey | None = None
    runs: Annotated[tuple[_GivenRun, ...], Meta(max_length=100)] = ()
    surveyed_at: _Time = ""
    succeeded_at: _Time = ""
    cluster: _ClusterName | Literal[""] = ""


class _GivenCluster(msgspec.Struct, rename="camel"):
    cluster: _ClusterName
    taken_at: _Time = ""
    espalier_version: _Text = ""
    read_only: bool = False
    left_out: _Count = 0
    error: _Message = ""


class _GivenArchive(msgspec.Struct, rename="camel"):
    held_bytes: _Count
    max_bytes: _Count


class _GivenReport(msgspec.Struct, rename="camel"):
    api_version: Annotated[str, Meta(pattern=rf"\A{re.escape(API_VERSION)}\Z")]
    kind: Literal["Report"]
    taken_at: Annotated[_Time, Meta(min_length=1)]
    espalier_version: _Text
    definitions: Annotated[tuple[_GivenDefinition, ...], Meta(max_length=MAX_DEFINITIONS)]
    archive: _GivenArchive | None = None
    read_only: bool = False
    left_out: _Count = 0
    clusters: Annotated[tuple[_GivenCluster, ...], Meta(max_length=MAX_CLUSTERS)] = ()


_report = msgspec.json.Decoder(_GivenReport)


def read_report(raw: bytes) -> Snapshot:
    """
    Read a report.

    Raises:
        UnreadableReportError: It is none, is too large, or has a value that no report has.
    """
    if len(raw) > MAX_BYTES:
        raise UnreadableReportError(f"{len(raw)} bytes, more than {MAX_BYTES}")
    try:
        found = _report.decode(raw)
        # A pattern does not find the 99th of a month.
        datetime.fromisoformat(found.taken_at)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise UnreadableReportError(str(error)) from error
    return Snapshot(
        taken_at=found.taken_at,
        version=found.espalier_version,
        definitions=tuple(map(_definition, found.definitions)),
        archive=None
        if found.archive is None
        else ArchiveFill(**msgspec.structs.asdict(found.archive)),
        is_read_only=found.read_only,
        left_out=found.left_out,
        clusters=tuple(map(_cluster, found.clusters)),
    )


class KeptReport(NamedTuple):
    """
    A report that operators keep.

    Attributes:
        snapshot: Taken when the oldest part was.
        missing: How many parts are not there.
    """

    snapshot: Snapshot
    missing: int


def read_kept_report(data: Mapping[str, str]) -> KeptReport:
    """
    Read the parts that the replicas of an operator keep in a ConfigMap.

    Parts of another division of the definitions than the newest part are left over, and ignored.

    Raises:
        UnreadableReportError: There is no part, or one cannot be read.
    """
    if sum(len(text) for text in data.values()) > MAX_CONFIG_MAP_BYTES:
        raise UnreadableReportError(f"more than {MAX_CONFIG_MAP_BYTES} bytes")
    parts: list[tuple[int, int, Snapshot]] = []
    for key, text in sorted(data.items()):
        found = _KEY.fullmatch(key)
        if found is not None:
            parts.append((int(found[1]), int(found[2]), _read_part(key, text)))
    if not parts:
        raise UnreadableReportError("there is no part of it")
    _, count, newest = max(parts, key=lambda part: part[2].taken_at)
    kept = {number: part for number, of, part in parts if of == count and number < of}
    oldest = min((part.taken_at for part in kept.values()), default=newest.taken_at)
    found_by_name = {one.name: one for part in kept.values() for one in part.definitions}
    joined = replace(
        newest,
        taken_at=oldest,
        definitions=tuple(one for _, one in sorted(found_by_name.items())),
        left_out=sum(part.left_out for part in kept.values()),
    )
    return KeptReport(joined, count - len(kept))


def _read_part(key: str, text: str) -> Snapshot:
    try:
        return read_report(text.encode())
    except UnreadableReportError as error:
        raise UnreadableReportError(f"{key}: {error.detail}") from error
    except UnicodeEncodeError as error:
        raise UnreadableReportError(f"{key}: {error.reason}") from error


def _cluster(one: _GivenCluster) -> ClusterState:
    return ClusterState(
        name=one.cluster,
        taken_at=one.taken_at,
        version=one.espalier_version,
        left_out=one.left_out,
        is_read_only=one.read_only,
        failure=one.error,
    )


def _definition(one: _GivenDefinition) -> DefinitionState:
    progress, survey = one.progress, one.survey
    return DefinitionState(
        name=one.name,
        mode=one.mode,
        is_structural=one.structural,
        storage=one.storage,
        versions=tuple(
            VersionState(
                name=version.name,
                is_served=version.served,
                is_storage=version.storage,
                is_stored=version.stored,
            )
            for version in one.versions
        ),
        generation=one.generation,
        conditions=tuple(
            Condition(**msgspec.structs.asdict(found))
            for found in one.conditions
            if found.type in SHOWN
        ),
        progress=None
        if progress is None
        else PassProgress(
            phase=progress.pass_name,
            done=progress.done,
            total=progress.total,
            objects_per_second=progress.objects_per_second,
        ),
        runs=tuple(map(_run, one.runs)),
        survey=None if survey is None else ObjectCounts(**msgspec.structs.asdict(survey)),
        surveyed_at=one.surveyed_at,
        succeeded_at=one.succeeded_at,
        cluster=one.cluster,
        is_foreign=True,
    )


def _run(one: _GivenRun) -> RunState:
    return RunState(
        id=one.id,
        begun_at=one.begun_at,
        seconds=one.seconds,
        outcome=one.outcome,
        reason=one.reason,
        phases=tuple(PhaseSpan(**msgspec.structs.asdict(span)) for span in one.phases),
        writes=WriteCounts(**msgspec.structs.asdict(one.writes)),
    )
