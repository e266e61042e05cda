"""
``espalier restore``: put back the fields that pruning removed.
"""

from pathlib import Path

import click

from espalier.cli.options import Target, namespaced, reporting, targeting
from espalier.cli.output.formats import TABULAR
from espalier.cli.output.terminal import Terminal


@click.command()
@click.argument("crd")
@click.option(
    "--archive-folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Use an exported archive in this folder instead.",
)
@click.option(
    "--object",
    "objects",
    multiple=True,
    metavar="NAMESPACE/NAME",
    help="Restore only this object; may be given more than once.",
)
@click.option(
    "--list", "only_list", is_flag=True, help="List the fields in the archive; write nothing."
)
@namespaced("Restore only objects in this namespace; may be given more than once.")
@targeting()
@reporting(formats=TABULAR, fails=False)
def restore(  # noqa: PLR0913 - one argument an option
    *,
    terminal: Terminal,
    target: Target,
    crd: str,
    archive_folder: Path | None,
    objects: tuple[str, ...],
    namespaces: tuple[str, ...],
    only_list: bool,
) -> None:
    """
    Put back the fields that Espalier pruned from the objects of a CRD.

    A field is put back only into the object that it came from, only if the object has no other
    value in its place, and only if it would not be pruned again. So first remove the label
    espalier.dev/mode, or specify the field in the schema. Each field is read back after it was
    written.

    \b
    Examples:
      espalier restore widgets.example.com --list
      espalier restore widgets.example.com -n team-a
      espalier restore widgets.example.com --object default/blue

    \b
    Exit codes:
      0  every field was put back, or was there already
      1  a field was refused, or the archive has no fields of this CRD
      2  the command line or the kubeconfig is not valid
      3  the cluster or the archive could not be read
      4  part of the work was not done: a page of the archive is damaged,
         the operator is working on this CRD, or an error occurred;
         the output lists the fields that were put back
    """
    from espalier.cli.operations.restore import RestoreRequest
    from espalier.cli.operations.restore import restore as put_back

    request = RestoreRequest(
        name=crd,
        namespace=target.operator_namespace,
        folder=archive_folder,
        objects=frozenset(objects),
        namespaces=frozenset(namespaces),
    )
    terminal.finish(put_back(terminal, target, request, only_list=only_list))
