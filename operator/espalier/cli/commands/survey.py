"""
``espalier survey``: examine stored objects, and write nothing.
"""

import click

from espalier.cli.options import (
    Fleet,
    Target,
    allow_missing,
    chosen,
    chosen_namespaces,
    everywhere,
    fleeting,
    namespaced,
    reporting,
    selecting,
    targeting,
)
from espalier.cli.output.terminal import Terminal


@click.command()
@click.argument("names", nargs=-1, metavar="[CRD...]")
@selecting
@namespaced()
@everywhere
@allow_missing
@targeting(examines=True)
@fleeting
@reporting()
def survey(  # noqa: PLR0913 - one argument an option
    *,
    terminal: Terminal,
    target: Target,
    fleet: Fleet,
    names: tuple[str, ...],
    selector: str,
    namespaces: tuple[str, ...],
    all_namespaces: bool,
    allow_missing: bool,
) -> None:
    """
    Report what a rewrite would do to stored objects, and which of them are invalid.

    Reads every object of the named definitions, or of all definitions, and writes nothing.
    Reports fields that would be lost, defaults that would be filled in, nulls that would be
    dropped, unknown fields of legacy definitions (preserveUnknownFields: true), differences
    between versions, violations of the schema, and objects that can no longer be updated. The
    output has paths, counts and names of objects, but no values.

    \b
    Examples:
      espalier survey
      espalier survey widgets.example.com -n team-a -o wide
      espalier survey -l team=web
      espalier survey -o json > survey.json
      espalier survey --contexts 'prod-*' --parallel 4

    \b
    Exit codes:
      0  no data would be lost, and no object is invalid or blocked
      1  data would be lost, or an object is invalid or blocked
      2  the command line or the kubeconfig is not valid
      3  the cluster could not be read
      4  some objects, or some of several clusters, could not be read
    """
    from espalier.cli.operations.survey import survey as examine
    from espalier.cli.operations.survey import survey_each

    choice = chosen(names, selector)
    within = chosen_namespaces(namespaces, all_namespaces=all_namespaces)
    if fleet.is_asked:
        result = survey_each(terminal, fleet, target, choice, within, allow_missing=allow_missing)
        terminal.finish(result)
    with terminal.progress("surveying") as advance:
        result = examine(target, choice, within, advance, allow_missing=allow_missing)
    terminal.finish(result)
