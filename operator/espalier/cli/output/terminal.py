"""
The output of a command: results go to standard output, everything else to standard error.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import click

from espalier.cli.output.console import (
    is_terminal,
    printable,
    standard_error,
    standard_output,
)
from espalier.cli.output.exit_codes import Exit
from espalier.cli.output.formats import TEXTS, Options, write
from espalier.cli.progress import Advance, no_progress
from espalier.cli.result import Level, Result, Table

if TYPE_CHECKING:
    from espalier.cli.output.tables import RowPrinter

_DIFF_STYLES: Mapping[str, str] = {"+": "green", "-": "red", "@": "cyan"}


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
            from espalier.cli.output.tables import print_result

            console = standard_output(is_colourless=self._is_plain)
            print_result(console, result, is_wide=self.output == "wide", is_quiet=self.is_quiet)
        else:
            write(result, self.output, Options(self.fail_on), sys.stdout)
        sys.stdout.flush()
        for problem in result.problems:
            click.echo(f"espalier: {printable(str(problem))}", err=True)

    def row_printer(self, table: Table) -> "RowPrinter":
        """
        Return what prints a table whose rows come one by one.
        """
        from espalier.cli.output.tables import RowPrinter

        console = standard_output(is_colourless=self._is_plain)
        return RowPrinter(
            console, table, is_json=self.output == "json", is_wide=self.output == "wide"
        )

    def print_findings_to_stderr(self, result: Result) -> None:
        """
        Print the findings and problems of a result to standard error.
        """
        if not self.is_quiet:
            from espalier.cli.output.tables import print_findings

            console = standard_error(is_colourless=self._is_plain)
            is_wide = self.verbosity > 0
            print_findings(console, result, is_wide=is_wide, is_quiet=False, all_option="-v")
        for problem in result.problems:
            click.echo(f"espalier: {printable(str(problem))}", err=True)

    def print_diff(self, lines: Sequence[str]) -> None:
        """
        Print a unified diff, coloured on a terminal.
        """
        console = standard_output(is_colourless=self._is_plain)
        for line in lines:
            console.print((line, _DIFF_STYLES.get(line[:1], "")))
        sys.stdout.flush()

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
        if self.is_quiet or not is_terminal(sys.stderr):
            yield no_progress
            return
        from espalier.cli.output.progress_bar import progress_bar

        with progress_bar(text, total=total, is_colourless=self._is_plain) as advance:
            yield advance

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
                "espalier: cannot ask for confirmation without a terminal; nothing was done;"
                " use --yes",
                err=True,
            )
            return False
        is_confirmed = click.confirm(question, err=True)
        if not is_confirmed:
            click.echo("espalier: not confirmed; nothing was done", err=True)
        return is_confirmed

    @property
    def _is_plain(self) -> bool:
        return self.is_colourless or bool(os.environ.get("NO_COLOR"))


def exit_of_result(result: Result, *, fail_on: Level) -> Exit:
    """
    Return the exit code of a result; unread sources come before unfinished work and findings.

    Of several clusters, one that could not be read is unfinished work if another one was.
    """
    if result.problems and not result.is_partial:
        return Exit.UNREADABLE
    if result.is_incomplete or result.problems:
        return Exit.INCOMPLETE
    failing = result.number(Level.ERROR)
    if fail_on is Level.WARNING:
        failing += result.number(Level.WARNING)
    return Exit.FINDINGS if failing else Exit.CLEAN
