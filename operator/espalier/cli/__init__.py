"""
The command line: reads, calls, renders; nothing is decided here.
"""

import importlib
import os
import sys
import traceback
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import click
from click.exceptions import Exit as Exited

from espalier.cli.options import VERBOSITY
from espalier.cli.output.exit_codes import Exit, exit_of
from espalier.cli.output.tables import printable
from espalier.errors import EspalierError

_WITH_TRACEBACK = 2

# In the order in which somebody new meets them: module and command.
_COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "demo": "espalier.cli.demo.command",
        "check": "espalier.cli.commands.check",
        "validate": "espalier.cli.commands.validate",
        "prune": "espalier.cli.commands.normalize",
        "default": "espalier.cli.commands.normalize",
        "normalize": "espalier.cli.commands.normalize",
        "survey": "espalier.cli.commands.survey",
        "plan": "espalier.cli.commands.survey",
        "operator": "espalier.cli.commands.operator",
        "migrate": "espalier.cli.commands.migrate",
        "status": "espalier.cli.commands.status",
        "restore": "espalier.cli.commands.restore",
        "archive": "espalier.cli.commands.archive",
        "cleanup": "espalier.cli.commands.cleanup",
        "version": "espalier.cli.commands.version",
        "completion": "espalier.cli.commands.completion",
    }
)


class _Commands(click.Group):
    """
    Commands that are loaded when they are asked for, and whose errors are one line each.

    Kopf and the Kubernetes client take longer to load than ``check`` takes for most files.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """
        Name all commands.
        """
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """
        Load a command.
        """
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        command = getattr(importlib.import_module(_COMMANDS[cmd_name]), cmd_name)
        return command if isinstance(command, click.Command) else None

    def invoke(self, ctx: click.Context) -> Any:
        """
        Run a command; an error of Espalier's own is told, and ends with its exit code.
        """
        try:
            return super().invoke(ctx)
        except EspalierError as error:
            _tell(ctx, str(error), error)
            ctx.exit(exit_of(error))
        except (KeyboardInterrupt, click.Abort):
            click.echo("espalier: interrupted", err=True)
            ctx.exit(Exit.INCOMPLETE)
        except BrokenPipeError:
            # Whoever read the output has seen enough; Python would complain when it ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(Exit.INCOMPLETE)
        except (click.ClickException, Exited):
            raise
        except Exception as error:  # noqa: BLE001 - the top of the command line, and nowhere else
            text = f"a bug: {type(error).__name__}: {error}; -vv shows where, please report it"
            _tell(ctx, text, error)
            ctx.exit(Exit.INCOMPLETE)


def _tell(ctx: click.Context, text: str, error: Exception) -> None:
    if ctx.meta.get(VERBOSITY, 0) >= _WITH_TRACEBACK:
        traceback.print_exception(error)
    click.echo(f"espalier: {printable(text)}", err=True)


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
