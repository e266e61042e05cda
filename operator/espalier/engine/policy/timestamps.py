"""
Times as API servers write them into metadata.
"""

import re
from datetime import UTC, datetime
from functools import lru_cache

_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.\d{1,9})?Z", re.ASCII)


@lru_cache(maxsize=4096)
def seconds_of(text: str) -> float | None:
    """
    Read a time in UTC, as seconds since the epoch; None if it is not of that form.

    Source:
        apimachinery, ``pkg/apis/meta/v1/time.go``, ``Time.MarshalJSON``.
    """
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = map(int, match.groups())
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp()
    except ValueError:
        return None
