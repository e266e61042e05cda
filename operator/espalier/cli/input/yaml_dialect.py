"""
Read YAML scalars as kubectl and API servers do: YAML 1.1, in the dialect of sigs.k8s.io/yaml.

It differs from PyYAML's: ``y`` and ``n`` are booleans, ``1e3`` is a number, dates and base-60
numbers are strings, ``=`` is a string, integers beyond 64 bits are floats, and every key becomes a
string.
"""

import base64
import binascii
import math
import re
import struct
from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType

from espalier.golang.printing import render_value
from espalier.paths import JSON

_YAML_TAGS = "tag:yaml.org,2002:"
_LEAST_INT, _MOST_INT, _MOST_UINT = -(2**63), 2**63 - 1, 2**64 - 1
# From here on Go's JSON writes a float with an exponent, so it is not read back as an integer.
_LEAST_EXPONENTIAL = 1e21

CONSTANTS: Mapping[str, JSON] = MappingProxyType(
    dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True)
    | dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE"), False)
    | dict.fromkeys(("off", "Off", "OFF"), False)
    | dict.fromkeys(("", "~", "null", "Null", "NULL"))
    | dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan)
    | dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf)
    | dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf)
)
NUMBER_STARTS = "+-.0123456789"
_INT = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_TYPES: Mapping[str, tuple[type, ...]] = MappingProxyType(
    {"int": (int,), "float": (int, float), "bool": (bool,), "null": (type(None),)}
)


def resolve(text: str, *, tag: str | None, plain: bool) -> JSON:
    """
    Read one scalar.

    Args:
        tag: The full tag, such as ``tag:yaml.org,2002:int``; None if the document has none.
        plain: Whether the scalar has no quotes.

    Raises:
        ValueError: The text does not have the type of the tag, or JSON has no such number.

    Source:
        sigs.k8s.io/yaml, ``goyaml.v2/resolve.go``, ``resolve``.
    """
    known = tag.removeprefix(_YAML_TAGS) if tag and tag.startswith(_YAML_TAGS) else None
    if known == "binary":
        return _binary(text)
    # A server does not know the tags of an application: the text stays a string.
    if known == "str" or (tag is None and not plain) or (tag is not None and known is None):
        return text
    value = _resolve_plain(text)
    if known is not None and known in _TYPES and type(value) not in _TYPES[known]:
        raise ValueError(f"{text!r} is not of the type !!{known}")
    return value


def is_plain_string(text: str) -> bool:
    """
    Report whether a scalar without quotes and tag is surely a string; most strings are.
    """
    # The empty text is in every text.
    return text[:1] not in NUMBER_STARTS and text not in CONSTANTS


def key_of(value: JSON) -> str:
    """
    Return the string that a key becomes in JSON.

    Raises:
        ValueError: The key is null, a map or a list.

    Source:
        sigs.k8s.io/yaml, ``yaml.go``, ``convertToJSONableObject``.
    """
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return _float_key(value)
        case _:
            raise ValueError("a key must be a string, a number or a boolean")


def json_number(number: float) -> int | float:
    """
    Return a float as Go's JSON would read it: a whole number that fits 64 bits is an integer.

    Raises:
        ValueError: The number is NaN or infinite.
    """
    if not math.isfinite(number):
        raise ValueError(f"JSON has no number {number}")
    if number.is_integer() and abs(number) < _LEAST_EXPONENTIAL:
        return bounded(int(Decimal(repr(number))))
    return number


def bounded(number: int) -> int | float:
    """
    Return an integer as it is if it fits 64 bits, else as a float, as API servers do.
    """
    return number if _LEAST_INT <= number <= _MOST_INT else float(number)


def _binary(text: str) -> str:
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode("utf-8", "replace")
    except binascii.Error as error:
        raise ValueError("!!binary value contains invalid base64 data") from error


def _resolve_plain(text: str) -> JSON:
    if text in CONSTANTS:
        value = CONSTANTS[text]
        return json_number(value) if isinstance(value, float) else value
    if text[0] not in NUMBER_STARTS:
        return text
    plain = text if text[0] == "." else text.replace("_", "")
    integer = _INT.fullmatch(plain)
    if integer:
        number = _int_of(integer)
        if _LEAST_INT <= number <= (_MOST_INT if integer[1] else _MOST_UINT):
            return bounded(number)
    if _FLOAT.fullmatch(plain):
        read = float(plain)
        return json_number(read) if math.isfinite(read) else text
    return text


def _int_of(match: re.Match[str]) -> int:
    sign, *groups = match.groups()
    for digits, radix in zip(groups, (16, 2, 8, 10), strict=True):
        if digits is not None:
            # A hundred digits are far beyond 64 bits already; more of them are slow to read.
            number = int(digits[:100], radix)
            return -number if sign == "-" else number
    raise AssertionError(match)


def _float_key(number: float) -> str:
    # Go writes the fewest digits that read back as the same 32-bit float.
    for digits in range(9):
        text = f"{number:.{digits}e}"
        if _float32(float(text)) == _float32(number):
            return render_value(float(text))
    return render_value(number)


def _float32(number: float) -> bytes:
    try:
        return struct.pack("f", number)
    except OverflowError as error:
        raise ValueError(f"the key {number} does not fit a 32-bit float") from error
