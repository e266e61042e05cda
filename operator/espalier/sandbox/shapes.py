"""
How field ownership sees a value: what is one field, and how the items of a list are told apart.

A simplification of structured-merge-diff's schemas that is exact for custom resources and for the
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
    One node.

    Attributes:
        atomic: The value is one field, whatever is in it.
        keys: The items of a list are maps told apart by these keys.
        is_set: The items of a list are told apart by their values.
        fields: Shapes of members that differ from what is deduced.
        rest: The shape of all other members; deduced, if it is None.
    """

    atomic: bool = False
    keys: tuple[str, ...] = ()
    is_set: bool = False
    fields: Mapping[str, "SchemaShape"] = field(default_factory=lambda: _NOTHING, hash=False)
    rest: "SchemaShape | None" = None

    def member(self, key: str) -> "SchemaShape":
        """
        Find the shape of a map's member, or, by any key, that of a list's items.
        """
        return self.fields.get(key) or self.rest or DEDUCED


DEDUCED = SchemaShape()
"""Maps are granular and lists are atomic, as where there is no schema."""
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
    Derive the shape of custom objects from their schema; it is deduced where there is none.
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
    Take a value apart into the path elements of ``fieldsV1`` and what stands there.

    Returns:
        None for a value that is one field: a scalar, an atomic map or list.
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
    Write the path element of an item of a map list: ``k:{"type":"Ready"}``.
    """
    named = {key: item.get(key) for key in shape.keys}
    return f"k:{orjson.dumps(named, option=orjson.OPT_SORT_KEYS).decode()}"
