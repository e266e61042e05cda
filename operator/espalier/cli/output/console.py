"""
Styled lines on standard output or standard error.

Rich draws what moves and what is boxed. For lines of text, loading it takes longer than most
commands run.
"""

import os
import re
import sys
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO, TypeAlias

Part: TypeAlias = tuple[str, str]
"""A text, and its style: names separated by spaces, such as ``bold red``."""

VERBOSITY = "espalier.verbosity"
"""The key in click's ``meta`` under which the count of ``-v`` is kept."""

_CODES: Mapping[str, str] = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "magenta": "35",
    "cyan": "36",
}
# A name from a file must not send control sequences to the terminal.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_COLUMNS = 80
_UNCOLOURED_TERMINALS = frozenset({"dumb", "unknown"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TextConsole:
    """
    Print lines, with colours where they are wanted.

    Attributes:
        width: The number of columns of the terminal; None if the output is not a terminal.
    """

    stream: TextIO
    width: int | None = None
    is_coloured: bool = False

    @classmethod
    def of(cls, stream: TextIO, *, is_colourless: bool) -> "TextConsole":
        """
        Return the console of a standard stream.

        Args:
            is_colourless: Whether the user wants no colours.
        """
        if not is_terminal(stream):
            return cls(stream=stream)
        is_plain = is_colourless or os.environ.get("TERM", "").lower() in _UNCOLOURED_TERMINALS
        return cls(stream=stream, width=_columns(), is_coloured=not is_plain)

    def print(self, *parts: Part) -> None:
        """
        Print a line; control characters are written as escapes.
        """
        texts = [
            f"\x1b[{_sequence(style)}m{printable(text)}\x1b[0m"
            if style and self.is_coloured
            else printable(text)
            for text, style in parts
            if text
        ]
        self.stream.write(f"{''.join(texts)}\n")


def standard_output(*, is_colourless: bool) -> TextConsole:
    """
    Return the console of standard output.
    """
    return TextConsole.of(sys.stdout, is_colourless=is_colourless)


def standard_error(*, is_colourless: bool) -> TextConsole:
    """
    Return the console of standard error.
    """
    return TextConsole.of(sys.stderr, is_colourless=is_colourless)


def is_terminal(stream: TextIO) -> bool:
    """
    Report whether a stream is a terminal, or is to be treated as one (``FORCE_COLOR``).
    """
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()


def printable(text: str) -> str:
    """
    Return a text with control characters written as escapes.
    """
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def cells_of(text: str) -> int:
    """
    Return the number of columns that a text takes on a terminal.
    """
    if text.isascii():
        return len(text)
    return sum(map(_cells, text))


def _columns() -> int:
    # As shutil.get_terminal_size, which loads all that can unpack an archive.
    for found in (os.environ.get("COLUMNS", ""), *map(_columns_of, (1, 2, 0))):
        if found.isdecimal() and int(found):
            return int(found)
    return _COLUMNS


def _columns_of(descriptor: int) -> str:
    try:
        return str(os.get_terminal_size(descriptor).columns)
    except OSError:
        return ""


def _cells(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def _sequence(style: str) -> str:
    return ";".join(_CODES[name] for name in style.split())
