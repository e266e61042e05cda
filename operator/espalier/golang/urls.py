"""
URLs as Go's ``net/url`` reads and writes them, with its error messages.

Python's own parser accepts much that API servers refuse. A byte that is no UTF-8, which an escape
may stand for, is a lone surrogate in what is returned: see ``espalier.golang.utf8``.

Source:
    Go, ``net/url/url.go``.
"""

import ipaddress
import re
from typing import Final, NamedTuple

from espalier.golang.netip import AddressError, parse_address
from espalier.golang.printing import quote
from espalier.golang.utf8 import bytes_of_text, percent_decoded, text_of_bytes, to_valid_utf8
from espalier.lazy import lazy_pattern


class UrlError(ValueError):
    """
    A text is no URL; the message is Go's.
    """


class Url(NamedTuple):
    """
    The parts of a URL; an absent one is empty.

    Attributes:
        user: Name and password, escaped; None where there is no ``@``.
        host: With the port; unescaped.
        raw_path: As written.
        query: As written, without the question mark.
        raw_fragment: As written.
        opaque: What follows a scheme without a slash.
        has_empty_query: Report whether the URL has one question mark, and nothing behind it.
        has_authority: Report whether two slashes introduce the host, which may be empty.
    """

    scheme: str = ""
    user: str | None = None
    host: str = ""
    raw_path: str = ""
    query: str = ""
    raw_fragment: str = ""
    opaque: str = ""
    has_empty_query: bool = False
    has_authority: bool = False

    @property
    def fragment(self) -> str:
        """
        The fragment, unescaped.
        """
        return percent_decoded(self.raw_fragment)


_UNRESERVED: Final = r"\-A-Za-z0-9_.~"
# The characters that each part of a URL may have unescaped when it is written.
_unsafe_in_path: Final = lazy_pattern(f"[^{_UNRESERVED}$&+,/:;=@]")
_unsafe_in_user: Final = lazy_pattern(f"[^{_UNRESERVED}$&+,;=]")
_unsafe_in_host: Final = lazy_pattern(rf"[^{_UNRESERVED}!$&'()*+,;=:\[\]<>\"]")
_unsafe_in_fragment: Final = lazy_pattern(f"[^{_UNRESERVED}$&+,/:;=?@!()*]")
# Those that a path or a fragment keeps if it was written with them.
_encoded_path: Final = lazy_pattern(rf"[{_UNRESERVED}!$&'()*+,;=:@\[\]%/]*")
_encoded_fragment: Final = lazy_pattern(rf"[{_UNRESERVED}!$&'()*+,;=:@\[\]%/?]*")
# What a host may not have: ASCII alone is restricted.
_bad_in_host: Final = lazy_pattern(rf"(?![{_UNRESERVED}!$&'()*+,;=:\[\]<>\"])[\x00-\x7f]")

_control: Final = lazy_pattern("[\x00-\x1f\x7f]")
_scheme: Final = lazy_pattern("[A-Za-z][A-Za-z0-9+.-]*(?=:)")
_user: Final = lazy_pattern("[-A-Za-z0-9._:~!$&'()*+,;=%@]*")
_colon_port: Final = lazy_pattern("(:[0-9]*)?")
_host_and_port: Final = lazy_pattern("(.*):([0-9]*)", re.DOTALL)
_escape_sign: Final = lazy_pattern("%[0-9A-Fa-f]{2}")
_ESCAPE_BYTES: Final = 3
_ASCII_LIMIT: Final = 0x80
_MAX_PARAMETERS: Final = 10_000


def parse_url(text: str) -> Url:
    """
    Read a URL, which may be relative.

    Raises:
        UrlError: It is none.

    Source:
        Go, ``net/url/url.go``, ``Parse``.
    """
    whole = to_valid_utf8(text)
    before, _, fragment = whole.partition("#")
    url = _parsed(before, is_request=False)
    try:
        _check_escapes(fragment)
    except UrlError as error:
        raise UrlError(f"parse {quote(whole)}: {error}") from None
    return url._replace(raw_fragment=fragment)


