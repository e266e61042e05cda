"""
Where a command's output goes: results to standard output, everything else to standard error.
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
_PATIENCE_SECONDS = 0.4
_LEVELS: Mapping[int, int] = {0: logging.WARNING, 1: logging.INFO, 2: logging.DEBUG}


class Advance(Protocol):
    """
    Moves a progress bar.
    """

    def __call__(self, done: int, *, total: int | None = None, text: str = "") -> None:
        """
        Show how far it is.

        Args:
            done: So many in all, not since the last call.
            total: Of so many; unchanged if None.
            text: What is being done; unchanged if empty.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """
    How a command speaks; made from the options that all commands share.

    Attributes:
        output: The name of a format.
        fail_on: The least level of a finding that makes the command fail.
        verbosity: How often ``-v`` was given.
    """

    output: str = "table"
    fail_on: Level = Level.ERROR
    is_quiet: bool = False
    is_colourless: bool = False
    verbosity: int = 0

    def log(self) -> None:
        """
        Have the log of the engine and the adapter on standard error, as far as is asked for.
        """
        level = _LEVELS[min(self.verbosity, 2)]
        logging.basicConfig(stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
        logging.getLogger("espalier").setLevel(level)

    def tell(self, text: str) -> None:
        """
        Say something that is no result; ``--quiet`` keeps it back.
        """
        if not self.is_quiet:
            click.echo(printable(text), err=True)

    def show(self, result: Result) -> None:
        """
        Print a result, and on standard error what could not be read.
        """
        if self.output in TEXTS:
            console = self._console()
            print_result(console, result, is_wide=self.output == "wide", is_quiet=self.is_quiet)
        else:
            click.echo(render(result, self.output, Options(self.fail_on)), nl=False)
        for problem in result.problems:
            click.echo(f"espalier: {printable(str(problem))}", err=True)

    def tell_findings(self, result: Result) -> None:
        """
        Say on standard error what is no result itself: findings, and what could not be read.
        """
        if not self.is_quiet:
            print_findings(self._console(stderr=True), result, is_wide=False, is_quiet=False)
        for problem in result.problems:
            click.echo(f"espalier: {printable(str(problem))}", err=True)

    def print_diff(self, lines: Sequence[str]) -> None:
        """
        Print a unified diff, with colours if that is a terminal.
        """
        console = self._console()
        for line in lines:
            style = _DIFF_STYLES.get(line[:1], "")
            console.print(Text(printable(line), style=style), soft_wrap=True)

    def finish(self, result: Result) -> NoReturn:
        """
        Print a result, and end with the exit code that it stands for.
        """
        self.show(result)
        click.get_current_context().exit(exit_of_result(result, fail_on=self.fail_on))

    @contextmanager
    def progress(self, text: str, *, total: int | None = None) -> Iterator[Advance]:
        """
        Show a progress bar on standard error while something is done, if that is a terminal.
        """
        console = self._console(stderr=True)
        if self.is_quiet or not console.is_terminal:
            yield _stand_still
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
            # What is done at once needs no bar that flickers.
            if time.monotonic() - begun > _PATIENCE_SECONDS:
                bar.start()

        try:
            yield advance
        finally:
            bar.stop()

    def confirm(self, question: str, *, is_answered: bool) -> bool:
        """
        Ask for leave to write.

        Args:
            is_answered: ``--yes`` was given.

        Returns:
            Whether to go on. Without a terminal nobody can answer: then it is no.
        """
        if is_answered:
            return True
        if not sys.stdin.isatty():
            click.echo("espalier: nobody is there to confirm; say --yes", err=True)
            return False
        return click.confirm(question, err=True)

    def _console(self, *, stderr: bool = False) -> Console:
        plain = self.is_colourless or bool(os.environ.get("NO_COLOR"))
        if plain:
            return _Console(stderr=stderr, highlight=False, color_system=None)
        return _Console(stderr=stderr, highlight=False)


class _Console(Console):
    """
    Leaves it to the top of the command line what a reader means who has gone.
    """

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def exit_of_result(result: Result, *, fail_on: Level) -> Exit:
    """
    Tell the exit code for a result: the worst that happened.
    """
    if result.problems:
        return Exit.UNREADABLE
    if result.is_incomplete:
        return Exit.INCOMPLETE
    failing = result.number(Level.ERROR)
    if fail_on is Level.WARNING:
        failing += result.number(Level.WARNING)
    return Exit.FINDINGS if failing else Exit.CLEAN


def _stand_still(done: int, *, total: int | None = None, text: str = "") -> None:
    del done, total, text
