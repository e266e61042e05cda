"""
Write the state of all definitions as one document.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import click
import orjson

from espalier.cli.operations.fleet import ask_each
from espalier.cli.options import Fleet, Target
from espalier.cli.output.console import printable
from espalier.cli.output.exit_codes import Exit
from espalier.cli.output.terminal import Terminal
from espalier.cli.progress import Advance
from espalier.cli.result import Problem
from espalier.cluster import MalformedDefinition, SystemClock
from espalier.crd import Definition
from espalier.observe.bounded_report import RENEW_SECONDS
from espalier.observe.fleet import merge_snapshots
from espalier.observe.page import render_file
from espalier.observe.report import report_document, report_markdown
from espalier.observe.report_reading import (
    MAX_BYTES,
    UnreadableReportError,
    read_kept_report,
    read_report,
)
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
        snapshot: None if nothing could be read.
        problems: What is not in it, since it could not be read.
        notices: What its reader should know, in one sentence each.
        is_incomplete: Whether parts of it are missing.
        is_partial: Whether the problems are those of some of several clusters only.
    """

    snapshot: Snapshot | None
    problems: tuple[Problem, ...] = ()
    notices: tuple[str, ...] = ()
    is_incomplete: bool = False
    is_partial: bool = False


def finish(found: Gathered, output: str, *, with_messages: bool) -> None:
    """
    Print the document, and exit with the exit code.

    Args:
        output: ``html``, ``markdown`` or ``json``.
        with_messages: Whether it holds the messages of conditions, which name objects.
    """
    if found.snapshot is not None:
        click.echo(_FORMATS[output](found.snapshot, with_messages=with_messages), nl=False)
    for text in (*map(str, found.problems), *found.notices):
        click.echo(f"espalier: {printable(text)}", err=True)
    if found.problems and not found.is_partial:
        click.get_current_context().exit(Exit.UNREADABLE)
    if found.problems or found.is_incomplete:
        click.get_current_context().exit(Exit.INCOMPLETE)


def gather(files: Sequence[str], target: Target, fleet: Fleet, *, is_kept: bool) -> Gathered:
    """
    Read reports from files, or all definitions of one cluster or several.

    Args:
        is_kept: Whether the report that the operator keeps is read instead.

    Raises:
        UsageError: A context does not exist.
        EspalierError: Nothing could be read.
    """
    if files:
        return merge_files(files)
    if not fleet.is_asked:
        return asyncio.run(read_kept(target) if is_kept else read(target))
    targets = fleet.targets(target)
    with Terminal().progress("asking clusters", total=len(targets)) as advance:
        return gather_each(fleet, targets, advance, is_kept=is_kept)


def gather_each(
    fleet: Fleet, targets: Mapping[str, Target], advance: Advance, *, is_kept: bool
) -> Gathered:
    """
    Read all definitions of several clusters, or the reports that their operators keep.
    """
    answers = asyncio.run(ask_each(targets, read_kept if is_kept else read, fleet, advance))
    found = {one.cluster: one.found for one in answers if one.found is not None}
    failures = {one.cluster: one.failure for one in answers if one.found is None}
    problems = [
        replace(problem, cluster=cluster)
        for cluster, gathered in found.items()
        for problem in gathered.problems
    ]
    merged = _merge({name: one.snapshot for name, one in found.items() if one.snapshot}, failures)
    return merged._replace(
        problems=(*problems, *merged.problems),
        notices=tuple(f"{name}: {text}" for name, one in found.items() for text in one.notices),
        is_incomplete=any(one.is_incomplete for one in found.values()),
    )


def merge_files(paths: Sequence[str]) -> Gathered:
    """
    Read reports as JSON; several are merged, by the names of the files.
    """
    stems = Counter(Path(path).stem for path in paths)
    found: dict[str, Snapshot] = {}
    failures: dict[str, str] = {}
    for path in paths:
        name = Path(path).stem if stems[Path(path).stem] == 1 else path
        try:
            with click.open_file(path, "rb") as file:
                found[name] = read_report(file.read(MAX_BYTES + 1))
        except OSError as error:
            failures[path] = error.strerror or str(error)
        except UnreadableReportError as error:
            failures[path] = str(error)
    if len(paths) == 1 and found:
        (snapshot,) = found.values()
        return Gathered(snapshot, is_incomplete=any(one.failure for one in snapshot.clusters))
    return _merge(found, failures)


def _merge(found: Mapping[str, Snapshot], failures: Mapping[str, str]) -> Gathered:
    problems = tuple(Problem(source=name, message=text) for name, text in failures.items())
    if not found:
        return Gathered(None, problems)
    merged = merge_snapshots(found, failures, taken_at=SystemClock().utc_timestamp())
    is_incomplete = any(one.failure for one in merged.clusters)
    return Gathered(merged, problems, is_incomplete=is_incomplete, is_partial=True)


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
