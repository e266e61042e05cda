"""
Print results for people: findings line by line, then tables, then a summary of one sentence.
"""

import itertools
import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from espalier.cli.output.console import TextConsole
from espalier.cli.output.layout import TableLayout, table_lines
from espalier.cli.result import Finding, Level, Result, Table
from espalier.paths import JSON

_STYLES: Mapping[Level, str] = {Level.ERROR: "red", Level.WARNING: "yellow", Level.NOTE: "cyan"}
# How often the same warning is shown for one subject.
_MAX_REPEATS = 3
# A message may quote a long value.
_MESSAGE_CHARACTERS = 1000


class RowPrinter:
    """
    Print rows at once, in columns that are as wide as the first rows need; or JSON, one a line.

    A row is known by its first cell, and printed if that changes what was printed of it last.

    Args:
        table: The first rows.
    """

    def __init__(self, console: TextConsole, table: Table, *, is_json: bool, is_wide: bool) -> None:
        self._console = console
        self._table = table
        self._is_json = is_json
        self._layout = TableLayout.of(table, is_wide=is_wide, width=console.width)
        self._printed: dict[str, object] = {}

    def begin(self, items: Collection[JSON]) -> None:
        """
        Print the titles and the first rows.

        Args:
            items: The first rows, for programs.
        """
        if not self._is_json:
            self._console.print(*self._layout.title_line())
        for row, item in zip(self._table.rows, items, strict=True):
            self._print(row, item)
        self._console.stream.flush()

    def add(self, row: Sequence[str], item: JSON) -> None:
        """
        Print a row.
        """
        self._print(row, item)
        self._console.stream.flush()

    def _print(self, row: Sequence[str], item: JSON) -> None:
        lines = [] if self._is_json else [*self._layout.row_lines(row)]
        text = f"{json.dumps(item)}\n" if self._is_json else ""
        if self._printed.get(row[0]) == (lines, text):
            return
        self._printed[row[0]] = lines, text
        self._console.stream.write(text)
        for line in lines:
            self._console.print(*line)


def print_result(console: TextConsole, result: Result, *, is_wide: bool, is_quiet: bool) -> None:
    """
    Print a result.

    Args:
        is_wide: Whether to print everything: rules, repeated findings, wide tables, skipped files.
        is_quiet: Whether to print errors and warnings only, without notes, hints and summary.
    """
    print_findings(console, result, is_wide=is_wide, is_quiet=is_quiet)
    for table in result.tables:
        if table.rows and (is_wide or not table.is_wide) and not (is_quiet and result.findings):
            _print_table(console, table, is_wide=is_wide)
    if result.skipped and not is_quiet:
        for skip in result.skipped if is_wide else ():
            console.print((f"skipped: {skip.source}: {skip.reason}", "dim"))
    if result.summary and not is_quiet:
        console.print((result.summary, ""))


def print_findings(
    console: TextConsole,
    result: Result,
    *,
    is_wide: bool,
    is_quiet: bool,
    all_option: str = "-o wide",
) -> None:
    """
    Print only the findings of a result; the arguments are those of ``print_result``.

    Args:
        all_option: The option that shows all findings.
    """
    for _, group in itertools.groupby(result.findings, key=_subject_of):
        shown = [one for one in group if not (is_quiet and one.level is Level.NOTE)]
        hidden = Counter[str]() if is_wide else _left_out(shown)
        left = Counter[str]()
        for finding in shown:
            left[finding.rule] += 1
            if finding.rule in hidden and left[finding.rule] > _MAX_REPEATS:
                continue
            _print_finding(console, finding, is_wide=is_wide)
            if finding.hint and not is_quiet:
                console.print((f"    fix: {finding.hint}", "dim"))
        for rule, number in () if is_quiet else hidden.items():
            text = f"{shown[0].subject.title}: {number} more of {rule}; {all_option} shows them"
            console.print((text, "dim"))


def _subject_of(finding: Finding) -> tuple[str, str]:
    return finding.subject.source, finding.subject.title


def _left_out(findings: Sequence[Finding]) -> Counter[str]:
    # Every error is shown; a few examples are enough of a warning that is repeated. The notice
    # takes a line itself, so a single one is not worth hiding.
    errors = {one.rule for one in findings if one.level is Level.ERROR}
    repeats = Counter(one.rule for one in findings if one.rule not in errors)
    return Counter(
        {rule: times - _MAX_REPEATS for rule, times in repeats.items() if times > _MAX_REPEATS + 1}
    )


def _print_finding(console: TextConsole, finding: Finding, *, is_wide: bool) -> None:
    where = finding.subject.where
    message = finding.message
    if len(message) > _MESSAGE_CHARACTERS and not is_wide:
        left_out = len(message) - _MESSAGE_CHARACTERS
        message = f"{message[:_MESSAGE_CHARACTERS]} ... ({left_out} more characters)"
    console.print(
        (f"{where}: " if where else "", "bold"),
        (f"{finding.level.value}: ", f"bold {_STYLES[finding.level]}"),
        (f"{finding.subject.title}: {message}", ""),
        (f" [{finding.rule}]" if is_wide else "", "dim"),
    )


def _print_table(console: TextConsole, table: Table, *, is_wide: bool) -> None:
    if table.title:
        console.print((table.title, "bold"))
    for line in table_lines(table, is_wide=is_wide, width=console.width):
        console.print(*line)