def parse_request_uri(text: str) -> Url:
    """
    Read a URL as it stands in a request: absolute, or an absolute path, without a fragment.

    Raises:
        UrlError: It is none.

    Source:
        Go, ``net/url/url.go``, ``ParseRequestURI``.
    """
    return _parsed(to_valid_utf8(text), is_request=True)


def _parsed(text: str, *, is_request: bool) -> Url:
    try:
        return _parse(text, is_request=is_request)
    except UrlError as error:
        raise UrlError(f"parse {quote(text)}: {error}") from None


def _parse(text: str, *, is_request: bool) -> Url:
    if _control().search(text):
        raise UrlError("net/url: invalid control character in URL")
    if text == "" and is_request:
        raise UrlError("empty url")
    if text == "*":
        return Url(raw_path="*")
    if text.startswith(":"):
        raise UrlError("missing protocol scheme")
    match = _scheme().match(text)
    scheme = match[0].lower() if match else ""
    rest, mark, query = (text[match.end() + 1 :] if match else text).partition("?")
    url = Url(scheme=scheme, query=query, has_empty_query=bool(mark) and not query)
    if not rest.startswith("/"):
        if scheme:
            return url._replace(opaque=rest)
        _check_relative(rest, is_request=is_request)
    may_have_authority = scheme or (not is_request and not rest.startswith("///"))
    if may_have_authority and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        user, host = _authority(scheme, authority)
        url, rest = url._replace(user=user, host=host, has_authority=True), slash + path
    _check_escapes(rest)
    return url._replace(raw_path=rest)


def _check_relative(rest: str, *, is_request: bool) -> None:
    if is_request:
        raise UrlError("invalid URI for request")
    if ":" in rest.partition("/")[0]:
        raise UrlError("first path segment in URL cannot contain colon")


def _authority(scheme: str, authority: str) -> tuple[str | None, str]:
    user, at, host = authority.rpartition("@")
    read = _host(scheme, host)
    if not at:
        return None, read
    if not _user().fullmatch(user):
        raise UrlError("net/url: invalid userinfo")
    name, colon, password = user.partition(":")
    return _rewritten(name) + colon + _rewritten(password), read


def _rewritten(text: str) -> str:
    _check_escapes(text)
    return _escaped(percent_decoded(text), _unsafe_in_user())


def _host(scheme: str, host: str) -> str:
    bracket = host.rfind("[")
    if bracket > 0:
        raise UrlError("invalid IP-literal")
    if bracket == 0:
        return _ip_literal(host)
    _, colon, port = host.partition(":")
    if ":" in port and scheme not in ("http", "https"):
        # Databases list several hosts, each with its port.
        port = port.rpartition(":")[2]
    _check_port(colon + port)
    _check_host(host)
    return percent_decoded(host)


def _ip_literal(host: str) -> str:
    closing = host.rfind("]")
    if closing < 0:
        raise UrlError("missing ']' in host")
    _check_port(host[closing + 1 :])
    name, marker, zone = host[1:closing].partition("%25")
    _check_host(name)
    _check_zone(marker + zone)
    address = percent_decoded(name) + percent_decoded(marker + zone)
    try:
        read, _ = parse_address(address)
    except AddressError as error:
        raise UrlError(f"invalid host: {error}") from None
    if isinstance(read, ipaddress.IPv4Address):
        raise UrlError("invalid IP-literal")
    return f"[{address}]{host[closing + 1 :]}"


def _check_port(colon_port: str) -> None:
    if not _colon_port().fullmatch(colon_port):
        raise UrlError(f"invalid port {quote(colon_port)} after host")


def _check_escapes(text: str) -> None:
    at = text.find("%")
    while at >= 0:
        if not _escape_sign().match(text, at):
            raise _bad_escape(text, at)
        at = text.find("%", at + _ESCAPE_BYTES)


def _bad_escape(text: str, at: int) -> UrlError:
    # Go cuts bytes: half a character may be left.
    shown = bytes_of_text(text[at : at + _ESCAPE_BYTES])[:_ESCAPE_BYTES]
    return UrlError(f"invalid URL escape {quote(text_of_bytes(shown))}")


