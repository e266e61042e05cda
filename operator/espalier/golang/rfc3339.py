"""
Times as Go's ``time`` reads them by the layouts of RFC 3339, with its error messages.

A layout is a sequence of pieces, each of which takes its part of the text. Go's calendar begins
with the year 0 and Python's with the year 1; both repeat after 400 years.

Source:
    Go, ``time/format.go``, ``parse``.
"""

import calendar
import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Final, NamedTuple

from espalier.golang.printing import quote_as_time
from espalier.golang.utf8 import to_valid_utf8
from espalier.lazy import lazy_pattern


class TimeError(ValueError):
    """
    A text is no time; the message is Go's.
    """


class Time(NamedTuple):
    """
    A moment.

    Attributes:
        seconds: Since the beginning of 1970 in UTC.
        nanoseconds: Behind the seconds; never negative.
        offset_seconds: Of the zone in which it is written.
    """

    seconds: int
    nanoseconds: int = 0
    offset_seconds: int = 0


class _OutOfRangeError(Exception):
    """
    A number is out of range; its argument names it.
    """


_Numbers = dict[str, int]
_Take = Callable[[str, _Numbers], int | None]
"""Reads numbers from the beginning of a text; returns how many characters it read."""


class _Piece(NamedTuple):
    """
    A piece of a layout, as Go names it in errors.
    """

    layout: str
    take: _Take


class Layout(NamedTuple):
    """
    How a text states a time.
    """

    pieces: tuple[_Piece, ...]

    def __str__(self) -> str:
        return "".join(piece.layout for piece in self.pieces)


def _text(layout: str) -> _Piece:
    return _Piece(layout, lambda rest, _: len(layout) if rest.startswith(layout) else None)


def _number(layout: str, pattern: str, name: str, least: int, limit: int) -> _Piece:
    compiled = lazy_pattern(pattern)

    def take(rest: str, numbers: _Numbers) -> int | None:
        match = compiled().match(rest)
        if match is None:
            return None
        numbers[name] = int(match[0])
        if not least <= numbers[name] < limit:
            raise _OutOfRangeError(name)
        return match.end()

    return _Piece(layout, take)


_SECONDS: Final = _number("05", "[0-9]{2}", "second", 0, 60)
_any_fraction: Final = lazy_pattern("[.,][0-9]+")
_zone: Final = lazy_pattern("([\x00-\x7f])([0-9]{2}):(?:([0-9]{2})|[^\x00-\x7f]|.{2})", re.DOTALL)
_MAX_ZONE_HOURS, _MAX_ZONE_MINUTES = 24, 60
_FRACTION_DIGITS: Final = 9


def _take_seconds(rest: str, numbers: _Numbers) -> int | None:
    # Go takes a fraction after the seconds, though the layout has none.
    taken = _SECONDS.take(rest, numbers)
    fraction = None if taken is None else _any_fraction().match(rest, taken)
    if fraction is None:
        return taken
    digits = fraction[0][1 : 1 + _FRACTION_DIGITS]
    numbers["nanosecond"] = int(digits.ljust(_FRACTION_DIGITS, "0"))
    return fraction.end()


def _fraction(digits: int) -> _Piece:
    # Go reads the digits as a number, so that a sign may stand in the place of the first.
    signed = lazy_pattern(rf"[.,][+-]?[0-9]{{0,{digits}}}")

    def take(rest: str, numbers: _Numbers) -> int | None:
        match = signed().match(rest)
        if match is None or match.end() < 1 + digits:
            return None
        text = match[0][1 : 1 + digits]
        numbers["nanosecond"] = int(text) * 10 ** (_FRACTION_DIGITS - digits)
        if numbers["nanosecond"] < 0:
            raise _OutOfRangeError("fractional second")
        return 1 + digits

    return _Piece("." + "0" * digits, take)


def _take_zone(rest: str, numbers: _Numbers) -> int | None:
    if rest.startswith("Z"):
        numbers["offset"] = 0
        return 1
    match = _zone().match(rest)
    if match is None:
        return None
    sign, hours, minutes = match.groups()
    # Go reports numbers out of range before other faults, the last of them first.
    if minutes is not None and int(minutes) > _MAX_ZONE_MINUTES:
        raise _OutOfRangeError("time zone offset minute")
    if int(hours) > _MAX_ZONE_HOURS:
        raise _OutOfRangeError("time zone offset hour")
    if minutes is None or sign not in "+-":
        return None
    offset = int(hours) * 3_600 + int(minutes) * 60
    numbers["offset"] = -offset if sign == "-" else offset
    return match.end()


_DATE_PIECES: Final = (
    _number("2006", "[0-9]{4}", "year", 0, 10_000),
    _text("-"),
    _number("01", "[0-9]{2}", "month", 1, 13),
    _text("-"),
    # The range of the day is checked last: it depends on the month.
    _number("02", "[0-9]{2}", "day", 0, 100),
)
_CLOCK_PIECES: Final = (
    _text("T"),
    _number("15", "[0-9]{1,2}", "hour", 0, 24),
    _text(":"),
    _number("04", "[0-9]{2}", "minute", 0, 60),
    _text(":"),
)
_SECONDS_PIECE: Final = _Piece("05", _take_seconds)
_ZONE_PIECE: Final = _Piece("Z07:00", _take_zone)

