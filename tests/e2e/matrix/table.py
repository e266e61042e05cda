"""
The table of versions that were run, in the README.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

BEGIN, END = "<!-- matrix -->\n", "<!-- end of matrix -->\n"
HEAD = "| with | tests | result | on |\n|---|---|---|---|\n"


class Row(NamedTuple):
    """
    A version that was run.

    Attributes:
        name: Of the program and its version, such as ``Python 3.12.1``.
        tests: Which were run.
        result: Pytest's closing line.
        day: ISO 8601.
    """

    name: str
    tests: str
    result: str
    day: str
    is_passed: bool = True

    @property
    def release(self) -> tuple[str, tuple[int, ...]]:
        """
        What another row of the same minor version has, too.
        """
        program, _, number = self.name.partition(" ")
        return program, tuple(map(int, number.split(".")[:2]))


def rows_in(text: str) -> list[Row]:
    """
    Read the rows of a README.
    """
    _, _, rest = text.partition(BEGIN)
    table, _, _ = rest.partition(END)
    found = re.findall(
        r"^\| (\w+ [\d.]+) \| ([^|]*) \| ([^|]*) \| ([\d-]+) \|$", table, re.MULTILINE
    )
    return [Row(*(cell.strip() for cell in cells)) for cells in found]


def with_rows(text: str, rows: Iterable[Row]) -> str:
    """
    Put rows into a README, each in the place of that of the same minor version.
    """
    kept = {row.release: row for row in (*rows_in(text), *rows)}
    lines = [f"| {' | '.join(row[:4])} |\n" for _, row in sorted(kept.items())]
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    table = HEAD + "".join(lines) if lines else ""
    return before + BEGIN + table + END + after


def write_rows(root: Path, rows: Iterable[Row]) -> None:
    """
    Put rows into the README of a checkout.
    """
    path = root / "README.md"
    path.write_text(with_rows(path.read_text(encoding="utf-8"), rows), encoding="utf-8")
