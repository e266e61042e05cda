"""
Times as Go reads and writes RFC 3339: its errors, and UTC in whole seconds.
"""

import calendar
import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple


class TimeError(ValueError):
    """
    A text is no time; the message is Go's.
    """


_LAYOUT = "2006-01-02T15:04:05Z07:00"
_LOCAL_LAYOUT = "2006-01-02T15:04:05"
_DATE_LAYOUT = "2006-01-02"
_PIECES_OF_DATES = 5


class _Piece(NamedTuple):
    """
    A piece of the layout, as Go names it in errors, what it takes from a text, and its range.
    """

    layout: str
    pattern: re.Pattern[str]
    name: str = ""
    least: int = 0
    limit: int = 0


_TWO_DIGITS = re.compile(r"[0-9]{2}")
_PIECES = (
    _Piece("2006", re.compile(r"[0-9]{4}"), "year", limit=10_000),
    _Piece("-", re.compile("-")),
    _Piece("01", _TWO_DIGITS, "month", least=1, limit=13),
    _Piece("-", re.compile("-")),
    # Go looks at the day's range last: it depends on the month.
    _Piece("02", _TWO_DIGITS, "day", limit=100),
    _Piece("T", re.compile("T")),
    _Piece("15", re.compile(r"[0-9]{1,2}"), "hour", limit=24),
    _Piece(":", re.compile(":")),
    _Piece("04", _TWO_DIGITS, "minute", limit=60),
    _Piece(":", re.compile(":")),
    # The fraction is no piece of the layout: Go takes one after the seconds where there is one.
    _Piece("05", re.compile(r"[0-9]{2}(?:[.,][0-9]+)?"), "second", limit=60),
)
_ZONE = _Piece("Z07:00", re.compile(r"Z|[+-][0-9]{2}:[0-9]{2}"))
_MAX_ZONE = (24, 60)

# What API servers write, on a day that every month has.
_CANONICAL = re.compile(
    r"\A[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])"
    r"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z\Z"
)

# The calendar repeats after so many years; Python's begins with year 1, and Go's with year 0.
_CYCLE_YEARS = 400


def canonical_time(text: str) -> str:
    """
    Read a time and write it in UTC without fractions: ``2006-01-02T15:04:05Z``.

    Raises:
        TimeError: It is no RFC 3339 time; in the words of Go's ``time.Parse``.

    Source:
        Go, ``time/format.go``, ``parse``; apimachinery, ``pkg/apis/meta/v1/time.go``.
    """
    if _CANONICAL.fullmatch(text):
        return text
    numbers, rest = _take(text, _PIECES, _LAYOUT)
    zone = _match(_ZONE, rest, text, _LAYOUT)
    offset = _offset(text, zone.group())
    _end(text, rest[zone.end() :], numbers)
    return _shifted(text, numbers, offset)


def date_problem(text: str) -> str:
    """
    Tell why a text is no date, in the words of Go's ``time.Parse``; empty if it is one.
    """
    return _problem(text, _PIECES[:_PIECES_OF_DATES], _DATE_LAYOUT)


def local_time_problem(text: str) -> str:
    """
    Tell why a text is no time without a zone; empty if it is one.
    """
    return _problem(text, _PIECES, _LOCAL_LAYOUT)


def _problem(text: str, pieces: tuple[_Piece, ...], layout: str) -> str:
    try:
        numbers, rest = _take(text, pieces, layout)
        _end(text, rest, numbers)
    except TimeError as error:
        return str(error)
    return ""


def _take(text: str, pieces: tuple[_Piece, ...], layout: str) -> tuple[list[int], str]:
    rest = text
    numbers: list[int] = []
    for piece in pieces:
        match = _match(piece, rest, text, layout)
        rest = rest[match.end() :]
        if piece.name:
            number = int(match.group().split(".")[0].split(",")[0])
            if not piece.least <= number < piece.limit:
                raise _malformed(text, f"{piece.name} out of range")
            numbers.append(number)
    return numbers, rest


def _end(text: str, rest: str, numbers: list[int]) -> None:
    if rest:
        raise _malformed(text, f"extra text: {_quote(rest)}")
    year, month, day = numbers[:3]
    if not 1 <= day <= calendar.monthrange(year or _CYCLE_YEARS, month)[1]:
        raise _malformed(text, "day out of range")


def _match(piece: _Piece, rest: str, text: str, layout: str) -> re.Match[str]:
    match = piece.pattern.match(rest)
    if match is None:
        detail = f"cannot parse {_quote(rest)} as {_quote(piece.layout)}"
        raise TimeError(f"parsing time {_quote(text)} as {_quote(layout)}: {detail}")
    return match


def _offset(text: str, zone: str) -> timedelta:
    if zone == "Z":
        return timedelta()
    hours, minutes = int(zone[1:3]), int(zone[4:6])
    for name, number, greatest in zip(("hour", "minute"), (hours, minutes), _MAX_ZONE, strict=True):
        if number > greatest:
            raise _malformed(text, f"time zone offset {name} out of range")
    offset = timedelta(hours=hours, minutes=minutes)
    return -offset if zone[0] == "-" else offset


def _shifted(text: str, numbers: list[int], offset: timedelta) -> str:
    year, month, day, hour, minute, second = numbers
    cycle = _CYCLE_YEARS if year <= 1 else 0
    try:
        moment = datetime(year + cycle, month, day, hour, minute, second, tzinfo=UTC) - offset
    except OverflowError:
        # Go reads it, but writes no JSON for a year that has not four digits.
        raise _malformed(text, "year out of range") from None
    if moment.year < cycle:
        raise _malformed(text, "year out of range")
    return f"{moment.year - cycle:04d}-{moment:%m-%dT%H:%M:%SZ}"


def _malformed(text: str, detail: str) -> TimeError:
    return TimeError(f"parsing time {_quote(text)}: {detail}")


def _quote(text: str) -> str:
    # Not as everywhere else: of what is no plain ASCII the bytes are shown. A lone surrogate is
    # no character to Go, which decodes it to U+FFFD.
    shown = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return '"' + "".join(map(_shown, shown)) + '"'


def _shown(character: str) -> str:
    if " " <= character < "\x80":
        return f"\\{character}" if character in '"\\' else character
    return "".join(f"\\x{byte:02x}" for byte in character.encode())
