"""
``espalier restore``: brings back what pruning removed.
"""

import asyncio
from dataclasses import dataclass
from pathlib import Path

import click

from espalier import cluster, engine
from espalier.cli.exits import Exit
from espalier.cluster import Cluster, FolderArchive
from espalier.crd import Definition
from espalier.engine import RestoreReport
from espalier.engine.calling import accompanied
from espalier.engine.guarding import Holder
from espalier.engine.inverting import additions
from espalier.engine.ports import Archive, ObjectKey
from espalier.errors import LeaseLostError
from espalier.handlers.settings import PREFIX, Settings
from espalier.paths import render_pointer

# A lease that a killed operator held runs out after 15 s; one that stopped gives it back at once.
_PATIENCE_SECONDS, _PAUSE_SECONDS = 20.0, 1.0


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


@click.command()
@click.argument("crd")
@click.option(
    "--namespace",
    default=Settings().namespace,
    show_default=True,
    envvar=f"{PREFIX}NAMESPACE",
    help="Where the operator keeps archives and leases.",
)
@click.option(
    "--archive-folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Read the archive from a folder instead.",
)
@click.option("--object", "objects", multiple=True, metavar="NAMESPACE/NAME", help="Only this one.")
@click.option("--list", "only_list", is_flag=True, help="Show what the archive has; write nothing.")
@click.option("--kubeconfig", metavar="FILE", help="Which cluster, as for the operator.")
@click.option("--context", metavar="NAME", help="Of the kubeconfig.  [default: its current one]")
@click.pass_context
def restore(  # noqa: PLR0913 - one argument an option
    ctx: click.Context,
    *,
    crd: str,
    namespace: str,
    archive_folder: Path | None,
    objects: tuple[str, ...],
    only_list: bool,
    kubeconfig: str | None,
    context: str | None,
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
        name=crd, namespace=namespace, folder=archive_folder, objects=frozenset(objects)
    )
    asyncio.run(_restore(ctx, request, kubeconfig, context, only_list=only_list))


async def _restore(
    ctx: click.Context,
    request: _Request,
    kubeconfig: str | None,
    context: str | None,
    *,
    only_list: bool,
) -> None:
    async with cluster.connect(kubeconfig, context=context) as connected:
        definition = await connected.definitions.get_definition(request.name)
        archive = request.archive_of(connected)
        if only_list:
            await _list(ctx, request, archive, definition)
            return
        report = await _restore_alone(connected, request, archive, definition)
    _tell(ctx, request, report)


async def _list(
    ctx: click.Context, request: _Request, archive: Archive, definition: Definition
) -> None:
    found = 0
    async for entry in archive.entries(definition):
        if request.is_wanted(entry.key):
            for addition in additions(entry.patch):
                found += 1
                click.echo(f"{entry.key}: {render_pointer(addition.pointer)}")
    if not found:
        _tell_nothing(ctx, request)


def _tell(ctx: click.Context, request: _Request, report: RestoreReport) -> None:
    for key, pointers in sorted(report.restored.items()):
        for pointer in pointers:
            click.echo(f"{key}: {pointer}: restored")
    for refusal in report.refused:
        click.echo(f"{refusal.key}: {refusal.pointer or 'all of it'}: refused: {refusal.reason}")
    restored = sum(map(len, report.restored.values()))
    if not restored and not report.refused and not report.present:
        _tell_nothing(ctx, request)
    click.echo(
        f"{restored} restored, {report.present} there already, {len(report.refused)} refused"
    )
    if report.refused:
        ctx.exit(Exit.FINDINGS)


def _tell_nothing(ctx: click.Context, request: _Request) -> None:
    which = "of these objects" if request.objects else f"of {request.name}"
    where = f"in {request.folder}" if request.folder else f"in namespace {request.namespace}"
    click.echo(f"the archive {where} has nothing {which}", err=True)
    ctx.exit(Exit.FINDINGS)


async def _restore_alone(
    connected: Cluster, request: _Request, archive: Archive, definition: Definition
) -> RestoreReport:
    """
    Restore under the lease of the definition, so that nobody prunes what is being put back.
    """
    leases, clock = connected.leases(request.namespace), connected.clock
    holder = Holder(leases, clock, definition)
    await _take(holder)
    try:
        # Read anew: the operator may have been at work on it until just now.
        fresh = await connected.definitions.get_definition(request.name)
        restoring = engine.restore(
            fresh, archive.entries(fresh), connected.objects, clock, is_wanted=request.is_wanted
        )
        return await accompanied(restoring, holder.renew(), holder.expire())
    finally:
        await leases.release(definition)


async def _take(holder: Holder) -> None:
    deadline = asyncio.get_running_loop().time() + _PATIENCE_SECONDS
    while True:
        try:
            await holder.take()
        except LeaseLostError:
            if asyncio.get_running_loop().time() > deadline:
                raise
            await asyncio.sleep(_PAUSE_SECONDS)
        else:
            return
