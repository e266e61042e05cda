"""
IP addresses and networks.

Source:
    apiserver, ``pkg/cel/library/ip.go`` and ``cidr.go``; Go, ``net/netip``.
"""

import ipaddress
import re
from dataclasses import dataclass
from typing import ClassVar, Final, TypeAlias

from espalier.cel.equality import NO_SUCH_OVERLOAD, opaque_equality
from espalier.cel.signatures import Library, overload
from espalier.cel.types import CIDR, IP, CelType
from espalier.cel.values import CelError, Opaque, Value, quoted
from espalier.golang.netip import AddressError, parse_address

_Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
_BITS: Final = re.compile("0|[1-9][0-9]{0,18}")
_LOCAL_MULTICAST_V4, _LOCAL_MULTICAST_V6 = 0xE00000, 0xFF02
_PARSE: Final = "parse error during conversion from string"


@dataclass(frozen=True, slots=True)
class IpValue(Opaque):
    """
    An address.
    """

    address: _Address
    type: ClassVar[CelType] = IP

    def size(self) -> int:
        """
        Count its bytes.
        """
        return self.address.max_prefixlen // 8

    def is_equal(self, other: Value) -> bool:
        """
        Compare with another address.
        """
        return opaque_equality(self, other)


@dataclass(frozen=True, slots=True)
class CidrValue(Opaque):
    """
    A network; the bits behind the prefix may be set.
    """

    address: _Address
    bits: int
    type: ClassVar[CelType] = CIDR

    def size(self) -> int:
        """
        Count the bytes of its prefix.
        """
        return (self.bits + 7) // 8

    def is_equal(self, other: Value) -> bool:
        """
        Compare with another network.
        """
        return opaque_equality(self, other)

    def masked(self) -> "CidrValue":
        """
        Clear the bits behind the prefix.
        """
        behind = self.address.max_prefixlen - self.bits
        number = int(self.address) >> behind << behind
        return CidrValue(self.address.__class__(number), self.bits)

    def contains(self, address: _Address) -> bool:
        """
        Report whether an address is in the network.
        """
        if address.version != self.address.version:
            return False
        behind = self.address.max_prefixlen - self.bits
        return int(address) >> behind == int(self.address) >> behind


def _address(text: str) -> IpValue:
    try:
        address, zone = parse_address(text)
    except AddressError as error:
        raise CelError(f"IP Address {quoted(text)} {_PARSE}: {error}") from None
    if zone:
        raise CelError(f"IP address {quoted(text)} with zone value is not allowed")
    _refuse_mapped(address, text)
    return IpValue(address)


def _refuse_mapped(address: _Address, text: str) -> None:
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        raise CelError(f"IPv4-mapped IPv6 address {quoted(text)} is not allowed")


def _network(text: str) -> CidrValue:
    try:
        return _prefix(text)
    except CelError as error:
        raise CelError(f"network address {_PARSE}: {error.text}") from None


def _prefix(text: str) -> CidrValue:
    head, slash, bits = text.rpartition("/")
    if not slash:
        raise _bad_prefix(text, "no '/'")
    try:
        address, zone = parse_address(head)
    except AddressError as error:
        raise _bad_prefix(text, str(error)) from None
    if zone:
        raise _bad_prefix(text, "IPv6 zones cannot be present in a prefix")
    if not _BITS.fullmatch(bits):
        raise _bad_prefix(text, f"bad bits after slash: {quoted(bits)}")
    if int(bits) > address.max_prefixlen:
        raise _bad_prefix(text, "prefix length out of range")
    _refuse_mapped(address, text)
    return CidrValue(address, int(bits))


def _bad_prefix(text: str, why: str) -> CelError:
    detail = f"netip.ParsePrefix({quoted(text)}): {why}"
    return CelError(f"network address {_PARSE}: {detail}")


def _is_address(text: str) -> bool:
    try:
        _address(text)
    except CelError:
        return False
    return True


def _is_network(text: str) -> bool:
    try:
        _prefix(text)
    except CelError:
        return False
    return True


def _is_canonical(text: str) -> bool:
    return str(_address(text).address) == text


def _is_global(value: IpValue) -> bool:
    # Go counts private addresses, too, and documentation's.
    address = value.address
    if int(address) in (0, 0xFFFFFFFF) and address.version == 4:  # noqa: PLR2004 - IPv4
        return False
    return not (
        address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or address.is_link_local
    )


def _is_link_local_multicast(value: IpValue) -> bool:
    number = int(value.address)
    if isinstance(value.address, ipaddress.IPv4Address):
        return number >> 8 == _LOCAL_MULTICAST_V4
    return number >> 112 & 0xFF0F == _LOCAL_MULTICAST_V6


def _contains_ip(network: CidrValue, address: Value) -> bool:
    try:
        inner = _address(address) if isinstance(address, str) else address
    except CelError:
        # The server forgets why.
        raise CelError(NO_SUCH_OVERLOAD) from None
    return network.contains(inner.address)


def _contains_network(network: CidrValue, other: Value) -> bool:
    inner = _network(other) if isinstance(other, str) else other
    return network.bits <= inner.bits and network.contains(inner.address)


IPS: Final[Library] = {
    "ip": (overload("string_to_ip", "(string) -> ip", _address),),
    "family": (overload("ip_family", "ip.() -> int", lambda ip: ip.address.version),),
    "ip.isCanonical": (overload("ip_is_canonical", "(string) -> bool", _is_canonical),),
    "isUnspecified": (
        overload("ip_is_unspecified", "ip.() -> bool", lambda ip: ip.address.is_unspecified),
    ),
    "isLoopback": (overload("ip_is_loopback", "ip.() -> bool", lambda ip: ip.address.is_loopback),),
    "isLinkLocalMulticast": (
        overload("ip_is_link_local_multicast", "ip.() -> bool", _is_link_local_multicast),
    ),
    "isLinkLocalUnicast": (
        overload("ip_is_link_local_unicast", "ip.() -> bool", lambda ip: ip.address.is_link_local),
    ),
    "isGlobalUnicast": (overload("ip_is_global_unicast", "ip.() -> bool", _is_global),),
    "isIP": (overload("is_ip", "(string) -> bool", _is_address),),
    "string": (overload("ip_to_string", "(ip) -> string", lambda ip: str(ip.address)),),
}
"""The library of addresses."""


CIDRS: Final[Library] = {
    "cidr": (overload("string_to_cidr", "(string) -> cidr", _network),),
    "containsIP": (
        overload("cidr_contains_ip_string", "cidr.(string) -> bool", _contains_ip),
        overload("cidr_contains_ip_ip", "cidr.(ip) -> bool", _contains_ip),
    ),
    "containsCIDR": (
        overload("cidr_contains_cidr_string", "cidr.(string) -> bool", _contains_network),
        overload("cidr_contains_cidr", "cidr.(cidr) -> bool", _contains_network),
    ),
    "ip": (overload("cidr_ip", "cidr.() -> ip", lambda cidr: IpValue(cidr.address)),),
    "prefixLength": (overload("cidr_prefix_length", "cidr.() -> int", lambda cidr: cidr.bits),),
    "masked": (overload("cidr_masked", "cidr.() -> cidr", CidrValue.masked),),
    "isCIDR": (overload("is_cidr", "(string) -> bool", _is_network),),
    "string": (
        overload("cidr_to_string", "(cidr) -> string", lambda cidr: f"{cidr.address}/{cidr.bits}"),
    ),
}
"""The library of networks."""
