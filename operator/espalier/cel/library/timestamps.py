"""
Times and durations of CEL expressions: read, written and taken apart as Go does.
"""

import datetime as dt
import re
import zoneinfo
from collections.abc import Callable, Mapping
from decimal import Decimal

from espalier.cel.values import (
    INT64_MAX,
    INT64_MIN,
    MAX_UNIX_SECONDS,
    MIN_UNIX_SECONDS,
    NANOSECONDS,
    CelError,
    Duration,
    Timestamp,
    quoted,
)
from espalier.golang import durations
from espalier.golang.rfc3339 import Time, TimeError, calendar_of, parse_time

TIMESTAMP_OVERFLOW = "timestamp overflow"

_OFFSET = re.compile(r"([+-]?[0-9]{1,6}):([+-]?[0-9]{1,6})")


def parse_timestamp(text: str) -> Timestamp | None:
    """
    Read an RFC 3339 time.

    Returns:
        The time; None if it is none.
    """
    try:
        return timestamp_of(parse_time(text))
    except TimeError:
        return None


def timestamp_of(time: Time) -> Timestamp:
    """
    Convert a time that was read.
    """
    return Timestamp(time.seconds * NANOSECONDS + time.nanoseconds, time.offset_seconds)


def parse_duration(text: str) -> Duration | None:
    """
    Read a duration as Go's ``time.ParseDuration`` does.

    Returns:
        The duration; None if it is none, or does not fit into 64 bits.
    """
    try:
        return Duration(durations.parse_duration(text))
    except durations.DurationError:
        return None


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
    return calendar_of(timestamp.nanoseconds // NANOSECONDS + timestamp.offset_seconds)


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
