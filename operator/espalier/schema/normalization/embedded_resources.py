"""
Embedded resources: their apiVersion and kind must be strings, their metadata is decoded.

The walk is as deep as the schema, and enters only nodes above an embedded resource.
"""

from typing import NamedTuple

from espalier.errors import MalformedValueError
from espalier.findings import ErrorType, FieldError
from espalier.paths import JSON, Key, Path, render_unknown
from espalier.schema.metadata.decoding import decode_metadata
from espalier.schema.model import Structural
from espalier.schema.values import equal_json


class Coerced(NamedTuple):
    """
    A value with its embedded resources in canonical form; the same value if nothing changed.

    Attributes:
        unknown: The paths of the dropped unknown fields of metadata, sorted.
    """

    value: JSON
    unknown: tuple[Path, ...]


class EmbeddedResources:
    """
    Coerce the embedded resources in values of one schema.

    Args:
        is_resource: Whether the root is an embedded resource, regardless of its schema.
    """

    def __init__(self, structural: Structural | None, *, is_resource: bool = False) -> None:
        self._root = Structural() if structural is None else structural
        self._is_resource = is_resource
        self._leading: set[Structural] = set()
        self._collect(self._root)

    def exist(self) -> bool:
        """
        Report whether the schema has an embedded resource.
        """
        return self._is_resource or self.exist_in_schema()

    def exist_in_schema(self) -> bool:
        """
        Report whether a node of the schema is an embedded resource.
        """
        return self._root in self._leading

    def coerce(self, value: JSON, *, drop_malformed: bool) -> Coerced:
        """
        Coerce a value; the argument is never changed.

        Args:
            drop_malformed: Drop malformed fields instead of raising.

        Raises:
            MalformedValueError: The first malformed field.

        Source:
            apiextensions-apiserver, ``pkg/apiserver/schema/objectmeta/algorithm.go``,
            ``CoerceWithOptions``.
        """
        walk = _EmbeddedWalk(self._leading, drop_malformed=drop_malformed)
        is_resource = self._is_resource or self._root.embedded_resource
        coerced = walk.coerce(value, self._root, (), is_resource=is_resource)
        return Coerced(coerced, tuple(sorted(walk.unknown, key=render_unknown)))

    def _collect(self, node: Structural) -> bool:
        leads = node.embedded_resource
        for child in node.properties.values():
            # Most nodes have nothing below them.
            if child.embedded_resource or not child.is_bare():
                leads = self._collect(child) or leads
        for below in (node.items, node.additional_properties):
            if isinstance(below, Structural):
                leads = self._collect(below) or leads
        if leads:
            self._leading.add(node)
        return leads


class _EmbeddedWalk:
    def __init__(self, leading: set[Structural], *, drop_malformed: bool) -> None:
        self._leading = leading
        self._drop_malformed = drop_malformed
        self.unknown: list[Path] = []

    def coerce(
        self, value: JSON, node: Structural, path: Path, *, is_resource: bool = False
    ) -> JSON:
        if node not in self._leading and not is_resource:
            return value
        if isinstance(value, list):
            return self._list(value, node, path)
        if not isinstance(value, dict):
            return value
        owns = is_resource or node.embedded_resource
        fields = self._own_fields(value, path) if owns else value
        changed = fields
        for name, old in fields.items():
            child = node.child(name)
            if child is None:
                continue
            # Unlike in pruning, the server writes a map's keys, and empty names, in brackets here.
            step = name if name and name in node.properties else Key(name)
            # Below metadata the old value is walked: only errors matter there.
            is_detached = owns and name == "metadata" and isinstance(old, dict)
            new = self.coerce(value[name] if is_detached else old, child, (*path, step))
            if new is not old and not is_detached:
                changed = fields.copy() if changed is fields else changed
                changed[name] = new
        return changed

    def _list(self, items: list[JSON], node: Structural, path: Path) -> JSON:
        if node.items is None:
            return items
        coerced = [
            self.coerce(item, node.items, (*path, index)) for index, item in enumerate(items)
        ]
        same = all(new is old for new, old in zip(coerced, items, strict=True))
        return items if same else coerced

    def _own_fields(self, fields: dict[str, JSON], path: Path) -> dict[str, JSON]:
        changed = fields
        for name in ("apiVersion", "kind"):
            if name not in fields or isinstance(fields[name], str):
                continue
            if not self._drop_malformed:
                raise _malformed((*path, name), fields[name], "must be a string")
            changed = fields.copy() if changed is fields else changed
            del changed[name]
        if "metadata" not in fields:
            return changed
        old = fields["metadata"]
        new = self._metadata(old, (*path, "metadata"))
        if not equal_json(new, old):
            changed = fields.copy() if changed is fields else changed
            changed["metadata"] = new
        return changed

    def _metadata(self, metadata: JSON, path: Path) -> JSON:
        try:
            decoded = decode_metadata(metadata, drop_malformed=self._drop_malformed)
        except MalformedValueError as error:
            if self._drop_malformed:
                # It is not an object: the server leaves it unchanged.
                return metadata
            raise _malformed(path, metadata, str(error)) from error
        self.unknown += ((*path, *below) for below in decoded.unknown)
        return decoded.value


def _malformed(path: Path, value: JSON, detail: str) -> MalformedValueError:
    error = FieldError(
        type=ErrorType.INVALID, path=path, value=value, detail=detail, origin="embedded"
    )
    return MalformedValueError(str(error), error)
