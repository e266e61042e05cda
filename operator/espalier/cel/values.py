"""
Values of CEL expressions that Python has no class for, and what they are called.

Booleans, integers, floats, strings, bytes and null are Python's own. An integer's class separates
signed from unsigned ones; errors are raised, and held as values only where an expression may
still ignore them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NamedTuple, TypeAlias

from espalier.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    INT,
    LIST,
    MAP,
    NULL,
    OPTIONAL,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    CelType,
)
from espalier.golang.printing import quote, render_value

Value: TypeAlias = Any
"""A value of an expression: of one of the classes of ``CLASSES``, or a ``Failure``."""

NANOSECONDS: Final = 1_000_000_000
"""Nanoseconds of a second."""

MIN_UNIX_SECONDS: Final = -62_135_596_800
MAX_UNIX_SECONDS: Final = 253_402_300_799
INT64_MIN: Final = -(1 << 63)
INT64_MAX: Final = (1 << 63) - 1
UINT64_MAX: Final = (1 << 64) - 1


class CelError(Exception):
    """
    An evaluation failed. Its text is that of the API server.
    """

    @property
    def text(self) -> str:
        """
        The text.
        """
        return str(self.args[0])


class InternalError(Exception):
    """
    An evaluation ended where the server's does by accident; nothing may ignore it.
    """


class BudgetError(Exception):
    """
    An evaluation was stopped: it cost too much, or took too long.
    """


class CostLimitError(BudgetError):
    """
    One evaluation exceeded the limit that API servers set to it.
    """


class TimeLimitError(BudgetError):
    """
    Espalier's own limit was exceeded; the server's answer is unknown.
    """


class UnsupportedError(Exception):
    """
    An expression uses what cannot be evaluated here, though API servers can.
    """


class Failure(NamedTuple):
    """
    An error in place of a value; its use raises.
    """

    text: str


class Uint(int):
    """
    An unsigned integer of 64 bits.
    """

    __slots__ = ()


class Duration(NamedTuple):
    """
    A span of time in nanoseconds.
    """

    nanoseconds: int


class Timestamp(NamedTuple):
    """
    A point in time: nanoseconds since 1970, and the offset of the zone in which it is written.
    """

    nanoseconds: int
    offset_seconds: int = 0


@dataclass(frozen=True, slots=True)
class Optional:
    """
    Something that may be missing.
    """

    value: Value = None
    has_value: bool = False


NONE: Final = Optional()


def some(value: Value) -> Optional:
    """
    Make an optional with a value.
    """
    return Optional(value, has_value=True)


class Opaque:
    """
    A value of a library: of an address, of a quantity.
    """

    __slots__ = ()
    type: ClassVar[CelType]

    def size(self) -> int | None:
        """
        Return the size that costs depend on; None where the value has none.
        """
        return None


class ListValue:
    """
    A list.

    Attributes:
        items: The elements; each may be a ``Failure``.
    """

    __slots__ = ("items",)
    is_of_schema = False

    def __init__(self, items: list[Value]) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)


class GrowingList(ListValue):
    """
    The list that a macro builds: adding to it changes it.
    """

    __slots__ = ()


class MapValue:
    """
    A map that an expression makes: values by the keys' ``key_of``.
    """

    __slots__ = ("entries",)

    def __init__(self, entries: dict[Any, tuple[Value, Value]]) -> None:
        self.entries = entries

    def __len__(self) -> int:
        return len(self.entries)

    def find(self, key: Value) -> tuple[Value, bool]:
        """
        Look a key up; numbers that are equal are one key.
        """
        found = self.entries.get(key_of(key))
        if found is None and isinstance(key, float):
            found = self.entries.get(number_key(key))
        return (None, False) if found is None else (found[1], True)

    def each_key(self) -> Iterator[Value]:
        """
        Yield the keys.
        """
        return iter([key for key, _ in self.entries.values()])


class GrowingMap(MapValue):
    """
    The map that a macro builds: inserting into it changes it.
    """

    __slots__ = ()


CLASSES: Final[dict[type, CelType]] = {
    bool: BOOL,
    int: INT,
    Uint: UINT,
    float: DOUBLE,
    str: STRING,
    bytes: BYTES,
    type(None): NULL,
    Duration: DURATION,
    Timestamp: TIMESTAMP,
    Optional: OPTIONAL,
    CelType: TYPE,
    ListValue: LIST,
    GrowingList: LIST,
    MapValue: MAP,
    GrowingMap: MAP,
}
"""The type of each class; ``schemavalues`` adds those of values with a schema."""


def type_of(value: Value) -> CelType:
    """
    Name the type of a value, without parameters.
    """
    found = CLASSES.get(value.__class__)
    if found is None:
        opaque: CelType = value.type
        return opaque
    return found


def int_of(digits: str) -> int:
    """
    Read a number of any length; one that does not fit into 64 bits becomes some other such.
    """
    significant = digits.lstrip("0")
    return int(significant or "0") if len(significant) <= _MAX_DIGITS else UINT64_MAX + 1


_MAX_DIGITS: Final = 20


def is_list(value: Value) -> bool:
    """
    Report whether a value is a list.
    """
    return CLASSES.get(value.__class__) is LIST


def is_map(value: Value) -> bool:
    """
    Report whether a value is a map, or an object of a schema.
    """
    return CLASSES.get(value.__class__) is MAP


def demand(value: Value) -> Value:
    """
    Return a value.

    Raises:
        CelError: It is a failure.
    """
    if value.__class__ is Failure:
        raise CelError(value.text)
    return value


def key_of(value: Value) -> Any:
    """
    Make what is equal for equal keys of maps: a hashable value.
    """
    if isinstance(value, float):
        return ("double", value)
    return number_key(value)


def number_key(value: Value) -> Any:
    """
    Make what is equal for equal scalars: numbers of different types may be equal.
    """
    match value:
        case bool():
            return ("bool", value)
        case int():
            return ("number", int(value))
        case float():
            whole = value.is_integer() and INT64_MIN <= value <= UINT64_MAX
            return ("number", int(value) if whole else value)
        case str() | bytes() | None:
            return value
        case _:
            # Maps have no other keys in checked expressions; a `dyn` may bring some.
            return (type_of(value).name, repr(value))


def show(value: Value) -> str:
    """
    Write a value as it appears in error messages: Go's ``%v``.
    """
    match value:
        case None:
            return "0"
        case Uint():
            return str(int(value))
        case bool() | int() | float():
            return render_value(value)
        case str():
            return value
        case bytes():
            return f"[{' '.join(map(str, value))}]"
        case CelType():
            return value.name
        case Optional():
            return f"optional({show(value.value)})" if value.has_value else "optional.none()"
        case _:
            return repr(value)


def quoted(value: str) -> str:
    """
    Quote a string as Go does.
    """
    return quote(value)


_GO_NAMES: Final = {
    "bool": "types.Bool",
    "bytes": "types.Bytes",
    "double": "types.Double",
    "int": "types.Int",
    "null_type": "types.Null",
    "string": "types.String",
    "uint": "types.Uint",
    "google.protobuf.Duration": "types.Duration",
    "google.protobuf.Timestamp": "types.Timestamp",
    "optional_type": "*types.Optional",
    "type": "*types.Type",
    "net.IP": "cel.IP",
    "net.CIDR": "cel.CIDR",
    "kubernetes.URL": "cel.URL",
    "kubernetes.Quantity": "cel.Quantity",
    "kubernetes.Semver": "cel.Semver",
    "kubernetes.NamedFormat": "cel.Format",
}


GO_CLASSES: Final[dict[type, str]] = {
    ListValue: "*types.baseList",
    GrowingList: "*types.mutableList",
    MapValue: "*types.baseMap",
    GrowingMap: "*types.mutableMap",
}
"""What the server calls the classes of lists and maps."""


def go_name(value: Value) -> str:
    """
    Name the class that a value has in the server, as some errors do.
    """
    name = type_of(value).name
    return GO_CLASSES.get(value.__class__) or _GO_NAMES.get(name, name)
