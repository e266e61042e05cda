"""
The options for what is printed, and how.
"""

import functools
from collections.abc import Sequence

import click

from espalier.cli.options.decoration import Command, Decorator, with_options
from espalier.cli.output.console import VERBOSITY
from espalier.cli.output.formats import ALL
from espalier.cli.output.terminal import Terminal
from espalier.cli.result import Level


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
            click.get_current_context().find_root().meta[VERBOSITY] = terminal.verbosity
            command(terminal=terminal, **given)

        return with_options(wrapped, _reporting_options(formats, fails=fails))

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
