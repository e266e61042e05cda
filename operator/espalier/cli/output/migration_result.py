"""
Turn the outcomes of migration runs into a result.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from espalier.cli.result import Column, Finding, Level, Result, Subject, Table
from espalier.engine import RunOutcome, Totals
from espalier.engine.status.stop_reasons import AGAIN
from espalier.names import MODE
from espalier.paths import JSON
from espalier.plurals import counted

_UNKNOWN = "-"

_COUNTS: Mapping[str, Callable[[Totals], int]] = MappingProxyType(
    {
        "rewritten": lambda totals: totals.rewritten,
        "unchanged": lambda totals: totals.unchanged,
        "gone": lambda totals: totals.gone,
        "conflict": lambda totals: totals.conflict,
        "rejected": lambda totals: totals.rejected,
        "unanswered": lambda totals: totals.unanswered,
        "skipped": lambda totals: totals.skipped,
    }
)
"""The counts of a run, in the order of the table's columns."""


def result_of(
    outcomes: Sequence[tuple[str, RunOutcome]],
    *,
    is_met: Callable[[RunOutcome], bool],
    warnings: Sequence[Finding],
) -> Result:
    """
    Return a result with the outcome and counts of each run, and the objects that failed.

    Args:
        outcomes: The names of the definitions, and the outcomes of their runs.
        is_met: Reports whether a run did everything that the command asked for.
        warnings: Further findings, to be added at the end.
    """
    proved = sum(outcome.is_proved for _, outcome in outcomes)
    findings = [
        Finding(
            level=Level.NOTE if is_met(outcome) else Level.ERROR,
            rule=f"migrate/{_reason(outcome)}",
            subject=Subject(name=name),
            message=_message(outcome),
        )
        for name, outcome in outcomes
    ]
    failures = [finding for name, outcome in outcomes for finding in failures_of(name, outcome)]
    return Result(
        kind="MigrateResult",
        summary=f"{counted(len(outcomes), 'definition')}, {proved} proved to be current",
        findings=(*findings, *failures, *warnings),
        subjects=tuple(Subject(name=name) for name, _ in outcomes),
        tables=(_table(outcomes),),
        items=tuple(migration_item(name, outcome) for name, outcome in outcomes),
        counts={"definitions": len(outcomes), "proved": proved, **_sums(outcomes)},
        is_incomplete=not all(is_met(outcome) for _, outcome in outcomes),
    )


def failures_of(name: str, outcome: RunOutcome) -> list[Finding]:
    """
    Return one finding for each object that failed, as far as they were kept by name.
    """
    totals = outcome.totals
    return [
        Finding(
            level=Level.ERROR,
            rule="migrate/object",
            subject=Subject(name=f"{name} {key}"),
            message=cause,
        )
        for key, cause in (totals.failed if totals else ())
    ]


def _sums(outcomes: Sequence[tuple[str, RunOutcome]]) -> dict[str, int]:
    known = [outcome.totals for _, outcome in outcomes if outcome.totals is not None]
    return {name: sum(map(count, known)) for name, count in _COUNTS.items()}


def _table(outcomes: Sequence[tuple[str, RunOutcome]]) -> Table:
    titles = ("DEFINITION", "CURRENT", "STORED", *(name.upper() for name in _COUNTS))
    return Table(
        columns=[Column(title=title) for title in titles],
        rows=[
            [name, _reason(outcome), ",".join(_stored(outcome)), *_cells(outcome.totals)]
            for name, outcome in outcomes
        ],
    )


def _cells(totals: Totals | None) -> list[str]:
    return [_UNKNOWN if totals is None else str(count(totals)) for count in _COUNTS.values()]


def _reason(outcome: RunOutcome) -> str:
    return outcome.reason or ("stopped" if outcome.definition else "gone")


def _message(outcome: RunOutcome) -> str:
    if outcome.definition is None:
        return "the definition is gone"
    if not outcome.conditions:
        return (
            f"the label {MODE} was removed or changed during the run; the objects that were"
            " rewritten stay so, and the same command continues from here"
        )
    current = outcome.conditions[0]
    # The operator tries again by itself; a command has ended.
    message = f"{current.reason}: {current.message}".replace(AGAIN, "run the command again")
    if outcome.is_proved and outcome.totals is None:
        return f"{message}. An earlier run has proved it, so nothing was written; see --again"
    return message


def _stored(outcome: RunOutcome) -> tuple[str, ...]:
    return outcome.definition.stored_versions if outcome.definition else ()


def migration_item(name: str, outcome: RunOutcome) -> dict[str, JSON]:
    """
    Return the record of one run for the JSON and YAML output.
    """
    totals = outcome.totals
    failed: list[JSON] = [
        {"namespace": key.namespace, "name": key.name, "cause": cause}
        for key, cause in (totals.failed if totals else ())
    ]
    objects: JSON = None
    if totals is not None:
        objects = {name: count(totals) for name, count in _COUNTS.items()}
    return {
        "name": name,
        "proved": outcome.is_proved,
        "reason": outcome.reason,
        "message": _message(outcome),
        "storedVersions": list(_stored(outcome)),
        "objects": objects,
        "failed": failed,
    }
