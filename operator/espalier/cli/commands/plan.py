"""
``espalier plan``: what would changed definitions do to the stored objects? Nothing is written.
"""

import click

from espalier.cli.options import (
    Target,
    allow_missing,
    chosen_namespaces,
    everywhere,
    namespaced,
    reporting,
    targeting,
)
from espalier.cli.output.terminal import Terminal


@click.command()
@click.option(
    "-f",
    "--filename",
    "files",
    multiple=True,
    required=True,
    metavar="NEW-CRD",
    help="The changed definitions: a file, a folder or -; may be given more than once.",
)
@click.option(
    "--if-absent",
    type=click.Choice(["fail", "ok"]),
    default="fail",
    show_default=True,
    help="A definition that the cluster lacks: fail, or check it as a new one.",
)
@namespaced()
@everywhere
@allow_missing
@targeting(examines=True)
@reporting()
def plan(  # noqa: PLR0913 - one argument an option
    *,
    terminal: Terminal,
    target: Target,
    files: tuple[str, ...],
    if_absent: str,
    namespaces: tuple[str, ...],
    all_namespaces: bool,
    allow_missing: bool,
) -> None:
    """
    Report what a changed definition would do to the stored objects.

    First, checks NEW-CRD as an update of the definition in the cluster: what an API server would
    refuse, names that are in use, and new warnings. Then checks every stored object against the
    storage version's schema in NEW-CRD: fields that would be lost, new defaults, and violations
    that do not exist today. Says what cannot be judged because a webhook converts. Writes nothing;
    the output has paths, counts and names of objects, but no values.

    \b
    Examples:
      espalier plan -f widgets.yaml
      espalier plan -f config/crd/ --if-absent=ok --fail-on warning -o markdown

    \b
    Exit codes:
      0  the API server would accept it, and no object would lose data or become
         invalid
      1  it would be refused, or an object would lose data or become invalid
      2  the command line or the kubeconfig is not valid
      3  a file or the cluster could not be read, or has no such definition
      4  some objects could not be read
    """
    from espalier.cli.operations.plan import plan as examine

    chosen = chosen_namespaces(namespaces, all_namespaces=all_namespaces)
    with terminal.progress("planning") as advance:
        result = examine(
            target,
            files,
            chosen,
            advance,
            is_absence_allowed=if_absent == "ok",
            allow_missing=allow_missing,
        )
    terminal.finish(result)
