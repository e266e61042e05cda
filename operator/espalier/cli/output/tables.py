"""
Print results for people: findings line by line, then tables, then a summary of one sentence.
"""

import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from espalier.cli.result import Finding, Level, Result, Table

_STYLES: Mapping[Level, str] = {Level.ERROR: "red", Level.WARNING: "yellow", Level.NOTE: "cyan"}
_CELL_STYLES: Mapping[str, str] = {
    "True": "green",
    "yes": "green",
    "ok": "green",
    "False": "yellow",
    "no": "red",
    "Unknown": "magenta",
    "refused": "red",
    "accepted": "green",
}
# How often the same warning is shown for one subject.
_MAX_REPEATS = 3
# A message may quote a long value.
_MESSAGE_CHARACTERS = 1000
# Wider than any line, so that Rich breaks none where the output is a file.
_FILE_WIDTH = 100_000
# A name from a file must not send control sequences to the terminal.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def print_result(console: Console, result: Result, *, is_wide: bool, is_quiet: bool) -> None:
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
            text = f"skipped: {printable(skip.source)}: {printable(skip.reason)}"
            console.print(Text(text, style="dim"), soft_wrap=True)
    if result.summary and not is_quiet:
        console.print(Text(printable(result.summary)), soft_wrap=True)


def _is_repeated_too_often(finding: Finding, repeats: Mapping[tuple[str, str, str], int]) -> bool:
    # Every error is shown; a few examples are enough of a warning that is repeated.
    is_error = finding.level is Level.ERROR
    return not is_error and repeats[_kind(finding)] > _MAX_REPEATS


def _kind(finding: Finding) -> tuple[str, str, str]:
    return finding.subject.source, finding.subject.name, finding.rule


def _left_out_notices(result: Result, repeats: Mapping[tuple[str, str, str], int]) -> Iterator[str]:
    errors = {one.rule for one in result.findings if one.level is Level.ERROR}
    for (_, name, rule), times in repeats.items():
        if times > _MAX_REPEATS and rule not in errors:
            yield f"{name}: {times - _MAX_REPEATS} more of {rule}; -o wide shows them"


def print_findings(console: Console, result: Result, *, is_wide: bool, is_quiet: bool) -> None:
    """
    Print only the findings of a result; the arguments are those of ``print_result``.
    """
    repeats: Counter[tuple[str, str, str]] = Counter()
    for finding in result.findings:
        if is_quiet and finding.level is Level.NOTE:
            continue
        repeats[_kind(finding)] += 1
        if not is_wide and _is_repeated_too_often(finding, repeats):
            continue
        console.print(_line(finding, is_wide=is_wide), soft_wrap=True)
        if finding.hint and not is_quiet:
            console.print(Text(f"    fix: {printable(finding.hint)}", style="dim"), soft_wrap=True)
    for text in () if is_wide or is_quiet else _left_out_notices(result, repeats):
        console.print(Text(printable(text), style="dim"), soft_wrap=True)


def printable(text: str) -> str:
    """
    Return a text with control characters written as escapes.
    """
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def _line(finding: Finding, *, is_wide: bool) -> Text:
    where = finding.subject.where
    parts: list[tuple[str, str]] = [(f"{printable(where)}: ", "bold")] if where else []
    parts.append((f"{finding.level.value}: ", f"bold {_STYLES[finding.level]}"))
    message = finding.message
    if len(message) > _MESSAGE_CHARACTERS and not is_wide:
        left_out = len(message) - _MESSAGE_CHARACTERS
        message = f"{message[:_MESSAGE_CHARACTERS]} ... ({left_out} more characters)"
    parts.append((f"{printable(finding.subject.name)}: {printable(message)}", ""))
    if is_wide:
        parts.append((f" [{finding.rule}]", "dim"))
    return Text.assemble(*parts)


def _print_table(console: Console, table: Table, *, is_wide: bool) -> None:
    shown = [n for n, column in enumerate(table.columns) if is_wide or not column.is_wide]
    rich_table = RichTable(box=None, pad_edge=False, show_edge=False, header_style="bold")
    names = max((len(row[shown[0]]) for row in table.rows), default=0)
    for n in shown:
        # Names are copied from the table, so the first column is the last to be broken.
        least = min(names, console.width * 3 // 4) if n == shown[0] else None
        rich_table.add_column(table.columns[n].title, overflow="fold", min_width=least)
    for row in table.rows:
        cells = [printable(row[n]) for n in shown]
        rich_table.add_row(
            *(Text(cell, style=_CELL_STYLES.get(cell.partition(" ")[0], "")) for cell in cells)
        )
    if table.title:
        console.print(Text(printable(table.title), style="bold"), soft_wrap=True)
    if console.is_terminal:
        console.print(rich_table)
        return
    # Rich fits a table into the width of a terminal and pads its lines; a file needs neither.
    plain = Console(file=io.StringIO(), width=_FILE_WIDTH, color_system=None)
    with plain.capture() as captured:
        plain.print(rich_table)
    for line in captured.get().splitlines():
        console.print(Text(line.rstrip()), soft_wrap=True)
