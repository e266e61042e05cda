"""
URLs as Go's ``net/url`` reads them, with its words for what is wrong.

Python's own parser takes much for a URL that no API server does.
"""

import ipaddress
import re
from typing import NamedTuple

from espalier.golang.printing import quote


class UrlError(ValueError):
    """
    A text is no URL; the message is Go's.
    """


class Url(NamedTuple):
    """
    The parts of a URL that matter to API servers; an absent one is empty.

    Attributes:
        user: None where there is none; escaped.
        host: With the port.
        fragment: Unescaped.
    """

    scheme: str = ""
    user: str | None = None
    host: str = ""
    query: str = ""
    fragment: str = ""


def parse_url(text: str) -> Url:
    """
    Read a URL, which may be relative.

    Raises:
        UrlError: It is none.

    Source:
        Go, ``net/url/url.go``, ``Parse``.
    """
    before, _, fragment = text.partition("#")
    try:
        url = _parse(before, is_request=False)
    except UrlError as error:
        raise UrlError(f"parse {quote(before)}: {error}") from error
    try:
        return url._replace(fragment=_unescape(fragment))
    except UrlError as error:
        raise UrlError(f"parse {quote(text)}: {error}") from error


def parse_request_uri(text: str) -> Url:
    """
    Read a URL as it stands in a request: absolute, or an absolute path, without a fragment.

    Raises:
        UrlError: It is none.

    Source:
        Go, ``net/url/url.go``, ``ParseRequestURI``.
    """
    try:
        return _parse(text, is_request=True)
    except UrlError as error:
        raise UrlError(f"parse {quote(text)}: {error}") from error


_SCHEME = re.compile("[A-Za-z][A-Za-z0-9+.-]*(?=:)")


def _parse(text: str, *, is_request: bool) -> Url:
    if re.search("[\x00-\x1f\x7f]", text):
        raise UrlError("net/url: invalid control character in URL")
    if text == "" and is_request:
        raise UrlError("empty url")
    if text == "*":
        return Url()
    if text.startswith(":"):
        raise UrlError("missing protocol scheme")
    match = _SCHEME.match(text)
    scheme = match[0].lower() if match else ""
    rest, _, query = (text[match.end() + 1 :] if match else text).partition("?")
    url = Url(scheme=scheme, query=query)
    if not rest.startswith("/"):
        if not scheme:
            _check_relative(rest, is_request=is_request)
            _unescape(rest)
        return url
    has_authority = scheme or (not is_request and not rest.startswith("///"))
    if has_authority and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        user, host = _authority(scheme, authority)
        url, rest = url._replace(user=user, host=host), slash + path
    _unescape(rest)
    return url


def _check_relative(rest: str, *, is_request: bool) -> None:
    if is_request:
        raise UrlError("invalid URI for request")
    if ":" in rest.partition("/")[0]:
        raise UrlError("first path segment in URL cannot contain colon")


_USER = re.compile("[-A-Za-z0-9._:~!$&'()*+,;=%@]*")
_ESCAPED_IN_USER = re.compile("[^-A-Za-z0-9._~$&+,;=]")


def _authority(scheme: str, authority: str) -> tuple[str | None, str]:
    user, at, host = authority.rpartition("@")
    read = _host(scheme, host)
    if not at:
        return None, read
    if not _USER.fullmatch(user):
        raise UrlError("net/url: invalid userinfo")
    name, colon, password = user.partition(":")
    return _escaped(_unescape(name)) + colon + _escaped(_unescape(password)), read


def _escaped(text: str) -> str:
    return _ESCAPED_IN_USER.sub(
        lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "replace")), text
    )


def _host(scheme: str, host: str) -> str:
    bracket = host.rfind("[")
    if bracket > 0:
        raise UrlError("invalid IP-literal")
    if bracket == 0:
        return _ip_literal(host)
    _, colon, port = host.partition(":")
    if ":" in port and scheme not in ("http", "https"):
        port = port.rpartition(":")[2]
    _check_port(colon + port)
    return _unescape(host, in_host=True)


def _ip_literal(host: str) -> str:
    closing = host.rfind("]")
    if closing < 0:
        raise UrlError("missing ']' in host")
    _check_port(host[closing + 1 :])
    name, marker, zone = host[1:closing].partition("%25")
    address = _unescape(name, in_host=True) + _unescape_zone(marker + zone)
    try:
        found = ipaddress.ip_address(address)
    except ValueError as error:
        detail = f"invalid host: ParseAddr({quote(address)}): unable to parse IP"
        raise UrlError(detail) from error
    if isinstance(found, ipaddress.IPv4Address):
        raise UrlError("invalid IP-literal")
    return f"[{address}]{host[closing + 1 :]}"


def _check_port(colon_port: str) -> None:
    if not re.fullmatch("(:[0-9]*)?", colon_port):
        raise UrlError(f"invalid port {quote(colon_port)} after host")


_PERCENT = re.compile("%[0-9A-Fa-f]{2}")
_NO_HOST_CHAR = re.compile("[\x00-\x7f](?<![-A-Za-z0-9_.~!$&'()*+,;=:\\[\\]<>\"%])")


def _unescape(text: str, *, in_host: bool = False) -> str:
    at = 0
    while at < len(text):
        if text[at] == "%":
            escape = _PERCENT.match(text, at)
            # Hosts may escape bytes beyond ASCII only.
            if escape is None or (in_host and escape[0][1] < "8" and escape[0] != "%25"):
                raise UrlError(f"invalid URL escape {quote(text[at : at + 3])}")
            at += 3
            continue
        if in_host and _NO_HOST_CHAR.match(text, at):
            raise UrlError(f"invalid character {quote(text[at])} in host name")
        at += 1
    return _decoded(text)


def _unescape_zone(text: str) -> str:
    for escape in _PERCENT.finditer(text):
        char = chr(int(escape[0][1:], 16))
        if char not in " %" and _NO_HOST_CHAR.match(char):
            raise UrlError(f"invalid URL escape {quote(escape[0])}")
    wrong = _NO_HOST_CHAR.search(text)
    if wrong is not None:
        raise UrlError(f"invalid character {quote(wrong[0])} in host name")
    return _unescape(text)


def _decoded(text: str) -> str:
    if "%" not in text:
        return text
    data = text.encode("utf-8", "surrogatepass")
    decoded = re.sub(rb"%([0-9A-Fa-f]{2})", lambda match: bytes([int(match[1], 16)]), data)
    return decoded.decode("utf-8", "replace")
