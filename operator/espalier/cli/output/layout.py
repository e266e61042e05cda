"""
Lay out tables: nothing is cut, and no column is left out.

A table that does not fit the terminal wraps its cells between words. If a column cannot be made
narrow enough without breaking a word, each row is folded: its first cells stay on a line, and the
others follow on further lines, each after the title of its column.
"""

from collections.abc import Iterator, Mapping, Sequence
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
    layout = TableLayout.of(table, is_wide=is_wide, width=width)
    yield layout.title_line()
    for row in table.rows:
        yield from layout.row_lines(row)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLayout:
    """
    How the rows of a table are laid out; further rows may follow those that it was made for.

    Attributes:
        shown: The numbers of the columns that are shown.
        titles: Their titles.
        widths: Their widths.
        folded_at: The width of the terminal if rows are folded; None if they are not.
    """

    shown: Sequence[int]
    titles: Row
    widths: Sequence[int]
    folded_at: int | None = None

    @classmethod
    def of(cls, table: Table, *, is_wide: bool, width: int | None) -> "TableLayout":
        """
        Return the layout of a table; the arguments are those of ``table_lines``.
        """
        shown = [n for n, column in enumerate(table.columns) if is_wide or not column.is_wide]
        columns = [_ColumnSize.of(table.columns[n].title) for n in shown]
        for row in table.rows:
            for n, column in zip(shown, columns, strict=True):
                column.grow(printable(row[n]))
        titles = [column.title for column in columns]
        full = [column.full for column in columns]
        if width is None:
            return cls(shown=shown, titles=titles, widths=full)
        fitted = _fitted(columns, width - _GAP * (len(columns) - 1))
        if fitted is None:
            return cls(shown=shown, titles=titles, widths=full, folded_at=width)
        return cls(shown=shown, titles=titles, widths=fitted)

    def title_line(self) -> Line:
        """
        Return the line with the titles.
        """
        titles = self.titles if self.folded_at is None else self.titles[: self._leading]
        return _joined([(title, "bold") for title in titles], self.widths)

    def row_lines(self, row: Row) -> Iterator[Line]:
        """
        Yield the lines of a row, which has a cell for each column of the table.
        """
        cells = [printable(row[n]) for n in self.shown]
        if self.folded_at is None:
            yield from _wrapped_row(cells, self.widths)
        else:
            leading = self._leading
            yield from _folded_row(self.titles, cells, self.widths, leading, self.folded_at)

    @property
    def _leading(self) -> int:
        return _leading(self.widths, self.folded_at or 0)


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


def _folded_row(
    titles: Row, row: Row, natural: Sequence[int], leading: int, width: int
) -> Iterator[Line]:
    cells = [(cell, _style_of(cell)) for cell in row[:leading]]
    yield _joined(cells, natural[:leading])
    room = width - _FOLDED_INDENT
    line: list[Part] = []
    used = 0
    for title, cell in zip(titles[leading:], row[leading:], strict=True):
        if not cell:
            continue
        size = cells_of(title) + 1 + cells_of(cell)
        if line and used + _GAP + size > room:
            yield _indented(line)
            line, used = [], 0
        if size > room:
            yield from _wrapped_cell(title, cell, room)
            continue
        gap = [(" " * _GAP, "")] if line else []
        line += [*gap, (title, "bold"), (" ", ""), (cell, _style_of(cell))]
        used += size + (_GAP if gap else 0)
    if line:
        yield _indented(line)


def _wrapped_cell(title: str, cell: str, room: int) -> Iterator[Line]:
    indent = cells_of(title) + 1
    first, *rest = _wrapped(cell, max(room - indent, _LEAST_TEXT))
    style = _style_of(cell)
    yield _indented([(title, "bold"), (" ", ""), (first, style)])
    yield from (_indented([(" " * indent, ""), (line, style)]) for line in rest)


def _indented(parts: Sequence[Part]) -> Line:
    return ((" " * _FOLDED_INDENT, ""), *parts)


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
            # A row that came later may have a longer cell than the column was made for.
            parts.append((" " * (max(width - cells_of(text), 0) + _GAP), ""))
    return tuple(parts)


def _style_of(cell: str) -> str:
    return _STYLES.get(cell.partition(" ")[0], "")
