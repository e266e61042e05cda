"""
``espalier can-drop``: may a version be dropped from a definition? One answer, and why.
"""

import click

from espalier.cli.options import Target, reporting, targeting
from espalier.cli.output.terminal import Terminal


@click.command(name="can-drop")
@click.argument("version")
@click.argument("name", metavar="CRD")
@targeting(keeps=False)
@reporting()
def can_drop(*, terminal: Terminal, target: Target, version: str, name: str) -> None:
    """
    Report whether a version of a definition may be dropped, and what forbids it.

    Checks the definition without VERSION as the API server would, and reads the metadata of all
    objects: storedVersions, objects that cannot be read, managedFields that name the version and
    who wrote them, whether the version is served, and conversion. Writes nothing.

    \b
    Examples:
      espalier can-drop v1alpha1 widgets.example.com
      espalier can-drop v1alpha1 widgets.example.com --fail-on warning -o json

    \b
    Exit codes:
      0  yes, the version can be dropped
      1  no, or with --fail-on warning: there are doubts; the output gives reasons
      2  the command line or the kubeconfig is not valid
      3  the cluster could not be read, or there is no such definition or version
      4  no, and some objects could not be read
    """
    from espalier.cli.operations.can_drop import answer

    if {".", "/"} & set(version) and not {".", "/"} & set(name):
        raise click.UsageError(f"VERSION comes first: espalier can-drop {name} {version}")
    with terminal.progress("reading") as advance:
        result = answer(target, version, name, advance)
    terminal.finish(result)
