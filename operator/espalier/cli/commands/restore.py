"""
``espalier restore``: brings back what pruning removed.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import click

from espalier import cluster, engine
from espalier.cli.commands.archive import unreadable_finding
from espalier.cli.options import Target, operator_homes, reporting, targeting
from espalier.cli.output.formats import TABULAR
from espalier.cli.output.terminal import Terminal
from espalier.cli.result import Column, Finding, Level, Result, Subject, Table
from espalier.cluster import Cluster, FolderArchive
from espalier.crd import Definition
from espalier.engine import RestoreReport
from espalier.engine.legacy.inverse_patches import additions
from espalier.engine.ports import ObjectKey
from espalier.engine.ports.archive import Archive, UnreadablePage
from espalier.errors import EspalierError, LeaseLostError
from espalier.paths import render_pointer
from espalier.plurals import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class _RestoreRequest:
    """
    What was asked for.
    """

    name: str
    namespace: str
    folder: Path | None
    objects: frozenset[str]

    def is_wanted(self, key: ObjectKey) -> bool:
        return not self.objects or str(key) in self.objects

    def archive_of(self, connected: Cluster) -> Archive:
        return FolderArchive(self.folder) if self.folder else connected.archive(self.namespace)


class _Row(NamedTuple):
    """
    What became of one field.
    """

    key: str
    pointer: str
    state: str
    reason: str = ""


@dataclass(slots=True, kw_only=True)
class _Told:
    """
    What there is to say.

    Attributes:
        unreadable: Pages that were left out.
        interruption: Why it did not get through; empty if it did.
    """

    rows: list[_Row] = field(default_factory=list)
    present: int = 0
    unreadable: list[UnreadablePage] = field(default_factory=list)
    interruption: str = ""

    @property
    def is_incomplete(self) -> bool:
        return bool(self.unreadable or self.interruption)


@click.command()
@click.argument("crd")
@click.option(
    "--archive-folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Read the archive from a folder instead.",
)
@click.option("--object", "objects", multiple=True, metavar="NAMESPACE/NAME", help="Only this one.")
@click.option("--list", "only_list", is_flag=True, help="Show what the archive has; write nothing.")
@targeting(also="--namespace")
@reporting(formats=TABULAR, fails=False)
def restore(
    *,
    terminal: Terminal,
    target: Target,
    crd: str,
    archive_folder: Path | None,
    objects: tuple[str, ...],
    only_list: bool,
) -> None:
    """
    Bring back what Espalier pruned from the objects of a CRD.

    A field is put back only into the object that it was taken from, only where nothing stands in
    its place, and only if it would not be pruned again: take the label espalier.dev/mode off
    first, or specify the field in the schema. What is put back is read back.

    \b
    Examples:
      espalier restore widgets.example.com --list
      espalier restore widgets.example.com --object default/blue

    \b
    Exit codes:
      0  everything was put back, or is there
      1  something was refused, or the archive has nothing
      2  the command line or the kubeconfig makes no sense
      3  the cluster or the archive could not be read
      4  not all of it was done: a page of the archive is damaged, or the operator is at work on
         this CRD, or something else came in between; the output tells what was put back
    """
    request = _RestoreRequest(
        name=crd,
        namespace=target.operator_namespace,
        folder=archive_folder,
        objects=frozenset(objects),
    )
    told = asyncio.run(_restore(terminal, target, request, only_list=only_list))
    terminal.finish(_result_of(request, told))


async def _restore(
    terminal: Terminal, target: Target, request: _RestoreRequest, *, only_list: bool
) -> _Told:
    async with cluster.connect(target.kubeconfig, context=target.context) as connected:
        definition = await connected.definitions.get_definition(request.name)
        if only_list:
            return await _listed(request, request.archive_of(connected), definition)
        return await _restored(terminal, connected, request, definition)


async def _listed(request: _RestoreRequest, archive: Archive, definition: Definition) -> _Told:
    told = _Told()
    async for entry in archive.entries(definition, pass_over=told.unreadable.append):
        if request.is_wanted(entry.key):
            told.rows += [
                _Row(str(entry.key), render_pointer(addition.pointer), "archived")
                for addition in additions(entry.patch)
            ]
    return told


async def _restored(
    terminal: Terminal, connected: Cluster, request: _RestoreRequest, definition: Definition
) -> _Told:
    async def tell(error: LeaseLostError) -> None:
        terminal.tell(f"waiting for the lease held by {error.holder or 'another process'}")

    archive = request.archive_of(connected)
    report, interruption = RestoreReport(), ""

    async def restoring(fresh: Definition) -> RestoreReport:
        entries = archive.entries(fresh, pass_over=report.unreadable.append)
        return await engine.restore(
            fresh,
            entries,
            connected.objects,
            connected.clock,
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
            tell=tell,
        )
    except EspalierError as error:
        if report.is_empty:
            raise
        interruption = str(error)
    return _Told(
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


def _result_of(request: _RestoreRequest, told: _Told) -> Result:
    columns = [Column(title=title) for title in ("OBJECT", "PATH", "STATE")]
    numbers = Counter(row.state for row in told.rows)
    return Result(
        kind="RestoreResult",
        summary=_summary(told, numbers),
        findings=tuple(_findings(request, told)),
        tables=(Table(columns=columns, rows=[row[:3] for row in told.rows]),),
        items=tuple(
            {"object": row.key, "path": row.pointer, "state": row.state, "reason": row.reason}
            for row in told.rows
        ),
        counts={"present": told.present, "restored": numbers["restored"]},
        is_incomplete=told.is_incomplete,
    )


def _summary(told: _Told, numbers: Counter[str]) -> str:
    text = f"{counted(numbers['archived'], 'field')} in the archive"
    if not numbers["archived"]:
        text = (
            f"{numbers['restored']} restored, {told.present} there already, "
            f"{numbers['refused']} refused"
        )
    if told.unreadable:
        text += f"; {counted(len(told.unreadable), 'page')} left out"
    return f"{text}; interrupted" if told.interruption else text


def _findings(request: _RestoreRequest, told: _Told) -> Iterator[Finding]:
    if told.interruption:
        yield _finding("interrupted", request.name, f"not all of it was done: {told.interruption}")
    yield from map(unreadable_finding, told.unreadable)
    for row in told.rows:
        if row.state == "refused":
            text = f"{row.pointer}: refused: {row.reason}"
            yield replace(_finding("refused", row.key, text), path=row.pointer)
    if not (told.rows or told.present or told.is_incomplete):
        yield _finding("nothing", request.name, _nothing(request))


def _finding(rule: str, name: str, message: str) -> Finding:
    subject = Subject(name=name)
    return Finding(level=Level.ERROR, rule=f"restore/{rule}", subject=subject, message=message)


def _nothing(request: _RestoreRequest) -> str:
    which = "of these objects" if request.objects else f"of {request.name}"
    where = f"in {request.folder}" if request.folder else f"in namespace {request.namespace}"
    return f"the archive {where} has nothing {which}"
