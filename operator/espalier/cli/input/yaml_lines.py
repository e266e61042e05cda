"""
Read the plain part of YAML line by line, which is several times as fast as from parser events.

Most manifests have only maps and lists in block style, and scalars that are plain, quoted or
literal blocks. All else is left to the parser: anchors, tags, merge keys, folded blocks, flow style
over several lines, keys that are not plain strings, keys that occur twice, tabs, unusual
characters, and everything that is not valid.

Source:
    libyaml, ``src/scanner.c``, ``yaml_parser_scan_plain_scalar``, ``_scan_flow_scalar`` and
    ``_scan_block_scalar``.
"""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from espalier.cli.input.positions import LazyMarks, Mark, Place, TextPositions
from espalier.cli.input.yaml_dialect import CONSTANTS, NUMBER_STARTS, resolve
from espalier.cli.input.yaml_flow import FLOW, NotPlainError, member_offsets, read_flow
from espalier.lazy import lazy_pattern
from espalier.paths import JSON

# Each level but for lists is further right, so that no text is nested too deep for the parser.
_FAR_RIGHT: Final = " " * 100
_PRINTABLE_ASCII: Final = b"\n" + bytes(range(0x20, 0x7F))
# The line breaks of YAML 1.1 and a byte order mark are left to the parser, as are tabs.
_unusual: Final = lazy_pattern(
    r"[\x00-\t\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]"
)

_SKIPPED = r"(?: \ *+ (?: \#[^\n]*+ )? \n )*+"
_END = r"\ *+ (?: (?<=\ ) \#[^\n]*+ )? \n"
_FIRST = r"(?: [A-Za-z0-9_/.+~$(<=^;\\] | [^\x00-\x7f] | -(?=[^ \n]) )"
_MORE = r"(?: [^ :\#\n] | :(?=[^ \n]) )"
# A colon before a space ends a key, and a number sign after a space begins a comment.
_WORDS = r"""
    [^ :\#\n]*+ (?: (?: \ ++(?=[^ \#\n]) | :(?=[^ \n]) | (?<=[^ ])\# ) [^ :\#\n]*+ )*+
"""
_ENTRY: Final = re.compile(
    rf"""
    {_SKIPPED} (?! --- | \.\.\. )
    (?P<indent> \ *+ )
    (?P<dash> -\ ++ )?+
    (?:
        (?: (?P<key> [A-Za-z_/$][A-Za-z0-9_./$-]{{0,250}}+ )
        |   (?P<quoted_key> "[^"\\\n]{{1,250}}+" | '[^'\n]{{1,250}}+' )
        ) :(?=[ \n])
    )?+
    \ *+
    (?:
        (?P<plain> {_FIRST} {_WORDS} (?: \ *+ \n (?P=indent) \ ++ {_MORE} {_WORDS} (?=\ *+\n) )*+ )
        {_END}
    |   '(?P<single> (?: [^']++ | '' )*+ )' {_END}
    |   "(?P<double> (?: [^"\\]++ | \\[^\x00] )*+ )" {_END}
    |   (?P<flow> {FLOW} ) {_END}
    |   \|(?P<literal> [-+]? ) {_END}
        (?P<block> (?P<block_indent>\ ++) [^ \n][^\n]*+ \n
            (?: (?P=block_indent) [^\n]*+ \n | \ *+ \n )*+
        )
    |   {_END}
    )
    """,
    re.VERBOSE,
)
_LAST_OF_KEYS: Final = _ENTRY.groupindex["quoted_key"]
_DOCUMENT_START: Final = re.compile(rf"{_SKIPPED} --- \ *+ \n", re.VERBOSE)
_REST: Final = re.compile(rf"{_SKIPPED} \Z", re.VERBOSE)
_MARKER: Final = re.compile(r"\n(?:---|\.\.\.)")
_LINE_BREAKS: Final = re.compile(r" *\n((?: *\n)*) *")
_escaped: Final = lazy_pattern(
    r"""
    (?P<escaped_break> \\\n\ *+ (?!\n) )
    | \\ (?: x(?P<x>[0-9a-fA-F]{2}) | u(?P<u>[0-9a-fA-F]{4}) )
    | \\ (?P<letter> . )
    | \ * \n (?P<more> (?: \ *\n )* ) \ *
    """,
    re.DOTALL | re.VERBOSE,
)
_ESCAPES: Final[Mapping[str, str]] = MappingProxyType(
    {'"': '"', "\\": "\\", "/": "/", " ": " ", "n": "\n", "r": "\r", "t": "\t"}
)
_SURROGATES: Final = frozenset({"d8", "d9", "da", "db", "dc", "dd", "de", "df"})


