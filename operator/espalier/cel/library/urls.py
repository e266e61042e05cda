"""
URLs.

Source:
    apiserver, ``pkg/cel/library/urls.go``; Go, ``net/url``.
"""

import re
from dataclasses import dataclass
from typing import ClassVar, Final
from urllib.parse import quote_from_bytes, unquote_to_bytes

from espalier.cel.equality import opaque_equality
from espalier.cel.signatures import Library, overload
from espalier.cel.types import URL, CelType
from espalier.cel.values import CelError, ListValue, MapValue, Opaque, Value, key_of, quoted
from espalier.golang.addresses import is_uri

_SCHEME: Final = re.compile("([A-Za-z][A-Za-z0-9+.-]*):")
_CONTROLS: Final = re.compile("[\x00-\x1f\x7f]")
_BAD_ESCAPE: Final = re.compile("%(?![0-9a-fA-F]{2}).{0,2}", re.DOTALL)
_PORT: Final = re.compile(r"(.*):([0-9]*)", re.DOTALL)
_ENCODED: Final = re.compile(r"[A-Za-z0-9\-_.~!$&'()*+,;=:@\[\]/%]*")
# What a path may have unescaped besides letters and digits.
_SAFE: Final = "$&+,/:;=@-_.~"


@dataclass(frozen=True, slots=True)
class UrlValue(Opaque):
    """
    A URL, in its parts as written.
    """

    scheme: str
    user: str
    host: str
    path: str
    query: str
    fragment: str
    type: ClassVar[CelType] = URL

    def is_equal(self, other: Value) -> bool:
        """
        Compare with another URL.
        """
        return opaque_equality(self, other)


def uri_error(text: str) -> str:
    """
    Say why a text is neither an absolute URI nor an absolute path.

    Returns:
        The text of Go's ``url.ParseRequestURI``, as far as common mistakes go; empty if there is
        nothing wrong.
    """
    if is_uri(text):
        return ""
    what = f"parse {quoted(text)}: "
    if not text:
        return f"{what}empty url"
    if _CONTROLS.search(text):
        return f"{what}net/url: invalid control character in URL"
    if text.startswith(":"):
        return f"{what}missing protocol scheme"
    match = _SCHEME.match(text)
    if match is None and not text.startswith("/"):
        return f"{what}invalid URI for request"
    return what + _detail(text)


def _detail(text: str) -> str:
    bad = _BAD_ESCAPE.search(text)
    if bad is not None:
        return f"invalid URL escape {quoted(bad.group())}"
    authority = text.partition("//")[2].partition("/")[0].rpartition("@")[2]
    port = _PORT.fullmatch(authority)
    if ":" in authority and port is None:
        tail = authority[authority.index(":") :]
        return f"invalid port {quoted(tail)} after host"
    for char in authority:
        if char in ' "<>\\^`{|}':
            return f"invalid character {quoted(char)} in host name"
    return "invalid URI for request"


def _url(text: str) -> UrlValue:
    error = uri_error(text)
    if error:
        raise CelError(f"URL parse error during conversion from string: {error}")
    rest, _, fragment = text.partition("#")
    match = _SCHEME.match(rest)
    scheme = match[1].lower() if match else ""
    rest = rest[match.end() :] if match else rest
    rest, _, query = rest.partition("?")
    if scheme and not rest.startswith("/"):
        # What is opaque has neither a host nor a path.
        return UrlValue(scheme, "", "", "", query, fragment)
    user = host = ""
    if scheme and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        user, _, host = authority.rpartition("@")
        rest = slash + path
    return UrlValue(scheme, user, _unescaped(host), rest, query, fragment)


def _unescaped(text: str) -> str:
    return unquote_to_bytes(text).decode("utf-8", "replace")


def _hostname(url: UrlValue) -> str:
    host = _split_port(url.host)[0]
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host


def _port(url: UrlValue) -> str:
    return _split_port(url.host)[1]


def _split_port(host: str) -> tuple[str, str]:
    match = _PORT.fullmatch(host)
    return (match[1], match[2]) if match else (host, "")


def _escaped_path(url: UrlValue) -> str:
    if _ENCODED.fullmatch(url.path):
        return url.path
    return quote_from_bytes(unquote_to_bytes(url.path), safe=_SAFE)


def _query(url: UrlValue) -> MapValue:
    found: dict[str, list[Value]] = {}
    for pair in url.query.split("&"):
        key, _, value = pair.partition("=")
        if not pair or ";" in pair or _BAD_ESCAPE.search(pair):
            continue
        found.setdefault(_form(key), []).append(_form(value))
    return MapValue({key_of(key): (key, ListValue(values)) for key, values in found.items()})


def _form(text: str) -> str:
    return _unescaped(text.replace("+", " "))


URLS: Final[Library] = {
    "url": (overload("string_to_url", "(string) -> url", _url),),
    "getScheme": (overload("url_get_scheme", "url.() -> string", lambda url: url.scheme),),
    "getHost": (overload("url_get_host", "url.() -> string", lambda url: url.host),),
    "getHostname": (overload("url_get_hostname", "url.() -> string", _hostname),),
    "getPort": (overload("url_get_port", "url.() -> string", _port),),
    "getEscapedPath": (overload("url_get_escaped_path", "url.() -> string", _escaped_path),),
    "getQuery": (overload("url_get_query", "url.() -> map(string, list(string))", _query),),
    "isURL": (overload("is_url_string", "(string) -> bool", is_uri),),
}
"""The library."""
