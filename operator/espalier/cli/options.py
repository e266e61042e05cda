"""
The options that several commands share, as decorators.

Each decorator adds options and passes one value made from them to the command.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import click

from espalier.cli.output.formats import ALL
from espalier.cli.output.terminal import Terminal
from espalier.cli.result import Level
from espalier.crd import Definition
from espalier.handlers.settings import PREFIX, Settings
from espalier.schema import Profile

VERBOSITY = "espalier.verbosity"
"""The key in the context's ``meta`` under which the count of ``-v`` is kept."""

Command: TypeAlias = Callable[..., None]
Decorator: TypeAlias = Callable[[Command], Command]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """
    The cluster that a command works on, and the namespace in which Espalier keeps its data.
    """

    kubeconfig: str | None
    context: str | None
    operator_namespace: str = Settings().namespace


def operator_homes(_definition: Definition) -> tuple[str, ...]:
    """
    Return the namespaces in which an operator may run, besides the given one.
    """
    return (Settings().namespace,)


def reporting(*, formats: Sequence[str] = ALL, fails: bool = True) -> Decorator:
    """
    Add ``-o``, ``--fail-on``, ``--quiet``, ``--no-color`` and ``-v``; pass on a ``terminal``.

    Args:
        formats: The output formats of the command; the first is the default.
        fails: Whether the command has findings, so that ``--fail-on`` makes sense.
    """

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def wrapped(**given: object) -> None:
            verbosity = given.pop("verbose")
            terminal = Terminal(
                output=str(given.pop("output")),
                fail_on=Level(given.pop("fail_on", Level.ERROR.value)),
                is_quiet=bool(given.pop("quiet")),
                is_colourless=bool(given.pop("no_color")),
                verbosity=verbosity if isinstance(verbosity, int) else 0,
            )
            terminal.log()
            click.get_current_context().find_root().meta[VERBOSITY] = terminal.verbosity
            command(terminal=terminal, **given)

        return _with_options(wrapped, _reporting_options(formats, fails=fails))

    return decorate


def _reporting_options(formats: Sequence[str], *, fails: bool) -> list[Decorator]:
    options: list[Decorator] = [
        click.option(
            "-o",
            "--output",
            type=click.Choice(formats),
            default=formats[0],
            show_default=True,
            help="The format of the result.",
        ),
        click.option(
            "-q", "--quiet", is_flag=True, help="Print no summary, no hints, no progress."
        ),
        click.option(
            "--no-color", is_flag=True, help="Print no colours; NO_COLOR=1 does the same."
        ),
        click.option("-v", "--verbose", count=True, help="Log each step; -vv adds tracebacks."),
    ]
    if fails:
        levels = click.Choice([Level.ERROR.value, Level.WARNING.value])
        text = "The lowest level of finding that sets the exit code to 1."
        least = Level.ERROR.value
        options.insert(
            1,
            click.option("--fail-on", type=levels, default=least, show_default=True, help=text),
        )
    return options


def targeting(*, keeps: bool = True, also: str = "") -> Decorator:
    """
    Add ``--kubeconfig``, ``--context`` and ``--operator-namespace``; pass on a ``target``.

    Args:
        keeps: Whether the command uses the data in the operator's namespace.
        also: A second name for ``--operator-namespace``.
    """

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def wrapped(**given: object) -> None:
            texts = {
                name: str(given.pop(name)) if given.get(name) is not None else given.pop(name, None)
                for name in ("kubeconfig", "context", "operator_namespace")
                if name in given
            }
            target = Target(**texts)  # type: ignore[arg-type]  # texts, or None where allowed
            command(target=target, **given)

        added = [
            click.option(
                "--kubeconfig", metavar="FILE", help="The kubeconfig file, as for kubectl."
            ),
            click.option(
                "--context", metavar="NAME", help="The context to use.  [default: the current one]"
            ),
        ]
        if keeps:
            added.append(
                click.option(
                    "--operator-namespace",
                    *([also] if also else []),
                    "operator_namespace",
                    metavar="NAME",
                    default=Settings().namespace,
                    show_default=True,
                    envvar=f"{PREFIX}NAMESPACE",
                    help="The namespace of checkpoints, archives and leases.",
                )
            )
        return _with_options(wrapped, added)

    return decorate


def profiled(*, default: Profile = Profile.KEP) -> Decorator:
    """
    Add ``--profile``; pass on a ``profile``.
    """

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def wrapped(**given: object) -> None:
            profile = Profile(given.pop("profile"))
            command(profile=profile, **given)

        option = click.option(
            "--profile",
            type=click.Choice([profile.value for profile in Profile]),
            default=default.value,
            show_default=True,
            help="Follow the enhancement proposals (kep), or API servers (apiserver).",
        )
        return _with_options(wrapped, [option])

    return decorate


def _with_options(command: Command, options: Sequence[Decorator]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command
