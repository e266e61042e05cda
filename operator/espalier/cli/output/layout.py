"""
Lay out tables: nothing is cut, and no column is left out.

A table that does not fit the terminal wraps its cells between words. If a column cannot be made
narrow enough without breaking a word, each row is folded: its first cells stay on a line, and each
other cell gets a line of its own with the title of its column.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from espalier.cli.output.console import Part, cells_of, printable
from espalier.cli.result import Table

_STYLES: Mapping[str, str] = {
    "True": "green",
    "yes": "green",
    "ok": "green",
    "False": "yellow",
    "no": "red",
    "Unknown": "magenta",
    "refused": "red",
    "accepted": "green",
}
_GAP = 2
_FOLDED_INDENT = 4
# A column of text that is narrower than this is hard to read; rows are folded instead.
_LEAST_TEXT = 24

Line = tuple[Part, ...]
Row = Sequence[str]


def table_lines(table: Table, *, is_wide: bool, width: int | None) -> Iterator[Line]:
    """
    Yield the lines of a table, its titles first.

    Args:
        is_wide: Whether to show the columns that only ``-o wide`` shows.
        width: The number of columns of the terminal; None if the output is a file, where a row is
            one line.
    """
    shown = [n for n, column in enumerate(table.columns) if is_wide or not column.is_wide]
    columns = [_ColumnSize.of(table.columns[n].title) for n in shown]
    for row in table.rows:
        for n, column in zip(shown, columns, strict=True):
            column.grow(printable(row[n]))
    titles = [column.title for column in columns]
    rows = ([printable(row[n]) for n in shown] for row in table.rows)
    widths = [column.full for column in columns]
    if width is not None:
        fitted = _fitted(columns, width - _GAP * (len(columns) - 1))
        if fitted is None:
            yield from _folded(titles, rows, widths, width)
            return
        widths = fitted
    yield _joined([(title, "bold") for title in titles], widths)
    for row in rows:
        yield from _wrapped_row(row, widths)


@dataclass(slots=True)
class _ColumnSize:
    """
    The sizes of a column's cells, its title included.

    Attributes:
        full: The width in which no cell is wrapped.
        word: The width of the longest word.
        is_text: Whether a cell has several words.
    """

    title: str
    full: int
    word: int
    is_text: bool = False

    @classmethod
    def of(cls, title: str) -> "_ColumnSize":
        return cls(title, cells_of(title), cells_of(title))

    def grow(self, cell: str) -> None:
        self.full = max(self.full, cells_of(cell))
        self.word = max(self.word, *map(cells_of, cell.split(" ")))
        self.is_text = self.is_text or " " in cell

    @property
    def least(self) -> int:
        return min(self.full, max(self.word, _LEAST_TEXT)) if self.is_text else self.full


def _fitted(columns: Sequence[_ColumnSize], free: int) -> list[int] | None:
    # Widths that fit, with cells wrapped between words; None if there are none.
    widths = [column.least for column in columns]
    spare = free - sum(widths)
    if spare < 0:
        return None
    # The columns that lack the least get what they lack first.
    order = sorted(range(len(columns)), key=lambda n: columns[n].full - widths[n])
    for taken, n in enumerate(order):
        more = min(columns[n].full - widths[n], spare // (len(order) - taken))
        widths[n] += more
        spare -= more
    return widths


def _wrapped_row(row: Row, widths: Sequence[int]) -> Iterator[Line]:
    wrapped = [_wrapped(cell, width) for cell, width in zip(row, widths, strict=True)]
    styles = [_style_of(cell) for cell in row]
    for n in range(max(map(len, wrapped))):
        cells = [lines[n] if n < len(lines) else "" for lines in wrapped]
        yield _joined(list(zip(cells, styles, strict=True)), widths)


def _wrapped(cell: str, width: int) -> list[str]:
    # The words of a line that is too long go to the next one; a single word is never broken.
    lines = [""]
    for number, word in enumerate(cell.split(" ")):
        extended = f"{lines[-1]} {word}" if number else word
        if number and lines[-1] and cells_of(extended) > width:
            lines.append(word)
        else:
            lines[-1] = extended
    return [line.rstrip() for line in lines]


def _folded(titles: Row, rows: Iterable[Row], natural: Sequence[int], width: int) -> Iterator[Line]:
    leading = _leading(natural, width)
    yield _joined([(title, "bold") for title in titles[:leading]], natural[:leading])
    for row in rows:
        cells = [(cell, _style_of(cell)) for cell in row[:leading]]
        yield _joined(cells, natural[:leading])
        for title, cell in zip(titles[leading:], row[leading:], strict=True):
            if not cell:
                continue
            room = width - _FOLDED_INDENT - cells_of(title) - _GAP
            indent = " " * (_FOLDED_INDENT + cells_of(title) + _GAP)
            first, *rest = _wrapped(cell, max(room, _LEAST_TEXT))
            style = _style_of(cell)
            yield (" " * _FOLDED_INDENT, ""), (title, "bold"), (" " * _GAP, ""), (first, style)
            yield from (((indent, ""), (line, style)) for line in rest)


def _leading(natural: Sequence[int], width: int) -> int:
    # The number of columns, at least one, that stay on the first line of a folded row.
    taken = natural[0]
    for number, column in enumerate(natural[1:], 1):
        taken += _GAP + column
        if taken > width:
            return number
    return len(natural)


def _joined(cells: Sequence[Part], widths: Sequence[int]) -> Line:
    # The last cell is not padded, nor are the gaps before empty ones at the end of the line.
    while cells and not cells[-1][0]:
        cells = cells[:-1]
    parts: list[Part] = []
    for number, ((text, style), width) in enumerate(zip(cells, widths, strict=False), 1):
        parts.append((text, style))
        if number < len(cells):
            parts.append((" " * (width - cells_of(text) + _GAP), ""))
    return tuple(parts)


def _style_of(cell: str) -> str:
    return _STYLES.get(cell.partition(" ")[0], "")
