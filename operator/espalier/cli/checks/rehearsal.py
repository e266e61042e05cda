"""
Turn rehearsals of migrations into a result: what would stop each, and what a survey found.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from espalier.cli.output.migration_result import failures_of, migration_item
from espalier.cli.output.survey_result import (
    counts_of,
    findings_of,
    survey_table,
    unread_objects,
)
from espalier.cli.result import Finding, Level, Problem, Result, Subject
from espalier.engine import RunOutcome, ShownLoss, Survey, enumerated
from espalier.engine.status.stop_reasons import AGAIN
from espalier.paths import JSON
from espalier.plurals import counted

_NOTHING = "nothing would stop a migration"
_NO_DRY_RUN = "does not support dry run"
_SURVEYED_LOSS = frozenset({"survey/loss", "survey/unprovable", "survey/emptied"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsed:
    """
    The rehearsal of one migration.

    Attributes:
        stored_versions: ``status.storedVersions`` of the definition.
        outcome: Of the run whose writes were not kept; None if it could not be made.
        survey: Of its objects; None if they could not be read.
        accepts_loss: Whether the consent that was given is to what the survey has found.
    """

    name: str
    stored_versions: tuple[str, ...] = ()
    outcome: RunOutcome | None = None
    survey: Survey | None = None
    accepts_loss: bool = False


def rehearsal_result(
    rehearsals: Sequence[Rehearsed],
    *,
    is_met: Callable[[RunOutcome], bool],
    warnings: Sequence[Finding],
    problems: Sequence[Problem],
) -> Result:
    """
    Return a result whose exit code and completeness follow from the rehearsals.

    Args:
        is_met: Reports whether a run did everything that the command asked for.
        warnings: Further findings.
        problems: What could not be read.
    """
    surveys = [one.survey for one in rehearsals if one.survey is not None]
    objects = sum(found.objects for found in surveys)
    stopped = [one for one in rehearsals if one.outcome is None or not is_met(one.outcome)]
    not_seen = [f"{found.crd}: {text}" for found in surveys for text in unread_objects(found)]
    scope = f"{counted(len(rehearsals), 'definition')}, {counted(objects, 'stored object')}"
    unread = f"; not read: {'; '.join(not_seen)}" if not_seen else ""
    consents = "".join(map(_consent_to, surveys))
    findings = [finding for one in rehearsals for finding in _findings(one, is_met)]
    return Result(
        kind="MigrateResult",
        summary=f"{scope}; nothing was written; {_verdict(stopped)}{unread}{consents}",
        findings=(*findings, *warnings),
        problems=tuple(problems),
        subjects=tuple(Subject(name=one.name) for one in rehearsals),
        tables=(survey_table(surveys, [counts_of(found) for found in surveys], is_plan=False),),
        items=tuple(
            _item(one, one.outcome, is_met=is_met(one.outcome))
            for one in rehearsals
            if one.outcome is not None
        ),
        counts={"definitions": len(rehearsals), "objects": objects, "stopped": len(stopped)},
        is_incomplete=bool(not_seen) or any(map(_is_untried, rehearsals)),
    )


def _item(one: Rehearsed, outcome: RunOutcome, *, is_met: bool) -> JSON:
    stored: list[JSON] = list(one.stored_versions)
    item = migration_item(one.name, outcome)
    # Which objects are current already, a write that is not kept does not show.
    item |= {"proved": False, "dryRun": True, "storedVersions": stored, "objects": None}
    return {**item, "reason": "", "message": _NOTHING} if is_met else item


def _is_untried(one: Rehearsed) -> bool:
    """
    Report whether no write failed but those that an admission webhook does not let be tried.
    """
    totals = one.outcome.totals if one.outcome is not None else None
    failed = totals.failed if totals is not None else ()
    return bool(failed) and all(_NO_DRY_RUN in cause for _, cause in failed)


def _verdict(stopped: Sequence[Rehearsed]) -> str:
    if not stopped:
        return _NOTHING
    reasons = {one.outcome.reason or "gone" if one.outcome else "not read" for one in stopped}
    return f"{counted(len(stopped), 'migration')} would stop: {enumerated(sorted(reasons))}"


def _findings(one: Rehearsed, is_met: Callable[[RunOutcome], bool]) -> list[Finding]:
    found: list[Finding] = []
    if one.outcome is not None and not is_met(one.outcome):
        current = one.outcome.conditions[0] if one.outcome.conditions else None
        why = f"{current.reason}: {current.message}" if current else "the definition is gone"
        why = why.removesuffix(f"; {AGAIN}")
        text = f"the migration would stop with {why}"
        if _is_untried(one):
            text = f"whether the migration would stop is not known, since no write was tried: {why}"
        found.append(
            Finding(
                level=Level.ERROR,
                rule=f"migrate/{one.outcome.reason or 'gone'}",
                subject=Subject(name=one.name),
                message=text,
            )
        )
        found += failures_of(one.name, one.outcome)
    if one.survey is not None:
        surveyed = findings_of(one.survey, counts_of(one.survey), is_plan=False)
        found += [_as_remark(finding, accepts_loss=one.accepts_loss) for finding in surveyed]
        if one.survey.normalising.pruned.objects:
            text = "whether the archive has room for what is pruned was not tried"
            subject = Subject(name=one.name)
            found.append(
                Finding(level=Level.NOTE, rule="migrate/archive", subject=subject, message=text)
            )
    return found


def _as_remark(finding: Finding, *, accepts_loss: bool) -> Finding:
    # Only a loss stops a migration, unless it is accepted; the rehearsal reports all else.
    if finding.level is not Level.ERROR or (finding.rule in _SURVEYED_LOSS and not accepts_loss):
        return finding
    return replace(finding, level=Level.WARNING)


def _consent_to(found: Survey) -> str:
    items = (
        frozenset(one.path for one in found.would_lose.paths) if found.would_lose else frozenset()
    )
    digest = ShownLoss(items, found.spent).digest
    return f"; consent to the loss of {found.crd}: --accept-loss {digest}" if digest else ""
