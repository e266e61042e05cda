"""
``espalier version``: print the versions of Espalier, its rules and Python.
"""

import platform

import click

from espalier import __version__
from espalier.cli.options import reporting
from espalier.cli.output.formats import TABULAR
from espalier.cli.output.terminal import Terminal
from espalier.cli.result import Column, Result, Table
from espalier.names import OUTPUT_API_VERSION
from espalier.paths import JSON

MIRRORED = "1.37"
"""The Kubernetes release whose rules Espalier follows."""


@click.command()
@reporting(formats=TABULAR, fails=False)
def version(*, terminal: Terminal) -> None:
    """
    Print the version of Espalier.

    With -o wide, json or yaml also the Kubernetes release whose rules it follows.

    \b
    Examples:
      espalier version
      espalier version -o json

    \b
    Exit codes:
      0  the version is printed
      2  the command line is not valid
    """
    facts: dict[str, JSON] = {
        "espalier": __version__,
        "kubernetesRules": MIRRORED,
        "python": platform.python_version(),
        "output": OUTPUT_API_VERSION,
    }
    rows = [[name, str(value)] for name, value in facts.items()]
    table = Table(columns=[Column(title="PART"), Column(title="VERSION")], rows=rows, is_wide=True)
    terminal.finish(
        Result(
            kind="Version",
            summary=f"espalier {facts['espalier']}",
            items=(facts,),
            tables=(table,),
        )
    )
