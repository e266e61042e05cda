"""
Write the state of all definitions as one document.
"""

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

import orjson

from espalier.cli.options import Target
from espalier.cli.result import Problem
from espalier.cluster import MalformedDefinition
from espalier.crd import Definition
from espalier.observe.bounded_report import RENEW_SECONDS
from espalier.observe.page import render_file
from espalier.observe.report import report_document, report_markdown
from espalier.observe.report_reading import read_kept_report
from espalier.observe.state import Snapshot, snapshot_of
from espalier.observe.views import duration_text
from espalier.plurals import counted

FRESH_SECONDS = 300.0
"""A kept report that is older may have been left behind."""

Render = Callable[..., str]


def _json(snapshot: Snapshot, *, with_messages: bool) -> str:
    document = report_document(snapshot, with_messages=with_messages)
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


_FORMATS: Mapping[str, Render] = MappingProxyType(
    {"html": render_file, "markdown": report_markdown, "json": _json}
)


class Gathered(NamedTuple):
    """
    What a report is made from.

    Attributes:
        problems: What is not in it, since it could not be read.
        notices: What its reader should know, in one sentence each.
        is_incomplete: Whether parts of it are missing that somebody else should have written.
    """

    snapshot: Snapshot
    problems: tuple[Problem, ...] = ()
    notices: tuple[str, ...] = ()
    is_incomplete: bool = False


def render(snapshot: Snapshot, output: str, *, with_messages: bool) -> str:
    """
    Write the document.

    Args:
        output: ``html``, ``markdown`` or ``json``.
        with_messages: Whether it holds the messages of conditions, which name objects.
    """
    return _FORMATS[output](snapshot, with_messages=with_messages)


def gather(target: Target, *, is_kept: bool) -> Gathered:
    """
    Read all definitions, or the report that the operator keeps.

    Raises:
        EspalierError: They could not be read.
    """
    return asyncio.run(read_kept(target) if is_kept else read(target))


async def read(target: Target) -> Gathered:
    """
    Read all definitions.

    Raises:
        EspalierError: The cluster could not be read.
    """
    async with target.connect() as connected:
        found = [one async for one in connected.definitions.list_definitions()]
        definitions = [one for one in found if isinstance(one, Definition)]
        problems = tuple(
            Problem(source=one.name, message=str(one.error))
            for one in found
            if isinstance(one, MalformedDefinition)
        )
        snapshot = snapshot_of(definitions, taken_at=connected.clock.utc_timestamp())
        return Gathered(snapshot, problems)


async def read_kept(target: Target) -> Gathered:
    """
    Read the report that the operator keeps in its namespace.

    Raises:
        EspalierError: There is none, or it could not be read.
    """
    async with target.connect() as connected:
        kept = read_kept_report(await connected.report(target.operator_namespace).read())
        now = connected.clock.utc_timestamp()
    notices = [age_text(kept.snapshot.taken_at, now)]
    if kept.missing:
        notices.append(
            f"{counted(kept.missing, 'part')} of the report {'is' if kept.missing == 1 else 'are'}"
            " missing: an operator has not written it yet"
        )
    return Gathered(kept.snapshot, notices=tuple(notices), is_incomplete=bool(kept.missing))


def age_text(taken_at: str, now: str) -> str:
    """
    Return how old a report is, and what that means.
    """
    seconds = (datetime.fromisoformat(now) - datetime.fromisoformat(taken_at)).total_seconds()
    if seconds < -FRESH_SECONDS:
        return f"the report was taken at {taken_at}, which is in the future: compare the clocks"
    text = f"the report is {duration_text(max(seconds, 0))} old"
    if seconds > RENEW_SECONDS + FRESH_SECONDS:
        return (
            f"{text}: no operator has written it since. It may be paused, or not run; an operator"
            " writes it at least once an hour"
        )
    if seconds > FRESH_SECONDS:
        return f"{text}: nothing has changed since, or no operator runs"
    return text