class LineDocument(NamedTuple):
    """
    One document, with the positions of its values by the id of the container and the step in it.
    """

    value: JSON
    marks: Mapping[Place, Mark]
    root: Mark


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


class _LineMarks(LazyMarks):
    """
    The positions of a document of lines.

    Args:
        starts: The offset of each entry in the text.
    """

    def __init__(self, text: TextPositions, value: JSON, starts: list[int]) -> None:
        super().__init__(text)
        self._value = value
        self._starts = starts

    def _found(self) -> Iterator[tuple[Place, int]]:
        # A text has the members in the order of the values.
        return zip(_places(self._value), self._entries(), strict=True)

    def _entries(self) -> Iterator[int]:
        for start in self._starts:
            match = _ENTRY.match(self._text.text, start)
            if match is None:
                raise AssertionError(start)
            dash, key, quoted_key = match.group("dash", "key", "quoted_key")
            offset = match.end("indent" if dash is None else "dash")
            if dash is not None:
                yield offset
            if key is not None or quoted_key is not None:
                yield offset
            if match["flow"] is not None:
                bracket = match.start("flow")
                yield from (bracket + member for member in member_offsets(match["flow"]))


def _places(value: JSON) -> Iterator[Place]:
    walk: list[Iterator[tuple[Place, JSON]]] = [_members(value)]
    while walk:
        for place, member in walk[-1]:
            yield place
            if isinstance(member, (dict, list)):
                walk.append(_members(member))
                break
        else:
            walk.pop()


def _members(container: JSON) -> Iterator[tuple[Place, JSON]]:
    if isinstance(container, dict):
        for key, member in container.items():
            yield (id(container), key), member
    elif isinstance(container, list):
        for index, member in enumerate(container):
            yield (id(container), index), member


