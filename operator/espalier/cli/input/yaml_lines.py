"""
Read the plain part of YAML line by line, which is several times as fast as from parser events.

Most manifests have only maps and lists in block style, and scalars that are plain, quoted or
literal blocks. All else is left to the parser: anchors, tags, merge keys, folded blocks, flow style
over several lines, keys that are not plain strings, keys that occur twice, tabs, unusual
characters, and everything that is not valid.

An entry is read by the pattern of all entries. Its key and its scalar are kept if they stand on one
line by themselves. A line of a key and a scalar that are both known needs no pattern.
"""

import itertools
import operator
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from espalier.cli.input.positions import Mark, Place, TextPositions
from espalier.cli.input.yaml_dialect import CONSTANTS, is_plain_string
from espalier.cli.input.yaml_entries import (
    DOCUMENT_START,
    ENTRY,
    LAST_OF_KEYS,
    REST,
    value_of,
)
from espalier.cli.input.yaml_flow import NotPlainError
from espalier.cli.input.yaml_line_marks import LineMarks
from espalier.lazy import lazy_pattern
from espalier.paths import JSON

# Each level but for lists is further right, so that no text is nested too deep for the parser.
_FAR_RIGHT: Final = " " * 100
_PRINTABLE_ASCII: Final = b"\n" + bytes(range(0x20, 0x7F))
# The line breaks of YAML 1.1 and a byte order mark are left to the parser, as are tabs.
_unusual: Final = lazy_pattern(
    r"[\x00-\t\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]"
)
_MOST_KNOWN: Final = 10_000
_LONGEST_KNOWN: Final = 100
_UNKNOWN: Final[Any] = object()

# What follows an entry's key or dash: a value, or nothing on this line. Other lines are skipped, or
# go on with the entry before.
_VALUE, _OPENS, _SKIPPED, _GOES_ON = range(4)
_Entry: TypeAlias = tuple[int, str | None, Any, int, int]
"""
An entry: the length of its dash with the spaces after it, or 0, its key, its value, what follows
the key, and the number of its lines.
"""


class LineDocument(NamedTuple):
    """
    One document, with the positions of its values by the id of the container and the step in it.
    """

    value: JSON
    marks: Mapping[Place, Mark]
    root: Mark


class _Known(NamedTuple):
    """
    What the pattern has read before, without indentation.

    Attributes:
        heads: The texts before a colon and a space: the length of the dash, the key, and that a
            value follows.
        scalars: The texts after them. An empty list or map is made anew from its class.
        lines: Whole lines without a colon and a space.
    """

    heads: dict[str, tuple[int, str | None, int]]
    scalars: dict[str, Any]
    lines: dict[str, _Entry]

    def add(self, line: str, entry: _Entry, match: re.Match[str]) -> None:
        """
        Keep the parts of an entry that has a line by itself.
        """
        width, key, value, kind, _ = entry
        if isinstance(value, (dict, list)):
            if value:
                return
            value = value.__class__
        head, colon, text = line.partition(": ")
        if not colon:
            if width or key is not None:
                _keep(self.lines, line, (width, key, value, kind, 1))
            return
        if head[width:] == match["key"]:
            _keep(self.heads, head, (width, head[width:], _VALUE))
        plain, single, double, flow = match.group("plain", "single", "double", "flow")
        if text == plain or text in (f"'{single}'", f'"{double}"', flow):
            _keep(self.scalars, text, value)


def _keep(known: dict[str, Any], text: str, value: Any) -> None:
    if len(known) >= _MOST_KNOWN:
        known.clear()
    known[text] = value


_KNOWN: Final = _Known({}, {}, {})


def read_lines(data: bytes | str) -> list[LineDocument] | None:
    """
    Return the documents of a YAML stream, or None if the parser has to read it.
    """
    try:
        reader = _LineReader(_text_of(data))
        reader.read()
    except NotPlainError:
        return None
    return reader.documents


def _text_of(data: bytes | str) -> str:
    try:
        text = data if isinstance(data, str) else data.decode()
    except UnicodeDecodeError as error:
        raise NotPlainError from error
    is_ascii = isinstance(data, bytes) and not data.translate(None, _PRINTABLE_ASCII)
    if _FAR_RIGHT in text or (not is_ascii and _unusual().search(text)):
        raise NotPlainError
    return text


