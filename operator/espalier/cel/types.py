"""
Types of CEL expressions, and which of them go together.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

_NULLABLE: Final = frozenset({"opaque", "struct", "duration", "timestamp"})
_SIMPLE: Final = frozenset(
    {"bool", "bytes", "double", "int", "string", "uint", "duration", "timestamp", "struct"}
)
_PARAMETERIZED: Final = frozenset({"opaque", "list", "map"})


@dataclass(frozen=True, slots=True)
class CelType:
    """
    A type.

    Attributes:
        kind: What it is: the name of a primitive type, or ``list``, ``map``, ``type``, ``struct``
            (an object with fields), ``opaque``, ``param`` (a type variable), ``dyn``, ``error``.
        name: How it is called at run time.
        params: Its parameters: of an element; of keys and of values.
        has_variables: Whether there are type variables in it.
    """

    kind: str
    name: str
    params: tuple["CelType", ...] = ()
    has_variables: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        has_variables = self.kind == "param" or any(each.has_variables for each in self.params)
        object.__setattr__(self, "has_variables", has_variables)

    def __str__(self) -> str:
        return format_type(self)


def _primitive(name: str) -> CelType:
    return CelType(name, name)


BOOL = _primitive("bool")
BYTES = _primitive("bytes")
DOUBLE = _primitive("double")
INT = _primitive("int")
STRING = _primitive("string")
UINT = _primitive("uint")
DYN = _primitive("dyn")
NULL = CelType("null", "null_type")
ERROR = CelType("error", "!error!")
DURATION = CelType("duration", "google.protobuf.Duration")
TIMESTAMP = CelType("timestamp", "google.protobuf.Timestamp")
TYPE = CelType("type", "type")
URL = CelType("struct", "kubernetes.URL")
IP = CelType("opaque", "net.IP")
CIDR = CelType("opaque", "net.CIDR")
QUANTITY = CelType("struct", "kubernetes.Quantity")
SEMVER = CelType("struct", "kubernetes.Semver")
FORMAT = CelType("struct", "kubernetes.NamedFormat")
LIST = CelType("list", "list", (DYN,))
MAP = CelType("map", "map", (DYN, DYN))
UNKNOWN = CelType("unknown", "unknown")
OPTIONAL = CelType("opaque", "optional_type", (DYN,))


def list_of(element: CelType) -> CelType:
    """
    Name the type of lists of something.
    """
    return CelType("list", "list", (element,))


def map_of(key: CelType, value: CelType) -> CelType:
    """
    Name the type of maps of something.
    """
    return CelType("map", "map", (key, value))


def optional_of(value: CelType) -> CelType:
    """
    Name the type of what may have a value.
    """
    return CelType("opaque", "optional_type", (value,))


def type_of_type(named: CelType) -> CelType:
    """
    Name the type of a type's name.
    """
    return CelType("type", "type", (named,))


def param(name: str) -> CelType:
    """
    Make a type variable.
    """
    return CelType("param", name)


def is_dyn_or_error(one: CelType) -> bool:
    """
    Report whether a type is dynamic, or that of an error.
    """
    return one.kind in ("dyn", "error")


def unwrap_optional(one: CelType) -> tuple[CelType, bool]:
    """
    Take the type of the value out of an optional's.

    Returns:
        The type, and whether it was an optional's.
    """
    if one.kind == "opaque" and one.name == "optional_type":
        return one.params[0], True
    return one, False


def format_type(one: CelType) -> str:
    """
    Write a type as error messages do.

    Source:
        cel-go, ``checker/format.go``, ``FormatCELType``.
    """
    if one.kind in ("duration", "timestamp", "null", "error"):
        return "!error!" if one.kind == "error" else one.kind
    if not one.params:
        return one.name
    return f"{one.name}({', '.join(map(format_type, one.params))})"


def format_signature(args: Sequence[CelType], *, is_member: bool) -> str:
    """
    Write the types of a call's arguments as error messages do.
    """
    if is_member:
        return f"{format_type(args[0])}.({', '.join(map(format_type, args[1:]))})"
    return f"({', '.join(map(format_type, args))})"


def same_but_for_variables(left: CelType, right: CelType) -> bool:
    """
    Report whether two types are alike, if one does not look at the names of type variables.

    Source:
        cel-go, ``common/types/types.go``, ``IsEquivalentType``.
    """
    if left.kind != right.kind or len(left.params) != len(right.params):
        return False
    if left.kind != "param" and left.name != right.name:
        return False
    return all(map(same_but_for_variables, left.params, right.params))


class Substitutions:
    """
    What type variables stand for, as far as it is known.

    Source:
        cel-go, ``checker/types.go`` and ``checker/mapping.go``.
    """

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[CelType, CelType] = {}

    def bind(self, variable: CelType, bound: CelType) -> None:
        """
        Let a variable stand for a type.
        """
        self._known[variable] = bound

    def apply(self, one: CelType, *, unbound_as_dyn: bool = False) -> CelType:
        """
        Replace the variables in a type by what they stand for.
        """
        if not one.has_variables:
            return one
        if one.kind != "param":
            params = tuple(self.apply(each, unbound_as_dyn=unbound_as_dyn) for each in one.params)
            return CelType(one.kind, one.name, params)
        found = self._known.get(one)
        if found is None:
            return DYN if unbound_as_dyn else one
        applied = self.apply(found, unbound_as_dyn=unbound_as_dyn)
        if not unbound_as_dyn:
            # The next time less is to be replaced.
            self._known[one] = applied
        return applied

    def unify(self, left: Iterable[CelType], right: Iterable[CelType]) -> bool:
        """
        Bind variables so that types become assignable, each to its partner.

        Returns:
            Whether they are; if not, nothing is bound.
        """
        before = dict(self._known)
        one, other = tuple(left), tuple(right)
        if len(one) == len(other) and all(map(self._assignable, one, other)):
            return True
        self._known = before
        return False

    def _assignable(self, left: CelType, right: CelType) -> bool:
        if right.kind == "param":
            valid, known = self._substitutes(left, right)
            if valid or known:
                return valid
        if left.kind == "param":
            return self._substitutes(right, left)[0]
        if is_dyn_or_error(left) or is_dyn_or_error(right):
            return True
        if left.kind == "null":
            return _takes_null(right)
        if right.kind == "null":
            return _takes_null(left)
        if left.kind in _SIMPLE:
            return left == right
        if left.kind == "type":
            return right.kind == "type"
        return (
            left.kind in _PARAMETERIZED
            and (left.kind, left.name) == (right.kind, right.name)
            and len(left.params) == len(right.params)
            and all(map(self._assignable, left.params, right.params))
        )

    def _substitutes(self, one: CelType, variable: CelType) -> tuple[bool, bool]:
        # Whether the type may stand for the variable, and whether something already does.
        if one == variable:
            return True, True
        known = self._known.get(variable)
        if known is None:
            if self._is_free_of(variable, one):
                self._known[variable] = one
                return True, False
            return False, False
        if one == known:
            return True, True
        if not self._assignable(one, known):
            return False, True
        general = one if _is_less_specific(one, known) else known
        if self._is_free_of(variable, general):
            self._known[variable] = general
        return True, True

    def _is_free_of(self, variable: CelType, one: CelType) -> bool:
        if one == variable:
            return False
        if one.kind == "param":
            known = self._known.get(one)
            return known is None or self._is_free_of(variable, known)
        return not one.has_variables or all(self._is_free_of(variable, each) for each in one.params)


def most_general(left: CelType, right: CelType) -> CelType:
    """
    Choose the more general one of two types that go together.
    """
    return left if _is_less_specific(left, right) else right


def _takes_null(one: CelType) -> bool:
    return one.kind in _NULLABLE or one.kind == "null"


def _is_less_specific(left: CelType, right: CelType) -> bool:
    if left.kind in ("dyn", "param"):
        return True
    if right.kind in ("dyn", "param") or left.kind != right.kind:
        return False
    if left.kind == "type":
        return True
    if left.kind not in _PARAMETERIZED:
        return left == right
    if left.name != right.name or len(left.params) != len(right.params):
        return False
    return all(map(_is_less_specific, left.params, right.params))
