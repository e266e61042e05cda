"""
URLs.

Source:
    apiserver, ``pkg/cel/library/urls.go``; Go, ``net/url``.
"""

from dataclasses import dataclass
from typing import ClassVar, Final

from espalier.cel.equality import NO_SUCH_OVERLOAD
from espalier.cel.signatures import Library, overload
from espalier.cel.types import URL, CelType
from espalier.cel.values import CelError, ListValue, MapValue, Opaque, Value, key_of
from espalier.golang import urls
from espalier.golang.addresses import is_uri
from espalier.golang.utf8 import to_valid_utf8


@dataclass(frozen=True, slots=True)
class UrlValue(Opaque):
    """
    A URL.
    """

    url: urls.Url
    type: ClassVar[CelType] = URL

    def is_equal(self, other: Value) -> bool:
        """
        Compare with another URL: those are equal that are written in the same way.
        """
        if not isinstance(other, UrlValue):
            raise CelError(NO_SUCH_OVERLOAD)
        return urls.write_url(self.url) == urls.write_url(other.url)


def _url(text: str) -> UrlValue:
    # The first reader refuses relative URLs, and takes the fragment for a part of path or query.
    try:
        urls.parse_request_uri(text)
        return UrlValue(urls.parse_url(text))
    except urls.UrlError as error:
        raise CelError(f"URL parse error during conversion from string: {error}") from None


def _host(value: UrlValue) -> str:
    return to_valid_utf8(value.url.host)


def _hostname(value: UrlValue) -> str:
    return to_valid_utf8(urls.hostname(value.url))


def _port(value: UrlValue) -> str:
    return urls.port_of(value.url)


def _escaped_path(value: UrlValue) -> str:
    return urls.escaped_path(value.url)


def _query(value: UrlValue) -> MapValue:
    found = {
        to_valid_utf8(key): ListValue([*map(to_valid_utf8, values)])
        for key, values in urls.query_values(value.url).items()
    }
    return MapValue({key_of(key): (key, values) for key, values in found.items()})


URLS: Final[Library] = {
    "url": (overload("string_to_url", "(string) -> url", _url),),
    "getScheme": (overload("url_get_scheme", "url.() -> string", lambda value: value.url.scheme),),
    "getHost": (overload("url_get_host", "url.() -> string", _host),),
    "getHostname": (overload("url_get_hostname", "url.() -> string", _hostname),),
    "getPort": (overload("url_get_port", "url.() -> string", _port),),
    "getEscapedPath": (overload("url_get_escaped_path", "url.() -> string", _escaped_path),),
    "getQuery": (overload("url_get_query", "url.() -> map(string, list(string))", _query),),
    "isURL": (overload("is_url_string", "(string) -> bool", is_uri),),
}
"""The library."""