def _check_host(text: str) -> None:
    at = 0
    while at < len(text):
        if text[at] != "%":
            _check_host_character(text, at)
            at += 1
            continue
        escape = _escape_sign().match(text, at)
        # Hosts may escape bytes beyond ASCII only.
        if escape is None or (_byte_of(escape[0]) < _ASCII_LIMIT and escape[0] != "%25"):
            raise _bad_escape(text, at)
        at = escape.end()


def _check_zone(text: str) -> None:
    at = 0
    while at < len(text):
        if text[at] != "%":
            _check_host_character(text, at)
            at += 1
            continue
        escape = _escape_sign().match(text, at)
        if escape is None or not _may_be_in_zone(escape[0]):
            raise _bad_escape(text, at)
        at = escape.end()


def _may_be_in_zone(escape: str) -> bool:
    # Windows has spaces in the names of zones.
    byte = _byte_of(escape)
    return escape in ("%25", "%20") or (
        byte < _ASCII_LIMIT and _bad_in_host().match(chr(byte)) is None
    )


def _check_host_character(text: str, at: int) -> None:
    if _bad_in_host().match(text, at):
        raise UrlError(f"invalid character {quote(text[at])} in host name")


def _byte_of(escape: str) -> int:
    return int(escape[1:], 16)


def _escaped(text: str, unsafe: re.Pattern[str]) -> str:
    return unsafe.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in bytes_of_text(match[0]))


def write_url(url: Url) -> str:
    """
    Write a URL, as Go's ``URL.String`` does.
    """
    scheme = f"{url.scheme}:" if url.scheme else ""
    tail = f"?{url.query}" if url.has_empty_query or url.query else ""
    if url.raw_fragment:
        tail += f"#{_written(url.raw_fragment, _encoded_fragment(), _unsafe_in_fragment())}"
    if url.opaque:
        return scheme + url.opaque + tail
    path = escaped_path(url)
    head = scheme + _written_authority(url)
    if url.host and path and not path.startswith("/"):
        path = f"/{path}"
    if not head and ":" in path.partition("/")[0]:
        path = f"./{path}"
    return head + path + tail


def _written_authority(url: Url) -> str:
    has_part = url.host or url.user is not None
    if not has_part and (not url.scheme or not url.has_authority):
        return ""
    slashes = "//" if has_part or url.raw_path else ""
    user = "" if url.user is None else f"{url.user}@"
    return slashes + user + _escaped(url.host, _unsafe_in_host())


def escaped_path(url: Url) -> str:
    """
    Return the path as written if all of it may stand in a path, or else escaped anew.
    """
    return _written(url.raw_path, _encoded_path(), _unsafe_in_path())


def _written(raw: str, encoded: re.Pattern[str], unsafe: re.Pattern[str]) -> str:
    return raw if encoded.fullmatch(raw) else _escaped(percent_decoded(raw), unsafe)


def hostname(url: Url) -> str:
    """
    Return the host without its port, and without the brackets of an IPv6 address.
    """
    match = _host_and_port().fullmatch(url.host)
    host = match[1] if match else url.host
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host


def port_of(url: Url) -> str:
    """
    Return the port; empty where there is none.
    """
    match = _host_and_port().fullmatch(url.host)
    return match[2] if match else ""


def query_values(url: Url) -> dict[str, list[str]]:
    """
    Return the parameters of the query, unescaped; malformed ones are left out.

    Source:
        Go, ``net/url/url.go``, ``URL.Query``.
    """
    found: dict[str, list[str]] = {}
    pairs = url.query.split("&")
    for pair in pairs if len(pairs) <= _MAX_PARAMETERS else ():
        key, _, value = pair.replace("+", " ").partition("=")
        if pair and ";" not in pair and len(_escape_sign().findall(pair)) == pair.count("%"):
            found.setdefault(percent_decoded(key), []).append(percent_decoded(value))
    return found
