"""
``espalier rbac``: print the roles that let the operator work on definitions.
"""

import click

from espalier.cli.options import Target, chosen, namespaced, reporting, targeting
from espalier.cli.output.terminal import Terminal


@click.command()
@click.argument("names", nargs=-1, metavar="[CRD...]")
@click.option(
    "-f",
    "--filename",
    "files",
    multiple=True,
    metavar="FILE",
    help="Read definitions from a file, a folder or - instead of the cluster.",
)
@namespaced("Only in this namespace; may be given more than once.")
@targeting()
@reporting(formats=("yaml", "json"), fails=False)
def rbac(
    *,
    terminal: Terminal,
    target: Target,
    names: tuple[str, ...],
    files: tuple[str, ...],
    namespaces: tuple[str, ...],
) -> None:
    """
    Print the roles that let the operator work on definitions, for kubectl apply.

    Each definition gets a ClusterRole that the operator's own aggregates: what a run does with its
    objects, and patches of the status of this definition alone. With -n, or with the annotation
    espalier.dev/namespaces, rights on objects are in a Role and a RoleBinding in each namespace
    instead. Labels count: mode observe only reads. Writes nothing.

    \b
    Examples:
      espalier rbac widgets.example.com | kubectl apply -f -
      espalier rbac -f config/crd/ -n team-a -n team-b > roles.yaml

    \b
    Exit codes:
      0  the roles are printed
      2  the command line or the kubeconfig is not valid
      3  the cluster or a file could not be read, or there is no such definition
    """
    from espalier.cli.operations.rbac import write_roles

    if bool(names) == bool(files):
        raise click.UsageError("Name definitions of the cluster, or files with -f: one of both.")
    text = write_roles(target, chosen(names), files, namespaces=namespaces, output=terminal.output)
    click.echo(text, nl=False)
