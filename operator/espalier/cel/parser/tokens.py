"""
The tokens of an expression.

Source:
    cel-go, ``parser/gen/CEL.g4``, "Lexer Rules".
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

INT: Final = "NUM_INT"
UINT: Final = "NUM_UINT"
FLOAT: Final = "NUM_FLOAT"
STRING: Final = "STRING"
BYTES: Final = "BYTES"
IDENTIFIER: Final = "IDENTIFIER"
ESCAPED: Final = "ESC_IDENTIFIER"
END: Final = "<EOF>"

_ESCAPE: Final = (
    r"\\(?:[abfnrtv\"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}"
    r"|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
)
_STRING: Final = (
    r"[rR](?:\"\"\"[\s\S]*?\"\"\"|'''[\s\S]*?'''|\"[^\"\n\r]*\"|'[^'\n\r]*')"
    rf"|\"\"\"(?:{_ESCAPE}|[^\\])*?\"\"\"|'''(?:{_ESCAPE}|[^\\])*?'''"
    rf"|\"(?:{_ESCAPE}|[^\\\"\n\r])*\"|'(?:{_ESCAPE}|[^\\'\n\r])*'"
)
_EXPONENT: Final = "[eE][+-]?[0-9]+"
# The longest match wins, so that longer ones of the same beginning come first.
_TOKEN: Final = re.compile(
    rf"(?P<hidden>[\t \r\n\f]+|//[^\n]*)"
    rf"|(?P<{BYTES}>[bB](?:{_STRING}))"
    rf"|(?P<{STRING}>{_STRING})"
    rf"|(?P<{UINT}>0x[0-9a-fA-F]+[uU]|[0-9]+[uU])"
    rf"|(?P<hexadecimal>0x[0-9a-fA-F]+)"
    rf"|(?P<{FLOAT}>[0-9]+\.[0-9]+(?:{_EXPONENT})?|[0-9]+{_EXPONENT}|\.[0-9]+(?:{_EXPONENT})?)"
    rf"|(?P<{INT}>[0-9]+)"
    rf"|(?P<{IDENTIFIER}>[A-Za-z_][A-Za-z0-9_]*)"
    rf"|(?P<{ESCAPED}>`[A-Za-z0-9_.\-/ ]+`)"
    r"|(?P<sign>==|!=|<=|>=|&&|\|\||[<>\[\]{}().,\-!?:+*/%])"
)
_WORDS: Final = frozenset(("in", "true", "false", "null"))


class Token(NamedTuple):
    """
    A token.

    Attributes:
        kind: One of the constants above; for signs and for words of the language, the text itself.
        at: The offset in code points.
    """

    kind: str
    text: str
    at: int


class TokenError(Exception):
    """
    Characters that begin no token.
    """

    def __init__(self, at: int, text: str) -> None:
        super().__init__(f"token recognition error at: '{text}'")
        self.at = at


def tokens(text: str) -> Iterator[Token]:
    """
    Yield the tokens of an expression, and the end as the last one.

    Raises:
        TokenError: There is something that begins no token.
    """
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise TokenError(at, text[at])
        kind, found = match.lastgroup or "", match.group()
        if kind == "hexadecimal":
            kind = INT
        elif kind == "sign" or found in _WORDS:
            kind = found
        if kind != "hidden":
            yield Token(kind, found, at)
        at = match.end()
    yield Token(END, END, len(text))
