"""
``espalier status``: list definitions with the state of their objects.
"""

import click

from espalier.cli.options import Target, chosen, reporting, selecting, targeting
from espalier.cli.output.formats import TABULAR
from espalier.cli.output.terminal import Terminal

_WATCHED = ("table", "wide", "json")


@click.command()
@click.argument("names", nargs=-1, metavar="[CRD...]")
@click.option("--labelled", is_flag=True, help="Only definitions with the label espalier.dev/mode.")
@click.option(
    "-w",
    "--watch",
    "is_watching",
    is_flag=True,
    help="List them, and then each one whose row changes, until Ctrl-C.",
)
@selecting
@targeting(keeps=False)
@reporting(formats=TABULAR, fails=False)
def status(
    *,
    terminal: Terminal,
    target: Target,
    names: tuple[str, ...],
    labelled: bool,
    is_watching: bool,
    selector: str,
) -> None:
    """
    List definitions: are they structural, and are their objects current and valid?

    CURRENT shows status and reason of the condition espalier.dev/StoredObjectsCurrent, VALID those
    of espalier.dev/StoredObjectsValid. -o wide shows the message of CURRENT too. A definition whose
    names are not accepted gets a warning: API servers serve it under its old names. CRD is a full
    name, or the plural, the singular, the kind or a short name of the resource.

    \b
    Examples:
      espalier status
      espalier status --labelled -o wide
      espalier status widgets.example.com -o json
      espalier status -l team=web --watch

    \b
    Exit codes:
      0  the definitions are listed
      2  the command line or the kubeconfig is not valid
      3  the cluster or one of its definitions could not be read
    """
    from espalier.cli.operations import status as operation

    if is_watching and terminal.output not in _WATCHED:
        raise click.UsageError(f"--watch prints {', '.join(_WATCHED)}, not {terminal.output}.")
    if names in (("crd",), ("crds",)):
        names = ()
    choice = chosen(names, selector)
    result, found = operation.listed(target, choice, labelled=labelled)
    if not is_watching or result.problems:
        terminal.finish(result)
    operation.watch(terminal, target, result, found, selector, labelled=labelled)
