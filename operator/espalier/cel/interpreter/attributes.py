"""
Variables with what is selected from them: ``self.a[0].?b``.

The costs are those of the server's observers: each selection costs 1, and reading the whole
costs 1, unless another attribute reads it.

Source:
    cel-go, ``interpreter/attributes.go`` and ``interpreter/runtimecost.go``.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from espalier.cel.equality import NO_SUCH_OVERLOAD
from espalier.cel.frames import Frame
from espalier.cel.values import (
    INT64_MAX,
    NONE,
    CelError,
    Failure,
    Optional,
    Uint,
    Value,
    demand,
    go_name,
    is_list,
    is_map,
    show,
    some,
    type_of,
)

Run: TypeAlias = Callable[[Frame], Value]


@dataclass(slots=True)
class Qualifier:
    """
    A selection.

    Attributes:
        key: Reads the key or the index.
        is_optional: Whether what is missing is no error.
        is_test: Whether it asks only whether something is there.
    """

    key: Run
    is_optional: bool = False
    is_test: bool = False

    def select(self, frame: Frame, value: Value) -> Value:
        """
        Select from a value.

        Raises:
            CelError: There is no such thing.
        """
        try:
            key = self.key(frame)
        finally:
            frame.charge(1)
        found, is_there, missing = look_up(value, key)
        if self.is_test:
            return is_there
        if not is_there:
            raise CelError(missing)
        return found

    def select_if_present(self, frame: Frame, value: Value) -> tuple[Value, bool]:
        """
        Select from a value, if it has such a thing.
        """
        key = self.key(frame)
        found, is_there, _ = look_up(value, key)
        if is_there:
            frame.charge(1)
        return found, is_there


def look_up(value: Value, key: Value) -> tuple[Value, bool, str]:
    """
    Look a key or an index up.

    Returns:
        What was found, whether something was, and the error if not.

    Raises:
        CelError: The value itself is an error, or the key is none for it.
    """
    check_key(key)
    demand(value)
    if is_map(value):
        found, is_there = value.find(key)
        return demand(found), is_there, f"no such key: {show(key)}"
    if is_list(value):
        index = index_of(key)
        if not 0 <= index < len(value):
            return None, False, f"index out of bounds: {show(key)}"
        if value.is_of_schema and key.__class__ is not int:
            raise CelError(f"unsupported index: {show(key)}")
        return demand(value.items[index]), True, ""
    return None, False, f"no such key: {show(key)}"


def check_key(key: Value) -> None:
    """
    Check that a value may be a key or an index.

    Raises:
        CelError: It may not.
    """
    if key.__class__ not in _KEYS:
        raise CelError(f"invalid qualifier type: {go_name(key)}")


_KEYS: Final = frozenset((str, int, bool, float, Uint))


def index_of(key: Value) -> int:
    """
    Read an index.

    Raises:
        CelError: It is none.
    """
    if key.__class__ is int:
        return int(key)
    if key.__class__ not in (float, Uint):
        raise CelError(f"unsupported index type '{type_of(key).name}' in list")
    is_whole = key.is_integer() if isinstance(key, float) else key <= INT64_MAX
    if not is_whole:
        raise CelError(f"unsupported index value {show(key)} in list")
    return int(key)


@dataclass(slots=True)
class Plain:
    """
    A variable, or whatever an expression results in, with what is selected from it.

    Attributes:
        base: Reads it; a failure raises.
    """

    base: Run
    qualifiers: list[Qualifier] = field(default_factory=list)

    def add(self, qualifier: Qualifier) -> None:
        """
        Select something more.
        """
        self.qualifiers.append(qualifier)

    def resolve(self, frame: Frame) -> Value:
        """
        Read it.
        """
        value = self.base(frame)
        if not self.qualifiers:
            return value
        is_optional = isinstance(value, Optional)
        if is_optional:
            if not value.has_value:
                return value
            value = value.value
        for qualifier in self.qualifiers:
            is_optional = is_optional or qualifier.is_optional
            if is_optional:
                value, is_there = qualifier.select_if_present(frame, value)
                if not is_there:
                    return NONE
            else:
                value = qualifier.select(frame, value)
        return some(value) if is_optional else value


@dataclass(slots=True)
class Conditional:
    """
    One of two attributes, by a condition.
    """

    condition: Run
    truthy: "Attribute"
    falsy: "Attribute"

    def add(self, qualifier: Qualifier) -> None:
        """
        Select something more from either.
        """
        self.truthy.add(qualifier)
        self.falsy.add(qualifier)

    def resolve(self, frame: Frame) -> Value:
        """
        Read the one that the condition chooses.
        """
        chosen = self.condition(frame)
        if chosen is True:
            return self.truthy.resolve(frame)
        if chosen is False:
            return self.falsy.resolve(frame)
        raise CelError(NO_SUCH_OVERLOAD)


Attribute: TypeAlias = Plain | Conditional


def reader(attribute: Attribute) -> Run:
    """
    Make what reads an attribute and charges for it.
    """
    resolve = attribute.resolve
    if not isinstance(attribute, Plain):
        return resolve
    base, qualifiers = attribute.base, attribute.qualifiers

    def run(frame: Frame) -> Value:
        frame.charge(1)
        # Most attributes are variables, and variables are never failures.
        return resolve(frame) if qualifiers else base(frame)

    return run


def tester(attribute: Attribute) -> Run:
    """
    Make the test for what an attribute selects.
    """

    def run(frame: Frame) -> Value:
        found = attribute.resolve(frame)
        return found.has_value if isinstance(found, Optional) else found

    return run


def slot_reader(slot: int) -> Run:
    """
    Make what reads a variable of a macro.
    """

    def run(frame: Frame) -> Value:
        value = frame.slots[slot]
        if value.__class__ is Failure:
            raise CelError(value.text)
        return value

    return run
