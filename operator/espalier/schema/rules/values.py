"""
JSON values as values in expressions, by their schemas.
"""

import base64
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from espalier.cel.equality import NO_SUCH_OVERLOAD, equal, register_equality
from espalier.cel.library.timestamps import timestamp_of
from espalier.cel.types import LIST, MAP, UNKNOWN
from espalier.cel.values import (
    CLASSES,
    GO_CLASSES,
    CelError,
    Duration,
    Failure,
    ListValue,
    Value,
    is_list,
    is_map,
)
from espalier.golang.base64_errors import base64_fault
from espalier.golang.durations import DurationError, parse_worded_duration
from espalier.golang.rfc3339 import DATE, TimeError, parse_date_time, parse_time
from espalier.golang.utf8 import to_valid_utf8
from espalier.paths import JSON
from espalier.schema.model import Structural, ValueValidation
from espalier.schema.rules.escaping import escape, unescape
from espalier.schema.values import equal_json

_GO_TYPES: Final = {
    bool: "bool",
    int: "int64",
    float: "float64",
    str: "string",
    list: "[]interface {}",
    dict: "map[string]interface {}",
    type(None): "<nil>",
}
_NOT_SCALAR: Final = "listSet operations are only supported on lists of scalar values"


class SchemaMap:
    """
    An object or a map with a schema. Keys that the schema does not specify cannot be read.

    Source:
        apiserver, ``pkg/cel/common/valuesunstructured.go``, ``unstructuredMap``.
    """

    __slots__ = ("_properties", "node", "raw")

    def __init__(self, raw: Mapping[str, JSON], node: Structural) -> None:
        self.raw = raw
        self.node = node
        self._properties = node.properties

    def __len__(self) -> int:
        return len(self.raw)

    def schema_of(self, key: str) -> Structural | None:
        """
        Return the schema of a member.
        """
        if self._properties or self.node.embedded_resource:
            return self._properties.get(key)
        additional = self.node.additional_properties
        return additional if isinstance(additional, Structural) else None

    def find(self, key: Value) -> tuple[Value, bool]:
        """
        Look up a member by its name; fields of objects by their escaped names.

        Raises:
            CelError: The key is not a string.
        """
        if not isinstance(key, str):
            raise CelError(NO_SUCH_OVERLOAD)
        name = unescape(key) if self._properties else key
        if name is None or name not in self.raw:
            return None, False
        value = self.raw[name]
        if value is None and self._properties:
            return None, False
        schema = self.schema_of(name)
        return (None, False) if schema is None else (to_cel(value, schema), True)

    def each_key(self) -> Iterator[Value]:
        """
        Yield the keys that the schema specifies.
        """
        for key in self.raw:
            if self.schema_of(key) is not None:
                yield (escape(key) or key) if self._properties else key


class UnknownValue:
    """
    A value without a schema: expressions can only compare values that contain it.
    """

    __slots__ = ("raw",)

    def __init__(self, raw: JSON) -> None:
        self.raw = raw

    def is_equal(self, other: Value) -> bool:
        """
        Compare with another value by the JSON, regardless of schemas.
        """
        raw = other.raw if isinstance(other, UnknownValue) else other
        return equal_json(self.raw, raw)


class SchemaList(ListValue):
    """
    A list with a schema; its elements are converted when they are accessed.
    """

    is_of_schema = True

    __slots__ = ("_items", "node", "raw")

    def __init__(self, raw: list[JSON], items: Structural) -> None:
        self.raw = raw
        self.node = items
        self._items: list[Value] | None = None

    @property
    def items(self) -> list[Value]:  # type: ignore[override]
        """
        The elements.
        """
        if self._items is None:
            self._items = [to_cel(each, self.node) for each in self.raw]
        return self._items

    def __len__(self) -> int:
        return len(self.raw)


class SetList(SchemaList):
    """
    A list of the type ``set``: equality ignores the order.
    """

    __slots__ = ()


class KeyedList(SchemaList):
    """
    A list of the type ``map``: its items are identified by their keys.
    """

    __slots__ = ("key_names",)

    def __init__(self, raw: list[JSON], items: Structural, keys: tuple[str, ...]) -> None:
        super().__init__(raw, items)
        self.key_names = tuple(escape(key) or key for key in keys)


CLASSES[SchemaMap] = MAP
CLASSES[UnknownValue] = UNKNOWN
GO_CLASSES.update(
    {
        SchemaMap: "*common.unstructuredMap",
        UnknownValue: "*common.unknownPreserved",
        SchemaList: "*common.unstructuredList",
        SetList: "*common.unstructuredSetList",
        KeyedList: "*common.unstructuredMapList",
    }
)
for _class in (SchemaList, SetList, KeyedList):
    CLASSES[_class] = LIST


