"""
Times and durations of CEL expressions: read, written and taken apart as Go does.
"""

import calendar
import datetime as dt
import re
import zoneinfo
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction

from espalier.cel.values import (
    INT64_MAX,
    INT64_MIN,
    MAX_UNIX_SECONDS,
    MIN_UNIX_SECONDS,
    NANOSECONDS,
    CelError,
    Duration,
    Timestamp,
    int_of,
    quoted,
)

TIMESTAMP_OVERFLOW = "timestamp overflow"

_RFC3339 = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?"
    r"(Z|[+-][0-9]{2}:[0-9]{2})?"
)
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_GO_DURATION = re.compile(
    r"([+-]?)(0|(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)"
)
_GO_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)")
_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": NANOSECONDS,
    "m": 60 * NANOSECONDS,
    "h": 3_600 * NANOSECONDS,
    "d": 86_400 * NANOSECONDS,
    "w": 604_800 * NANOSECONDS,
}
_WORDED = re.compile(r"([0-9]+)[\t\n\f\r ]*([A-Za-zµ]+)")
_WORDS = (
    ("ns", "ns", "nano"),
    ("us", "us", "micro"),
    ("us", "µs", "micro"),
    ("ms", "ms", "milli"),
    ("s", "s", "sec"),
    ("m", "m", "min"),
    ("h", "h", "hour"),
    ("h", "hr", "hour"),
    ("d", "d", "day"),
    ("w", "w", "week"),
    ("w", "wk", "week"),
)
_MONTHS_AND_LIMITS = ((1, 12), (0, 23), (0, 59), (0, 59))
_OFFSET = re.compile(r"([+-]?[0-9]{1,6}):([+-]?[0-9]{1,6})")
_EPOCH_DAYS = dt.date(1970, 1, 1).toordinal()
# Python's calendar begins with year 1, and Go's with year 0; it repeats after so many years.
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097


def parse_timestamp(text: str, *, may_lack_zone: bool = False) -> Timestamp | None:
    """
    Read an RFC 3339 time.

    Returns:
        The time; None if it is none.

    Source:
        Go, ``time.Parse`` with ``RFC3339``.
    """
    match = _RFC3339.fullmatch(text)
    if match is None:
        return None
    *numbers, fraction, zone = match.groups()
    year, month, day, hour, minute, second = map(int, numbers)
    offset = _zone_offset(zone) if zone or may_lack_zone else None
    limits = zip((month, hour, minute, second), _MONTHS_AND_LIMITS, strict=True)
    if offset is None or not all(least <= number <= most for number, (least, most) in limits):
        return None
    days = _days(year, month, day)
    if days is None:
        return None
    seconds = days * 86_400 + hour * 3_600 + minute * 60 + second - offset
    nanoseconds = int((fraction or "0")[:9].ljust(9, "0"))
    return Timestamp(seconds * NANOSECONDS + nanoseconds, offset)


def _zone_offset(zone: str | None) -> int | None:
    if zone in (None, "Z"):
        return 0
    hours, minutes = int(zone[1:3]), int(zone[4:6])
    if hours > 24 or minutes > 60:  # noqa: PLR2004 - Go's limits
        return None
    return (-1 if zone[0] == "-" else 1) * (hours * 3_600 + minutes * 60)


def _days(year: int, month: int, day: int) -> int | None:
    if not 1 <= day <= calendar.monthrange(year or _CYCLE_YEARS, month)[1]:
        return None
    ordinal = dt.date(year or _CYCLE_YEARS, month, day).toordinal()
    return ordinal - _EPOCH_DAYS - (0 if year else _CYCLE_DAYS)


def parse_date(text: str) -> Timestamp | None:
    """
    Read a date; its time is midnight in UTC.
    """
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    year, month, day = map(int, match.groups())
    days = _days(year, month, day) if 1 <= month <= 12 else None  # noqa: PLR2004 - of a year
    return None if days is None else Timestamp(days * 86_400 * NANOSECONDS)


def parse_duration(text: str) -> Duration | None:
    """
    Read a duration as Go's ``time.ParseDuration`` does.

    Returns:
        The duration; None if it is none, or does not fit into 64 bits.
    """
    match = _GO_DURATION.fullmatch(text)
    if match is None:
        return None
    total = 0
    for whole, fraction, unit in _GO_PART.findall(match.group(2)):
        total += int_of(whole) * _UNITS[unit]
        if fraction:
            total += int(Fraction(int(fraction[:18]), 10 ** len(fraction[:18])) * _UNITS[unit])
    is_negative = match.group(1) == "-"
    if total > INT64_MAX + is_negative:
        return None
    return Duration(-total if is_negative else total)


def parse_worded_duration(text: str) -> Duration | None:
    """
    Read a value of the format ``duration``: Go's notation, or numbers with words.

    Source:
        kube-openapi, ``pkg/validation/strfmt/duration.go``, ``ParseDuration``.
    """
    found = parse_duration(text)
    if found is not None:
        return found
    total, has_unit = 0, False
    for number, word in _WORDED.findall(text):
        unit = word.lower()
        for name, exact, beginning in _WORDS:
            if unit == exact or unit.startswith(beginning):
                total, has_unit = total + int_of(number) * _UNITS[name], True
                break
    wrapped = (total + (1 << 63)) % (1 << 64) - (1 << 63)
    return Duration(wrapped) if has_unit else None


