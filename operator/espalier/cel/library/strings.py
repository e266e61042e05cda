"""
Functions of texts.

Source:
    cel-go, ``ext/strings.go``, version 2.
"""

from typing import Final

from espalier.cel.library.format_string import format_text
from espalier.cel.signatures import Library, overload
from espalier.cel.values import CelError, ListValue, TimeLimitError, demand, show

_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UPPER: Final = {small: big for big, small in _LOWER.items()}
_ESCAPES: Final = str.maketrans(
    {
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
        "\\": "\\\\",
        '"': '\\"',
    }
)
_MAX_CHARACTERS: Final = 64 * 1024 * 1024


def _out_of_range(index: int) -> CelError:
    return CelError(f"index out of range: {index}")


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise _out_of_range(index)
    return text[index : index + 1]


def _index_of(text: str, part: str, offset: int = 0) -> int:
    if offset < 0:
        raise _out_of_range(offset)
    if not part:
        return min(offset, len(text))
    return text.find(part, offset)


def _last_index_of(text: str, part: str) -> int:
    return text.rfind(part)


def _last_index_up_to(text: str, part: str, offset: int) -> int:
    if offset < 0:
        raise _out_of_range(offset)
    if not part:
        return min(offset, len(text))
    if offset >= len(text):
        return -1
    return text.rfind(part, 0, offset + len(part))


def _lower(text: str) -> str:
    return text.translate(_LOWER)


def _upper(text: str) -> str:
    return text.translate(_UPPER)


def _replace(text: str, old: str, new: str, limit: int = -1) -> str:
    found = text.count(old)
    count = found if limit < 0 else min(found, limit)
    _refuse_size(len(text) + count * (len(new) - len(old)))
    return text.replace(old, new, count)


def _refuse_size(characters: int) -> None:
    if characters > _MAX_CHARACTERS:
        raise TimeLimitError("it makes a text that is too large")


def _split(text: str, separator: str, limit: int = -1) -> ListValue:
    if limit == 0:
        return ListValue([])
    if separator:
        return ListValue([*text.split(separator, -1 if limit < 0 else limit - 1)])
    if limit < 0 or limit >= len(text):
        return ListValue([*text])
    return ListValue([*text[: limit - 1], text[limit - 1 :]])


def _substring(text: str, start: int) -> str:
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    return text[start:]


def _substring_to(text: str, start: int, end: int) -> str:
    if start > end:
        raise CelError(f"invalid substring range. start: {start}, end: {end}")
    for index in (start, end):
        if not 0 <= index <= len(text):
            raise _out_of_range(index)
    return text[start:end]


def _trim(text: str) -> str:
    return text.strip(_SPACE)


def _quote(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'


def _join(texts: ListValue, separator: str = "") -> str:
    size = 0
    for each in texts.items:
        if not isinstance(each, str):
            raise CelError(f"join: invalid input: {show(demand(each))}")
        size += len(each) + len(separator)
    _refuse_size(size)
    return separator.join(texts.items)


TEXTS: Final[Library] = {
    "charAt": (overload("string_char_at_int", "string.(int) -> string", _char_at),),
    "indexOf": (
        overload("string_index_of_string", "string.(string) -> int", _index_of),
        overload("string_index_of_string_int", "string.(string, int) -> int", _index_of),
    ),
    "lastIndexOf": (
        overload("string_last_index_of_string", "string.(string) -> int", _last_index_of),
        overload(
            "string_last_index_of_string_int", "string.(string, int) -> int", _last_index_up_to
        ),
    ),
    "lowerAscii": (overload("string_lower_ascii", "string.() -> string", _lower),),
    "replace": (
        overload("string_replace_string_string", "string.(string, string) -> string", _replace),
        overload(
            "string_replace_string_string_int", "string.(string, string, int) -> string", _replace
        ),
    ),
    "split": (
        overload("string_split_string", "string.(string) -> list(string)", _split),
        overload("string_split_string_int", "string.(string, int) -> list(string)", _split),
    ),
    "substring": (
        overload("string_substring_int", "string.(int) -> string", _substring),
        overload("string_substring_int_int", "string.(int, int) -> string", _substring_to),
    ),
    "trim": (overload("string_trim", "string.() -> string", _trim),),
    "upperAscii": (overload("string_upper_ascii", "string.() -> string", _upper),),
    "format": (overload("string_format", "string.(list(dyn)) -> string", format_text),),
    "strings.quote": (overload("strings_quote", "(string) -> string", _quote),),
    "join": (
        overload("list_join", "list(string).() -> string", _join),
        overload("list_join_string", "list(string).(string) -> string", _join),
    ),
}
"""The library."""
