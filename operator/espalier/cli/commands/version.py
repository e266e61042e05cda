"""
``espalier version``: which Espalier this is, and on what it runs.
"""

import platform
from importlib.metadata import version as version_of

import click

from espalier.cli.options import reporting
from espalier.cli.output.formats import TABULAR
from espalier.cli.output.terminal import Terminal
from espalier.cli.result import Column, Result, Table
from espalier.names import OUTPUT_API_VERSION

MIRRORED = "1.37"
"""The release of Kubernetes whose rules are mirrored."""


@click.command()
@reporting(formats=TABULAR, fails=False)
def version(*, terminal: Terminal) -> None:
    """
    Show which Espalier this is.

    \b
    Examples:
      espalier version
      espalier version -o json

    \b
    Exit codes:
      0  always
      2  the command line makes no sense
    """
    facts = {
        "espalier": version_of("espalier"),
        "kubernetesRules": MIRRORED,
        "python": platform.python_version(),
        "output": OUTPUT_API_VERSION,
    }
    rows = [[name, value] for name, value in facts.items()]
    table = Table(columns=[Column(title="PART"), Column(title="VERSION")], rows=rows, is_wide=True)
    terminal.finish(
        Result(
            kind="Version",
            summary=f"espalier {facts['espalier']}",
            items=({**facts},),
            tables=(table,),
        )
    )
