"""
``espalier archive``: list, show, copy and expire the data that pruning removed.
"""

import re
from pathlib import Path

import click

from espalier.cli.options import Command, Target, reporting, targeting
from espalier.cli.output.formats import TABULAR
from espalier.cli.output.terminal import Terminal

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_AGE = re.compile(r"([0-9]{1,9})([smhdw])")


class _Age(click.ParamType[float]):
    """
    A duration such as ``30d``, in seconds.
    """

    name = "age"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        match = _AGE.fullmatch(str(value))
        if match is None:
            self.fail(f"{value!r} is not an age: write 90d, 12h, 30m or 4w", param, ctx)
        return float(match[1]) * _UNITS[match[2]]


@click.group()
def archive() -> None:
    """
    List, show, copy and expire the data that pruning removed.

    Espalier prunes the objects of legacy definitions (preserveUnknownFields: true) itself. Before
    it removes a field, it writes the field to the archive: Secrets in the operator's namespace. A
    page of the archive holds the removed fields of several objects of one definition. The command
    restore puts them back.

    \b
    Examples:
      espalier archive list
      espalier archive show widgets.example.com
      espalier archive export ./archive
      espalier archive expire --older-than 90d

    \b
    Exit codes:
      0  done
      2  the command line or the kubeconfig is not valid
      3  the cluster or the archive could not be read
      4  part of the work was not done
    """


def _from_folder(command: Command) -> Command:
    option = click.option(
        "--archive-folder",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="Use an exported archive in this folder instead.",
    )
    return option(command)


@archive.command("list")
@click.argument("crd", required=False)
@_from_folder
@targeting()
@reporting(formats=TABULAR, fails=False)
def list_(
    *, terminal: Terminal, target: Target, crd: str | None, archive_folder: Path | None
) -> None:
    """
    List the pages of the archive.

    Pages of definitions that no longer exist are listed, too.

    \b
    Examples:
      espalier archive list
      espalier archive list widgets.example.com -o wide

    \b
    Exit codes:
      0  the pages are listed; there may be none
      2  the command line or the kubeconfig is not valid
      3  the cluster or the archive could not be read
      4  a page is incomplete, so that nothing can be restored from it
    """
    from espalier.cli.operations.archive import listed

    terminal.finish(listed(target, crd, archive_folder))


@archive.command()
@click.argument("crd")
@click.option("--values", is_flag=True, help="Show the values too; they may be secret.")
@_from_folder
@targeting()
@reporting(formats=TABULAR, fails=False)
def show(
    *, terminal: Terminal, target: Target, crd: str, values: bool, archive_folder: Path | None
) -> None:
    """
    Show which fields were removed from which objects.

    \b
    Examples:
      espalier archive show widgets.example.com
      espalier archive show widgets.example.com --values -o json

    \b
    Exit codes:
      0  the fields are shown; there may be none
      2  the command line or the kubeconfig is not valid
      3  the cluster or the archive could not be read
      4  a page is damaged or incomplete; the other pages are shown
    """
    from espalier.cli.operations.archive import shown

    terminal.finish(shown(target, crd, archive_folder, with_values=values))


@archive.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--crd", help="Only the pages of this definition.")
@targeting()
@reporting(formats=TABULAR, fails=False)
def export(*, terminal: Terminal, target: Target, folder: Path, crd: str | None) -> None:
    """
    Copy the archive to a folder. Nothing is removed from the cluster.

    restore can read the folder. The command may be repeated: a page that is in the folder already
    is not copied again.

    \b
    Examples:
      espalier archive export ./archive
      espalier restore widgets.example.com --archive-folder ./archive

    \b
    Exit codes:
      0  every page is in the folder
      2  the command line or the kubeconfig is not valid
      3  the cluster or the archive could not be read
      4  a page is damaged or incomplete, or the disk is full
    """
    from espalier.cli.operations.archive import exported

    terminal.finish(exported(target, folder, crd))


@archive.command()
@click.option(
    "--older-than", type=_Age(), required=True, metavar="AGE", help="A duration: 90d, 12h, 4w."
)
@click.option("--crd", help="Only the pages of this definition.")
@click.option("--dry-run", is_flag=True, help="List the pages; remove nothing.")
@click.option("--yes", "is_confirmed", is_flag=True, help="Do not ask for confirmation.")
@_from_folder
@targeting()
@reporting(formats=TABULAR, fails=False)
def expire(  # noqa: PLR0913 - one argument an option
    *,
    terminal: Terminal,
    target: Target,
    older_than: float,
    crd: str | None,
    dry_run: bool,
    is_confirmed: bool,
    archive_folder: Path | None,
) -> None:
    """
    Remove old pages permanently. Their contents can no longer be restored.

    Lists the pages first, and asks for confirmation. A page without a creation time is kept.

    \b
    Examples:
      espalier archive expire --older-than 90d --dry-run
      espalier archive expire --older-than 90d --crd widgets.example.com --yes

    \b
    Exit codes:
      0  the pages are removed, or there are none
      2  the command line or the kubeconfig is not valid
      3  the cluster or the archive could not be read
      4  nothing was removed, since it was not confirmed
    """
    from espalier.cli.operations.archive import expired

    result = expired(
        terminal,
        target,
        archive_folder,
        older_than,
        crd,
        dry_run=dry_run,
        is_confirmed=is_confirmed,
    )
    terminal.finish(result)
