"""
Read lists and maps in flow style that stand on one line.

What is not surely plain is refused, as in ``yaml_lines``: tags, anchors, escapes, comments, texts
of several words without quotes, keys without a value, and commas before a bracket.

Source:
    libyaml, ``src/scanner.c``, ``yaml_parser_fetch_next_token``.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from espalier.cli.input.yaml_dialect import CONSTANTS
from espalier.paths import JSON

FLOW: Final = r"""[\[{] (?: [^"'\#\n]++ | "[^"\\\n]*+" | '[^'\n]*+' )*+"""
"""The pattern, with verbose spaces, of a text that ``read_flow`` may take."""

_MOST_LEVELS: Final = 50
_TOKEN: Final = re.compile(
    r"""
    \ *+ (?:
        (?P<begin> [\[{] )
    |   (?P<end> [\]}] )
    |   (?P<comma> , )
    |   (?P<key> [A-Za-z_/$][A-Za-z0-9_./$-]{0,250}+ | "[^"\\]{1,250}+" | '[^']{1,250}+' ) : (?=\ )
    |   (?P<scalar> "[^"\\]*+" | '[^']*+' | ~ | -?[A-Za-z0-9_/.][A-Za-z0-9_/.-]*+ ) (?= [ ,\]}] )
    )
    """,
    re.VERBOSE,
)
_CLOSING: Final[Mapping[type, str]] = MappingProxyType({list: "]", dict: "}"})


class NotPlainError(Exception):
    """
    The text is not surely of the plain kind.
    """


def read_flow(text: str, resolve: Callable[[str], JSON]) -> JSON:
    """
    Return the value of a text in flow style.

    Args:
        text: From the first bracket; spaces may follow the last one.
        resolve: Returns the value of a scalar without quotes.

    Raises:
        NotPlainError: The parser has to read it.
    """
    reader = _FlowReader(resolve)
    position = 0
    while not reader.has_ended:
        match = _TOKEN.match(text, position)
        if match is None:
            raise NotPlainError
        reader.take(match.lastgroup, match[match.lastgroup or 0])
        position = match.end()
    if text[position:].strip(" "):
        raise NotPlainError
    root: JSON = reader.root
    return root


def member_offsets(text: str) -> Iterator[int]:
    """
    Yield where each member begins in a text that ``read_flow`` took: at its key, if it has one.
    """
    brackets = ""
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == "key" or (kind in {"begin", "scalar"} and brackets[-1:] == "["):
            yield match.start(kind)
        if kind == "begin":
            brackets += match[kind]
        elif kind == "end":
            brackets = brackets[:-1]


class _FlowReader:
    """
    Put values together, token by token.

    Attributes:
        root: The outermost list or map.
    """

    def __init__(self, resolve: Callable[[str], JSON]) -> None:
        self.root: Any = None
        self._resolve = resolve
        self._open: list[Any] = []
        # The key whose value comes next.
        self._key: str | None = None
        # Whether a value has just ended, so that a comma or a bracket must come next.
        self._is_complete = False

    @property
    def has_ended(self) -> bool:
        """
        Whether the outermost list or map is closed.
        """
        return self.root is not None and not self._open

    def take(self, kind: str | None, text: str) -> None:
        """
        Take the next token.
        """
        if kind == "end":
            self._end(text)
        elif kind == "comma":
            if not self._is_complete:
                raise NotPlainError
            self._is_complete = False
        elif self._is_complete:
            raise NotPlainError
        elif kind == "key":
            self._take_key(text[1:-1] if text[0] in "'\"" else text)
        elif kind == "begin":
            self._begin([] if text == "[" else {})
        else:
            self._place(text[1:-1] if text[0] in "'\"" else self._resolve(text))
            self._is_complete = True

    def _begin(self, made: Any) -> None:
        if len(self._open) == _MOST_LEVELS:
            raise NotPlainError
        if self.root is None:
            self.root = made
        else:
            self._place(made)
        self._open.append(made)

    def _end(self, bracket: str) -> None:
        ended = self._open.pop()
        is_just_begun = not ended and self._key is None
        if not (self._is_complete or is_just_begun) or bracket != _CLOSING[ended.__class__]:
            raise NotPlainError
        self._is_complete = True

    def _take_key(self, key: str) -> None:
        holder = self._open[-1]
        if holder.__class__ is list or self._key is not None or key in holder or key in CONSTANTS:
            raise NotPlainError
        self._key = key

    def _place(self, value: JSON) -> None:
        holder = self._open[-1]
        if holder.__class__ is list:
            holder.append(value)
        elif self._key is None:
            raise NotPlainError
        else:
            holder[self._key] = value
            self._key = None
