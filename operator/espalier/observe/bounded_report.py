"""
Cuts the report to a size, and shows what changed between two.
"""

from dataclasses import replace
from typing import NamedTuple

import orjson

from espalier.engine.ports.state import Bucket
from espalier.observe.report import definition_document, report_document
from espalier.observe.state import DefinitionState, Snapshot

MAX_KEPT_BYTES = 500 * 1024
"""Of all parts of the report in a cluster together; the server takes 1 MiB in a ConfigMap."""

RENEW_SECONDS = 3600.0
"""After so long it is written though nothing changed, so that its age shows that it is kept."""


class BoundedReport(NamedTuple):
    """
    A report as JSON.

    Attributes:
        content: The same without the time at which it was taken; equal if nothing changed.
    """

    text: str
    content: bytes


def key_of(bucket: Bucket) -> str:
    """
    Return under which key the part of a bucket is kept.
    """
    return f"bucket-{bucket.number}-of-{bucket.count}.json"


def bounded_report(snapshot: Snapshot, *, max_bytes: int, with_messages: bool) -> BoundedReport:
    """
    Write a report of at most so many bytes.

    Definitions with the label come first, then those with several stored versions. Whatever does
    not fit is counted.

    Args:
        with_messages: Whether it holds the messages of conditions, which name objects.
    """
    empty = replace(snapshot, definitions=(), left_out=10**6)
    room = max_bytes - len(orjson.dumps(report_document(empty, with_messages=False)))
    kept: list[DefinitionState] = []
    for one in sorted(snapshot.definitions, key=_rank):
        room -= len(orjson.dumps(definition_document(one, with_messages=with_messages))) + 1
        if room < 0:
            break
        kept.append(one)
    shown = replace(
        snapshot,
        definitions=tuple(sorted(kept, key=lambda one: one.name)),
        left_out=len(snapshot.definitions) - len(kept),
    )
    document = report_document(shown, with_messages=with_messages)
    return BoundedReport(orjson.dumps(document).decode(), orjson.dumps({**document, "takenAt": ""}))


def _rank(one: DefinitionState) -> tuple[bool, bool, str]:
    return (not one.mode, len(one.stored_versions) <= 1, one.name)
