"""
IP addresses as Go reads them, with its errors.

Source:
    Go, ``net/netip/netip.go``, ``ParseAddr``.
"""

import ipaddress
import re
from typing import Final, TypeAlias

from espalier.golang.printing import quote

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

_SEPARATOR: Final = re.compile("[.:%]")
_HEX: Final = re.compile("[0-9a-fA-F]*")
_GROUPS, _GROUP_DIGITS, _MAX_OCTET = 8, 4, 255
_OCTETS: Final = 4


class AddressError(ValueError):
    """
    A text is no address; the message is Go's.
    """

    def __init__(self, text: str, why: str, at: str = "") -> None:
        place = f" (at {quote(at)})" if at else ""
        super().__init__(f"ParseAddr({quote(text)}): {why}{place}")


def parse_address(text: str) -> tuple[Address, str]:
    """
    Read an address.

    Returns:
        The address, and its zone, which is empty where there is none.

    Raises:
        AddressError: It is none.
    """
    found = _SEPARATOR.search(text)
    if found is None:
        raise AddressError(text, "unable to parse IP")
    if found.group() == ".":
        return ipaddress.IPv4Address(_octets(text, text)), ""
    if found.group() == "%":
        raise AddressError(text, "missing IPv6 address")
    head, percent, zone = text.partition("%")
    if percent and not zone:
        raise AddressError(text, "zone must be a non-empty string")
    return ipaddress.IPv6Address(_groups(text, head)), zone


def _octets(whole: str, text: str) -> bytes:
    octets = [0]
    digits = 0
    for at, char in enumerate(text):
        if char in "0123456789":
            if digits == 1 and octets[-1] == 0:
                raise AddressError(whole, "IPv4 field has octet with leading zero")
            octets[-1] = octets[-1] * 10 + int(char)
            digits += 1
            if octets[-1] > _MAX_OCTET:
                raise AddressError(whole, "IPv4 field has value >255")
        elif char == ".":
            if not digits or at == len(text) - 1:
                detail = "IPv4 field must have at least one digit"
                raise AddressError(whole, detail, text[at:])
            if len(octets) == _OCTETS:
                raise AddressError(whole, "IPv4 address too long")
            octets.append(0)
            digits = 0
        else:
            raise AddressError(whole, "unexpected character", text[at:])
    if len(octets) < _OCTETS:
        raise AddressError(whole, "IPv4 address too short")
    return bytes(octets)


def _groups(whole: str, text: str) -> bytes:
    data = bytearray()
    ellipsis: int | None = None
    rest = text
    if rest.startswith("::"):
        ellipsis, rest = 0, rest[2:]
    while rest and len(data) < _GROUPS * 2:
        digits = _group(whole, rest)
        if rest[len(digits) :].startswith("."):
            data += _embedded(whole, rest, len(data), has_ellipsis=ellipsis is not None)
            rest = ""
            break
        data += int(digits, 16).to_bytes(2, "big")
        rest, starts_ellipsis = _after_group(whole, rest[len(digits) :], ellipsis)
        if starts_ellipsis:
            ellipsis = len(data)
    if rest:
        raise AddressError(whole, "trailing garbage after address", rest)
    return _filled(whole, data, ellipsis)


def _group(whole: str, rest: str) -> str:
    match = _HEX.match(rest)
    digits = match.group() if match else ""
    if not digits:
        detail = "each colon-separated field must have at least one digit"
        raise AddressError(whole, detail, rest)
    if len(digits) > _GROUP_DIGITS:
        raise AddressError(whole, "each group must have 4 or less digits", rest)
    return digits


def _embedded(whole: str, rest: str, size: int, *, has_ellipsis: bool) -> bytes:
    if not has_ellipsis and size != (_GROUPS - 2) * 2:
        detail = "embedded IPv4 address must replace the final 2 fields of the address"
        raise AddressError(whole, detail, rest)
    if size > (_GROUPS - 2) * 2:
        detail = "too many hex fields to fit an embedded IPv4 at the end of the address"
        raise AddressError(whole, detail, rest)
    return _octets(whole, rest)


def _after_group(whole: str, rest: str, ellipsis: int | None) -> tuple[str, bool]:
    if not rest:
        return rest, False
    if rest[0] != ":":
        raise AddressError(whole, "unexpected character, want colon", rest)
    if len(rest) == 1:
        raise AddressError(whole, "colon must be followed by more characters", rest)
    rest = rest[1:]
    if rest[0] != ":":
        return rest, False
    if ellipsis is not None:
        raise AddressError(whole, "multiple :: in address", rest)
    return rest[1:], True


def _filled(whole: str, data: bytearray, ellipsis: int | None) -> bytes:
    missing = _GROUPS * 2 - len(data)
    if not missing:
        if ellipsis is not None:
            raise AddressError(whole, "the :: must expand to at least one field of zeros")
        return bytes(data)
    if ellipsis is None:
        raise AddressError(whole, "address string too short")
    return bytes(data[:ellipsis]) + bytes(missing) + bytes(data[ellipsis:])
