"""
Put back the fields that pruning removed.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from espalier import engine
from espalier.cli.checks.definition_names import full_name
from espalier.cli.operations.archive import unreadable_finding
from espalier.cli.options import Target, operator_homes
from espalier.cli.output.terminal import Terminal
from espalier.cli.result import Column, Finding, Level, Result, Subject, Table
from espalier.cluster import Cluster, FolderArchive
from espalier.crd import Definition
from espalier.engine import RecordPorts, RestoreReport, RunSettings, additions
from espalier.engine.ports import Archive, ObjectKey, UnreadablePage
from espalier.errors import EspalierError, LeaseLostError
from espalier.paths import render_pointer
from espalier.plurals import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreRequest:
    """
    The arguments of the command.
    """

    name: str
    namespace: str
    folder: Path | None
    objects: frozenset[str]
    namespaces: frozenset[str]

    def is_wanted(self, key: ObjectKey) -> bool:
        """
        Report whether an object is one of those that were asked for.

        A cluster-scoped object is in none of the namespaces.
        """
        if self.namespaces and key.namespace not in self.namespaces:
            return False
        return not self.objects or str(key) in self.objects

    def archive_of(self, connected: Cluster) -> Archive:
        """
        Return the archive to read.
        """
        return FolderArchive(self.folder) if self.folder else connected.archive(self.namespace)


class _Row(NamedTuple):
    """
    The result for one field.
    """

    key: str
    pointer: str
    state: str
    reason: str = ""


@dataclass(slots=True, kw_only=True)
class _RestoreOutcome:
    """
    The result for all fields.

    Attributes:
        present: The number of fields that were in their objects already.
        unreadable: The pages of the archive that could not be read.
        interruption: Why the command stopped early; empty if it did not.
    """

    rows: list[_Row] = field(default_factory=list)
    present: int = 0
    unreadable: list[UnreadablePage] = field(default_factory=list)
    interruption: str = ""

    @property
    def is_incomplete(self) -> bool:
        return bool(self.unreadable or self.interruption)


def restore(
    terminal: Terminal, target: Target, request: RestoreRequest, *, only_list: bool
) -> Result:
    """
    Put fields back.

    Args:
        only_list: Whether only to list what the archive has.

    Raises:
        UsageError: The name stands for several definitions.
        EspalierError: The cluster or the archive could not be read.
    """
    return _result_of(*asyncio.run(_restore(terminal, target, request, only_list=only_list)))


async def _restore(
    terminal: Terminal, target: Target, request: RestoreRequest, *, only_list: bool
) -> tuple[RestoreRequest, _RestoreOutcome]:
    async with target.connect() as connected:
        request = replace(request, name=await full_name(connected, request.name))
        definition = await connected.definitions.get_definition(request.name)
        if only_list:
            archive = request.archive_of(connected)
            return request, await _listed(request, archive, definition)
        return request, await _restored(terminal, connected, request, definition)


async def _listed(
    request: RestoreRequest, archive: Archive, definition: Definition
) -> _RestoreOutcome:
    outcome = _RestoreOutcome()
    async for entry in archive.entries(definition, pass_over=outcome.unreadable.append):
        if request.is_wanted(entry.key):
            outcome.rows += [
                _Row(str(entry.key), render_pointer(addition.pointer), "archived")
                for addition in additions(entry.patch)
            ]
    return outcome


async def _restored(
    terminal: Terminal, connected: Cluster, request: RestoreRequest, definition: Definition
) -> _RestoreOutcome:
    async def report_wait(error: LeaseLostError) -> None:
        terminal.print_notice(f"waiting for the lease held by {error.holder or 'another process'}")

    archive = request.archive_of(connected)
    ports = RecordPorts(
        checkpoints=connected.checkpoints(request.namespace),
        definitions=connected.definitions,
        clock=connected.clock,
    )
    report, interruption = RestoreReport(), ""

    async def restoring(fresh: Definition) -> RestoreReport:
        entries = archive.entries(fresh, pass_over=report.unreadable.append)
        return await engine.restore(
            fresh,
            entries,
            connected.objects,
            connected.clock,
            await engine.gate_alone(fresh, connected.objects, ports, RunSettings()),
            is_wanted=request.is_wanted,
            report=report,
        )

    try:
        await engine.restore_alone(
            definition,
            connected.definitions,
            connected.leases_among(request.namespace, homes=operator_homes),
            connected.clock,
            restoring=restoring,
            on_waiting=report_wait,
        )
    except EspalierError as error:
        if report.is_empty:
            raise
        interruption = str(error)
    return _RestoreOutcome(
        rows=[*_rows_of(report)],
        present=report.present,
        unreadable=report.unreadable,
        interruption=interruption,
    )


def _rows_of(report: RestoreReport) -> Iterator[_Row]:
    for key, pointers in sorted(report.restored.items()):
        for pointer in pointers:
            yield _Row(str(key), pointer, "restored")
    for one in report.refused:
        yield _Row(str(one.key), one.pointer or "all of it", "refused", one.reason)


def _result_of(request: RestoreRequest, outcome: _RestoreOutcome) -> Result:
    columns = [Column(title=title) for title in ("OBJECT", "PATH", "STATE")]
    numbers = Counter(row.state for row in outcome.rows)
    return Result(
        kind="RestoreResult",
        summary=_summary(outcome, numbers),
        findings=tuple(_findings(request, outcome)),
        tables=(Table(columns=columns, rows=[row[:3] for row in outcome.rows]),),
        items=tuple(
            {"object": row.key, "path": row.pointer, "state": row.state, "reason": row.reason}
            for row in outcome.rows
        ),
        counts={"present": outcome.present, "restored": numbers["restored"]},
        is_incomplete=outcome.is_incomplete,
    )


def _summary(outcome: _RestoreOutcome, numbers: Counter[str]) -> str:
    text = f"{counted(numbers['archived'], 'field')} in the archive"
    if not numbers["archived"]:
        text = (
            f"{numbers['restored']} restored, {outcome.present} already there, "
            f"{numbers['refused']} refused"
        )
    if outcome.unreadable:
        text += f"; {counted(len(outcome.unreadable), 'page')} left out"
    return f"{text}; interrupted" if outcome.interruption else text


def _findings(request: RestoreRequest, outcome: _RestoreOutcome) -> Iterator[Finding]:
    if outcome.interruption:
        yield _finding("interrupted", request.name, f"stopped early: {outcome.interruption}")
    yield from map(unreadable_finding, outcome.unreadable)
    for row in outcome.rows:
        if row.state == "refused":
            text = f"{row.pointer}: refused: {row.reason}"
            yield replace(_finding("refused", row.key, text), path=row.pointer)
    if not (outcome.rows or outcome.present or outcome.is_incomplete):
        yield _finding("nothing", request.name, _nothing(request))


def _finding(rule: str, name: str, message: str) -> Finding:
    subject = Subject(name=name)
    return Finding(level=Level.ERROR, rule=f"restore/{rule}", subject=subject, message=message)


def _nothing(request: RestoreRequest) -> str:
    is_part = request.objects or request.namespaces
    which = "of these objects" if is_part else f"of {request.name}"
    where = f"in {request.folder}" if request.folder else f"in namespace {request.namespace}"
    return f"the archive {where} has nothing {which}"
