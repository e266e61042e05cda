"""
On terminals of any width, tables keep all letters and all columns.
"""

import os
import pty
import re
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from espalier.cli.output.layout import table_lines
from espalier.cli.result import Column, Table
from tests.cli.manifests import STRUCTURAL
from tests.patience import PACE

WIDTHS = [80, 100, 120, 200]
LONG = "verylongnamesofthings.networking.internal.platform.example.com"
TITLES = ["DEFINITION", "KEP", "APISERVER", "SERVER WOULD", "ERRORS", "WARNINGS", "AT"]


def shown(folder: Path, width: int, *arguments: str) -> list[str]:
    """
    Run a command on a terminal of its own, and return the lines of its standard output.
    """
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (50, width))
    environment = {name: text for name, text in os.environ.items() if name != "COLUMNS"}
    with subprocess.Popen(  # noqa: S603 - the command line itself
        [sys.executable, "-m", "espalier", *arguments],
        cwd=folder,
        env={**environment, "NO_COLOR": "1", "TERM": "xterm"},
        stdin=slave,
        stdout=slave,
        stderr=subprocess.DEVNULL,
    ) as process:
        os.close(slave)
        pieces = []
        while piece := read(master):
            pieces.append(piece)
        process.wait(PACE.scaled(60))
    os.close(master)
    return b"".join(pieces).decode().splitlines()


def read(master: int) -> bytes:
    try:
        return os.read(master, 65536)
    except OSError:
        # The other end is closed, which Linux reports as an error.
        return b""


@pytest.mark.parametrize("width", WIDTHS)
def test_a_table_on_a_terminal_keeps_its_letters_and_columns(tmp_path: Path, width: int) -> None:
    plural, _, group = LONG.partition(".")
    (tmp_path / "a.yaml").write_text(STRUCTURAL)
    longer = STRUCTURAL.replace("widgets.example.com", LONG).replace(
        "group: example.com", f"group: {group}"
    )
    (tmp_path / "b.yaml").write_text(longer.replace("plural: widgets", f"plural: {plural}"))

    lines = shown(tmp_path, width, "check", "-o", "wide", "a.yaml", "b.yaml")

    text = "\n".join(lines)
    assert max(map(len, lines)) <= width
    for name, file in (("widgets.example.com", "a.yaml:1:1"), (LONG, "b.yaml:1:1")):
        assert re.search(rf"^{re.escape(name)}\b", text, re.MULTILINE)
        assert file in text
    assert [title for title in TITLES if title not in text] == []


@pytest.mark.parametrize("width", [40, *WIDTHS])
def test_folded_rows_lose_nothing(width: int) -> None:
    rows = [
        ["a" * 30, "yes", "", "3", "a message of several words, which is rather long " * 3],
        ["b", "no", "-", "12345", "short"],
    ]
    table = Table(
        columns=[Column(title=title) for title in ("ONE", "2ND", "3RD", "N", "TEXT")], rows=rows
    )

    lines = [
        "".join(text for text, _ in line) for line in table_lines(table, is_wide=False, width=width)
    ]

    words = " ".join(lines).split()
    for row in rows:
        for cell in row:
            assert set(cell.split()) <= set(words)
    assert all(len(line) <= width or len(line.split()) <= 2 for line in lines)
    assert {"ONE", "2ND", "3RD", "N", "TEXT"} <= set(words)


def test_short_cells_share_the_lines_of_a_folded_row() -> None:
    titles = ("DEFINITION", "STRUCTURAL", "MODE", "CURRENT", "MESSAGE")
    rows = [
        [
            "widgets.internal.example.com",
            "yes",
            "enforce",
            "False Rewriting",
            "5 of 10 objects are done",
        ]
    ]
    table = Table(columns=[Column(title=title) for title in titles], rows=rows)

    lines = [
        "".join(text for text, _ in line) for line in table_lines(table, is_wide=False, width=44)
    ]

    assert lines == [
        "DEFINITION                    STRUCTURAL",
        "widgets.internal.example.com  yes",
        "    MODE enforce  CURRENT False Rewriting",
        "    MESSAGE 5 of 10 objects are done",
    ]
