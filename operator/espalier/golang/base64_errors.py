"""
Where a text stops being base64 by the alphabet of URLs.
"""

import re
from typing import Final

_GROUP: Final = 4
_SOUND: Final = re.compile(
    r"(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-]{2}==|[A-Za-z0-9_-]{3}=)?", re.ASCII
)
_LETTER: Final = re.compile(rb"[A-Za-z0-9_-]")
_NEWLINES: Final = b"\r\n"
_PADDING: Final = b"="


def base64_fault(text: str) -> int | None:
    """
    Find the byte at which Go's ``base64.URLEncoding`` gives up.

    Returns:
        Its offset; None if the text can be decoded. Line breaks are skipped.

    Source:
        Go, ``encoding/base64``, ``decodeQuantum``.
    """
    if _SOUND.fullmatch(text):
        return None
    data = text.encode("utf-8", "surrogatepass")
    at = _skip(data, 0)
    while at < len(data):
        letters = 0
        while letters < _GROUP:
            at = _skip(data, at)
            if at == len(data):
                return at - letters if letters else None
            if not _LETTER.match(data, at):
                return _end(data, at, letters)
            at += 1
            letters += 1
        at = _skip(data, at)
    return None


def _skip(data: bytes, at: int) -> int:
    while at < len(data) and data[at] in _NEWLINES:
        at += 1
    return at


def _end(data: bytes, at: int, letters: int) -> int | None:
    # What follows the letters of a group which is not whole: padding, and nothing after it.
    if data[at : at + 1] != _PADDING or letters <= 1:
        return at
    at = _skip(data, at + 1)
    if letters == _GROUP - 2:
        if at == len(data):
            return at
        if data[at : at + 1] != _PADDING:
            return at - 1
        at = _skip(data, at + 1)
    return at if at < len(data) else None