class _LineReader:
    """
    Build documents from the lines of a text.

    Containers that are still open stand in a stack, with the column at which their entries begin.
    """

    def __init__(self, text: str) -> None:
        self.documents: list[LineDocument] = []
        self._is_cut = not text.endswith("\n")
        self._text = f"{text}\n" if self._is_cut else text
        self._lines = self._text.split("\n")
        self._lines.pop()
        bodies = [line.lstrip(" ") for line in self._lines]
        columns = map(operator.sub, map(len, self._lines), map(len, bodies))
        # Each line with its column, and its parts before and after a colon.
        parts = map(str.partition, bodies, itertools.repeat(": "))
        self._parts = enumerate(zip(columns, parts, strict=True))
        self._positions = TextPositions(self._text)
        # A line of which the offset is known.
        self._line = self._offset = 0
        self._has_start = False
        self._begin(0)

    def _begin(self, line: int) -> None:
        # The outermost container stands for the document, which has no key.
        self._root: dict[str, JSON] = {}
        self._stack: list[tuple[int, Any]] = [(-1, self._root)]
        self._first = line

    def read(self) -> None:
        """
        Read all documents.

        Raises:
            NotPlainError: A part of the text is not plain.
        """
        line, count = 0, len(self._lines)
        while line < count:
            line = self._after_start(self._read_document(line))
        self._end()

    def _offset_of(self, line: int) -> int:
        # The offset of a line is counted from that of a line near it.
        near, lines = self._line, self._lines
        if line >= near:
            self._offset += sum(map(len, lines[near:line])) + line - near
        else:
            self._offset -= sum(map(len, lines[line:near])) + near - line
        self._line = line
        return self._offset

    def _read_document(self, end: int) -> int:  # noqa: C901, PLR0912, PLR0915 - calls are slow
        heads, scalars, whole_lines = _KNOWN
        stack, made = self._stack, _UNKNOWN
        level, holder = stack[0]
        # The key whose value is on the next lines, if it has one; the last entry's line and key.
        pending: str | None = ""
        before, last_key = end, pending
        for at, (column, (name, colon, text)) in self._parts:
            if at < end:
                continue
            value = scalars.get(text, _UNKNOWN) if colon and name in heads else _UNKNOWN
            if value is not _UNKNOWN:
                width, key, kind = heads[name]
            else:
                entry = None if colon else whole_lines.get(name)
                entry = entry or self._entry_at(at, column, level, is_done=pending is None)
                if entry is None:
                    return at
                width, key, value, kind, size = entry
                end = at + size
                if kind == _SKIPPED:
                    continue
            if value.__class__ is type:
                value = value()
            if column > level:
                if pending is None:
                    # The text of the entry before goes on.
                    end, value = self._longer(before, at, level)
                    holder[-1 if last_key is None else last_key] = value
                    continue
                if width or key is not None:
                    holder[pending] = made = [] if width else {}
                    stack.append((level := column, holder := made))
                else:
                    holder.pop(key := pending, None)  # of a scalar on the line below its key
            elif column < level or (holder.__class__ is list) is not (width > 0):
                level, holder = self._entered(column, pending, is_item=width > 0)
            if key is None:
                holder.append(value)
            elif width:
                holder.append(made := {key: value})
                stack.append((level := column + width, holder := made))
            elif key in holder:
                raise NotPlainError
            else:
                holder[key] = value
            pending = key if kind == _OPENS else None
            before, last_key = at, key
        return len(self._lines)

    def _entry_at(self, at: int, column: int, level: int, *, is_done: bool) -> _Entry | None:
        # Return the entry of a line that is not known.
        line = self._lines[at].lstrip(" ")
        if not line or line[0] == "#":
            return 0, None, None, _SKIPPED, 1
        if is_done and column > level:
            return 0, None, None, _GOES_ON, 0
        match = ENTRY.match(self._text, self._offset_of(at))
        if match is None:
            return None
        entry = self._entry(match, column, level)
        if entry[-1] == 1 and len(line) <= _LONGEST_KNOWN:
            _KNOWN.add(line, entry, match)
        return entry

    def _entry(self, match: re.Match[str], column: int, level: int) -> _Entry:
        # Return the entry of a match.
        dash, key, quoted_key, plain = match.group(2, 3, 4, 5)
        width = 0 if dash is None else len(dash)
        if quoted_key is not None:
            key = quoted_key[1:-1]
        if width or key is not None:
            level = column if key is None else column + width
        elif column <= level:
            raise NotPlainError
        has_value = (match.lastindex or 0) > LAST_OF_KEYS
        if key in CONSTANTS or (key is None and not has_value):
            raise NotPlainError
        size = self._text.count("\n", match.start(), match.end())
        if not has_value:
            return width, key, None, _OPENS, size
        if plain is not None and size == 1 and is_plain_string(plain):
            return width, key, plain, _VALUE, 1
        return width, key, value_of(match, level, is_cut=self._is_cut), _VALUE, size

    def _longer(self, before: int, line: int, level: int) -> tuple[int, JSON]:
        # Return the end and the value of an entry that goes on in a line.
        match = ENTRY.match(self._text, self._offset_of(before))
        if match is None:
            raise NotPlainError
        entry = self._entry(match, len(match["indent"]), level)
        if (end := before + entry[-1]) <= line:
            raise NotPlainError
        return end, entry[2]

    def _entered(self, column: int, pending: str | None, *, is_item: bool) -> tuple[int, Any]:
        # Close what has its entries further right, or a list at the column of its key; or begin
        # such a list.
        stack = self._stack
        level, holder = stack[-1]
        while level > column:
            pending = None
            stack.pop()
            level, holder = stack[-1]
        if not is_item and isinstance(holder, list):
            stack.pop()
            level, holder = stack[-1]
        elif is_item and isinstance(holder, dict):
            if pending is None:
                raise NotPlainError
            made: list[JSON] = []
            holder[pending] = made
            holder = made
            stack.append((level, made))
        if level != column:
            raise NotPlainError
        return level, holder

    def _after_start(self, line: int) -> int:
        # Return the line after the start of the next document, or the end of the text.
        if line >= len(self._lines):
            return line
        offset = self._offset_of(line)
        if REST.match(self._text, offset):
            return len(self._lines)
        start = DOCUMENT_START.match(self._text, offset)
        if start is None:
            raise NotPlainError
        end = line + self._text.count("\n", offset, start.end())
        if self._has_entries():
            self._end()
        elif self._has_start:
            raise NotPlainError
        self._has_start = True
        self._begin(end)
        return end

    def _has_entries(self) -> bool:
        return bool(self._root)

    def _end(self) -> None:
        if not self._has_entries():
            raise NotPlainError
        start = self._offset_of(self._first)
        entry = ENTRY.match(self._text, start)
        value = self._root[""]
        if entry is None or entry["indent"] or not isinstance(value, (dict, list)):
            raise NotPlainError
        first = self._first + self._text.count("\n", start, entry.end("indent"))
        marks = LineMarks(self._positions, value, start)
        self.documents.append(LineDocument(value, marks, Mark(first + 1, 1)))
