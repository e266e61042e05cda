"""
The functions that every CEL expression has: operators, conversions, times.

Source:
    cel-go, ``common/stdlib/standard.go`` and ``common/types``.
"""

import math
import re
from collections.abc import Callable
from typing import Final

from espalier.cel.equality import NO_SUCH_OVERLOAD
from espalier.cel.library.operators import OPERATORS
from espalier.cel.library.regex import compiled
from espalier.cel.library.timestamps import (
    TIMESTAMP_OVERFLOW,
    checked_timestamp,
    parse_duration,
    parse_timestamp,
    part_of,
    write_duration,
    write_timestamp,
)
from espalier.cel.signatures import Library, Overload, overload
from espalier.cel.types import UNKNOWN, CelType
from espalier.cel.values import (
    INT64_MAX,
    INT64_MIN,
    MAX_UNIX_SECONDS,
    MIN_UNIX_SECONDS,
    NANOSECONDS,
    UINT64_MAX,
    CelError,
    Duration,
    Timestamp,
    Uint,
    Value,
    int_of,
    show,
    type_of,
)

_TWO_TO_64: Final = float(1 << 64)
_INT = re.compile(r"[+-]?[0-9]+")
_UINT = re.compile(r"[0-9]+")
_FLOAT = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf|infinity|nan)", re.IGNORECASE
)
_BOOLS: Final = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


def _refuse(value: Value, wanted: str) -> CelError:
    return CelError(f"type conversion error from '{type_of(value).name}' to '{wanted}'")


def _type_name(value: Value) -> CelType:
    found = type_of(value)
    if found is UNKNOWN:
        raise CelError(
            "type conversion to 'type' not supported for values preserved by"
            " x-kubernetes-preserve-unknown-fields"
        )
    return found


def _identity(value: Value) -> Value:
    return value


def _text_to_int(text: str) -> int:
    if _INT.fullmatch(text):
        number = int_of(text.lstrip("+-"))
        number = -number if text[0] == "-" else number
        if INT64_MIN <= number <= INT64_MAX:
            return number
    raise _refuse(text, "int")


def _double_to_int(number: float) -> int:
    if math.isnan(number) or not float(INT64_MIN) < number < float(INT64_MAX):
        raise CelError("integer overflow")
    return int(number)


def _uint_to_int(number: Uint) -> int:
    if number > INT64_MAX:
        raise CelError("integer overflow")
    return int(number)


def _text_to_uint(text: str) -> Uint:
    if _UINT.fullmatch(text) and int_of(text) <= UINT64_MAX:
        return Uint(int_of(text))
    raise _refuse(text, "uint")


def _double_to_uint(number: float) -> Uint:
    if math.isnan(number) or not 0 <= number < _TWO_TO_64:
        raise CelError("unsigned integer overflow")
    return Uint(number)


def _int_to_uint(number: int) -> Uint:
    if number < 0:
        raise CelError("unsigned integer overflow")
    return Uint(number)


def _text_to_double(text: str) -> float:
    if _FLOAT.fullmatch(text):
        number = float(text)
        if math.isfinite(number) or "n" in text.lower():
            return number
    raise _refuse(text, "double")


def _text_to_bool(text: str) -> bool:
    if text not in _BOOLS:
        raise _refuse(text, "bool")
    return _BOOLS[text]


def _bytes_to_text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise CelError("invalid UTF-8 in bytes, cannot convert to string") from None


def _text_to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text_to_duration(text: str) -> Duration:
    found = parse_duration(text)
    if found is None:
        raise _refuse(text, "google.protobuf.Duration")
    return found


def _text_to_timestamp(text: str) -> Timestamp:
    found = parse_timestamp(text)
    if found is None:
        raise _refuse(text, "google.protobuf.Timestamp")
    return checked_timestamp(*found)


def _int_to_timestamp(seconds: int) -> Timestamp:
    if not MIN_UNIX_SECONDS <= seconds <= MAX_UNIX_SECONDS:
        raise CelError(TIMESTAMP_OVERFLOW)
    return Timestamp(seconds * NANOSECONDS)


def _seconds_of(timestamp: Timestamp) -> int:
    return timestamp.nanoseconds // NANOSECONDS


def _nanoseconds_of(duration: Duration) -> int:
    return duration.nanoseconds


def _name_of_bool(value: bool) -> str:  # noqa: FBT001 - a value
    return "true" if value else "false"


def to_text(value: Value) -> str:
    """
    Write a value as ``string()`` does.

    Raises:
        CelError: Values of its type have no text.
    """
    match value:
        case str():
            return value
        case bool():
            return _name_of_bool(value)
        case int() | float():
            return show(value)
        case bytes():
            return _bytes_to_text(value)
        case Duration():
            return write_duration(value)
        case Timestamp():
            return write_timestamp(value)
        case CelType():
            return value.name
        case None:
            return "null"
        case _:
            raise _refuse(value, "string")


def _text_test(test: Callable[[str, str], bool]) -> Callable[[Value, Value], bool]:
    def run(text: Value, other: Value) -> bool:
        if not isinstance(text, str) or not isinstance(other, str):
            raise CelError(NO_SUCH_OVERLOAD)
        return test(text, other)

    return run


