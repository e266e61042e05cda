"""
The command line: parse arguments, call the layers below, print the result.

Rules about schemas, objects and migrations live in those layers, not here.
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

# Command to module, in the order in which --help lists them.
_COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "demo": "espalier.cli.demo.command",
        "check": "espalier.cli.commands.check",
        "validate": "espalier.cli.commands.validate",
        "prune": "espalier.cli.commands.normalize",
        "default": "espalier.cli.commands.normalize",
        "normalize": "espalier.cli.commands.normalize",
        "survey": "espalier.cli.commands.survey",
        "plan": "espalier.cli.commands.plan",
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
    Load each command only when it is run, and print its error as one line.

    Kopf and the Kubernetes client take longer to load than ``check`` takes for most files.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """
        Return the names of all commands.
        """
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """
        Load a command; return None if there is none of this name.
        """
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        command = getattr(importlib.import_module(_COMMANDS[cmd_name]), cmd_name)
        return command if isinstance(command, click.Command) else None

    def invoke(self, ctx: click.Context) -> Any:
        """
        Run a command; print its error, and exit with the code that belongs to the error.
        """
        try:
            return super().invoke(ctx)
        except EspalierError as error:
            _print_error(ctx, str(error), error)
            ctx.exit(exit_of(error))
        except (KeyboardInterrupt, click.Abort):
            click.echo("espalier: interrupted", err=True)
            ctx.exit(Exit.INCOMPLETE)
        except BrokenPipeError:
            # The reader of the pipe has closed it. Without this, Python prints an error.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(Exit.INCOMPLETE)
        except (click.ClickException, Exited):
            raise
        except Exception as error:  # noqa: BLE001 - the top of the command line, and nowhere else
            text = f"internal error: {type(error).__name__}: {error}; please report it with -vv"
            _print_error(ctx, text, error)
            ctx.exit(Exit.INCOMPLETE)


def _print_error(ctx: click.Context, text: str, error: Exception) -> None:
    if ctx.meta.get(VERBOSITY, 0) >= _WITH_TRACEBACK:
        traceback.print_exception(error)
    click.echo(f"espalier: {printable(text)}", err=True)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="espalier", message="espalier %(version)s")
def main() -> None:
    """
    Hold stored custom resources to the schema of their CustomResourceDefinition.

    \b
    Start here:
      espalier demo              show Espalier at work; needs no cluster
      espalier check crd.yaml    check a definition in a file
      espalier survey            report what is wrong with the objects of a cluster

    \b
    Exit codes of all commands:
      0  success, and there are no findings
      1  success, and there are findings
      2  the command line, a setting or the kubeconfig is not valid
      3  the cluster or a file could not be read
      4  the command stopped before it was done
    """
