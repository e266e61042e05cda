"""
How Go prints values: JSON, ``%v``, ``%q``, floats.
"""

import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Final, NamedTuple

import orjson

from espalier.golang.utf8 import bytes_of_text, to_valid_utf8
from espalier.paths import JSON

# Where Go's %v and its JSON change from fixed to exponential notation.
_LEAST_EXPONENT, _EXPONENT_LIMIT = -4, 6
_LEAST_FIXED, _FIXED_LIMIT = 1e-6, 1e21


class Pointed(str):
    """
    A text that the server holds by a pointer, and therefore prints as JSON.
    """

    __slots__ = ()


class Printed(str):
    """
    A value as the server prints it, where it holds one with an order of its own.
    """

    __slots__ = ()


def render_value(value: JSON) -> str:
    """
    Write a value as field errors do: strings quoted as in Go, the rest as compact JSON.

    Source:
        apimachinery, ``pkg/util/validation/field/errors.go``, ``Error.ErrorBody``.
    """
    match value:
        case Pointed():
            return go_json(value)
        case Printed():
            return str(value)
        case str():
            return quote(value)
        case float():
            return _go_float(value)
        case _:
            return go_json(value)


def go_json(value: JSON) -> str:
    """
    Write JSON as Go's ``json.Marshal`` does: sorted keys, ``<``, ``>`` and ``&`` escaped.

    Nesting of any depth is written; nothing recurses.
    """
    written: list[str] = []
    waiting: list[JSON | _Text] = [value]
    while waiting:
        match waiting.pop():
            case _Text(text):
                written.append(text)
            case dict() as members:
                waiting.append(_Text("}"))
                for index, key in enumerate(sorted(members, reverse=True), 1 - len(members)):
                    comma = "," if index else ""
                    waiting += (members[key], _Text(f"{comma}{_go_json_string(key)}:"))
                written.append("{")
            case list() as items:
                waiting.append(_Text("]"))
                for index in range(len(items) - 1, -1, -1):
                    waiting.append(items[index])
                    if index:
                        waiting.append(_Text(","))
                written.append("[")
            case None | bool() | int() | float() | str() as scalar:
                written.append(_go_json_scalar(scalar))
    return "".join(written)


class _Text(NamedTuple):
    """
    Punctuation that waits to be written between values.
    """

    text: str


_INT64 = range(-(1 << 63), 1 << 63)


def _go_json_scalar(value: bool | float | str | None) -> str:  # noqa: FBT001 - a JSON value
    match value:
        case str():
            return _go_json_string(value)
        case float():
            return _go_json_float(value)
        case int() if value not in _INT64:
            # Go decodes it as a float, or refuses it where even that has no room for it.
            return _go_json_float(_as_float(value))
        case _:
            return orjson.dumps(value).decode()


def _as_float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _go_json_string(text: str) -> str:
    plain = orjson.dumps(to_valid_utf8(text)).decode()
    for char in "<>&\u2028\u2029":
        plain = plain.replace(char, f"\\u{ord(char):04x}")
    return plain


def _decimal(number: float) -> tuple[str, str, int]:
    # The sign, the shortest digits that read back as the same number, and the exponent of the
    # first of them.
    sign, digits, exponent = Decimal(repr(number)).as_tuple()
    text = "".join(str(digit) for digit in digits).rstrip("0") or "0"
    last = exponent if isinstance(exponent, int) else 0
    return "-" if sign else "", text, 0 if text == "0" else len(digits) - 1 + last


def _go_exponential(number: float, *, least_exponent_digits: int) -> str:
    sign, digits, exponent = _decimal(number)
    mantissa = f"{digits[0]}.{digits[1:]}" if digits[1:] else digits
    mark = "-" if exponent < 0 else "+"
    return f"{sign}{mantissa}e{mark}{abs(exponent):0{least_exponent_digits}d}"


def _go_fixed(number: float) -> str:
    text = f"{Decimal(repr(number)):f}"
    return text.removesuffix(".0")


def _go_float(number: float) -> str:
    if not math.isfinite(number):
        return {"inf": "+Inf", "-inf": "-Inf"}.get(str(number), "NaN")
    _, _, exponent = _decimal(number)
    if exponent < _LEAST_EXPONENT or exponent >= _EXPONENT_LIMIT:
        return _go_exponential(number, least_exponent_digits=2)
    return _go_fixed(number)


def _go_json_float(number: float) -> str:
    if not math.isfinite(number):
        return _go_float(number)
    size = abs(number)
    if size and (size < _LEAST_FIXED or size >= _FIXED_LIMIT):
        return _go_exponential(number, least_exponent_digits=1)
    return _go_fixed(number)


_NAMED: Final[Mapping[str, str]] = MappingProxyType(
    {
        '"': '\\"',
        "\\": "\\\\",
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
    }
)
_ASCII_LIMIT, _BASIC_LIMIT = 0x80, 0x10000


def quote(text: str) -> str:
    """
    Quote a string as Go's ``%q`` does.

    Args:
        text: A byte that is no UTF-8 is a lone surrogate: see ``espalier.golang.utf8``.

    Source:
        Go, ``strconv.Quote``.
    """
    return f'"{"".join(map(_quoted, text))}"'


def _quoted(char: str) -> str:
    if char in _NAMED:
        return _NAMED[char]
    if char.isprintable():
        return char
    if "\ud800" <= char <= "\udfff":
        return f"\\x{bytes_of_text(char)[0]:02x}" if "\udc80" <= char <= "\udcff" else "\ufffd"
    code = ord(char)
    if code < _ASCII_LIMIT:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < _BASIC_LIMIT else f"\\U{code:08x}"


def quote_as_time(text: str) -> str:
    """
    Quote a string as the errors of Go's ``time`` do: with the bytes of what is no plain ASCII.

    Source:
        Go, ``time/format.go``, ``quote``.
    """
    return f'"{"".join(map(_quoted_as_time, to_valid_utf8(text)))}"'


def _quoted_as_time(char: str) -> str:
    if " " <= char < "\x80":
        return f"\\{char}" if char in '"\\' else char
    return "".join(f"\\x{byte:02x}" for byte in char.encode())


def go_text(value: JSON) -> str:
    """
    Write a value as Go's ``%v`` does: texts bare, ``[a b]``, ``map[key:value]`` with sorted keys.

    Nesting of any depth is written; nothing recurses.
    """
    written: list[str] = []
    # Punctuation waits among the values: texts are written as they are.
    waiting: list[JSON] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            written.append(item)
        elif isinstance(item, dict):
            written.append("map[")
            waiting.append("]")
            for index, key in enumerate(sorted(item, reverse=True), 1 - len(item)):
                waiting += (item[key], f"{' ' if index else ''}{key}:")
        elif isinstance(item, list):
            written.append("[")
            waiting.append("]")
            for index in range(len(item) - 1, -1, -1):
                waiting.append(item[index])
                if index:
                    waiting.append(" ")
        else:
            written.append("<nil>" if item is None else render_value(item))
    return "".join(written)


def aggregate(messages: Iterable[str]) -> str:
    """
    Join error texts as the API server does: duplicates once, several of them in brackets.

    Source:
        apimachinery, ``pkg/util/errors/errors.go``, ``aggregate.Error``.
    """
    unique = list(dict.fromkeys(messages))
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"
