"""
The entries of plain YAML: one pattern for each of them, and the values of their scalars.

Source:
    libyaml, ``src/scanner.c``, ``yaml_parser_scan_plain_scalar``, ``_scan_flow_scalar`` and
    ``_scan_block_scalar``.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from espalier.cli.input.yaml_dialect import resolve
from espalier.cli.input.yaml_flow import FLOW, NotPlainError, read_flow
from espalier.lazy import lazy_pattern
from espalier.paths import JSON

_SKIPPED = r"(?: \ *+ (?: \#[^\n]*+ )? \n )*+"
_END = r"\ *+ (?: (?<=\ ) \#[^\n]*+ )? \n"
_FIRST = r"(?: [A-Za-z0-9_/.+~$(<=^;\\] | [^\x00-\x7f] | -(?=[^ \n]) )"
_MORE = r"(?: [^ :\#\n] | :(?=[^ \n]) )"
# A colon before a space ends a key, and a number sign after a space begins a comment.
_WORDS = r"""
    [^ :\#\n]*+ (?: (?: \ ++(?=[^ \#\n]) | :(?=[^ \n]) | (?<=[^ ])\# ) [^ :\#\n]*+ )*+
"""
ENTRY: Final = re.compile(
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
LAST_OF_KEYS: Final = ENTRY.groupindex["quoted_key"]
DOCUMENT_START: Final = re.compile(rf"{_SKIPPED} --- \ *+ \n", re.VERBOSE)
REST: Final = re.compile(rf"{_SKIPPED} \Z", re.VERBOSE)
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


def value_of(match: re.Match[str], level: int, *, is_cut: bool) -> JSON:
    """
    Return the value of an entry that has one.

    Args:
        match: A match of ``ENTRY``.
        level: The column that the lines of a text must be further right than.
        is_cut: Whether the line break at the end of the text was added.

    Raises:
        NotPlainError: The parser has to read it.
    """
    plain, single, double, flow = match.group("plain", "single", "double", "flow")
    if plain is not None:
        return _resolved(plain, level)
    if single is not None:
        return _folded(single).replace("''", "'")
    if double is not None:
        return _unescaped(double)
    if flow is not None:
        return read_flow(flow, _resolved)
    return _literal(match, level, is_cut=is_cut and match.end() == len(match.string))


def _resolved(text: str, level: int = 0) -> JSON:
    if "\n" in text:
        first, *others = text.split("\n")
        if any(len(line) - len(line.lstrip(" ")) <= level for line in others):
            raise NotPlainError
        text = " ".join([first.rstrip(" "), *(line.strip(" ") for line in others)])
    try:
        return resolve(text, tag=None, plain=True)
    except ValueError as error:
        raise NotPlainError from error


def _literal(match: re.Match[str], level: int, *, is_cut: bool) -> str:
    indent = len(match["block_indent"])
    if is_cut or indent <= level:
        raise NotPlainError
    text = "\n".join([line[indent:] for line in match["block"].split("\n")])
    if match["literal"] == "+":
        return text
    return text.rstrip("\n") + ("" if match["literal"] == "-" else "\n")


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
