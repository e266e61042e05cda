"""
Structural schemas as frozen records.

The same record represents nodes of the structure and members of junctors. A member may have only
value validations; ``structural/invariants.py`` reports anything else. Records compare by identity,
so deep ones are cheap as keys and do not recurse.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from espalier.paths import JSON

SCALAR_TYPES = frozenset({"string", "integer", "number", "boolean"})
NO_PROPERTIES: Mapping[str, "Structural"] = MappingProxyType({})


class ValueValidation(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """
    What a value must satisfy; these keywords do not define the structure.

    If a keyword is not set, its number is None, its text or sequence empty.
    """

    format: str = ""
    maximum: float | None = None
    exclusive_maximum: bool = False
    minimum: float | None = None
    exclusive_minimum: bool = False
    max_length: int | None = None
    min_length: int | None = None
    pattern: str = ""
    max_items: int | None = None
    min_items: int | None = None
    unique_items: bool = False
    multiple_of: float | None = None
    enum: tuple[JSON, ...] = ()
    max_properties: int | None = None
    min_properties: int | None = None
    required: tuple[str, ...] = ()
    all_of: tuple["Structural", ...] = ()
    any_of: tuple["Structural", ...] = ()
    one_of: tuple["Structural", ...] = ()
    not_: "Structural | None" = None

    __repr__ = object.__repr__

    def junctors(self) -> Iterator[tuple[tuple[str | int, ...], "Structural"]]:
        """
        Yield the members of all junctors, with their paths from this node.
        """
        for keyword, members in (
            ("allOf", self.all_of),
            ("anyOf", self.any_of),
            ("oneOf", self.one_of),
        ):
            for index, member in enumerate(members):
                yield (keyword, index), member
        if self.not_ is not None:
            yield ("not",), self.not_

    def any_of_is_int_or_string(self) -> bool:
        """
        Report whether ``anyOf`` is exactly ``[{type: integer}, {type: string}]``.
        """
        types = tuple(member.type for member in self.any_of)
        return types == ("integer", "string") and all(
            member.differs_only_in("type") for member in self.any_of
        )

    def is_empty(self) -> bool:
        """
        Report whether no keyword is set.
        """
        return all(
            _same(getattr(self, name), getattr(NO_VALIDATION, name))
            for name in self.__struct_fields__
        )


NO_VALIDATION = ValueValidation()


class Structural(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """
    One node of a schema.

    Attributes:
        type: One JSON type's name, or empty.
        default: None where there is no default; a null default counts as absent.
        additional_properties: A schema, a boolean, or None where the keyword is absent.
        empty_lists: The keywords with an empty list, where the profile ``APISERVER`` distinguishes
            an empty list from an absent one.
        unions: ``x-kubernetes-unions`` as written; only in the profile ``KEP``.
        read_only: Only in the profile ``KEP``.
        validations: ``x-kubernetes-validations`` as written.
    """

    type: str = ""
    title: str = ""
    description: str = ""
    nullable: bool = False
    default: JSON = None
    example: JSON = None
    external_docs: JSON = None
    read_only: bool = False
    properties: Mapping[str, "Structural"] = NO_PROPERTIES
    additional_properties: "Structural | bool | None" = None
    items: "Structural | None" = None
    preserve_unknown_fields: bool = False
    embedded_resource: bool = False
    int_or_string: bool = False
    list_type: str | None = None
    list_map_keys: tuple[str, ...] = ()
    map_type: str | None = None
    validations: tuple[JSON, ...] = ()
    unions: tuple[JSON, ...] = ()
    empty_lists: tuple[str, ...] = ()
    value_validation: ValueValidation = NO_VALIDATION

    __repr__ = object.__repr__

    def child(self, key: str) -> "Structural | None":
        """
        Return the schema of a property: the declared one, or that of additional properties.
        """
        found = self.properties.get(key)
        if found is None and isinstance(self.additional_properties, Structural):
            return self.additional_properties
        return found

    def children(self) -> Iterator["Structural"]:
        """
        Yield the schemas of properties, items and additional properties.
        """
        yield from self.properties.values()
        if self.items is not None:
            yield self.items
        if isinstance(self.additional_properties, Structural):
            yield self.additional_properties

    def is_bare(self) -> bool:
        """
        Report whether nothing is specified below the node; most nodes only type a scalar.
        """
        return not self.properties and self.items is None and self.additional_properties is None

    def is_plain_scalar(self) -> bool:
        """
        Report whether the node only types a scalar, as most do.
        """
        return (
            self.type in SCALAR_TYPES
            and self.value_validation is NO_VALIDATION
            and not (self.int_or_string or self.embedded_resource)
            and self.is_bare()
        )

    def nodes(self) -> Iterator["Structural"]:
        """
        Yield this node and all below it, outside of junctors, in no particular order.
        """
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(node.children())

    def differs_only_in(self, *names: str) -> bool:
        """
        Report whether only the named attributes are set.
        """
        return all(
            _same(getattr(self, name), getattr(_NOTHING, name))
            for name in self.__struct_fields__
            if name not in names
        )


_NOTHING = Structural()


def _same(value: Any, unset: Any) -> bool:
    # A zero counts as set, like a pointer to it in Go; so does an empty text that may be null.
    match unset:
        case None:
            return value is None
        case ValueValidation():
            return isinstance(value, ValueValidation) and value.is_empty()
        case Mapping():
            return not value
        case _:
            return bool(value == unset)
