"""
What rules may use: the functions and the types of API servers of 1.37.

Source:
    apiserver, ``pkg/cel/environment/base.go``.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from espalier.schema.cel.authorizing import AUTHORIZATION
from espalier.schema.cel.lists import LISTS
from espalier.schema.cel.namedformats import FORMATS
from espalier.schema.cel.network import CIDRS, IPS
from espalier.schema.cel.optionals import INSERTION, OPTIONALS
from espalier.schema.cel.quantities import QUANTITIES
from espalier.schema.cel.regexes import REGEXES
from espalier.schema.cel.semvers import SEMVERS
from espalier.schema.cel.signatures import Library, merge
from espalier.schema.cel.standard import STANDARD
from espalier.schema.cel.texts import TEXTS
from espalier.schema.cel.types import (
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
from espalier.schema.cel.urls import URLS

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
