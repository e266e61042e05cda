"""
Examine stored objects, and write nothing.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field

from espalier import engine
from espalier.cli.checks.definition_names import full_names
from espalier.cli.checks.namespaces import missing_namespaces
from espalier.cli.operations.fleet import ask_each, merge_results, with_what_none_has
from espalier.cli.options import Chosen, Fleet, Target
from espalier.cli.output.error_exits import text_of
from espalier.cli.output.survey_result import (
    counts_of,
    findings_of,
    survey_item,
    survey_table,
    unread_objects,
)
from espalier.cli.output.terminal import Terminal
from espalier.cli.progress import Advance, no_progress
from espalier.cli.result import Finding, Level, Problem, Result, Subject
from espalier.cluster import Cluster
from espalier.crd import Definition
from espalier.engine import (
    Counts,
    RecordPorts,
    RunSettings,
    Scope,
    Survey,
    gate_alone,
)
from espalier.engine.ports import Workers
from espalier.errors import EspalierError, NotFoundError
from espalier.plurals import counted
from espalier.workers.pool import worker_pool


@dataclass(slots=True)
class Surveyed:
    """
    The results of several surveys.
    """

    surveys: list[Survey] = field(default_factory=list)
    counts: list[Mapping[str, Counts]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    warnings: list[Finding] = field(default_factory=list)

    def add(self, found: Survey, counts: Mapping[str, Counts]) -> None:
        """
        Add the result of one survey.
        """
        self.surveys.append(found)
        self.counts.append(counts)


class SurveyProgress:
    """
    Move the progress bar.
    """

    def __init__(self, advance: Advance, name: str) -> None:
        self._advance = advance
        self._name = name

    async def surveyed(self, objects: int, *, remaining: int | None) -> None:
        """
        Show how many objects were read.
        """
        total = None if remaining is None else objects + remaining
        self._advance(objects, total=total, text=self._name)


def survey(
    target: Target,
    choice: Chosen,
    namespaces: Sequence[str],
    advance: Advance,
    *,
    allow_missing: bool,
) -> Result:
    """
    Survey the objects of definitions.

    Args:
        namespaces: Only objects in these; none for all.
        allow_missing: Whether a namespace that does not exist counts as empty.

    Raises:
        UsageError: A name stands for several definitions.
        EspalierError: The cluster could not be read.
    """
    surveying = _survey(target, choice, namespaces, advance, allow_missing=allow_missing)
    return _result_of(asyncio.run(surveying))


def survey_each(
    terminal: Terminal,
    fleet: Fleet,
    target: Target,
    choice: Chosen,
    namespaces: Sequence[str],
    *,
    allow_missing: bool,
) -> Result:
    """
    Survey the objects of definitions of several clusters.

    A definition that a cluster does not have is only missed if no cluster has it.

    Args:
        namespaces, allow_missing: As for ``survey``.
    """

    async def ask(one: Target) -> Result:
        surveyed = await _survey(
            one, choice, namespaces, no_progress, allow_missing=allow_missing, may_miss=True
        )
        return _result_of(surveyed)

    targets = fleet.targets(target)
    with terminal.progress("surveying clusters", total=len(targets)) as advance:
        answers = asyncio.run(ask_each(targets, ask, fleet, advance))
    return with_what_none_has(merge_results(answers, kind="SurveyResult"), choice.names)


async def _survey(
    target: Target,
    choice: Chosen,
    namespaces: Sequence[str],
    advance: Advance,
    *,
    allow_missing: bool,
    may_miss: bool = False,
) -> Surveyed:
    surveyed = Surveyed()
    async with target.connect() as connected:
        surveyed.problems, surveyed.warnings = await missing_namespaces(
            connected, namespaces, are_allowed=allow_missing
        )
        for name in await full_names(connected, choice):
            try:
                found = await survey_one(connected, target, name, namespaces, advance)
            except NotFoundError as error:
                if not (may_miss and error.is_object):
                    surveyed.problems.append(Problem(source=name, message=text_of(error, name)))
            except EspalierError as error:
                # The other definitions are surveyed even if one cannot be read.
                surveyed.problems.append(Problem(source=name, message=text_of(error, name)))
            else:
                surveyed.add(found, counts_of(found))
    return surveyed


async def survey_one(
    connected: Cluster, target: Target, name: str, namespaces: Sequence[str], advance: Advance
) -> Survey:
    """
    Survey the objects of one definition as it is.

    Raises:
        EspalierError: The definition or its objects could not be read.
    """
    definition = await connected.definitions.get_definition(name)
    async with workers_of(target) as workers:
        ports = RecordPorts(
            checkpoints=connected.checkpoints(target.operator_namespace),
            definitions=connected.definitions,
            clock=connected.clock,
            workers=workers,
        )
        gate = await gate_alone(definition, connected.objects, ports, RunSettings())
        is_asked = not definition.preserve_unknown_fields
        scope = Scope(
            would_lose=gate.items if is_asked else None,
            spent=gate.spent,
            namespaces=namespaces,
            workers=workers,
        )
        return await survey_objects(connected, definition, scope, advance)


def workers_of(target: Target) -> AbstractAsyncContextManager[Workers | None]:
    """
    Make the worker processes; none is started yet.
    """
    return worker_pool(
        processes=target.worker_processes, deadline_seconds=target.object_deadline_seconds
    )


async def survey_objects(
    connected: Cluster, definition: Definition, scope: Scope, advance: Advance
) -> Survey:
    """
    Survey objects, and move the progress bar.

    Raises:
        EspalierError: The objects could not be read.
    """
    return await engine.survey(
        definition,
        connected.objects,
        connected.clock,
        scope,
        onlooker=SurveyProgress(advance, definition.name),
    )


def _result_of(surveyed: Surveyed) -> Result:
    pairs = list(zip(surveyed.surveys, surveyed.counts, strict=True))
    findings = tuple(
        finding for found, counts in pairs for finding in findings_of(found, counts, is_plan=False)
    )
    findings += tuple(surveyed.warnings)
    not_seen = [
        f"{found.crd}: {text}" for found in surveyed.surveys for text in unread_objects(found)
    ]
    objects = sum(found.objects for found in surveyed.surveys)
    scope = f"{counted(len(pairs), 'definition')}, {counted(objects, 'stored object')}"
    errors = sum(finding.level is Level.ERROR for finding in findings)
    bad = f"{counted(errors, 'finding')} of lost, invalid or blocked data"
    verdict = bad if errors else "nothing is lost, invalid or blocked"
    if not pairs or (surveyed.problems and not objects):
        verdict = "nothing was examined"
    unread = f"; not read: {'; '.join(not_seen)}" if not_seen else ""
    return Result(
        kind="SurveyResult",
        summary=f"{scope}: {verdict}{unread}",
        findings=findings,
        problems=tuple(surveyed.problems),
        subjects=tuple(Subject(name=found.crd) for found in surveyed.surveys),
        tables=(survey_table(surveyed.surveys, surveyed.counts, is_plan=False),),
        items=tuple(survey_item(found, counts) for found, counts in pairs),
        counts={"definitions": len(pairs), "objects": objects},
        is_incomplete=bool(not_seen),
    )
