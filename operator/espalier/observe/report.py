"""
Writes the record as one document to hand on: JSON for programs, Markdown for tickets.
"""

import re
from collections.abc import Iterator

from espalier.names import PREFIX
from espalier.observe.lifelines import STOPS, stop_of
from espalier.observe.state import ArchiveFill, ClusterState, DefinitionState, RunState, Snapshot
from espalier.observe.views import DefinitionView, PageView, page_view
from espalier.paths import JSON
from espalier.plurals import counted

API_VERSION = f"report.{PREFIX.rstrip('/')}/v1alpha1"

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~])")


def report_document(snapshot: Snapshot, *, with_messages: bool) -> dict[str, JSON]:
    """
    Make the JSON document.

    Args:
        with_messages: Whether it holds the messages of conditions, which name objects.
    """
    return {
        "apiVersion": API_VERSION,
        "kind": "Report",
        "takenAt": snapshot.taken_at,
        "espalierVersion": snapshot.version,
        "readOnly": snapshot.is_read_only,
        "leftOut": snapshot.left_out,
        **({"clusters": [_cluster(one) for one in snapshot.clusters]} if snapshot.clusters else {}),
        **(_archive(snapshot.archive) if snapshot.archive is not None else {}),
        "definitions": [
            definition_document(one, with_messages=with_messages) for one in snapshot.definitions
        ],
    }


def _cluster(one: ClusterState) -> JSON:
    if one.failure:
        return {"cluster": one.name, "error": one.failure}
    return {
        "cluster": one.name,
        "takenAt": one.taken_at,
        "espalierVersion": one.version,
        "readOnly": one.is_read_only,
        "leftOut": one.left_out,
    }


def _archive(fill: ArchiveFill) -> dict[str, JSON]:
    return {"archive": {"heldBytes": fill.held_bytes, "maxBytes": fill.max_bytes}}


def report_markdown(snapshot: Snapshot, *, with_messages: bool) -> str:
    """
    Make the Markdown document.

    Args:
        with_messages: Whether it holds the messages of conditions, which name objects.
    """
    return "\n".join(_lines(snapshot, with_messages=with_messages)) + "\n"


def definition_document(one: DefinitionState, *, with_messages: bool) -> JSON:
    """
    Make the part of the JSON document that is about one definition.

    What only an operator knows is left out where it is not known.
    """
    progress = one.progress
    return {
        **({"cluster": one.cluster} if one.cluster else {}),
        "name": one.name,
        "mode": one.mode,
        "structural": one.is_structural,
        "storage": one.storage,
        "storedVersions": list(one.stored_versions),
        "versions": [
            {
                "name": version.name,
                "served": version.is_served,
                "storage": version.is_storage,
                "stored": version.is_stored,
            }
            for version in one.versions
        ],
        "stage": STOPS[stop_of(one)].label,
        "generation": one.generation,
        "conditions": [
            {
                "type": found.type,
                "status": found.status,
                "reason": found.reason,
                "lastTransitionTime": found.last_transition_time,
                **({"message": found.message} if with_messages else {}),
            }
            for found in one.conditions
        ],
        "progress": None
        if progress is None
        else {
            "pass": str(progress),
            "done": progress.done,
            "total": progress.total,
            "objectsPerSecond": progress.objects_per_second,
        },
        **({"surveyedAt": one.surveyed_at} if one.surveyed_at else {}),
        **({"survey": dict(one.survey._asdict())} if one.survey is not None else {}),
        **({"succeededAt": one.succeeded_at} if one.succeeded_at else {}),
        **({"runs": [_run(run) for run in one.runs]} if one.runs else {}),
    }


def _run(run: RunState) -> JSON:
    return {
        "id": run.id,
        "begunAt": run.begun_at,
        "seconds": round(run.seconds, 1),
        "outcome": run.outcome,
        "reason": run.reason,
        "phases": [{"phase": one.phase, "seconds": round(one.seconds, 1)} for one in run.phases],
        "writes": dict(run.writes._asdict()),
    }


def _lines(snapshot: Snapshot, *, with_messages: bool) -> Iterator[str]:
    page = page_view(snapshot, with_messages=with_messages)
    yield "# Espalier"
    yield ""
    yield f"{page.summary}. Taken at {page.taken_at} by Espalier {page.version}."
    if snapshot.left_out:
        yield ""
        yield f"{counted(snapshot.left_out, 'definition')} had no room in the report."
    yield from _cluster_lines(page)
    yield from _waiting_lines(page)
    yield ""
    yield "## Definitions with the label"
    yield ""
    yield from _card_table(page)
    if page.hidden_cards:
        yield ""
        yield f"{page.hidden_cards} more are not shown."
    for card in page.cards:
        if card.message:
            yield ""
            yield f"**{_plain(card.title)}**: {_plain(card.message)}"
    if page.rows:
        yield ""
        yield "## Several stored versions, and no label"
        yield ""
        for row in page.rows:
            yield f"- {_plain(row.name)}: {_plain(row.stored)}"


def _waiting_lines(page: PageView) -> Iterator[str]:
    if page.waiting:
        yield ""
        yield "## Waits for you"
    for card, one in page.waiting:
        yield ""
        yield f"**{_plain(card.title)}**: {_plain(one.text)}"
        yield ""
        yield f"    {one.command}"


def _cluster_lines(page: PageView) -> Iterator[str]:
    if page.clusters:
        yield ""
        yield "## Clusters"
        yield ""
        yield "| cluster | taken at | Espalier | left out | not read |"
        yield "|---|---|---|---|---|"
    for one in page.clusters:
        left_out = str(one.left_out) if one.left_out else ""
        cells = (one.name, one.taken_at, one.version, left_out, one.failure)
        yield f"| {' | '.join(map(_plain, cells))} |"


def _card_table(page: PageView) -> Iterator[str]:
    columns = ["definition", "state", "reason", "stage", "stored versions", "progress"]
    if page.clusters:
        columns.insert(0, "cluster")
    yield f"| {' | '.join(columns)} |"
    yield "|" + "---|" * len(columns)
    for card in page.cards:
        cluster = f"| {_plain(card.cluster)} " if page.clusters else ""
        yield cluster + _row(card)


def _row(card: DefinitionView) -> str:
    progress = f"{card.progress.title}: {card.progress.count}" if card.progress else ""
    stage = card.stops[card.stop]
    cells = (
        card.name,
        card.state_text,
        card.reason,
        f"{stage.label}, {stage.text}",
        card.stored,
        progress,
    )
    return f"| {' | '.join(map(_plain, cells))} |"


def _plain(text: str) -> str:
    """
    Escape what Markdown or HTML would take for markup; one line stays one.
    """
    shown = "".join(c for c in " ".join(text.split()) if c.isprintable())
    return _SPECIAL.sub(r"\\\1", shown).replace("\\<", "&lt;").replace("\\>", "&gt;")
