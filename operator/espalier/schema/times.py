"""
Times as Go reads and writes RFC 3339: its errors, and UTC in whole seconds.
"""

import calendar
import re
from datetime import UTC, datetime, timedelta

from espalier.errors import MalformedValueError
from espalier.findings import quote

_LAYOUT = "2006-01-02T15:04:05Z07:00"

# The pieces of the layout, as Go names them in errors, and what each takes from the text.
_PIECES = (
    ("2006", re.compile(r"[0-9]{4}")),
    ("-", re.compile("-")),
    ("01", re.compile(r"[0-9]{2}")),
    ("-", re.compile("-")),
    ("02", re.compile(r"[0-9]{2}")),
    ("T", re.compile("T")),
    ("15", re.compile(r"[0-9]{2}")),
    (":", re.compile(":")),
    ("04", re.compile(r"[0-9]{2}")),
    (":", re.compile(":")),
    # The fraction is no piece of the layout: Go takes one after the seconds where there is one.
    ("05", re.compile(r"[0-9]{2}(?:[.,][0-9]+)?")),
    ("Z07:00", re.compile(r"Z|[+-][0-9]{2}:[0-9]{2}")),
)


def canonical_time(text: str) -> str:
    """
    Read a time and write it in UTC without fractions: ``2006-01-02T15:04:05Z``.

    Raises:
        MalformedValueError: It is no RFC 3339 time; in the words of Go's ``time.Parse``.

    Source:
        Go, ``time/format.go``, ``parse``; apimachinery, ``pkg/apis/meta/v1/time.go``.
    """
    parts, rest = [], text
    for name, pattern in _PIECES:
        match = pattern.match(rest)
        if match is None:
            detail = f"cannot parse {quote(rest)} as {quote(name)}"
            raise MalformedValueError(f"parsing time {quote(text)} as {quote(_LAYOUT)}: {detail}")
        parts.append(match.group())
        rest = rest[match.end() :]
    if rest:
        raise _malformed(text, f"extra text: {quote(rest)}")
    year, month, day, hour, minute = (int(parts[index]) for index in (0, 2, 4, 6, 8))
    second = int(parts[10][:2])
    _check_ranges(text, year, month, day, (hour, minute, second))
    offset = _offset(text, parts[11])
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC) - offset
    except (ValueError, OverflowError):
        # Years that Python does not have; Go writes no JSON for them either after 9999.
        raise _malformed(text, "year out of range") from None
    return f"{moment.year:04d}-{moment:%m-%dT%H:%M:%SZ}"


def _check_ranges(text: str, year: int, month: int, day: int, clock: tuple[int, int, int]) -> None:
    if not 1 <= month <= 12:  # noqa: PLR2004 - months
        raise _malformed(text, "month out of range")
    for name, value, limit in zip(("hour", "minute", "second"), clock, (24, 60, 60), strict=True):
        if value >= limit:
            raise _malformed(text, f"{name} out of range")
    days = calendar.monthrange(year or 4, month)[1]
    if not 1 <= day <= days:
        raise _malformed(text, "day out of range")


def _offset(text: str, zone: str) -> timedelta:
    if zone == "Z":
        return timedelta()
    hours, minutes = int(zone[1:3]), int(zone[4:6])
    if hours > 24:  # noqa: PLR2004 - what Go allows
        raise _malformed(text, "time zone offset hour out of range")
    if minutes > 60:  # noqa: PLR2004 - what Go allows
        raise _malformed(text, "time zone offset minute out of range")
    offset = timedelta(hours=hours, minutes=minutes)
    return -offset if zone[0] == "-" else offset


def _malformed(text: str, detail: str) -> MalformedValueError:
    return MalformedValueError(f"parsing time {quote(text)}: {detail}")
