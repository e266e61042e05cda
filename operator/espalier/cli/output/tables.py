"""
Results as people read them: findings line by line, tables, one sentence at the end.
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
_WORDS: Mapping[str, str] = {
    "True": "green",
    "yes": "green",
    "ok": "green",
    "False": "yellow",
    "no": "red",
    "Unknown": "magenta",
    "refused": "red",
    "accepted": "green",
}
# So often a warning is shown for each thing that was looked at.
_REPEATED = 3
# A value that is told may be long.
_MESSAGE_CHARACTERS = 1000
# As wide as the longest line of whoever reads it from a file.
_ANY_WIDTH = 100_000
# A name from a file must not steer the terminal.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def print_result(console: Console, result: Result, *, is_wide: bool, is_quiet: bool) -> None:
    """
    Show a result.

    Args:
        is_wide: With rules, notes, and whatever else is not shown otherwise.
        is_quiet: Errors and warnings only, without notes, hints and the summary.
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


def _is_one_too_many(finding: Finding, repeats: Mapping[tuple[str, str, str], int]) -> bool:
    # Errors are all shown; a warning that a definition has a hundred times is understood sooner.
    is_error = finding.level is Level.ERROR
    return not is_error and repeats[_kind(finding)] > _REPEATED


def _kind(finding: Finding) -> tuple[str, str, str]:
    return finding.subject.source, finding.subject.name, finding.rule


def _left_out(result: Result, repeats: Mapping[tuple[str, str, str], int]) -> Iterator[str]:
    errors = {one.rule for one in result.findings if one.level is Level.ERROR}
    for (_, name, rule), times in repeats.items():
        if times > _REPEATED and rule not in errors:
            yield f"{name}: {times - _REPEATED} more of {rule}; -o wide shows them"


def print_findings(console: Console, result: Result, *, is_wide: bool, is_quiet: bool) -> None:
    """
    Show the findings of a result alone; the arguments are those of ``print_result``.
    """
    repeats: Counter[tuple[str, str, str]] = Counter()
    for finding in result.findings:
        if is_quiet and finding.level is Level.NOTE:
            continue
        repeats[_kind(finding)] += 1
        if not is_wide and _is_one_too_many(finding, repeats):
            continue
        console.print(_line(finding, is_wide=is_wide), soft_wrap=True)
        if finding.hint and not is_quiet:
            console.print(Text(f"    fix: {printable(finding.hint)}", style="dim"), soft_wrap=True)
    for text in () if is_wide or is_quiet else _left_out(result, repeats):
        console.print(Text(printable(text), style="dim"), soft_wrap=True)


def printable(text: str) -> str:
    """
    Write characters that steer a terminal as escapes.
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
    made = RichTable(box=None, pad_edge=False, show_edge=False, header_style="bold")
    names = max((len(row[shown[0]]) for row in table.rows), default=0)
    for n in shown:
        # Names are to be copied: they are broken last.
        least = min(names, console.width * 3 // 4) if n == shown[0] else None
        made.add_column(table.columns[n].title, overflow="fold", min_width=least)
    for row in table.rows:
        cells = [printable(row[n]) for n in shown]
        made.add_row(*(Text(cell, style=_WORDS.get(cell.partition(" ")[0], "")) for cell in cells))
    if table.title:
        console.print(Text(printable(table.title), style="bold"), soft_wrap=True)
    if console.is_terminal:
        console.print(made)
        return
    # Rich fits a table into the width, and fills every line up with spaces.
    plain = Console(file=io.StringIO(), width=_ANY_WIDTH, color_system=None)
    with plain.capture() as captured:
        plain.print(made)
    for line in captured.get().splitlines():
        console.print(Text(line.rstrip()), soft_wrap=True)
