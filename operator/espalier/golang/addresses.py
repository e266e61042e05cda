"""
Addresses as Go's ``net``, ``net/url`` and ``net/mail`` read them.
"""

import re

from espalier.golang.netip import AddressError, parse_address
from espalier.golang.urls import UrlError, parse_request_uri
from espalier.lazy import lazy_pattern

_MAX_BITS = {4: 32, 6: 128}


def is_ipv4(text: str) -> bool:
    """
    Report whether a text is an IP address that has a dot; leading zeros are ignored.

    Source:
        kube-openapi, ``pkg/validation/strfmt/default.go``, ``isIPv4``; k8s.io/utils,
        ``net.ParseIPSloppy``.
    """
    return "." in text and _ip_version(_without_leading_zeros(text)) is not None


def is_ipv6(text: str) -> bool:
    """
    Report whether a text is an IP address that has a colon, without a zone.
    """
    return ":" in text and _ip_version(text) is not None


def is_cidr(text: str) -> bool:
    """
    Report whether a text is an IP address and the length of a prefix; leading zeros are ignored.
    """
    address, slash, bits = text.partition("/")
    version = _ip_version(_without_leading_zeros(address))
    if not slash or version is None or not re.fullmatch("[0-9]+", bits):
        return False
    significant = bits.lstrip("0")
    return len(significant) <= len("128") and int(significant or "0") <= _MAX_BITS[version]


def _ip_version(text: str) -> int | None:
    if "%" in text:
        return None
    try:
        address, _ = parse_address(text)
    except AddressError:
        return None
    return address.version


def _without_leading_zeros(text: str) -> str:
    return re.sub("(?<![0-9a-fA-F])0+(?=[0-9a-fA-F])", "", text)


_HEX2 = "[0-9a-fA-F]{2}"
_MAC = lazy_pattern(
    "|".join(
        f"{_HEX2}(?:{separator}{_HEX2}){{{more}}}"
        for separator in (":", "-", "")
        for more in (5, 7, 19)
    )
    + "|"
    + "|".join(rf"{_HEX2}{_HEX2}(?:\.{_HEX2}{_HEX2}){{{more}}}" for more in (2, 3, 9))
)


def is_mac(text: str) -> bool:
    """
    Report whether a text is a hardware address of 6, 8 or 20 bytes.

    Source:
        Go, ``net/mac.go``, ``ParseMAC``.
    """
    return _MAC().fullmatch(text) is not None


_PLAIN_PATH = r"/[^\x00-\x1f\x7f%?]*"
# The usual URLs. All others, right or wrong, are left to the reader.
_PLAIN_URI = lazy_pattern(
    rf"(?:[A-Za-z][A-Za-z0-9+.-]*://[A-Za-z0-9.-]+(?::[0-9]*)?(?:{_PLAIN_PATH})?|{_PLAIN_PATH})"
    r"(?:\?[^\x00-\x1f\x7f]*)?"
)


def is_uri(text: str) -> bool:
    """
    Report whether a text is an absolute URI, or an absolute path.

    Source:
        Go, ``net/url/url.go``, ``ParseRequestURI``.
    """
    if _PLAIN_URI().fullmatch(text):
        return True
    try:
        parse_request_uri(text)
    except UrlError:
        return False
    return True


_ATOM = lazy_pattern('[^\x00-\x20()<>\\[\\]:;@\\\\,"\x7f]+')
_QUOTED = lazy_pattern('"((?:[ \t!#-\\[\\]-~\x80-\U0010ffff]|\\\\[ \t!-~\x80-\U0010ffff])*)"')
_CHARSETS = frozenset({"utf-8", "iso-8859-1", "us-ascii"})
_BASE64 = "[A-Za-z0-9+/]"
_ENCODED_WORD = lazy_pattern(
    r"=\?([^?]+)\?"
    rf"(?:[bB]\?(?:{_BASE64}{{4}})*(?:{_BASE64}{{2}}==|{_BASE64}{{3}}=)?"
    r"|[qQ]\?(?:[\n\r -<>@-~]|=[0-9A-Fa-f]{2})*)\?="
)
_DOMAIN_LITERAL = lazy_pattern("\\[([!-Z^-~\x80-\U0010ffff]*)\\]")