DATE: Final = Layout(_DATE_PIECES)
LOCAL_TIME: Final = Layout((*_DATE_PIECES, *_CLOCK_PIECES, _SECONDS_PIECE))
RFC3339: Final = Layout((*LOCAL_TIME.pieces, _ZONE_PIECE))
_MICROSECONDS, _MILLISECONDS = (
    Layout((*_DATE_PIECES, *_CLOCK_PIECES, _SECONDS, _fraction(digits), _ZONE_PIECE))
    for digits in (6, 3)
)

_CYCLE_YEARS: Final = 400
_CYCLE_DAYS: Final = 146_097
_DAY_SECONDS: Final = 86_400
_EPOCH: Final = date(1970, 1, 1).toordinal()
_MIN_PYTHON_SECONDS: Final = (date.min.toordinal() - _EPOCH) * _DAY_SECONDS
_MIN_SECONDS: Final = _MIN_PYTHON_SECONDS - 366 * _DAY_SECONDS
_MAX_SECONDS: Final = (date.max.toordinal() - _EPOCH + 1) * _DAY_SECONDS - 1


def parse_time(text: str, layout: Layout = RFC3339) -> Time:
    """
    Read a time; in UTC where the layout has no zone.

    Raises:
        TimeError: It is none.

    Source:
        Go, ``time/format.go``, ``Parse``.
    """
    whole = to_valid_utf8(text)
    rest = whole
    numbers: _Numbers = {}
    for piece in layout.pieces:
        try:
            taken = piece.take(rest, numbers)
        except _OutOfRangeError as error:
            raise _malformed(whole, f"{error} out of range") from None
        if taken is None:
            detail = f"cannot parse {quote_as_time(rest)} as {quote_as_time(piece.layout)}"
            quoted = f"{quote_as_time(whole)} as {quote_as_time(str(layout))}"
            raise TimeError(f"parsing time {quoted}: {detail}")
        rest = rest[taken:]
    if rest:
        raise _malformed(whole, f"extra text: {quote_as_time(rest)}")
    return _time(whole, numbers)


def _malformed(text: str, detail: str) -> TimeError:
    return TimeError(f"parsing time {quote_as_time(text)}: {detail}")


def _time(text: str, numbers: _Numbers) -> Time:
    year, month, day = (numbers[name] for name in ("year", "month", "day"))
    like = year or _CYCLE_YEARS
    if not 1 <= day <= calendar.monthrange(like, month)[1]:
        raise _malformed(text, "day out of range")
    days = date(like, month, day).toordinal() - _EPOCH - (0 if year else _CYCLE_DAYS)
    hour, minute, second = (numbers.get(name, 0) for name in ("hour", "minute", "second"))
    offset = numbers.get("offset", 0)
    seconds = days * _DAY_SECONDS + hour * 3_600 + minute * 60 + second
    return Time(seconds - offset, numbers.get("nanosecond", 0), offset)


def parse_date_time(text: str) -> Time:
    """
    Read a value of the format ``date-time``; it may lack the zone, and an empty one is 1970.

    Raises:
        TimeError: It is none.

    Source:
        kube-openapi, ``pkg/validation/strfmt/time.go``, ``ParseDateTime``.
    """
    if not text:
        return Time(0)
    for layout in (RFC3339, _MICROSECONDS, _MILLISECONDS):
        try:
            return parse_time(text, layout)
        except TimeError:
            pass
    # The layout without a zone is the last one that the server tries; it reports this error.
    return parse_time(text, LOCAL_TIME)


def calendar_of(seconds: int) -> tuple[int, datetime]:
    """
    Convert seconds since 1970 to a year, and to a moment of a year with the same days.

    Args:
        seconds: Within the years -399 to 10398.
    """
    days, second = divmod(seconds, _DAY_SECONDS)
    cycles = 1 if seconds < _MIN_PYTHON_SECONDS else -1 if seconds > _MAX_SECONDS else 0
    day = date.fromordinal(days + _EPOCH + cycles * _CYCLE_DAYS)
    moment = datetime(day.year, day.month, day.day) + timedelta(seconds=second)  # noqa: DTZ001
    return moment.year - cycles * _CYCLE_YEARS, moment


# What API servers write, on a day that every month has.
_canonical: Final = lazy_pattern(
    r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])"
    r"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z"
)


def canonical_time(text: str) -> str:
    """
    Read a time and write it in UTC without fractions: ``2006-01-02T15:04:05Z``.

    Raises:
        TimeError: It is no RFC 3339 time.

    Source:
        apimachinery, ``pkg/apis/meta/v1/time.go``.
    """
    if _canonical().fullmatch(text):
        return text
    seconds = parse_time(text).seconds
    if not _MIN_SECONDS <= seconds <= _MAX_SECONDS:
        # Go reads it, but writes no JSON for a year that has not four digits.
        raise _malformed(text, "year out of range")
    year, moment = calendar_of(seconds)
    return f"{year:04d}-{moment:%m-%dT%H:%M:%SZ}"
