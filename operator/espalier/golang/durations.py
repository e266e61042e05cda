"""
Durations as Go's ``time`` and the format ``duration`` read them, with their error messages.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from espalier.golang.printing import quote, quote_as_time
from espalier.golang.utf8 import to_valid_utf8


class DurationError(ValueError):
    """
    A text is no duration; the message is Go's.
    """


_INT64_LIMIT: Final = 1 << 63
_UINT64_LIMIT: Final = 1 << 64
_MAX_DIGITS: Final = 19
_MAX_FRACTION: Final = (_INT64_LIMIT - 1) // 10

_UNITS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "ns": 1,
        "us": 1_000,
        "\u00b5s": 1_000,
        "\u03bcs": 1_000,
        "ms": 1_000_000,
        "s": 1_000_000_000,
        "m": 60_000_000_000,
        "h": 3_600_000_000_000,
    }
)
_AMOUNT: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?")
_UNIT: Final = re.compile("[^.0-9]*")


def parse_duration(text: str) -> int:
    """
    Read a duration, such as ``1h30m``.

    Returns:
        Its nanoseconds, within 64 bits.

    Raises:
        DurationError: It is none, or does not fit.

    Source:
        Go, ``time/format.go``, ``ParseDuration``.
    """
    whole = to_valid_utf8(text)
    is_negative = whole.startswith("-")
    rest = whole[1:] if whole.startswith(("-", "+")) else whole
    if rest == "0":
        return 0
    if not rest:
        raise _error(whole)
    total = 0
    while rest:
        amount, rest = _part(whole, rest)
        # Go adds two amounts of the limit each, and notices nothing: the sum wraps to zero.
        total = (total + amount) % _UINT64_LIMIT
        if total > _INT64_LIMIT:
            raise _error(whole)
    if is_negative:
        return -total
    if total == _INT64_LIMIT:
        raise _error(whole)
    return total


def _part(whole: str, rest: str) -> tuple[int, str]:
    amount = _AMOUNT.match(rest)
    digits, fraction = amount.groups() if amount else ("", "")
    if not digits and not fraction:
        raise _error(whole)
    number = _limited(digits)
    if number > _INT64_LIMIT:
        raise _error(whole)
    rest = rest[amount.end() :] if amount else rest
    match = _UNIT.match(rest)
    name = match[0] if match else ""
    if not name:
        raise _error(whole, "missing unit in duration")
    unit = _UNITS.get(name)
    if unit is None:
        raise _error(whole, f"unknown unit {quote_as_time(name)} in duration")
    if number > _INT64_LIMIT // unit:
        raise _error(whole)
    nanoseconds = number * unit + _fraction(fraction or "", unit)
    if nanoseconds > _INT64_LIMIT:
        raise _error(whole)
    return nanoseconds, rest[len(name) :]


def _limited(digits: str) -> int:
    # Python reads no number of very many digits.
    significant = digits.lstrip("0")
    return int(significant or "0") if len(significant) <= _MAX_DIGITS else _INT64_LIMIT + 1


def _fraction(digits: str, unit: int) -> int:
    # Go calculates with floats here. It leaves out digits that do not fit into 64 bits.
    number, scale = 0, 1.0
    for digit in digits:
        larger = number * 10 + int(digit)
        if number > _MAX_FRACTION or larger > _INT64_LIMIT:
            break
        number, scale = larger, scale * 10
    return int(float(number) * (float(unit) / scale)) if number else 0


def _error(text: str, detail: str = "invalid duration") -> DurationError:
    return DurationError(f"time: {detail} {quote_as_time(text)}")


_WORDED_AMOUNT: Final = re.compile("([0-9]+)[\t\n\f\r ]*([A-Za-z\u00b5]+)")
_HOUR: Final = _UNITS["h"]
# For each unit its names, and what longer names begin with.
_WORDED_UNITS: Final = (
    (_UNITS["ns"], ("ns",), "nano"),
    (_UNITS["us"], ("us", "\u00b5s"), "micro"),
    (_UNITS["ms"], ("ms",), "milli"),
    (_UNITS["s"], ("s",), "sec"),
    (_UNITS["m"], ("m",), "min"),
    (_HOUR, ("h", "hr"), "hour"),
    (24 * _HOUR, ("d",), "day"),
    (7 * 24 * _HOUR, ("w", "wk"), "week"),
)


def parse_worded_duration(text: str) -> int:
    """
    Read a value of the format ``duration``: Go's notation, or numbers and units (``2 days``).

    One number with a unit is enough; everything around it is ignored.

    Returns:
        Its nanoseconds. A sum that does not fit into 64 bits is wrapped.

    Raises:
        DurationError: It is none, or a number does not fit into 64 bits.

    Source:
        kube-openapi, ``pkg/validation/strfmt/duration.go``, ``ParseDuration``.
    """
    try:
        return parse_duration(text)
    except DurationError:
        pass
    whole = to_valid_utf8(text)
    total, has_unit = 0, False
    for digits, name in _WORDED_AMOUNT.findall(whole):
        number = _limited(digits)
        if number >= _INT64_LIMIT:
            raise DurationError(f"strconv.Atoi: parsing {quote(digits)}: value out of range")
        unit = _worded_unit(name.lower())
        if unit is not None:
            total, has_unit = total + number * unit, True
    if not has_unit:
        raise DurationError(f"unable to parse {whole} as duration")
    return (total + _INT64_LIMIT) % _UINT64_LIMIT - _INT64_LIMIT


def _worded_unit(name: str) -> int | None:
    for unit, names, beginning in _WORDED_UNITS:
        if name in names or name.startswith(beginning):
            return unit
    return None
