"""
``espalier restore``: brings back what pruning removed.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import click

from espalier import cluster, engine
from espalier.cli.formats import TABULAR
from espalier.cli.options import Target, reporting, targeting
from espalier.cli.results import Column, Finding, Level, Result, Subject, Table, counted
from espalier.cli.terminal import Terminal
from espalier.cluster import Cluster, FolderArchive
from espalier.crd import Definition
from espalier.engine import RestoreReport
from espalier.engine.calling import accompanied
from espalier.engine.guarding import Holder
from espalier.engine.inverting import additions
from espalier.engine.ports import Archive, ObjectKey
from espalier.errors import LeaseLostError
from espalier.paths import render_pointer


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
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
      4  the operator is at work on this CRD
    """
    request = _Request(
        name=crd,
        namespace=target.operator_namespace,
        folder=archive_folder,
        objects=frozenset(objects),
    )
    terminal.finish(asyncio.run(_restore(terminal, target, request, only_list=only_list)))


async def _restore(
    terminal: Terminal, target: Target, request: _Request, *, only_list: bool
) -> Result:
    async with cluster.connect(target.kubeconfig, context=target.context) as connected:
        definition = await connected.definitions.get_definition(request.name)
        archive = request.archive_of(connected)
        if only_list:
            return await _listed(request, archive, definition)
        report = await _restore_alone(terminal, connected, request, archive, definition)
    restored = [
        _Row(str(key), pointer, "restored")
        for key, pointers in sorted(report.restored.items())
        for pointer in pointers
    ]
    refused = [
        _Row(str(one.key), one.pointer or "all of it", "refused", one.reason)
        for one in report.refused
    ]
    return _result_of(request, [*restored, *refused], present=report.present)


async def _listed(request: _Request, archive: Archive, definition: Definition) -> Result:
    rows = [
        _Row(str(entry.key), render_pointer(addition.pointer), "archived")
        async for entry in archive.entries(definition)
        if request.is_wanted(entry.key)
        for addition in additions(entry.patch)
    ]
    return _result_of(request, rows, present=0)


def _result_of(request: _Request, rows: Sequence[_Row], *, present: int) -> Result:
    numbers = Counter(row.state for row in rows)
    told = f"{counted(numbers['archived'], 'field')} in the archive"
    if not numbers["archived"]:
        told = (
            f"{numbers['restored']} restored, {present} there already, {numbers['refused']} refused"
        )
    findings = [
        Finding(
            level=Level.ERROR,
            rule="restore/refused",
            subject=Subject(name=row.key),
            message=f"{row.pointer}: refused: {row.reason}",
            path=row.pointer,
        )
        for row in rows
        if row.state == "refused"
    ]
    if not rows and not present:
        nothing = Subject(name=request.name)
        text = _nothing(request)
        findings.append(
            Finding(level=Level.ERROR, rule="restore/nothing", subject=nothing, message=text)
        )
    columns = [Column(title=title) for title in ("OBJECT", "PATH", "STATE")]
    return Result(
        kind="RestoreResult",
        summary=told,
        findings=tuple(findings),
        tables=(Table(columns=columns, rows=[row[:3] for row in rows]),),
        items=tuple(
            {"object": row.key, "path": row.pointer, "state": row.state, "reason": row.reason}
            for row in rows
        ),
        counts={"present": present, "restored": numbers["restored"]},
    )


def _nothing(request: _Request) -> str:
    which = "of these objects" if request.objects else f"of {request.name}"
    where = f"in {request.folder}" if request.folder else f"in namespace {request.namespace}"
    return f"the archive {where} has nothing {which}"


async def _restore_alone(
    terminal: Terminal,
    connected: Cluster,
    request: _Request,
    archive: Archive,
    definition: Definition,
) -> RestoreReport:
    """
    Restore under the lease of the definition, so that nobody prunes what is being put back.
    """
    leases, clock = connected.leases(request.namespace), connected.clock

    async def tell(error: LeaseLostError) -> None:
        terminal.tell(f"waiting for the lease: {error}")

    holder = Holder(leases, clock, definition)
    await holder.take_in_time(tell)
    try:
        # Read anew: the operator may have been at work on it until just now.
        fresh = await connected.definitions.get_definition(request.name)
        restoring = engine.restore(
            fresh, archive.entries(fresh), connected.objects, clock, is_wanted=request.is_wanted
        )
        return await accompanied(restoring, holder.renew(), holder.expire())
    finally:
        await leases.release(definition)
