"""
Writes the record as one document to hand on: JSON for programs, Markdown for tickets.
"""

import re
from collections.abc import Iterator

from espalier.names import PREFIX
from espalier.observe.lifelines import STOPS, stop_of
from espalier.observe.state import DefinitionState, Snapshot
from espalier.observe.views import DefinitionView, page_view
from espalier.paths import JSON

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
        "definitions": [
            _definition(one, with_messages=with_messages) for one in snapshot.definitions
        ],
    }


def report_markdown(snapshot: Snapshot, *, with_messages: bool) -> str:
    """
    Make the Markdown document.

    Args:
        with_messages: Whether it holds the messages of conditions, which name objects.
    """
    return "\n".join(_lines(snapshot, with_messages=with_messages)) + "\n"


def _definition(one: DefinitionState, *, with_messages: bool) -> JSON:
    progress = one.progress
    return {
        "name": one.name,
        "mode": one.mode,
        "structural": one.is_structural,
        "storage": one.storage,
        "storedVersions": list(one.stored_versions),
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
        else {"pass": str(progress), "done": progress.done, "total": progress.total},
    }


def _lines(snapshot: Snapshot, *, with_messages: bool) -> Iterator[str]:
    page = page_view(snapshot, with_messages=with_messages)
    yield "# Espalier"
    yield ""
    yield f"{page.summary}. Taken at {page.taken_at} by Espalier {page.version}."
    if page.waiting:
        yield ""
        yield "## Waits for you"
        for card, one in page.waiting:
            yield ""
            yield f"**{_plain(card.name)}**: {_plain(one.text)}"
            yield ""
            yield f"    {one.command}"
    yield ""
    yield "## Definitions with the label"
    yield ""
    yield "| definition | state | reason | stage | stored versions | progress |"
    yield "|---|---|---|---|---|---|"
    yield from map(_row, page.cards)
    if page.hidden_cards:
        yield ""
        yield f"{page.hidden_cards} more are not shown."
    for card in page.cards:
        if card.message:
            yield ""
            yield f"**{_plain(card.name)}**: {_plain(card.message)}"
    if page.rows:
        yield ""
        yield "## Several stored versions, and no label"
        yield ""
        for row in page.rows:
            yield f"- {_plain(row.name)}: {_plain(row.stored)}"


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
    return (
        _SPECIAL.sub(r"\\\1", " ".join(text.split())).replace("\\<", "&lt;").replace("\\>", "&gt;")
    )
