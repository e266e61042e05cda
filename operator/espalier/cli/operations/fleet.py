"""
Ask several clusters side by side, and bring what they have found together.

A cluster that is down, slow or without rights is named with the reason; the others are shown.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import click

from espalier.cli.options import Fleet, Target
from espalier.cli.progress import Advance
from espalier.cli.result import Column, Finding, Problem, Result, Table
from espalier.errors import EspalierError
from espalier.paths import JSON
from espalier.plurals import counted

FoundT = TypeVar("FoundT")


@dataclass(frozen=True, slots=True)
class ClusterAnswer(Generic[FoundT]):
    """
    What one cluster has answered.

    Attributes:
        found: None if there is no answer.
        failure: Why; empty if there is one.
    """

    cluster: str
    found: FoundT | None
    failure: str = ""


async def ask_each(
    targets: Mapping[str, Target],
    ask: Callable[[Target], Awaitable[FoundT]],
    fleet: Fleet,
    advance: Advance,
) -> list[ClusterAnswer[FoundT]]:
    """
    Ask all clusters, so many at the same time, and each for so long.

    Returns:
        An answer for each cluster, in the order of the targets.
    """
    gate, answered = asyncio.Semaphore(fleet.at_a_time), 0

    async def ask_one(name: str, target: Target) -> ClusterAnswer[FoundT]:
        nonlocal answered
        async with gate:
            answer = await _answer(name, target, ask, fleet.seconds)
        answered += 1
        advance(answered, total=len(targets), text=name)
        return answer

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(ask_one(name, target)) for name, target in targets.items()]
    return [task.result() for task in tasks]


async def _answer(
    name: str, target: Target, ask: Callable[[Target], Awaitable[FoundT]], seconds: float
) -> ClusterAnswer[FoundT]:
    try:
        async with asyncio.timeout(seconds or None):
            return ClusterAnswer(name, await ask(target))
    except TimeoutError:
        return ClusterAnswer(name, None, f"no complete answer within {seconds:g} s")
    except EspalierError as error:
        return ClusterAnswer(name, None, str(error))
    except click.UsageError as error:
        return ClusterAnswer(name, None, error.format_message())


def merge_results(answers: Sequence[ClusterAnswer[Result]], *, kind: str) -> Result:
    """
    Make one result of those of several clusters, with the cluster in each row, item and finding.
    """
    found = {one.cluster: one.found for one in answers if one.found is not None}
    failures = [one for one in answers if one.found is None]
    problems = [
        replace(problem, cluster=cluster)
        for cluster, result in found.items()
        for problem in result.problems
    ]
    problems += [
        Problem(source=one.cluster, message=one.failure, cluster=one.cluster) for one in failures
    ]
    findings = tuple(_findings(found))
    shown = f"{len(found)} of {counted(len(answers), 'cluster')}"
    counts: dict[str, int] = {}
    for result in found.values():
        for name, number in result.counts.items():
            counts[name] = counts.get(name, 0) + number
    totals = ", ".join(f"{number} {name}" for name, number in counts.items())
    return Result(
        kind=kind,
        summary=f"{shown}: {totals}" if totals else shown,
        findings=findings,
        problems=tuple(problems),
        subjects=tuple(
            replace(subject, cluster=cluster)
            for cluster, result in found.items()
            for subject in result.subjects
        ),
        tables=tuple(_tables(found)),
        items=tuple(_items(found)),
        counts={"clusters": len(answers), "unread": len(failures), **counts},
        is_incomplete=any(result.is_incomplete for result in found.values()),
        is_partial=bool(found),
    )


def with_what_none_has(result: Result, names: Sequence[str]) -> Result:
    """
    Add a problem if definitions were named and no cluster that answered has any of them.
    """
    if not names or result.items or not result.is_partial or result.problems:
        return result
    text = "no such definition exists in any of the clusters"
    missing = Problem(source=", ".join(names), message=text)
    return replace(result, problems=(missing,), is_partial=False)


def _findings(found: Mapping[str, Result]) -> Iterator[Finding]:
    for cluster, result in found.items():
        for one in result.findings:
            yield replace(one, subject=replace(one.subject, cluster=cluster))


def _tables(found: Mapping[str, Result]) -> Iterator[Table]:
    first = next(iter(found.values()), None)
    for number, table in enumerate(first.tables if first is not None else ()):
        rows = [
            [cluster, *row]
            for cluster, result in found.items()
            for row in result.tables[number].rows
        ]
        yield replace(table, columns=[Column(title="CLUSTER"), *table.columns], rows=rows)


def _items(found: Mapping[str, Result]) -> Iterator[JSON]:
    for cluster, result in found.items():
        for item in result.items:
            yield {"cluster": cluster, **item} if isinstance(item, dict) else item
