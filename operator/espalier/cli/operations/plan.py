"""
What would changed definitions do to the stored objects? Nothing is written.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from espalier import crd
from espalier.cli.checks.documents import is_definition, problem_in
from espalier.cli.checks.live_update import UpdateVerdict, judge_update
from espalier.cli.checks.namespaces import missing_namespaces
from espalier.cli.input.files import Document, expand, read_documents
from espalier.cli.operations.survey import survey_objects, workers_of
from espalier.cli.options import Target
from espalier.cli.output.error_exits import text_of
from espalier.cli.output.survey_result import (
    counts_of,
    findings_of,
    survey_item,
    survey_table,
    unread_objects,
)
from espalier.cli.progress import Advance
from espalier.cli.result import Finding, Level, Problem, Result, Subject
from espalier.cluster import Cluster
from espalier.engine import Counts, Normalising, PathCount, Scope, Survey, forecast_of
from espalier.errors import EspalierError, MalformedDefinitionError, SourceError
from espalier.paths import JSON
from espalier.plurals import counted
from espalier.schema.values import equal_json

_REFUSED = "no stored object was checked against a definition that the API server refuses"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Planned:
    """
    The plan of one definition.

    Attributes:
        survey: Of the objects under the changed definition; None if none was held to it.
        news: The counts of the survey, without what is so today.
        unjudged: Sentences on what could not be judged.
    """

    verdict: UpdateVerdict
    survey: Survey | None = None
    news: Mapping[str, Counts] = field(default_factory=lambda: defaultdict(Counts))
    unjudged: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.verdict.candidate.name


def plan(
    target: Target,
    files: Sequence[str],
    namespaces: Sequence[str],
    advance: Advance,
    *,
    is_absence_allowed: bool,
    allow_missing: bool,
) -> Result:
    """
    Check definitions as updates of those in the cluster, and hold the stored objects to them.

    Args:
        files: The definitions: files, folders or ``-``.
        namespaces: Only objects in these; none for all.
        is_absence_allowed: Whether a definition that the cluster lacks is checked as a new one.
        allow_missing: Whether a namespace that does not exist counts as empty.

    Raises:
        EspalierError: The cluster could not be read.
    """
    problems: list[Problem] = []
    documents = _candidates(files, problems)
    planned: list[_Planned] = []
    warnings: list[Finding] = []
    if not problems:
        done = _plan(target, documents, namespaces, advance, allow_missing=allow_missing)
        planned, problems, warnings = asyncio.run(done)
    if not is_absence_allowed:
        planned, absent = _without_absent(planned)
        problems += absent
    return _result_of(planned, problems, warnings)


async def _plan(
    target: Target,
    documents: Sequence[Document],
    namespaces: Sequence[str],
    advance: Advance,
    *,
    allow_missing: bool,
) -> tuple[list[_Planned], list[Problem], list[Finding]]:
    planned: list[_Planned] = []
    async with target.connect() as connected:
        problems, warnings = await missing_namespaces(
            connected, namespaces, are_allowed=allow_missing
        )
        for document in documents:
            name = crd.read_definition(document.value).name
            try:
                verdict = await judge_update(connected, document)
                planned.append(_Planned(verdict=verdict))
                planned[-1] = await _plan_objects(connected, verdict, namespaces, target, advance)
            except EspalierError as error:
                # The answer to the update stays, and the other definitions are planned as well.
                problems.append(Problem(source=name, message=text_of(error, name)))
    return planned, problems, warnings


async def _plan_objects(
    connected: Cluster,
    verdict: UpdateVerdict,
    namespaces: Sequence[str],
    target: Target,
    advance: Advance,
) -> _Planned:
    if verdict.live is None:
        return _Planned(verdict=verdict)
    if verdict.says_nothing_of_objects:
        return _Planned(verdict=verdict, unjudged=(_REFUSED,))
    forecast = forecast_of(verdict.live, verdict.candidate)
    if forecast.candidate is None:
        return _Planned(verdict=verdict, unjudged=forecast.unjudged)
    async with workers_of(target) as workers:
        now = Scope(namespaces=namespaces, workers=workers)
        later = replace(now, candidate=forecast.candidate)
        today = await survey_objects(connected, forecast.definition, now, advance)
        then = await survey_objects(connected, forecast.definition, later, advance)
    return _Planned(
        verdict=verdict,
        survey=then,
        news=_news(counts_of(today), counts_of(then)),
        unjudged=forecast.unjudged,
    )


def _news(today: Mapping[str, Counts], then: Mapping[str, Counts]) -> dict[str, Counts]:
    """
    Return the counts of the new definition without those that the present one has too.
    """
    news = {}
    for name, counts in then.items():
        known = {one.path: one.objects for one in today[name].paths}
        fresh = tuple(one for one in counts.paths if one.objects > known.get(one.path, 0))
        news[name] = counts if not known else _reduced(counts, fresh)
    return news


def _reduced(counts: Counts, fresh: tuple[PathCount, ...]) -> Counts:
    # One object may have several of the paths, so only the largest count is certain.
    objects = max((one.objects for one in fresh), default=0)
    first = fresh[0].first if fresh else ()
    return Counts(objects=objects, first=first, paths=fresh, is_cut=counts.is_cut)


def _candidates(files: Sequence[str], problems: list[Problem]) -> list[Document]:
    found: list[Document] = []
    for named in files:
        before = len(found)
        try:
            for source in expand([named]):
                found += map(_candidate, filter(is_definition, read_documents(source)))
        except SourceError as error:
            problems.append(Problem(source=error.source, message=error.detail, line=error.line))
            continue
        if len(found) == before:
            text = "no CustomResourceDefinition in it"
            problems.append(Problem(source=named, message=text))
    return _each_once(found, problems)


def _each_once(documents: Sequence[Document], problems: list[Problem]) -> list[Document]:
    kept: dict[str, Document] = {}
    for document in documents:
        name = crd.read_definition(document.value).name
        first = kept.setdefault(name, document)
        if not equal_json(first.value, document.value):
            text = f"{name} is already defined, otherwise, in {first.where()}"
            problems.append(problem_in(document, text))
    return list(kept.values())


def _candidate(document: Document) -> Document:
    try:
        crd.read_definition(document.value)
    except MalformedDefinitionError as error:
        mark = document.mark(error.path)
        raise SourceError(document.source, str(error), mark.line if mark else None) from error
    return document


def _without_absent(planned: Sequence[_Planned]) -> tuple[list[_Planned], list[Problem]]:
    absent = [
        Problem(
            source=one.name,
            message="the cluster has no such definition, so nothing was compared;"
            " --if-absent=ok checks it as a new one",
        )
        for one in planned
        if one.verdict.live is None
    ]
    return [one for one in planned if one.verdict.live is not None], absent


def _result_of(
    planned: Sequence[_Planned], problems: Sequence[Problem], warnings: Sequence[Finding]
) -> Result:
    findings = tuple(finding for one in planned for finding in _findings(one))
    surveyed = [(one.survey, one.news) for one in planned if one.survey is not None]
    objects = sum(found.objects for found, _ in surveyed)
    not_seen = [f"{found.crd}: {text}" for found, _ in surveyed for text in unread_objects(found)]
    refused = [one for one in planned if one.verdict.refusals]
    scope = f"{counted(len(planned), 'definition')}, {counted(objects, 'stored object')}"
    unread = f"; not read: {'; '.join(not_seen)}" if not_seen else ""
    summary = "; ".join(_verdicts(planned, findings))
    if problems and not objects and not findings:
        summary = "nothing was examined"
    return Result(
        kind="PlanResult",
        summary=f"{scope}: {summary}{unread}",
        findings=(*findings, *warnings),
        problems=tuple(problems),
        subjects=tuple(Subject(name=one.name) for one in planned),
        tables=(
            survey_table(
                [found for found, _ in surveyed], [news for _, news in surveyed], is_plan=True
            ),
        ),
        items=tuple(map(_item, planned)),
        counts={
            "definitions": len(planned),
            "refused": len(refused),
            "absent": sum(one.verdict.live is None for one in planned),
            "objects": objects,
        },
        is_incomplete=bool(not_seen),
    )


def _findings(one: _Planned) -> Iterator[Finding]:
    yield from one.verdict.findings
    subject = Subject(name=one.name)
    for text in one.unjudged:
        yield Finding(
            level=Level.NOTE if one.survey is None else Level.WARNING,
            rule="plan/not-judged",
            subject=subject,
            message=text,
        )
    if one.survey is not None:
        yield from findings_of(one.survey, one.news, is_plan=True)


def _verdicts(planned: Sequence[_Planned], findings: Sequence[Finding]) -> Iterator[str]:
    refused = sum(one.verdict.refusals > 0 for one in planned)
    absent = sum(one.verdict.live is None for one in planned)
    taken = len({one.subject.name for one in findings if _is_conflict(one)})
    if refused:
        yield f"the API server would refuse {counted(refused, 'definition')}"
    if taken:
        yield f"{counted(taken, 'definition')} with names that are in use"
    if absent:
        yield f"{counted(absent, 'definition')} checked as new"
    if any(one.survey is not None for one in planned):
        yield _verdict_on_objects(planned, findings)
    elif not refused and not absent:
        yield "nothing was examined"


def _verdict_on_objects(planned: Sequence[_Planned], findings: Sequence[Finding]) -> str:
    errors = sum(
        one.level is Level.ERROR and one.rule.startswith("plan/") and not _is_conflict(one)
        for one in findings
    )
    if errors:
        return f"{counted(errors, 'path')} would be lost or become invalid"
    if any(one.unjudged for one in planned):
        return "no loss and no invalid object was found, but not everything could be judged"
    return "nothing would be lost, and nothing would become invalid"


def _is_conflict(finding: Finding) -> bool:
    return finding.rule == "plan/names" and finding.level is Level.ERROR


def _item(one: _Planned) -> JSON:
    verdict: dict[str, JSON] = {
        "act": "create" if one.verdict.live is None else "update",
        "accepted": not one.verdict.refusals,
        "reasons": one.verdict.refusals,
    }
    survey = one.survey or _empty_survey(one.verdict)
    unjudged: list[JSON] = list(one.unjudged)
    return {**survey_item(survey, one.news), "verdict": verdict, "notJudged": unjudged}


def _empty_survey(verdict: UpdateVerdict) -> Survey:
    nothing = Counts()
    live = verdict.live
    return Survey(
        crd=verdict.candidate.name,
        generation=live.generation if live else 0,
        version="",
        candidate_version="",
        is_legacy=verdict.candidate.preserve_unknown_fields,
        objects=0,
        normalising=Normalising(**dict.fromkeys(Normalising.__dataclass_fields__, nothing)),
        violations=nothing,
        unwritable=nothing,
        unchecked=nothing,
    )
