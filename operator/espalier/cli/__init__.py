"""
The command line: reads, calls, renders; nothing is decided here.
"""

from typing import Any

import click

from espalier.cli.checking import check
from espalier.cli.exits import exit_of
from espalier.errors import EspalierError


class _Commands(click.Group):
    """
    Commands whose errors are one line each.
    """

    def invoke(self, ctx: click.Context) -> Any:
        """
        Run a command; an error of Espalier's own is told, and ends with its exit code.
        """
        try:
            return super().invoke(ctx)
        except EspalierError as error:
            click.echo(f"espalier: {error}", err=True)
            ctx.exit(exit_of(error))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="espalier", message="espalier %(version)s")
def main() -> None:
    """
    Espalier holds stored custom resources to the schema of their CustomResourceDefinition.

    \b
    Begin here:
      espalier demo             see it work, without a cluster
      espalier check crd.yaml   is this definition structural?

    \b
    Exit codes of all commands:
      0  clean          1  findings
      2  usage          3  the cluster or a file could not be read
      4  incomplete
    """


main.add_command(check)