def is_email(text: str) -> bool:
    """
    Report whether a text is one address of RFC 5322, with or without a name to it.

    A name may also be a group's, if one address is in it. Encoded words in names may be encoded
    wrongly, but their character sets must be known.

    Source:
        Go, ``net/mail/message.go``, ``ParseAddress``.
    """
    read = _address(text, may_be_group=True)
    if read is None:
        return False
    count, rest = read
    return count == 1 and _skip_comments(rest) == ""


# Each of these reads from the beginning of a text and gives what is left, or None.


def _address(text: str, *, may_be_group: bool) -> tuple[int, str] | None:
    rest = text.lstrip(" \t")
    after = _addr_spec(rest)
    if after is not None:
        after = after.lstrip(" \t")
        return _named_by_comment(after) if after.startswith("(") else (1, after)
    named = rest if rest.startswith("<") else _phrase(rest)
    if named is None:
        return None
    named = named.lstrip(" \t")
    if may_be_group and named.startswith(":"):
        return _group(named[1:])
    after = _addr_spec(named[1:]) if named.startswith("<") else None
    return (1, after[1:]) if after is not None and after.startswith(">") else None


def _named_by_comment(text: str) -> tuple[int, str] | None:
    rest = _comment(text)
    if rest is None:
        return None
    # A backslash is no part of a word, unless it follows another one.
    name = re.sub(r"\\(.)", r"\1", text[1 : len(text) - len(rest) - 1], flags=re.DOTALL)
    return None if any(map(_has_unknown_charset, re.split("[ \t]+", name))) else (1, rest)


def _group(text: str) -> tuple[int, str] | None:
    rest = text.lstrip(" \t")
    if rest.startswith(";"):
        return 0, rest[1:]
    count = 0
    while True:
        read = _address(rest, may_be_group=False)
        after = None if read is None else _skip_comments(read[1])
        count += 1
        if after is None or after[:1] not in (";", ","):
            return None
        rest = after[1:]
        if after[0] == ";":
            return count, rest


def _addr_spec(text: str) -> str | None:
    rest = text.lstrip(" \t")
    quoted = _QUOTED().match(rest)
    if rest.startswith('"'):
        after = rest[quoted.end() :] if quoted and quoted[1] else None
    else:
        after = _dot_atom(rest)
    if after is None or not after.startswith("@"):
        return None
    domain = after[1:].lstrip(" \t")
    if not domain.startswith("["):
        return _dot_atom(domain)
    literal = _DOMAIN_LITERAL().match(domain)
    if literal is None or _ip_version(literal[1]) is None:
        return None
    return domain[literal.end() :]


def _dot_atom(text: str) -> str | None:
    match = _ATOM().match(text)
    if match is None or "" in match[0].split("."):
        return None
    return text[match.end() :]


def _phrase(text: str) -> str | None:
    # Comments may follow ordinary words; encoded words alone are not counted yet.
    rest, count, ordinary = text, 0, False
    while True:
        after = _skip_comments(rest) if ordinary else rest
        if after is None:
            return None
        rest = after.lstrip(" \t")
        word = (_QUOTED() if rest.startswith('"') else _ATOM()).match(rest)
        if word is None:
            return rest if count else None
        rest = rest[word.end() :]
        if word.re is _ATOM() and _has_unknown_charset(word[0]):
            # What was read until then is the phrase, but this word is gone.
            return rest if count else None
        is_encoded = word.re is _ATOM() and _ENCODED_WORD().fullmatch(word[0]) is not None
        ordinary = ordinary or not is_encoded
        # An encoded word may be empty.
        count += not (is_encoded and word[0].endswith("??="))


def _has_unknown_charset(word: str) -> bool:
    # An encoded word of RFC 2047 that is none is an ordinary word.
    encoded = _ENCODED_WORD().fullmatch(word)
    return encoded is not None and encoded[1].casefold() not in _CHARSETS


def _skip_comments(text: str) -> str | None:
    rest: str | None = text.lstrip(" \t")
    while rest is not None and rest.startswith("("):
        rest = _comment(rest)
        rest = None if rest is None else rest.lstrip(" \t")
    return rest


def _comment(text: str) -> str | None:
    depth, at = 0, 0
    while at < len(text):
        if text[at] == "\\" and at + 1 < len(text):
            at += 1
        elif text[at] == "(":
            depth += 1
        elif text[at] == ")":
            depth -= 1
        at += 1
        if depth == 0:
            return text[at:]
    return None
