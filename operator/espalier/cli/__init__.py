"""
The command line: parse arguments, call the layers below, print the result.

Rules about schemas, objects and migrations live in those layers, not here.
"""

import atexit
import gc
import importlib
import os
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import click
from click.exceptions import Exit as Exited
from click.shell_completion import CompletionItem, ShellComplete

from espalier import __version__
from espalier.cli.arguments import FILE_COMMANDS, as_meant
from espalier.cli.collector import collect_seldom
from espalier.cli.output.console import VERBOSITY, printable
from espalier.cli.output.exit_codes import Exit

_WITH_TRACEBACK = 2
# Directives of cobra.
_COMPLETE_FILES, _COMPLETE_NO_FILES = 0, 4

# Command, module and the first sentence of its help, in the order in which --help lists them.
_COMMANDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "demo": (
            "espalier.cli.demo.command",
            "Show Espalier at work, without a cluster.",
        ),
        "check": (
            "espalier.cli.commands.check",
            "Check whether definitions are structural, and whether API servers accept them.",
        ),
        "validate": (
            "espalier.cli.commands.validate",
            "Validate objects as an API server would.",
        ),
        "prune": (
            "espalier.cli.commands.normalize",
            "Print objects without the fields that their schemas do not specify.",
        ),
        "default": (
            "espalier.cli.commands.normalize",
            "Print objects with the defaults of their schemas.",
        ),
        "normalize": (
            "espalier.cli.commands.normalize",
            (
                "Print objects in normal form: pruned and defaulted, without "
                "nulls that are not allowed."
            ),
        ),
        "survey": (
            "espalier.cli.commands.survey",
            "Report what a rewrite would do to stored objects, and which of them are invalid.",
        ),
        "plan": (
            "espalier.cli.commands.plan",
            "Report what a changed definition would do to the stored objects.",
        ),
        "can-drop": (
            "espalier.cli.commands.can_drop",
            "Report whether a version of a definition may be dropped, and what forbids it.",
        ),
        "operator": (
            "espalier.cli.commands.operator",
            "Run the operator until it receives SIGTERM or Ctrl-C.",
        ),
        "migrate": (
            "espalier.cli.commands.migrate",
            "Rewrite stored objects, check that all are current, and trim storedVersions.",
        ),
        "status": (
            "espalier.cli.commands.status",
            "List definitions: are they structural, and are their objects current and valid?",
        ),
        "report": (
            "espalier.cli.commands.status",
            "Write a report about all definitions, to hand on.",
        ),
        "restore": (
            "espalier.cli.commands.restore",
            "Put back the fields that Espalier pruned from the objects of a CRD.",
        ),
        "archive": (
            "espalier.cli.commands.archive",
            "List, show, copy and expire the data that pruning removed.",
        ),
        "rbac": (
            "espalier.cli.commands.rbac",
            "Print the roles that let the operator work on definitions, for kubectl apply.",
        ),
        "cleanup": (
            "espalier.cli.commands.cleanup",
            "Remove Espalier's labels, annotations and conditions.",
        ),
        "version": (
            "espalier.cli.commands.version",
            "Print the version of Espalier.",
        ),
        "completion": (
            "espalier.cli.commands.completion",
            "Print a script with which a shell completes commands and options.",
        ),
    }
)


class _Commands(click.Group):
    """
    Load each command only when it is run, and print its error as one line.

    Kopf and the Kubernetes client take longer to load than ``check`` takes for most files.
    """

    def main(self, *args: Any, **extra: Any) -> Any:
        """
        Run the command line.

        When the process ends, Python would search all objects for cycles again, and free them one
        by one, which takes a fifth of the time of a short command.
        """
        atexit.register(gc.freeze)
        return super().main(*args, **extra)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """
        Read the arguments as users of kubectl mean them.
        """
        return super().parse_args(ctx, as_meant(args))

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
        if cmd_name in FILE_COMMANDS:
            collect_seldom()
        module = importlib.import_module(_COMMANDS[cmd_name][0])
        command = getattr(module, cmd_name.replace("-", "_"))
        return command if isinstance(command, click.Command) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """
        Find the command that is meant; name one that is written alike if there is none.

        Click compares only with commands that are loaded.
        """
        if args[0] not in _COMMANDS and not ctx.resilient_parsing:
            import difflib

            for known in difflib.get_close_matches(args[0], _COMMANDS, n=1):
                ctx.fail(f"No such command {args[0]!r}. Did you mean {known!r}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """
        Write the list of commands, without loading any.
        """
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """
        Return the commands and options that begin with a text, without loading any command.
        """
        commands = [
            CompletionItem(name, help=text)
            for name, (_, text) in _COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def invoke(self, ctx: click.Context) -> Any:
        """
        Run a command; print its error, and exit with the code that belongs to the error.
        """
        try:
            return super().invoke(ctx)
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
            ctx.exit(_report(ctx, error))


def _report(ctx: click.Context, error: Exception) -> Exit:
    from espalier.cli.output.error_exits import exit_of, text_of
    from espalier.errors import EspalierError

    if ctx.meta.get(VERBOSITY, 0) >= _WITH_TRACEBACK:
        import traceback

        traceback.print_exception(error)
    if isinstance(error, EspalierError):
        click.echo(f"espalier: {printable(text_of(error))}", err=True)
        return exit_of(error)
    text = f"internal error: {type(error).__name__}: {error}; please report it with -vv"
    click.echo(f"espalier: {printable(text)}", err=True)
    return Exit.INCOMPLETE


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="espalier %(version)s")
def main() -> None:
    """
    Hold stored custom resources to the schema of their CustomResourceDefinition.

    \b
    Start here:
      espalier demo              show Espalier at work; needs no cluster
      espalier check crd.yaml    check a definition in a file
      espalier survey            report what is wrong with objects of a cluster

    \b
    Exit codes of all commands:
      0  success, and there are no findings
      1  success, and there are findings
      2  the command line, a setting or the kubeconfig is not valid
      3  the cluster or a file could not be read
      4  the command stopped before it was done
    """


def complete_for_kubectl() -> None:
    """
    Print the completions of ``kubectl espalier``: kubectl calls ``kubectl_complete-espalier``.

    Source:
        kubectl, ``pkg/cmd/plugin/plugin_completion.go``; cobra, ``completions.go``.
    """
    *before, incomplete = sys.argv[1:] or [""]
    found = ShellComplete(main, {}, "kubectl espalier", "").get_completions(before, incomplete)
    values = [item for item in found if item.type == "plain"]
    for item in values:
        click.echo(f"{item.value}\t{item.help}" if item.help else item.value)
    click.echo(f":{_COMPLETE_FILES if len(values) < len(found) else _COMPLETE_NO_FILES}")