class _LineReader:
    """
    Build documents from the lines of a text.

    Containers that are still open stand in a stack, with the column at which their entries begin.
    """

    def __init__(self, text: str) -> None:
        self.documents: list[LineDocument] = []
        self._is_cut = not text.endswith("\n")
        self._text = f"{text}\n" if self._is_cut else text
        self._positions = TextPositions(self._text)
        self._line = self._counted = 0
        self._has_start = False
        self._scalars: dict[str, JSON] = {}
        self._begin()

    def _begin(self) -> None:
        # The outermost container stands for the document, which has no key.
        self._holders: list[Any] = [{}]
        self._columns = [-1]
        self._starts: list[int] = []

    def read(self) -> None:
        """
        Read all documents.

        Raises:
            NotPlainError: A part of the text is not plain.
        """
        position, length = 0, len(self._text)
        while position < length:
            position = self._after_start(self._read_document(position))
        self._end()

    def _read_document(self, position: int) -> int:  # noqa: C901, PLR0912, PLR0915 - calls are slow
        text, length = self._text, len(self._text)
        holders, columns = self._holders, self._columns
        level, holder = columns[0], holders[0]
        made: Any
        # The key whose value is on the next lines, if it has one.
        pending: str | None = ""
        while position < length and (match := _ENTRY.match(text, position)):
            indent, dash, key, plain = match.group(1, 2, 3, 5)
            column = len(indent)
            if key is None and match[4]:
                key = match[4][1:-1]
            if column > level:
                if pending is None:
                    raise NotPlainError
                if dash is None and key is None:
                    key = pending  # of a scalar on the line below its key
                    holder.pop(key, None)
                else:
                    holder[pending] = made = {} if dash is None else []
                    holder, level = made, column
                    holders.append(holder)
                    columns.append(level)
            elif dash is None and key is None:
                raise NotPlainError
            elif column < level or (holder.__class__ is list) is (dash is None):
                level, holder = self._entered(column, pending, is_item=dash is not None)
            if dash is not None and key is not None:
                made = {}
                holder.append(made)
                holder, level = made, column + len(dash)
                holders.append(holder)
                columns.append(level)
            pending, value = None, plain
            if plain is None:
                if (match.lastindex or 0) > _LAST_OF_KEYS:
                    value = self._value(match, level)
                elif (pending := key) is None:
                    raise NotPlainError
            elif plain[0] in NUMBER_STARTS or plain in CONSTANTS or "\n" in plain:
                value = self._resolved(plain, level)
            if key is None:
                holder.append(value)
            elif key in holder or key in CONSTANTS:
                raise NotPlainError
            else:
                holder[key] = value
            self._starts.append(position)
            position = match.end()
        return position

    def _entered(self, column: int, pending: str | None, *, is_item: bool) -> tuple[int, Any]:
        # Close what has its entries further right, or a list at the column of its key; or begin
        # such a list.
        holders, columns = self._holders, self._columns
        if columns[-1] > column:
            pending = None
        while columns[-1] > column:
            columns.pop()
            holders.pop()
        if not is_item and isinstance(holders[-1], list):
            columns.pop()
            holders.pop()
        elif is_item and isinstance(holders[-1], dict):
            if pending is None:
                raise NotPlainError
            made: list[JSON] = []
            holders[-1][pending] = made
            holders.append(made)
            columns.append(columns[-1])
        if columns[-1] != column:
            raise NotPlainError
        return column, holders[-1]

    def _value(self, match: re.Match[str], level: int) -> JSON:
        # Return the value of an entry that is no plain scalar.
        single, double, flow = match.group("single", "double", "flow")
        if single is not None:
            return _folded(single).replace("''", "'")
        if double is not None:
            return _unescaped(double)
        if flow is not None:
            return read_flow(flow, self._resolved)
        return self._literal(match, level)

    def _resolved(self, text: str, level: int = 0) -> JSON:
        if "\n" in text:
            first, *others = text.split("\n")
            if any(len(line) - len(line.lstrip(" ")) <= level for line in others):
                raise NotPlainError
            text = " ".join([first.rstrip(" "), *(line.strip(" ") for line in others)])
        if text not in self._scalars:
            try:
                self._scalars[text] = resolve(text, tag=None, plain=True)
            except ValueError as error:
                raise NotPlainError from error
        return self._scalars[text]

    def _literal(self, match: re.Match[str], level: int) -> str:
        indent = len(match["block_indent"])
        is_cut = self._is_cut and match.end() == len(self._text)
        if is_cut or indent <= level:
            raise NotPlainError
        text = "\n".join([line[indent:] for line in match["block"].split("\n")])
        if match["literal"] == "+":
            return text
        return text.rstrip("\n") + ("" if match["literal"] == "-" else "\n")

    def _after_start(self, position: int) -> int:
        # Return the offset after the start of the next document, or the end of the text.
        if position >= len(self._text) or _REST.match(self._text, position):
            return len(self._text)
        start = _DOCUMENT_START.match(self._text, position)
        if start is None:
            raise NotPlainError
        if self._starts:
            self._end()
        elif self._has_start:
            raise NotPlainError
        self._has_start = True
        return start.end()

    def _end(self) -> None:
        if not self._starts:
            raise NotPlainError
        value, start = self._holders[0][""], self._starts[0]
        entry = _ENTRY.match(self._text, start)
        if entry is None or entry["indent"] or not isinstance(value, (dict, list)):
            raise NotPlainError
        root = entry.end("indent")
        # Most documents are never asked for another mark, so only their lines are counted.
        self._line += self._text.count("\n", self._counted, root)
        self._counted = root
        marks = _LineMarks(self._positions, value, self._starts)
        self.documents.append(LineDocument(value, marks, Mark(self._line + 1, 1)))
        self._begin()


def _folded(text: str) -> str:
    if "\n" not in text:
        return text
    if _MARKER.search(text):
        raise NotPlainError
    return _LINE_BREAKS.sub(lambda match: match[1].replace(" ", "") or " ", text)


def _unescaped(text: str) -> str:
    if "\\" not in text and "\n" not in text:
        return text
    if _MARKER.search(text):
        raise NotPlainError
    return _escaped().sub(_unescaped_part, text)


def _unescaped_part(match: re.Match[str]) -> str:
    letter, more = match.group("letter", "more")
    digits = match["x"] or match["u"]
    if digits is not None:
        if digits[:2].lower() in _SURROGATES:
            raise NotPlainError
        return chr(int(digits, 16))
    if letter is not None:
        if letter not in _ESCAPES:
            raise NotPlainError
        return _ESCAPES[letter]
    return "" if more is None else more.replace(" ", "") or " "
