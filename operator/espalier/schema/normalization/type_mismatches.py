"""
Find values whose JSON type contradicts their schema.
"""

from typing import NamedTuple

from espalier.paths import JSON, Path
from espalier.schema.model import Structural
from espalier.schema.values import is_of_type, type_of


class TypeMismatch(NamedTuple):
    """
    A value of a wrong JSON type: its path, the expected type and the actual one.
    """

    path: Path
    expected: str
    found: str


def type_mismatches(value: JSON, structural: Structural | None) -> tuple[TypeMismatch, ...]:
    """
    Return the values of a wrong JSON type, in document order.

    The contents of such a value are not checked. A null matches every type, an int-or-string
    matches both types, and a node without a type matches any value.

    Source:
        KEP-1101, "type mismatch".
    """
    found: list[TypeMismatch] = []
    if structural is not None:
        _collect(value, structural, (), found)
    return tuple(found)


def _collect(value: JSON, node: Structural, path: Path, found: list[TypeMismatch]) -> None:
    if value is None:
        return
    if not _fits(value, node):
        expected = "integer or string" if node.int_or_string else node.type
        found.append(TypeMismatch(path, expected, type_of(value)))
    elif isinstance(value, dict):
        for name, member in value.items():
            child = node.child(name)
            if child is not None:
                _collect(member, child, (*path, name), found)
    elif isinstance(value, list) and node.items is not None:
        for index, item in enumerate(value):
            _collect(item, node.items, (*path, index), found)


def _fits(value: JSON, node: Structural) -> bool:
    if node.int_or_string:
        return is_of_type(value, "integer") or is_of_type(value, "string")
    return not node.type or is_of_type(value, node.type)