def matches(text: Value, pattern: Value) -> bool:
    """
    Search a text for a pattern.

    Raises:
        CelError: The pattern does not compile, or either is no text.
    """
    if not isinstance(text, str):
        raise CelError("no such overload: matches")
    if not isinstance(pattern, str):
        raise CelError(NO_SUCH_OVERLOAD)
    return compiled(pattern).search(text) is not None


_DURATION_PARTS: Final = {
    "getHours": 3_600 * NANOSECONDS,
    "getMinutes": 60 * NANOSECONDS,
    "getSeconds": NANOSECONDS,
    "getMilliseconds": 1_000_000,
}
_TIME_PARTS: Final = {
    "getFullYear": "timestamp_to_year",
    "getMonth": "timestamp_to_month",
    "getDayOfYear": "timestamp_to_day_of_year",
    "getDayOfMonth": "timestamp_to_day_of_month",
    "getDate": "timestamp_to_day_of_month_1_based",
    "getDayOfWeek": "timestamp_to_day_of_week",
    "getHours": "timestamp_to_hours",
    "getMinutes": "timestamp_to_minutes",
    "getSeconds": "timestamp_to_seconds",
    "getMilliseconds": "timestamp_to_milliseconds",
}


def _time_part(part: str) -> tuple[Overload, ...]:
    def of_time(timestamp: Timestamp, zone: str = "UTC") -> int:
        return part_of(timestamp, part, zone)

    def of_duration(duration: Duration) -> int:
        whole = abs(duration.nanoseconds) // _DURATION_PARTS[part]
        return whole if duration.nanoseconds >= 0 else -whole

    id_ = _TIME_PARTS[part]
    found = (
        overload(id_, "timestamp.() -> int", of_time),
        overload(f"{id_}_with_tz", "timestamp.(string) -> int", of_time),
    )
    if part not in _DURATION_PARTS:
        return found
    id_ = id_.replace("timestamp", "duration")
    return (*found, overload(id_, "duration.() -> int", of_duration))


_CONVERSIONS: Library = {
    "type": (overload("type", "(A) -> type(A)", _type_name),),
    "bool": (
        overload("bool_to_bool", "(bool) -> bool", _identity),
        overload("string_to_bool", "(string) -> bool", _text_to_bool),
    ),
    "bytes": (
        overload("bytes_to_bytes", "(bytes) -> bytes", _identity),
        overload("string_to_bytes", "(string) -> bytes", _text_to_bytes),
    ),
    "double": (
        overload("double_to_double", "(double) -> double", _identity),
        overload("int64_to_double", "(int) -> double", float),
        overload("string_to_double", "(string) -> double", _text_to_double),
        overload("uint64_to_double", "(uint) -> double", float),
    ),
    "duration": (
        overload("duration_to_duration", "(duration) -> duration", _identity),
        overload("string_to_duration", "(string) -> duration", _text_to_duration),
    ),
    "dyn": (overload("to_dyn", "(A) -> dyn", _identity),),
    "int": (
        overload("int64_to_int64", "(int) -> int", _identity),
        overload("double_to_int64", "(double) -> int", _double_to_int),
        overload("duration_to_int64", "(duration) -> int", _nanoseconds_of),
        overload("string_to_int64", "(string) -> int", _text_to_int),
        overload("timestamp_to_int64", "(timestamp) -> int", _seconds_of),
        overload("uint64_to_int64", "(uint) -> int", _uint_to_int),
    ),
    "string": (
        overload("string_to_string", "(string) -> string", to_text),
        overload("bool_to_string", "(bool) -> string", to_text),
        overload("bytes_to_string", "(bytes) -> string", to_text),
        overload("double_to_string", "(double) -> string", to_text),
        overload("duration_to_string", "(duration) -> string", to_text),
        overload("int64_to_string", "(int) -> string", to_text),
        overload("timestamp_to_string", "(timestamp) -> string", to_text),
        overload("uint64_to_string", "(uint) -> string", to_text),
    ),
    "timestamp": (
        overload("timestamp_to_timestamp", "(timestamp) -> timestamp", _identity),
        overload("int64_to_timestamp", "(int) -> timestamp", _int_to_timestamp),
        overload("string_to_timestamp", "(string) -> timestamp", _text_to_timestamp),
    ),
    "uint": (
        overload("uint64_to_uint64", "(uint) -> uint", _identity),
        overload("double_to_uint64", "(double) -> uint", _double_to_uint),
        overload("int64_to_uint64", "(int) -> uint", _int_to_uint),
        overload("string_to_uint64", "(string) -> uint", _text_to_uint),
    ),
}


def _text_function(id_: str, test: Callable[[str, str], bool]) -> tuple[Overload, ...]:
    signature = "string.(string) -> bool"
    return (overload(id_, signature, _text_test(test), is_guarded=False),)


_TEXTS: Library = {
    "contains": _text_function("contains_string", lambda text, part: part in text),
    "endsWith": _text_function("ends_with_string", str.endswith),
    "startsWith": _text_function("starts_with_string", str.startswith),
    "matches": (
        overload("matches", "(string, string) -> bool", matches, is_guarded=False),
        overload("matches_string", "string.(string) -> bool", matches, is_guarded=False),
    ),
}

STANDARD: Final[Library] = {
    **OPERATORS,
    **_CONVERSIONS,
    **_TEXTS,
    **{part: _time_part(part) for part in _TIME_PARTS},
}
"""The library."""