def to_cel(value: JSON, node: Structural) -> Value:
    """
    Convert a JSON value for expressions.

    Returns:
        The value; a ``Failure`` if it does not match the schema.

    Source:
        apiserver, ``pkg/cel/common/valuesunstructured.go``, ``UnstructuredToVal``.
    """
    if value is None:
        return (
            None
            if node.nullable
            else Failure("invalid data, got null for schema with nullable=false")
        )
    if node.int_or_string:
        if isinstance(value, str):
            return to_valid_utf8(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        return Failure("invalid data, expected XIntOrString value to be either a string or integer")
    convert = _CONVERSIONS.get(node.type)
    if convert is not None:
        return convert(value, node)
    if node.preserve_unknown_fields:
        return UnknownValue(value)
    return Failure(
        "invalid type, expected object, array, number, integer, boolean or string, or no type with"
        " x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got"
        f" {node.type}"
    )


def _object(value: JSON, node: Structural) -> Value:
    if not isinstance(value, dict):
        return Failure("invalid data, expected a map for the provided schema with type=object")
    return SchemaMap(value, with_type_and_metadata(node) if node.embedded_resource else node)


def _array(value: JSON, node: Structural) -> Value:
    if not isinstance(value, list):
        return Failure("invalid data, expected an array for the provided schema with type=array")
    if node.items is None:
        return Failure("invalid array type, expected Items with a non-empty Schema")
    match node.list_type or "atomic":
        case "map":
            return KeyedList(value, node.items, node.list_map_keys)
        case "set":
            return SetList(value, node.items)
        case "atomic":
            return SchemaList(value, node.items)
        case _:
            expected = "invalid x-kubernetes-list-type, expected 'map', 'set' or 'atomic' but got"
            return Failure(f"{expected} {node.list_type}")


def _string(value: JSON, node: Structural) -> Value:
    if not isinstance(value, str):
        return Failure(f"invalid data, expected string, got {_GO_TYPES[value.__class__]}")
    parse = _FORMATS.get(node.value_validation.format)
    return to_valid_utf8(value) if parse is None else parse(value)


def _number(value: JSON, _: Structural) -> Value:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    return Failure(f"invalid data, expected float, got {_GO_TYPES[value.__class__]}")


def _integer(value: JSON, _: Structural) -> Value:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return Failure(f"invalid data, expected int, got {_GO_TYPES[value.__class__]}")


def _boolean(value: JSON, _: Structural) -> Value:
    if isinstance(value, bool):
        return value
    return Failure(f"invalid data, expected bool, got {_GO_TYPES[value.__class__]}")


_CONVERSIONS: Final[Mapping[str, Callable[[JSON, Structural], Value]]] = {
    "object": _object,
    "array": _array,
    "string": _string,
    "number": _number,
    "integer": _integer,
    "boolean": _boolean,
}


def _duration(text: str) -> Value:
    try:
        return Duration(parse_worded_duration(text))
    except DurationError as error:
        return Failure(f"Invalid duration {text}: {error}")


def _date(text: str) -> Value:
    try:
        return timestamp_of(parse_time(text, DATE))
    except TimeError as error:
        return Failure(f"Invalid date formatted string {text}: {error}")


def _date_time(text: str) -> Value:
    try:
        return timestamp_of(parse_date_time(text))
    except TimeError as error:
        return Failure(f"Invalid date-time formatted string {text}: {error}")


def _bytes(text: str) -> Value:
    # The server checks the format with the standard alphabet, but decodes with that of URLs.
    at = base64_fault(text)
    if at is None:
        return base64.urlsafe_b64decode(text.replace("\n", "").replace("\r", ""))
    return Failure(f"Invalid byte formatted string {text}: illegal base64 data at input byte {at}")


_FORMATS: Final[Mapping[str, Callable[[str], Value]]] = {
    "duration": _duration,
    "date": _date,
    "date-time": _date_time,
    "byte": _bytes,
}

_STRING_NODE: Final = Structural(type="string")
_MAX_NAME: Final = 253


@functools.lru_cache(maxsize=1024)
def with_type_and_metadata(node: Structural) -> Structural:
    """
    Add ``apiVersion``, ``kind`` and the names of ``metadata`` to the schema of a resource's root.

    Source:
        apiextensions-apiserver, ``pkg/apiserver/schema/cel/model/schemas.go``.
    """
    metadata = node.properties.get("metadata", Structural())
    if _says_all_itself(node, metadata):
        # Then the server does not limit the length of the names.
        return node
    names = {
        "name": _name_node(metadata.properties.get("name"), _MAX_NAME),
        # The server appends a suffix of at least one byte.
        "generateName": _name_node(metadata.properties.get("generateName"), _MAX_NAME - 1),
    }
    properties = {
        **node.properties,
        "kind": _STRING_NODE,
        "apiVersion": _STRING_NODE,
        "metadata": Structural(type="object", properties=names),
    }
    members: dict[str, Any] = {name: getattr(node, name) for name in Structural.__struct_fields__}
    # Items are dropped: for the server a resource is not a list.
    return Structural(**{**members, "properties": properties, "items": None})


def _says_all_itself(node: Structural, metadata: Structural) -> bool:
    texts = (
        *(node.properties.get(name) for name in ("kind", "apiVersion")),
        *(metadata.properties.get(name) for name in ("name", "generateName")),
    )
    return metadata.type == "object" and all(
        text is not None and text.type == "string" for text in texts
    )


def _name_node(declared: Structural | None, max_length: int) -> Structural:
    limit = None if declared is None else declared.value_validation.max_length
    length = max_length if limit is None else min(limit, max_length)
    return Structural(type="string", value_validation=ValueValidation(max_length=length))


def _equal_maps(left: SchemaMap, right: Value) -> bool:
    if not is_map(right):
        raise CelError(NO_SUCH_OVERLOAD)
    if len(left) != len(right):
        return False
    for key, value in left.raw.items():
        if left.schema_of(key) is None:
            if not isinstance(right, SchemaMap):
                raise CelError(NO_SUCH_OVERLOAD)
            # The server stops comparing if the other one has no such key.
            if key in right.raw and not equal_json(value, right.raw[key]):
                return False
            continue
        mine, found = left.find(key)
        theirs, is_there = right.find(key)
        if found is not is_there:
            return False
        if found and not equal(mine, theirs):
            return False
    return True


def _equal_lists(left: SchemaList, right: Value) -> bool:
    if not is_list(right):
        raise CelError(NO_SUCH_OVERLOAD)
    return len(left) == len(right) and all(map(equal, left.items, right.items))


register_equality(SchemaMap, _equal_maps)
register_equality(SchemaList, _equal_lists)