def checked_duration(nanoseconds: int) -> Duration:
    """
    Make a duration.

    Raises:
        CelError: It does not fit into 64 bits.
    """
    if not INT64_MIN <= nanoseconds <= INT64_MAX:
        raise CelError("integer overflow")
    return Duration(nanoseconds)


def checked_timestamp(nanoseconds: int, offset_seconds: int = 0) -> Timestamp:
    """
    Make a time.

    Raises:
        CelError: It is not within the years 1 to 9999.
    """
    if not MIN_UNIX_SECONDS <= nanoseconds // NANOSECONDS <= MAX_UNIX_SECONDS:
        raise CelError(TIMESTAMP_OVERFLOW)
    return Timestamp(nanoseconds, offset_seconds)


def write_duration(duration: Duration) -> str:
    """
    Write a duration in seconds: ``1.5s``.

    Source:
        Go, ``strconv.FormatFloat`` of ``Duration.Seconds``.
    """
    whole, rest = divmod(abs(duration.nanoseconds), NANOSECONDS)
    seconds = float(whole) + float(rest) / 1e9
    digits = f"{Decimal(repr(seconds)):f}".removesuffix(".0")
    return f"{'-' if duration.nanoseconds < 0 else ''}{digits}s"


def write_timestamp(timestamp: Timestamp) -> str:
    """
    Write a time as Go's ``RFC3339Nano`` does, in its zone.
    """
    year, rest = _local(timestamp)
    fraction = f"{timestamp.nanoseconds % NANOSECONDS:09d}".rstrip("0")
    point = f".{fraction}" if fraction else ""
    minutes = abs(timestamp.offset_seconds) // 60
    sign = "-" if timestamp.offset_seconds < 0 else "+"
    zone = f"{sign}{minutes // 60:02d}:{minutes % 60:02d}" if timestamp.offset_seconds else "Z"
    return f"{year:04d}-{rest:%m-%dT%H:%M:%S}{point}{zone}"


def _local(timestamp: Timestamp) -> tuple[int, dt.datetime]:
    # The year, and a moment of a year that is like it.
    seconds = timestamp.nanoseconds // NANOSECONDS + timestamp.offset_seconds
    days, second = divmod(seconds, 86_400)
    ordinal = days + _EPOCH_DAYS
    shift = _CYCLE_YEARS if ordinal <= 366 else -_CYCLE_YEARS if ordinal > 3_652_059 else 0  # noqa: PLR2004 - the ends of Python's calendar
    date = dt.date.fromordinal(ordinal + shift // _CYCLE_YEARS * _CYCLE_DAYS)
    moment = dt.datetime.combine(date, dt.time()) + dt.timedelta(seconds=second)
    return moment.year - shift, moment


def part_of(timestamp: Timestamp, part: str, zone: str = "UTC") -> int:
    """
    Take a part of a time, in a zone: a name (``Europe/Rome``) or an offset (``-01:30``).

    Args:
        part: The name of the function in expressions, such as ``getFullYear``.

    Raises:
        CelError: There is no such zone.

    Source:
        cel-go, ``common/stdlib/standard.go``, ``inTimeZone``.
    """
    year, moment = _local(timestamp._replace(offset_seconds=_offset_in(timestamp, zone)))
    if part == "getFullYear":
        return year
    if part == "getMilliseconds":
        return timestamp.nanoseconds % NANOSECONDS // 1_000_000
    return _PARTS[part](moment)


_PARTS: Mapping[str, Callable[[dt.datetime], int]] = {
    "getMonth": lambda moment: moment.month - 1,
    "getDayOfYear": lambda moment: moment.timetuple().tm_yday - 1,
    "getDayOfMonth": lambda moment: moment.day - 1,
    "getDate": lambda moment: moment.day,
    "getDayOfWeek": lambda moment: moment.isoweekday() % 7,
    "getHours": lambda moment: moment.hour,
    "getMinutes": lambda moment: moment.minute,
    "getSeconds": lambda moment: moment.second,
}


def _offset_in(timestamp: Timestamp, zone: str) -> int:
    if ":" in zone:
        match = _OFFSET.fullmatch(zone)
        if match is None:
            left, _, right = zone.partition(":")
            wrong = left if not re.fullmatch(r"[+-]?[0-9]+", left) else right
            raise CelError(f"strconv.Atoi: parsing {quoted(wrong)}: invalid syntax")
        hours, minutes = int(match.group(1)), int(match.group(2))
        return (hours * 60 + (-minutes if zone[0] == "-" else minutes)) * 60
    if zone in ("", "UTC"):
        return 0
    try:
        info = zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise CelError(f"unknown time zone {zone}") from None
    _, moment = _local(timestamp._replace(offset_seconds=0))
    local = moment.replace(tzinfo=dt.UTC).astimezone(info)
    offset = local.utcoffset() or dt.timedelta()
    return int(offset.total_seconds())
