"""
Schemas as types in expressions: their fields, and the largest sizes of values.

Source:
    apiserver, ``pkg/cel/common/schemas.go`` and ``pkg/cel/types.go``.
"""

from typing import Final

from espalier.cel.declared_type import MAX_REQUEST_BYTES, Declaration
from espalier.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    CelType,
    list_of,
    map_of,
)
from espalier.schema.model import Structural
from espalier.schema.rules.escaping import RESERVED, escape
from espalier.schema.rules.values import with_type_and_metadata

MAX_NESTING: Final = 150
"""How deep a schema may be nested for its rules to be evaluated."""

_SELF: Final = "selfType"
_MIN_STRING, _MIN_BOOL, _MIN_NUMBER = 2, 4, 1
_MIN_DURATION, _MIN_DATE, _MIN_DATE_TIME = 3, 12, 21
_MAX_DURATION, _MAX_DATE, _MAX_DATE_TIME = 32, 12, 32


class NestingError(Exception):
    """
    A schema is nested too deeply.
    """


_OBJECT = CelType("struct", "object")


def declare(node: Structural, *, is_resource: bool, depth: int = 0) -> Declaration | None:
    """
    Return the type of a schema's values in expressions.

    Returns:
        The declaration; None if expressions cannot access such values.

    Raises:
        NestingError: The schema is nested too deeply.
    """
    if depth > MAX_NESTING:
        raise NestingError(f"the schema nests deeper than {MAX_NESTING}")
    if node.int_or_string:
        limit = _text_limit(node)
        return Declaration(DYN, max_elements=limit, min_bytes=_MIN_NUMBER)
    if is_resource:
        node = with_type_and_metadata(node)
    match node.type:
        case "array":
            return _array(node, depth)
        case "object":
            return _object(node, depth)
        case "string":
            return _string(node)
        case "boolean":
            return Declaration(BOOL, min_bytes=_MIN_BOOL)
        case "number":
            return Declaration(DOUBLE, min_bytes=_MIN_NUMBER)
        case "integer":
            return Declaration(INT, min_bytes=_MIN_NUMBER)
        case _:
            return None


def _child(node: Structural, depth: int) -> Declaration | None:
    return declare(node, is_resource=node.embedded_resource, depth=depth + 1)


def _array(node: Structural, depth: int) -> Declaration | None:
    element = _child(node.items, depth) if node.items is not None else None
    if element is None:
        return None
    limit = node.value_validation.max_items
    most = (MAX_REQUEST_BYTES - 2) // (element.min_bytes + 1) if limit is None else max(limit, 0)
    return Declaration(list_of(DYN), element=element, max_elements=most)


def _object(node: Structural, depth: int) -> Declaration | None:
    if isinstance(node.additional_properties, Structural):
        element = _child(node.additional_properties, depth)
        if element is None:
            return None
        limit = node.value_validation.max_properties
        most = (
            (MAX_REQUEST_BYTES - 2) // (element.min_bytes + 6) if limit is None else max(limit, 0)
        )
        return Declaration(map_of(STRING, DYN), element=element, max_elements=most)
    required = frozenset(node.value_validation.required)
    fields = {}
    min_bytes = 2
    for name, child in node.properties.items():
        declared = _child(child, depth)
        if declared is None:
            continue
        escaped = escape(name)
        if escaped is not None:
            fields[escaped] = declared
        if name in required and child.default is None:
            min_bytes += len(name.encode("utf-8", "surrogatepass")) + declared.min_bytes + 4
    return Declaration(_OBJECT, fields=fields, min_bytes=min_bytes)


def _text_limit(node: Structural) -> int:
    # A character has at most four bytes.
    limit = node.value_validation.max_length
    return MAX_REQUEST_BYTES - 2 if limit is None else max(limit, 0) * 4


def _string(node: Structural) -> Declaration:
    limit = node.value_validation.max_length
    match node.value_validation.format:
        case "byte":
            most = MAX_REQUEST_BYTES - 2 if limit is None else max(limit, 0)
            return Declaration(BYTES, max_elements=most, min_bytes=_MIN_STRING)
        case "duration":
            return Declaration(DURATION, max_elements=_MAX_DURATION, min_bytes=_MIN_DURATION)
        case "date":
            return Declaration(TIMESTAMP, max_elements=_MAX_DATE, min_bytes=_MIN_DATE)
        case "date-time":
            return Declaration(TIMESTAMP, max_elements=_MAX_DATE_TIME, min_bytes=_MIN_DATE_TIME)
        case _:
            pass
    most = _text_limit(node)
    if limit is None and node.value_validation.enum:
        texts = [each for each in node.value_validation.enum if isinstance(each, str)]
        most = max((len(each.encode("utf-8", "surrogatepass")) for each in texts), default=0)
    return Declaration(STRING, max_elements=most, min_bytes=_MIN_STRING)


class SelfTypes:
    """
    The types in ``self``: its objects get names when an expression reaches them.

    Attributes:
        type: The type of ``self``.
    """

    def __init__(self, declared: Declaration) -> None:
        self._objects: dict[str, Declaration] = {}
        self.type = self._named(declared, _SELF)

    def has(self, type_name: str) -> bool:
        """
        Report whether an object type of this name is known.
        """
        return type_name in self._objects

    def find(self, type_name: str, field: str) -> CelType | None:
        """
        Return the type of a field.
        """
        fields = self._objects[type_name].fields
        declared = fields.get(field)
        if declared is None and field in RESERVED:
            declared = fields.get(f"__{field}__")
        return None if declared is None else self._named(declared, f"{type_name}.{field}")

    def _named(self, declared: Declaration, name: str) -> CelType:
        if declared.type.kind == "struct":
            self._objects[name] = declared
            return CelType("struct", name)
        if declared.element is None:
            return declared.type
        if declared.type.kind == "list":
            return list_of(self._named(declared.element, f"{name}.@idx"))
        return map_of(STRING, self._named(declared.element, f"{name}.@elem"))
