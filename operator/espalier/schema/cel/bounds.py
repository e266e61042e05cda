"""
How large the values of a schema can be: bounds for estimating what rules cost.

Source:
    apiserver, ``pkg/cel/common/schemas.go`` and ``pkg/cel/limits.go``.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from espalier.schema.cel.escaping import escape
from espalier.schema.cel.schemavalues import with_type_and_metadata
from espalier.schema.model import Structural

MAX_REQUEST_BYTES: Final = 3 * 1024 * 1024
"""The size of a request that servers calculate with."""

_ITEMS, _VALUES, _KEYS = "@items", "@values", "@keys"
_MAX_UTF8_BYTES: Final = 4
_MIN_TEXT_BYTES: Final = 2
_LONGEST_TEXT: Final = MAX_REQUEST_BYTES - 2
# The least bytes as JSON, and the most characters, of texts of a format.
_FORMAT_SIZES: Final[Mapping[str, tuple[int, int]]] = {
    "duration": (3, 32),
    "date": (12, 12),
    "date-time": (21, 32),
}
_SCALAR_BYTES: Final[Mapping[str, int]] = {"boolean": 4, "number": 1, "integer": 1}
_KEY_VALUE_BYTES: Final = 6
_FIELD_BYTES: Final = 4


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """
    How large values of one node can be.

    Attributes:
        max_elements: The most elements, members of a map or characters; 0 for what has no size.
        min_bytes: The fewest bytes of such a value as JSON.
        fields: Of an object's fields, by their escaped names.
        element: Of a list's elements or of a map's values.
        key: Of a map's keys.
    """

    max_elements: int
    min_bytes: int
    fields: Mapping[str, "Bounds"] = field(default_factory=dict)
    element: "Bounds | None" = None
    key: "Bounds | None" = None

    def at(self, path: tuple[str, ...]) -> "Bounds | None":
        """
        Go down to a part.

        Args:
            path: Names of fields, ``@items``, ``@values`` and ``@keys``.
        """
        found: Bounds | None = self
        for name in path:
            if found is None:
                return None
            if name in (_ITEMS, _VALUES):
                found = found.element
            elif name == _KEYS:
                found = found.key
            else:
                found = found.fields.get(name)
        return found

    @property
    def max_cardinality(self) -> int:
        """
        How many such values fit into a request, each with a comma.
        """
        return MAX_REQUEST_BYTES // (self.min_bytes + 1)


_KEY: Final = Bounds(0, _MIN_TEXT_BYTES)
_Found: TypeAlias = "dict[tuple[int, bool], Bounds | None]"


def bound(node: Structural, *, is_resource: bool) -> Bounds | None:
    """
    Bound the values of a schema.

    Args:
        node: A schema of any depth.
        is_resource: Whether it is the root of a resource, where names and types are always known.

    Returns:
        None where expressions cannot see values of the schema.
    """
    found: _Found = {}
    seen: dict[tuple[int, bool], Structural] = {}
    waiting = [(node, is_resource)]
    while waiting:
        one, is_root = waiting[-1]
        key = (id(one), is_root)
        shown = seen.get(key)
        if shown is None:
            named = is_root and not one.int_or_string
            shown = seen[key] = with_type_and_metadata(one) if named else one
        missing = [child for child in _children(shown) if _key(child) not in found]
        if missing:
            waiting += [(child, child.embedded_resource) for child in missing]
            continue
        found[key] = _bound(shown, found)
        waiting.pop()
    return found[id(node), is_resource]


def _key(child: Structural) -> tuple[int, bool]:
    return id(child), child.embedded_resource


def _children(node: Structural) -> Iterator[Structural]:
    if node.int_or_string:
        return
    if node.type == "array":
        if node.items is not None:
            yield node.items
    elif node.type == "object":
        if isinstance(node.additional_properties, Structural):
            yield node.additional_properties
        else:
            yield from node.properties.values()


def _bound(node: Structural, found: _Found) -> Bounds | None:
    if node.int_or_string:
        return Bounds(_text_limit(node), 1)
    if node.type == "array":
        return _bound_list(node, found)
    if node.type == "object":
        if isinstance(node.additional_properties, Structural):
            return _bound_map(node, node.additional_properties, found)
        return _bound_object(node, found)
    if node.type == "string":
        return _bound_text(node)
    size = _SCALAR_BYTES.get(node.type)
    return None if size is None else Bounds(0, size)


def _bound_list(node: Structural, found: _Found) -> Bounds | None:
    items = node.items
    element = None if items is None else found[_key(items)]
    if element is None:
        return None
    limit = node.value_validation.max_items
    if limit is None:
        limit = _LONGEST_TEXT // (element.min_bytes + 1)
    return Bounds(max(limit, 0), _MIN_TEXT_BYTES, element=element)


def _bound_map(node: Structural, values: Structural, found: _Found) -> Bounds | None:
    element = found[_key(values)]
    if element is None:
        return None
    limit = node.value_validation.max_properties
    if limit is None:
        limit = _LONGEST_TEXT // (element.min_bytes + _KEY_VALUE_BYTES)
    return Bounds(max(limit, 0), _MIN_TEXT_BYTES, element=element, key=_KEY)


def _bound_object(node: Structural, found: _Found) -> Bounds:
    required = frozenset(node.value_validation.required)
    fields = {}
    min_bytes = _MIN_TEXT_BYTES
    for name, child in node.properties.items():
        bounds = found[_key(child)]
        if bounds is None:
            continue
        escaped = escape(name)
        if escaped is not None:
            fields[escaped] = bounds
        if name in required and child.default is None:
            min_bytes += _count_bytes(name) + bounds.min_bytes
            min_bytes += _FIELD_BYTES
    return Bounds(0, min_bytes, fields)


def _bound_text(node: Structural) -> Bounds:
    validation = node.value_validation
    known = _FORMAT_SIZES.get(validation.format)
    if known is not None:
        return Bounds(known[1], known[0])
    if validation.format == "byte":
        limit = validation.max_length
        return Bounds(_LONGEST_TEXT if limit is None else max(limit, 0), _MIN_TEXT_BYTES)
    if validation.max_length is None and validation.enum:
        texts = [each for each in validation.enum if isinstance(each, str)]
        return Bounds(max(map(_count_bytes, texts), default=0), _MIN_TEXT_BYTES)
    return Bounds(_text_limit(node), _MIN_TEXT_BYTES)


def _text_limit(node: Structural) -> int:
    limit = node.value_validation.max_length
    return _LONGEST_TEXT if limit is None else max(limit, 0) * _MAX_UTF8_BYTES


def _count_bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
