"""
``espalier survey``: examine stored objects, and write nothing.
"""

import click

from espalier.cli.options import (
    Target,
    allow_missing,
    chosen,
    chosen_namespaces,
    everywhere,
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
@reporting()
def survey(  # noqa: PLR0913 - one argument an option
    *,
    terminal: Terminal,
    target: Target,
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

    \b
    Exit codes:
      0  no data would be lost, and no object is invalid or blocked
      1  data would be lost, or an object is invalid or blocked
      2  the command line or the kubeconfig is not valid
      3  the cluster could not be read
      4  some objects could not be read
    """
    from espalier.cli.operations.survey import survey as examine

    choice = chosen(names, selector)
    within = chosen_namespaces(namespaces, all_namespaces=all_namespaces)
    with terminal.progress("surveying") as advance:
        result = examine(target, choice, within, advance, allow_missing=allow_missing)
    terminal.finish(result)
