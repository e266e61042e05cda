"""
Print the demo: headings, changes of conditions, coloured differences, a summary.

Output that does not go to a terminal is plain text.
"""

import difflib
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import orjson
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from espalier.crd import Condition
from espalier.engine.ports import ArchiveEntry
from espalier.names import NON_STRUCTURAL_SCHEMA
from espalier.paths import JSON

_WIDTH = 100
_STYLES: Mapping[str, str] = {"+": "green", "-": "red", "@": "cyan"}
_COLOURS: Mapping[str, str] = {"True": "green", "False": "yellow", "Unknown": "magenta"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """
    How a chapter ended, for the summary.
    """

    definition: str
    condition: str
    stored_versions: Sequence[str]
    outcome: str


class Screen:
    """
    Print what happens in the demo, with the seconds since its start.
    """

    def __init__(self, console: Console, *, seconds: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._seconds = seconds
        self._start = seconds()

    @classmethod
    def on_stdout(cls) -> "Screen":
        """
        Return a screen on standard output, with colours on a terminal.
        """
        console = Console(highlight=False)
        if not console.is_terminal:
            console = Console(highlight=False, width=_WIDTH, soft_wrap=True)
        return cls(console)

    def heading(self, number: int, title: str, definition: str) -> None:
        """
        Print the heading of a chapter.
        """
        self._console.print()
        self._console.rule(
            f"[bold]{number}. {escape(title)}[/bold]  [dim]{escape(definition)}[/dim]", align="left"
        )

    def say(self, text: str) -> None:
        """
        Print a paragraph of the story, as wide as the terminal.
        """
        for line in textwrap.wrap(text, self._console.width, break_on_hyphens=False):
            self._console.print(line, markup=False)

    def invite(self, text: str, *commands: str) -> None:
        """
        Print what to do next, and commands to copy.
        """
        self._console.print()
        self.say(text)
        for command in commands:
            # A line that is broken is not copied as it was meant.
            self._console.print(f"  {command}", markup=False, soft_wrap=True)

    def note(self, text: str) -> None:
        """
        Print what the demo has just done.
        """
        self._stamped(Text(text, style="dim"))

    def command(self, text: str) -> None:
        """
        Print a command as a person would type it.
        """
        self._stamped(Text.assemble(("$ ", "bold"), (text, "bold")), is_broken=False)

    def condition(self, condition: Condition | None, type_: str) -> None:
        """
        Print the state of a condition.
        """
        if condition is None:
            self._stamped(Text(f"{type_}: gone", style="dim"))
            return
        # True is good for Espalier's own conditions, but not for this one.
        is_fault = condition.type == NON_STRUCTURAL_SCHEMA and condition.status == "True"
        style = "red" if is_fault else _COLOURS.get(condition.status, "red")
        self._stamped(
            Text.assemble(
                (f"{condition.type} ", "bold"),
                (f"{condition.status} {condition.reason}", f"bold {style}"),
            )
        )
        self._console.print(Text(condition.message), style=style)

    def versions(self, versions: Sequence[str]) -> None:
        """
        Print ``status.storedVersions``.
        """
        listed = ", ".join(versions)
        self._stamped(Text.assemble("status.storedVersions: ", (f"[{listed}]", "bold cyan")))

    def difference(self, name: str, before: str, after: str) -> None:
        """
        Print how the stored form of one object in etcd has changed.
        """
        if before == after:
            self._stamped(Text(f"{name} in etcd: unchanged", style="green"))
            return
        self._stamped(Text(f"{name} in etcd, before (-) and after (+):"))
        lines = list(difflib.unified_diff(before.split("\n"), after.split("\n"), n=2, lineterm=""))[
            2:
        ]
        for line in lines:
            self._console.print(Text(f"    {line}", style=_STYLES.get(line[:1], "")))

    def archive(self, entries: Sequence[ArchiveEntry]) -> None:
        """
        Print the number of entries in the archive, and the first entry.
        """
        self._stamped(
            Text(f"the archive has the removed fields of {len(entries)} objects; for example:")
        )
        first = min(entries, key=lambda entry: entry.key)
        for operation in first.patch:
            value = orjson.dumps(operation.get("value")).decode()
            line = f"    {first.key}: {operation['op']} {operation['path']} {value}"
            self._console.print(Text(line, style="cyan"))

    def summary(self, endings: Sequence[Ending]) -> None:
        """
        Print a table of all chapters.
        """
        table = Table(title=None, show_lines=False, expand=False)
        for column in ("definition", "condition", "stored", "outcome"):
            table.add_column(column, overflow="fold")
        for ending in endings:
            table.add_row(
                ending.definition,
                ending.condition,
                ", ".join(ending.stored_versions),
                ending.outcome,
            )
        self._console.print()
        self._console.print(table)

    def _stamped(self, text: Text, *, is_broken: bool = True) -> None:
        elapsed = self._seconds() - self._start
        line = Text.assemble((f"{elapsed:5.1f}s ", "dim"), text)
        self._console.print(line, soft_wrap=not is_broken or None)


def readable(data: bytes) -> str:
    """
    Return stored JSON as indented text, without ``managedFields``.
    """
    value: JSON = orjson.loads(data)
    if isinstance(value, dict) and isinstance(value.get("metadata"), dict):
        metadata = {
            key: item
            for key, item in value["metadata"].items()  # type: ignore[union-attr]  # just tested
            if key != "managedFields"
        }
        value = {**value, "metadata": metadata}
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS).decode()
