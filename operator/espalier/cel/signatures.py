"""
Functions of CEL expressions: their names, their types, and what they do.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from espalier.cel.types import (
    BOOL,
    BYTES,
    CIDR,
    DOUBLE,
    DURATION,
    DYN,
    FORMAT,
    INT,
    IP,
    QUANTITY,
    SEMVER,
    STRING,
    TIMESTAMP,
    UINT,
    URL,
    CelType,
    list_of,
    map_of,
    optional_of,
    param,
    type_of_type,
)
from espalier.cel.values import Failure, Value, type_of

Implementation = Callable[..., Value]


@dataclass(frozen=True, slots=True)
class Overload:
    """
    One way of calling a function.

    Attributes:
        id: Identifies the overload for costs.
        args: The types of the arguments; the first is of what stands before the dot, if
            ``is_member``.
        implementation: None where the evaluator itself knows what to do.
        is_guarded: Whether the classes of the arguments are checked before the call.
    """

    id: str
    is_member: bool
    args: tuple[CelType, ...]
    result: CelType
    implementation: Implementation | None = None
    is_guarded: bool = True

    def takes(self, args: tuple[Value, ...]) -> bool:
        """
        Report whether values are of the types of the arguments, as the server sees it.
        """
        return len(args) == len(self.args) and all(map(_is_of, args, self.args))


def _is_of(value: Value, wanted: CelType) -> bool:
    if wanted.kind in ("dyn", "param"):
        return True
    if value.__class__ is Failure:
        return False
    found = type_of(value)
    if (found.kind, found.name) != (wanted.kind, wanted.name):
        return False
    # Of lists and maps the first member stands for all.
    if wanted.kind == "list" and len(value):
        return _is_of(value.items[0], wanted.params[0])
    if wanted.kind == "map" and len(value):
        first = next(iter(value.each_key()), None)
        return all(map(_is_of, (first, value.find(first)[0]), wanted.params))
    return True


Library = Mapping[str, tuple[Overload, ...]]
"""The overloads of each function of a library."""

_NAMES: dict[str, CelType] = {
    "bool": BOOL,
    "bytes": BYTES,
    "double": DOUBLE,
    "int": INT,
    "string": STRING,
    "uint": UINT,
    "dyn": DYN,
    "duration": DURATION,
    "timestamp": TIMESTAMP,
    "url": URL,
    "ip": IP,
    "cidr": CIDR,
    "quantity": QUANTITY,
    "semver": SEMVER,
    "format": FORMAT,
}
_CONSTRUCTORS: dict[str, Callable[..., CelType]] = {
    "list": list_of,
    "map": map_of,
    "optional": optional_of,
    "type": type_of_type,
}
_TOKEN = re.compile(r"[A-Za-z0-9_.]+|[(),]")


def overload(
    id_: str,
    signature: str,
    implementation: Implementation | None = None,
    *,
    is_guarded: bool = True,
) -> Overload:
    """
    Declare an overload.

    Args:
        id_: Its id.
        signature: ``string.(int) -> string`` for a member, ``(string) -> int`` for a function;
            capital letters are type variables.
        implementation: What it does with the values.
        is_guarded: Whether the classes of the values are checked before.
    """
    head, _, result = signature.partition(" -> ")
    target, dot, rest = head.partition(".(")
    args = _read_list(_TOKEN.findall(f"({rest}" if dot else head))
    if dot:
        args = (_read(_TOKEN.findall(target)), *args)
    result_type = _read(_TOKEN.findall(result))
    return Overload(id_, bool(dot), args, result_type, implementation, is_guarded)


def _read(tokens: list[str]) -> CelType:
    name = tokens.pop(0)
    if name in _CONSTRUCTORS and tokens[:1] == ["("]:
        return _CONSTRUCTORS[name](*_read_list(tokens))
    if len(name) == 1:
        return param(name)
    return _NAMES.get(name) or CelType("struct", name)


def _read_list(tokens: list[str]) -> tuple[CelType, ...]:
    found: list[CelType] = []
    tokens.pop(0)
    while tokens and tokens[0] != ")":
        if tokens[0] == ",":
            tokens.pop(0)
        found.append(_read(tokens))
    if tokens:
        tokens.pop(0)
    return tuple(found)


def merge(libraries: Iterable[Library]) -> Library:
    """
    Put libraries together; their functions may share names.
    """
    found: dict[str, tuple[Overload, ...]] = {}
    for library in libraries:
        for name, overloads in library.items():
            found[name] = (*found.get(name, ()), *overloads)
    return found
