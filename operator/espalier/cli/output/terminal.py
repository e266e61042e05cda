"""
The output of a command: results go to standard output, everything else to standard error.
"""

import logging
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn, Protocol

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from espalier.cli.output.exit_codes import Exit
from espalier.cli.output.formats import TEXTS, Options, render
from espalier.cli.output.tables import print_findings, print_result, printable
from espalier.cli.result import Level, Result

_DIFF_STYLES: Mapping[str, str] = {"+": "green", "-": "red", "@": "cyan"}
_BAR_DELAY_SECONDS = 0.4
_LEVELS: Mapping[int, int] = {0: logging.WARNING, 1: logging.INFO, 2: logging.DEBUG}


class Advance(Protocol):
    """
    Move a progress bar.
    """

    def __call__(self, done: int, *, total: int | None = None, text: str = "") -> None:
        """
        Show how much is done.

        Args:
            done: The number done since the start, not since the last call.
            total: The number to do; None leaves it unchanged.
            text: The label of the bar; an empty text leaves it unchanged.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """
    Print the output of a command, as the shared options ask for.

    Attributes:
        output: The name of the output format.
        fail_on: The lowest level of finding that makes the command fail.
        verbosity: How many times ``-v`` was given.
    """

    output: str = "table"
    fail_on: Level = Level.ERROR
    is_quiet: bool = False
    is_colourless: bool = False
    verbosity: int = 0

    def log(self) -> None:
        """
        Send Espalier's log to standard error; the level follows ``-v``.
        """
        level = _LEVELS[min(self.verbosity, 2)]
        logging.basicConfig(stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
        logging.getLogger("espalier").setLevel(level)
        # The server's own texts may hold values of objects: only who asks for them sees them.
        shows_texts = self.verbosity > 0
        logging.getLogger("espalier.server_text").setLevel(
            logging.DEBUG if shows_texts else logging.WARNING
        )

    def print_notice(self, text: str) -> None:
        """
        Print a line to standard error, unless ``--quiet`` is given.
        """
        if not self.is_quiet:
            click.echo(printable(text), err=True)

    def show(self, result: Result) -> None:
        """
        Print a result, and its problems to standard error.
        """
        if self.output in TEXTS:
            console = self._console()
            print_result(console, result, is_wide=self.output == "wide", is_quiet=self.is_quiet)
        else:
            click.echo(render(result, self.output, Options(self.fail_on)), nl=False)
        for problem in result.problems:
            click.echo(f"espalier: {printable(str(problem))}", err=True)

    def print_findings_to_stderr(self, result: Result) -> None:
        """
        Print the findings and problems of a result to standard error.
        """
        if not self.is_quiet:
            print_findings(self._console(stderr=True), result, is_wide=False, is_quiet=False)
        for problem in result.problems:
            click.echo(f"espalier: {printable(str(problem))}", err=True)

    def print_diff(self, lines: Sequence[str]) -> None:
        """
        Print a unified diff, coloured on a terminal.
        """
        console = self._console()
        for line in lines:
            style = _DIFF_STYLES.get(line[:1], "")
            console.print(Text(printable(line), style=style), soft_wrap=True)

    def finish(self, result: Result) -> NoReturn:
        """
        Print a result, and exit with its exit code.
        """
        self.show(result)
        click.get_current_context().exit(exit_of_result(result, fail_on=self.fail_on))

    @contextmanager
    def progress(self, text: str, *, total: int | None = None) -> Iterator[Advance]:
        """
        Show a progress bar while the block runs, if standard error is a terminal.
        """
        console = self._console(stderr=True)
        if self.is_quiet or not console.is_terminal:
            yield _no_progress
            return
        bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        task = bar.add_task(printable(text), total=total)
        begun = time.monotonic()

        def advance(done: int, *, total: int | None = None, text: str = "") -> None:
            described = printable(text) or None
            bar.update(task, completed=done, total=total, description=described)
            # Work that ends quickly shows no bar, so that nothing flickers.
            if time.monotonic() - begun > _BAR_DELAY_SECONDS:
                bar.start()

        try:
            yield advance
        finally:
            bar.stop()

    def confirm(self, question: str, *, is_answered: bool) -> bool:
        """
        Ask the user before something is written.

        Args:
            is_answered: Whether ``--yes`` was given.

        Returns:
            Whether to continue. The answer is no if standard input is not a terminal.
        """
        if is_answered:
            return True
        if not sys.stdin.isatty():
            click.echo(
                "espalier: cannot ask for confirmation without a terminal; use --yes", err=True
            )
            return False
        return click.confirm(question, err=True)

    def _console(self, *, stderr: bool = False) -> Console:
        plain = self.is_colourless or bool(os.environ.get("NO_COLOR"))
        if plain:
            return _Console(stderr=stderr, highlight=False, color_system=None)
        return _Console(stderr=stderr, highlight=False)


class _Console(Console):
    """
    A console that raises when the pipe is closed; the top of the command line handles it.
    """

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def exit_of_result(result: Result, *, fail_on: Level) -> Exit:
    """
    Return the exit code of a result; unread sources come before unfinished work and findings.
    """
    if result.problems:
        return Exit.UNREADABLE
    if result.is_incomplete:
        return Exit.INCOMPLETE
    failing = result.number(Level.ERROR)
    if fail_on is Level.WARNING:
        failing += result.number(Level.WARNING)
    return Exit.FINDINGS if failing else Exit.CLEAN


def _no_progress(done: int, *, total: int | None = None, text: str = "") -> None:
    del done, total, text
