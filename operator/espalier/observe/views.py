"""
The record as a picture shows it: states, shares, rates and times, as texts and percentages.

A template only places them.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple
from urllib.parse import quote

from espalier.crd import Condition
from espalier.observe.advice import Advice, advice_for
from espalier.observe.bars import (
    BarPart,
    ProgressView,
    parts_of,
    path_bars,
    percent_of,
    sparkline_of,
)
from espalier.observe.lifelines import STOPS, Station, stop_of
from espalier.observe.state import ClusterState, DefinitionState, RunState, Snapshot, VersionState
from espalier.plurals import counted

MAX_CARDS = 100
"""How many labelled definitions a page shows in full; the others are counted."""

MAX_CELLS = 2000
MAX_ROWS = 200

MAX_TEXT = 2000
"""How many characters of a message are shown."""

STATES = (
    ("waiting", "waits for you"),
    ("working", "at work"),
    ("pending", "waits for time"),
    ("observed", "observed"),
    ("proved", "all objects current"),
    ("off", "without the label"),
)
"""The states of a cell, the most urgent first, and what they mean."""

_NAMES = dict(STATES)
_STRUCTURAL = {True: "yes", False: "no", None: "unknown"}
_ORDER = {state: place for place, (state, _) in enumerate(STATES)}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """
    A run.
    """

    id: str
    begun_at: str
    outcome: str
    took: str
    phases: tuple[BarPart, ...]
    results: tuple[BarPart, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionView:
    """
    A definition.

    Attributes:
        paths: The most frequent paths that would be lost or are invalid, each with a bar.
        cluster: Which one it is in; empty where there is but one.
    """

    name: str
    state: str
    state_text: str
    reason: str
    message: str
    stop: int
    stops: tuple[Station, ...]
    versions: tuple[VersionState, ...]
    progress: ProgressView | None
    advice: tuple[Advice, ...]
    conditions: tuple[Condition, ...]
    runs: tuple[RunView, ...]
    objects: str
    stored: str
    paths: tuple[tuple[str, tuple[ProgressView, ...]], ...] = ()
    cluster: str = ""

    @property
    def title(self) -> str:
        """
        The name, with the cluster if there are several.
        """
        return f"{self.cluster}: {self.name}" if self.cluster else self.name

    @property
    def anchor(self) -> str:
        """
        Where it is in a document that has all definitions.
        """
        return quote(f"{self.cluster}/{self.name}" if self.cluster else self.name)


class RowView(NamedTuple):
    """
    A definition without the label.
    """

    name: str
    stored: str
    structural: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PageView:
    """
    The page.

    Attributes:
        cells: Of all definitions: the state, and the text.
        legend: The state, its meaning, and how many there are.
        hidden_cards, hidden_rows: How many there is no room for.
        clusters: Those that it is of; empty where there is but one.
        left_out: How many definitions the record itself had no room for.
        rows: Definitions without the label that list several stored versions.
    """

    taken_at: str
    version: str
    is_read_only: bool
    summary: str
    cells: tuple[tuple[str, str], ...]
    legend: tuple[tuple[str, str, int], ...]
    cards: tuple[DefinitionView, ...]
    hidden_cards: int
    rows: tuple[RowView, ...]
    hidden_rows: int
    archive: ProgressView | None
    clusters: tuple[ClusterState, ...] = ()
    left_out: int = 0

    @property
    def waiting(self) -> tuple[tuple[DefinitionView, Advice], ...]:
        """
        What waits for a person.
        """
        return tuple((card, one) for card in self.cards for one in card.advice if one.is_urgent)


def page_view(snapshot: Snapshot, *, with_messages: bool) -> PageView:
    """
    Make the view of everything.

    Args:
        with_messages: Whether the messages of conditions are shown, which name objects.
    """
    advice = {one.title: tuple(advice_for(one)) for one in snapshot.definitions if one.mode}
    states = {one.title: _state_of(one, advice.get(one.title, ())) for one in snapshot.definitions}
    ordered = sorted(snapshot.labelled, key=lambda one: (_ORDER[states[one.title]], one.title))
    idle = [one for one in snapshot.definitions if not one.mode and len(one.stored_versions) > 1]
    counts = Counter(states.values())
    current = sum(one.current is not None and one.current.status == "True" for one in ordered)
    return PageView(
        taken_at=snapshot.taken_at,
        version=snapshot.version,
        is_read_only=snapshot.is_read_only,
        summary=(
            f"{counted(len(snapshot.definitions), 'definition')}, {len(ordered)} labelled,"
            f" {current} with all objects current"
        ),
        clusters=snapshot.clusters,
        left_out=snapshot.left_out,
        cells=tuple(
            (states[one.title], f"{one.title}: {_NAMES[states[one.title]]}")
            for one in snapshot.definitions[:MAX_CELLS]
        ),
        legend=tuple((state, text, counts[state]) for state, text in STATES if counts[state]),
        cards=tuple(
            _view_of(one, advice[one.title], with_messages=with_messages)
            for one in ordered[:MAX_CARDS]
        ),
        hidden_cards=max(len(ordered) - MAX_CARDS, 0),
        rows=tuple(
            RowView(one.title, ", ".join(one.stored_versions), _STRUCTURAL[one.is_structural])
            for one in idle[:MAX_ROWS]
        ),
        hidden_rows=max(len(idle) - MAX_ROWS, 0),
        archive=_archive_view(snapshot),
    )


def _state_of(definition: DefinitionState, advice: Iterable[Advice]) -> str:
    if not definition.mode:
        return "off"
    if any(one.is_urgent for one in advice):
        return "waiting"
    current = definition.current
    if current is None or current.reason == "Rewriting":
        return "working"
    if current.status == "True":
        return "proved"
    return "observed" if current.reason == "Observed" else "pending"


def definition_view(one: DefinitionState, *, with_messages: bool) -> DefinitionView:
    """
    Make the view of a definition.

    Args:
        with_messages: Whether the messages of its conditions are shown, which name objects.
    """
    return _view_of(one, tuple(advice_for(one)), with_messages=with_messages)


def _view_of(
    one: DefinitionState, advice: tuple[Advice, ...], *, with_messages: bool
) -> DefinitionView:
    state = _state_of(one, advice)
    current = one.current
    under_way = [] if one.run is None else [one.run]
    return DefinitionView(
        name=one.name,
        cluster=one.cluster,
        state=state,
        state_text=_NAMES[state],
        reason=_reason_of(one),
        message=_cut(current.message) if current is not None and with_messages else "",
        stop=stop_of(one),
        stops=STOPS,
        versions=one.versions,
        progress=_progress_view(one),
        advice=advice,
        conditions=tuple(
            replace(found, message=_cut(found.message) if with_messages else "")
            for found in one.conditions
        ),
        runs=tuple(_run_view(run) for run in (*under_way, *one.runs)),
        objects=_objects_text(one),
        paths=tuple(path_bars(one)),
        stored=", ".join(one.stored_versions),
    )


def _reason_of(one: DefinitionState) -> str:
    """
    Return the reason of the condition that is worse.
    """
    current, valid = one.current, one.valid
    if current is None:
        return ""
    if current.status == "True" and valid is not None and valid.status == "False":
        return valid.reason
    return current.reason


def _objects_text(one: DefinitionState) -> str:
    if one.survey is None:
        return ""
    found = one.survey
    parts = [counted(found.objects, "stored object", is_grouped=True)]
    if found.invalid:
        parts.append(f"{found.invalid} violate the schema")
    if found.unwritable:
        parts.append(f"{found.unwritable} cannot be updated any more")
    if found.undecodable:
        parts.append(f"{found.undecodable} cannot be read")
    return ", ".join(parts)


def _progress_view(one: DefinitionState) -> ProgressView | None:
    progress = one.progress
    if progress is None or one.current is None or one.current.reason != "Rewriting":
        return None
    total, rate = progress.total, progress.objects_per_second
    left = ""
    if total is not None and rate:
        left = f"about {duration_text((total - progress.done) / rate)} left"
    return ProgressView(
        title=str(progress),
        share=None if total is None else percent_of(progress.done, total),
        count=f"{progress.done:,} of {total:,}" if total is not None else f"{progress.done:,}",
        rate=f"{rate:.0f} objects/s" if rate else "",
        left=left,
        spark=sparkline_of(one.rates),
    )


def _archive_view(snapshot: Snapshot) -> ProgressView | None:
    fill = snapshot.archive
    if fill is None:
        return None
    return ProgressView(
        title="archive of removed data",
        share=percent_of(fill.held_bytes, fill.max_bytes),
        count=f"{_size_text(fill.held_bytes)} of {_size_text(fill.max_bytes)}",
        rate="",
        left="",
        spark="",
    )


def _size_text(size_bytes: int) -> str:
    unit, size = ("MiB", 2**20) if size_bytes >= 2**20 else ("KiB", 2**10)
    return f"{size_bytes / size:.1f}".removesuffix(".0") + f" {unit}"


def _run_view(run: RunState) -> RunView:
    merged: dict[str, float] = {}
    for span in run.phases:
        merged[span.phase] = merged.get(span.phase, 0.0) + span.seconds
    results = {name: float(count) for name, count in run.writes._asdict().items()}
    return RunView(
        id=run.id,
        begun_at=run.begun_at,
        outcome=run.outcome or "under way",
        took=duration_text(run.seconds),
        phases=parts_of(
            (name, seconds, duration_text(seconds)) for name, seconds in merged.items()
        ),
        results=parts_of(
            (name, count, f"{count:,.0f}") for name, count in results.items() if count
        ),
    )


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]} ..."


def duration_text(seconds: float) -> str:
    """
    Return a duration as people say it, in its two largest units: ``2 h 5 min``.
    """
    whole = round(seconds)
    if whole < 1:
        return f"{seconds:.1f} s"
    units = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))
    parts = []
    for size, unit in units:
        count, whole = divmod(whole, size)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2])
