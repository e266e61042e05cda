"""
What rules may use: the functions and the types of API servers of 1.37.

Source:
    apiserver, ``pkg/cel/environment/base.go``.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from espalier.cel.library.authz import AUTHORIZATION
from espalier.cel.library.lists import LISTS
from espalier.cel.library.named_formats import FORMATS
from espalier.cel.library.network import CIDRS, IPS
from espalier.cel.library.optionals import INSERTION, OPTIONALS
from espalier.cel.library.quantity import QUANTITIES
from espalier.cel.library.regex import REGEXES
from espalier.cel.library.semver import SEMVERS
from espalier.cel.library.standard import STANDARD
from espalier.cel.library.strings import TEXTS
from espalier.cel.library.urls import URLS
from espalier.cel.signatures import Library, merge
from espalier.cel.types import (
    BOOL,
    BYTES,
    CIDR,
    DOUBLE,
    DURATION,
    INT,
    IP,
    NULL,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    CelType,
    list_of,
    map_of,
    optional_of,
    param,
)

FUNCTIONS: Final[Library] = merge(
    (
        STANDARD,
        URLS,
        REGEXES,
        AUTHORIZATION,
        OPTIONALS,
        QUANTITIES,
        TEXTS,
        IPS,
        CIDRS,
        FORMATS,
        INSERTION,
        SEMVERS,
        *LISTS,
    )
)
"""All functions; stored rules may use them."""

# The server lets no new rule use what the version before it lacks.
_NEW_IN_1_37: Final = frozenset({"includes"})

NEW_FUNCTIONS: Final[Library] = {
    name: overloads for name, overloads in FUNCTIONS.items() if name not in _NEW_IN_1_37
}
"""The functions that new rules may use."""

TYPES: Final[Mapping[str, CelType]] = MappingProxyType(
    {
        **{each.name: each for each in (BOOL, BYTES, DOUBLE, INT, NULL, STRING, TYPE, UINT)},
        **{each.name: each for each in (DURATION, TIMESTAMP, IP, CIDR)},
        "list": list_of(param("A")),
        "map": map_of(param("A"), param("B")),
        "optional_type": optional_of(param("V")),
    }
)
"""The types that have names in expressions."""
