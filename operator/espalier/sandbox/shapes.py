"""
The shapes of values for field ownership: which values are one field, and the keys of list items.

This simplifies the schemas of structured-merge-diff. It is exact for custom resources and for the
parts of built-in kinds that the sandbox serves.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import orjson

from espalier.schema import Structural

_NOTHING: Mapping[str, "SchemaShape"] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaShape:
    """
    The shape of one value.

    Attributes:
        atomic: Whether the whole value is one field.
        keys: The map keys that identify the items of a list.
        is_set: Whether the items of a list are identified by their values.
        fields: The shapes of members that cannot be deduced.
        rest: The shape of all other members; None if it is deduced.
    """

    atomic: bool = False
    keys: tuple[str, ...] = ()
    is_set: bool = False
    fields: Mapping[str, "SchemaShape"] = field(default_factory=lambda: _NOTHING, hash=False)
    rest: "SchemaShape | None" = None

    def member(self, key: str) -> "SchemaShape":
        """
        Return the shape of a map's member; for a list, the shape of its items.
        """
        return self.fields.get(key) or self.rest or DEDUCED


DEDUCED = SchemaShape()
"""The shape without a schema: maps are granular and lists are atomic."""
ATOMIC = SchemaShape(atomic=True)
_METADATA = SchemaShape(
    fields={
        "finalizers": SchemaShape(is_set=True),
        "ownerReferences": SchemaShape(keys=("uid",)),
    }
)
_CONDITIONS = SchemaShape(fields={"conditions": SchemaShape(keys=("type",))})
OBJECT = SchemaShape(fields={"metadata": _METADATA})
BUILTIN_SHAPES: Mapping[str, SchemaShape] = MappingProxyType(
    {
        "CustomResourceDefinition": SchemaShape(
            fields={"metadata": _METADATA, "status": _CONDITIONS}
        ),
        "Event": SchemaShape(fields={"metadata": _METADATA, "involvedObject": ATOMIC}),
        "ServiceAccount": SchemaShape(
            fields={"metadata": _METADATA, "secrets": SchemaShape(keys=("name",))}
        ),
    }
)


def shape_of(structural: Structural | None) -> SchemaShape:
    """
    Return the shape of custom objects by their schema; deduced if there is no schema.
    """
    if structural is None:
        return OBJECT
    node = _node(structural)
    return SchemaShape(fields={**node.fields, "metadata": _METADATA}, rest=node.rest)


def _node(node: Structural) -> SchemaShape:
    if node.map_type == "atomic":
        return ATOMIC
    if node.items is not None:
        items = _node(node.items)
        if node.list_type == "map":
            return SchemaShape(keys=node.list_map_keys, rest=items)
        return SchemaShape(is_set=node.list_type == "set", rest=items)
    rest = node.additional_properties
    return SchemaShape(
        fields={key: _node(child) for key, child in node.properties.items()},
        rest=_node(rest) if isinstance(rest, Structural) else None,
    )


def members(value: Any, shape: SchemaShape) -> dict[str, tuple[Any, SchemaShape]] | None:
    """
    Return the members of a value with their shapes, by the path elements of ``fieldsV1``.

    Returns:
        The members; None for a value that is one field: a scalar, an atomic map or list.
    """
    if shape.atomic:
        return None
    if isinstance(value, dict):
        return {f"f:{key}": (item, shape.member(key)) for key, item in value.items()}
    if isinstance(value, list) and shape.is_set:
        return {f"v:{orjson.dumps(item).decode()}": (item, ATOMIC) for item in value}
    if isinstance(value, list) and shape.keys and all(isinstance(i, dict) for i in value):
        items = shape.member("")
        return {item_key(item, shape): (item, items) for item in value}
    return None


def item_key(item: Mapping[str, Any], shape: SchemaShape) -> str:
    """
    Return the path element of an item of a map list, such as ``k:{"type":"Ready"}``.
    """
    named = {key: item.get(key) for key in shape.keys}
    return f"k:{orjson.dumps(named, option=orjson.OPT_SORT_KEYS).decode()}"
