"""
Texts and bytes from how they are written.

Source:
    cel-go, ``parser/unescape.go``.
"""

import re
from typing import Final

_TRIPLE: Final = ("'''", '"""')
_MIN_TRIPLE: Final = 6
_SIMPLE: Final = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    **{char: char for char in "\\'\"`?"},
}
_ESCAPE: Final = re.compile(
    r"\\(?:[xX](?P<byte>[0-9a-fA-F]{2})|u(?P<short>[0-9a-fA-F]{4})|U(?P<long>[0-9a-fA-F]{8})"
    r"|(?P<octal>[0-3][0-7]{2})|(?P<simple>[abfnrtv\"'\\?`]))"
)
_SURROGATES: Final = range(0xD800, 0xE000)
_MAX_CODE_POINT: Final = 0x10FFFF


class EscapeError(ValueError):
    """
    A constant has an escape sequence that stands for nothing.
    """


def text_of(written: str) -> str:
    """
    Read a text in quotes.

    Raises:
        EscapeError: An escape sequence is no code point.
    """
    content, is_raw = _content(written)
    return content if is_raw else _ESCAPE.sub(_code_point, content)


def bytes_of(written: str) -> bytes:
    """
    Read bytes in quotes, without the ``b`` before them.

    Raises:
        EscapeError: An escape sequence is no byte.
    """
    content, is_raw = _content(written)
    if is_raw:
        return content.encode("utf-8", "surrogatepass")
    made, at = bytearray(), 0
    for match in _ESCAPE.finditer(content):
        made += content[at : match.start()].encode("utf-8", "surrogatepass")
        made.append(_byte(match))
        at = match.end()
    return bytes(made + content[at:].encode("utf-8", "surrogatepass"))


def _content(written: str) -> tuple[str, bool]:
    written = written.replace("\r\n", "\n").replace("\r", "\n")
    is_raw = written[0] in "rR"
    quoted = written[1:] if is_raw else written
    width = 3 if len(quoted) >= _MIN_TRIPLE and quoted[:3] in _TRIPLE else 1
    return quoted[width:-width], is_raw


def _code_point(match: re.Match[str]) -> str:
    if match["simple"]:
        return _SIMPLE[match["simple"]]
    if match["octal"]:
        return chr(int(match["octal"], 8))
    code = int(match["byte"] or match["short"] or match["long"], 16)
    if code in _SURROGATES or code > _MAX_CODE_POINT:
        raise EscapeError("invalid unicode code point")
    return chr(code)


def _byte(match: re.Match[str]) -> int:
    if match["simple"]:
        return ord(_SIMPLE[match["simple"]])
    if match["octal"]:
        return int(match["octal"], 8)
    if match["byte"]:
        return int(match["byte"], 16)
    raise EscapeError("unable to unescape string")
