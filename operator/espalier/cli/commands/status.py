"""
``espalier status`` and ``espalier report``: the state of all definitions, as a list or a document.
"""

import click

from espalier.cli.options import Fleet, Target, chosen, fleeting, reporting, selecting, targeting
from espalier.cli.output.formats import TABULAR
from espalier.cli.output.terminal import Terminal

_WATCHED = ("table", "wide", "json")
REPORTS = ("html", "markdown", "json")
"""The formats of a report."""


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
@fleeting
@reporting(formats=TABULAR, fails=False)
def status(  # noqa: PLR0913 - one argument an option
    *,
    terminal: Terminal,
    target: Target,
    fleet: Fleet,
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
      espalier status --labelled --contexts staging,'prod-*'
      espalier status --all-contexts -o json

    \b
    Exit codes:
      0  the definitions are listed
      2  the command line or the kubeconfig is not valid
      3  the cluster or one of its definitions could not be read
      4  some of several clusters could not be read; the others are listed
    """
    from espalier.cli.operations import status as operation

    if is_watching:
        _check_watch(terminal, fleet)
    if names in (("crd",), ("crds",)):
        names = ()
    choice = chosen(names, selector)
    if fleet.is_asked:
        each = operation.listed_in_each(terminal, fleet, target, choice, labelled=labelled)
        terminal.finish(each)
    result, found = operation.listed(target, choice, labelled=labelled)
    if not is_watching or result.problems:
        terminal.finish(result)
    operation.watch(terminal, target, result, found, selector, labelled=labelled)


def _check_watch(terminal: Terminal, fleet: Fleet) -> None:
    if fleet.is_asked:
        raise click.UsageError("--watch watches one cluster.")
    if terminal.output not in _WATCHED:
        raise click.UsageError(f"--watch prints {', '.join(_WATCHED)}, not {terminal.output}.")


@click.command()
@click.argument("files", nargs=-1, metavar="[FILE...]")
@targeting()
@fleeting
@click.option(
    "-o",
    "--output",
    type=click.Choice(REPORTS),
    default="html",
    show_default=True,
    help="The format of the report.",
)
@click.option(
    "--messages",
    is_flag=True,
    help="Include the messages of conditions; they name objects.",
)
@click.option(
    "--from-configmap",
    "is_kept",
    is_flag=True,
    help="Read the report that the operator keeps, instead of all definitions.",
)
def report(
    *,
    files: tuple[str, ...],
    target: Target,
    fleet: Fleet,
    output: str,
    messages: bool,
    is_kept: bool,
) -> None:
    """
    Write a report about all definitions, to hand on.

    The report is one file that needs nothing else: the picture of the operator's page as HTML, or
    its content as Markdown or JSON; without runs, rates and surveys, which only the operator's
    memory has. It has names of definitions, counts and reasons, no values, and no names of objects
    unless --messages is given. It is read from the cluster, and nothing is written.

    --from-configmap reads the ConfigMap espalier-report in the operator's namespace instead, which
    has the runs and surveys too, and needs no right but to get it. Standard error says how old it
    is.

    FILE is a report as JSON: several are merged into one, by the names of the files. So are the
    clusters of --contexts. Then each definition is shown with its cluster, and each command to copy
    has --context.

    \b
    Examples:
      espalier report > report.html
      espalier report -o markdown >> ticket.md
      espalier report -o json --context production | jq '.definitions[].stage'
      espalier report --from-configmap -o markdown
      espalier report --contexts 'prod-*' > fleet.html
      espalier report prod-1.json prod-2.json -o markdown

    \b
    Exit codes:
      0  the report is written
      2  the command line or the kubeconfig is not valid
      3  the cluster or one of its definitions could not be read
      4  some clusters or files, or a part of the report, could not be read
    """
    from espalier.cli.operations.report import finish, gather

    if files and (fleet.is_asked or is_kept or target.context is not None):
        raise click.UsageError("Name files, or clusters: one of both.")
    finish(gather(files, target, fleet, is_kept=is_kept), output, with_messages=messages)
