"""
Texts as Go holds them: bytes that are UTF-8 for the most part.

A ``str`` of Python stands for them. Bytes that are no UTF-8 are lone surrogates in it, as with
Python's error handler ``surrogateescape``. Only what readers return has such bytes: what they are
given comes from JSON, which has none.
"""

import re
from typing import Final

_ESCAPE: Final = re.compile(rb"%([0-9A-Fa-f]{2})")


def to_valid_utf8(text: str) -> str:
    """
    Replace each lone surrogate by U+FFFD, as Go does when it decodes JSON.
    """
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def bytes_of_text(text: str) -> bytes:
    """
    Return the bytes that a text stands for.
    """
    return text.encode("utf-8", "surrogateescape")


def text_of_bytes(data: bytes) -> str:
    """
    Return the text that stands for bytes.
    """
    return data.decode("utf-8", "surrogateescape")


def percent_decoded(text: str) -> str:
    """
    Replace each escape, such as ``%2F``, by its byte; leave an incomplete one as it is.
    """
    if "%" not in text:
        return text
    decoded = _ESCAPE.sub(lambda match: bytes([int(match[1], 16)]), bytes_of_text(text))
    return text_of_bytes(decoded)
