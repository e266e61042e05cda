"""
What Espalier's readers of Go's grammars answer to a text, in the form of the oracle's answers.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from espalier.golang import urls
from espalier.golang.durations import DurationError, parse_duration, parse_worded_duration
from espalier.golang.netip import AddressError, parse_address
from espalier.golang.rfc3339 import (
    DATE,
    LOCAL_TIME,
    RFC3339,
    Layout,
    Time,
    TimeError,
    parse_date_time,
    parse_time,
)
from espalier.golang.strfmt import predicate_of
from espalier.golang.urls import Url, UrlError
from espalier.golang.utf8 import percent_decoded, to_valid_utf8
from espalier.paths import JSON

Options = Mapping[str, JSON]
Reader = Callable[[str, Options], dict[str, JSON]]
_LAYOUTS: Mapping[str, Layout] = {str(layout): layout for layout in (DATE, LOCAL_TIME, RFC3339)}


def read(op: str, text: JSON, options: Options) -> dict[str, JSON]:
    """
    Answer what a text is by a grammar, or why it is none.
    """
    assert isinstance(text, str)
    try:
        return READERS[op](text, options)
    except (AddressError, DurationError, TimeError, UrlError) as error:
        return {"error": str(error)}


def _parts_of(read: Url) -> dict[str, JSON]:
    query: dict[str, JSON] = {
        to_valid_utf8(key): [*map(to_valid_utf8, values)]
        for key, values in urls.query_values(read).items()
    }
    user: dict[str, JSON] = {} if read.user is None else {"user": read.user}
    return {
        **user,
        "scheme": read.scheme,
        "opaque": read.opaque,
        "host": to_valid_utf8(read.host),
        "hostname": to_valid_utf8(urls.hostname(read)),
        "port": urls.port_of(read),
        "path": to_valid_utf8(percent_decoded(read.raw_path)),
        "escapedPath": urls.escaped_path(read),
        "rawQuery": read.query,
        "query": query,
        "fragment": to_valid_utf8(read.fragment),
        "text": urls.write_url(read),
    }


def _address(text: str, _: Options) -> dict[str, JSON]:
    address, zone = parse_address(text)
    return {"address": address.packed.hex(), "zone": zone}


def _time(text: str, options: Options) -> dict[str, JSON]:
    return _moment(parse_time(text, _LAYOUTS[str(options["layout"])]))


def _moment(read: Time) -> dict[str, JSON]:
    return {
        "seconds": read.seconds,
        "nanoseconds": read.nanoseconds,
        "offset": read.offset_seconds,
    }


def _validates(text: str, options: Options) -> dict[str, JSON]:
    predicate = predicate_of(str(options["format"]))
    return {"valid": predicate is not None and predicate(text)}


READERS: Mapping[str, Reader] = MappingProxyType(
    {
        "url.Parse": lambda text, _: _parts_of(urls.parse_url(text)),
        "url.ParseRequestURI": lambda text, _: _parts_of(urls.parse_request_uri(text)),
        "netip.ParseAddr": _address,
        "time.Parse": _time,
        "time.ParseDuration": lambda text, _: {"nanoseconds": parse_duration(text)},
        "strfmt.ParseDuration": lambda text, _: {"nanoseconds": parse_worded_duration(text)},
        "strfmt.ParseDateTime": lambda text, _: _moment(parse_date_time(text)),
        "strfmt.Validates": _validates,
    }
)
"""By the name of the oracle's op."""
