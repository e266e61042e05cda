r"""
The paths that a schema specifies, and those that an object's ``managedFields`` name.

Before an object is rewritten, comparing both shows whether pruning would remove data that cannot be
read any more. Both are written in one compact text form:

========================  =====================================================================
``.spec.replicas``        a field
``.spec.ports[*].name``   a field of the items of a list
``.spec.labels.*``        the values of a map, by ``additionalProperties``
``.spec.raw.**``          everything below, by ``x-kubernetes-preserve-unknown-fields``
========================  =====================================================================

In a field's name ``\``, ``.``, ``*``, ``[`` and ``]`` are escaped by a backslash. The root's
``apiVersion``, ``kind`` and ``metadata`` belong to every object and are left out.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from espalier.paths import JSON
from espalier.schema import Structural
from espalier.schema.metadata.decoding import METADATA_FIELDS

TYPE_META = frozenset({"apiVersion", "kind", "metadata"})
"""The root's fields that belong to every object."""

# Longer names are not readable, and an object may be full of them.
_MAX_NAME_LENGTH = 250
ANY_KEY, ANYTHING = ".*", ".**"
_ANY_ITEM = "[*]"
_SPECIAL = re.compile(r"[\\.*\[\]]")
_SEGMENT = re.compile(r"\[\*\]|\.\*\*(?=$|[.\[])|\.\*(?=$|[.\[])|\.(?:[^\\.*\[\]]|\\.)*", re.DOTALL)


def specified_paths(structural: Structural | None) -> frozenset[str]:
    """
    Return every path that a schema specifies.

    A path within junctors is included only if the structure has it, too, as a structural schema
    must.

    Returns:
        Paths in text form; none if there is no schema.
    """
    if structural is None:
        return frozenset()
    paths: set[str] = set()
    waiting = [(structural, "")]
    while waiting:
        node, here = waiting.pop()
        for segment, child in _children(node, is_root=not here):
            paths.add(here + segment)
            if child is not None:
                waiting.append((child, here + segment))
    return frozenset(paths)


def specifies(structural: Structural | None, path_text: str) -> bool:
    """
    Report whether the API server's pruning keeps a path, whatever the names behind ``*``.

    Args:
        structural: The schema that prunes; None prunes everything except the resource's own fields.
        path_text: A path as ``specified_paths`` and ``named_paths`` write it.

    Raises:
        ValueError: The text is not such a path.

    Source:
        apiextensions-apiserver, ``pkg/apiserver/schema/pruning/algorithm.go``.
    """
    segments = segments_of(path_text)
    if segments[-1:] == [ANYTHING]:
        place = _place_of(structural, segments[:-1])
        return place is not None and place.keeps
    return _place_of(structural, segments) is not None


class Named(NamedTuple):
    """
    The paths that the ``managedFields`` of one object name.

    Attributes:
        unspecified: The topmost paths that pruning would remove.
        wholes: Specified paths that are named without their contents. For an atomic list or map,
            ``managedFields`` do not name what is stored in it.
    """

    unspecified: frozenset[str]
    wholes: frozenset[str]


def named_paths(structural: Structural | None, managed_fields: Iterable[JSON]) -> Named:
    """
    Collect the paths that the entries of ``metadata.managedFields`` name.

    The paths are never deeper than the schema, whatever the object contains.

    Args:
        structural: The schema that prunes.
        managed_fields: Decoded entries. Malformed ones are ignored: the API server does not accept
            them.

    Returns:
        Paths in text form. Items of a list have the same path, and so have keys of a map.

    Source:
        structured-merge-diff, ``fieldpath/serialize-pe.go``.
    """
    lost: set[str] = set()
    wholes: set[str] = set()
    for entry in managed_fields:
        fields = entry.get("fieldsV1") if isinstance(entry, dict) else None
        waiting: list[tuple[JSON, str, PathPosition]] = [(fields, "", root_position(structural))]
        while waiting:
            node, here, place = waiting.pop()
            for key, child in node.items() if isinstance(node, dict) else ():
                segment = segment_of(key)
                if segment is None or not isinstance(child, dict):
                    continue
                if not here and key[2:] in TYPE_META:
                    continue
                after, path = place.step(segment), here + place.rendered(segment)
                if after is None:
                    lost.add(path)
                elif not child:
                    wholes.add(path)
                elif after != KEPT:
                    waiting.append((child, path, after))
    return Named(frozenset(lost), frozenset(wholes))


def hides_fields(structural: Structural | None, path_text: str) -> bool:
    """
    Report whether what lies at a path may hold fields that no history names and pruning takes.

    It may where a list or a map is owned as a whole, and something in it is pruned.

    Raises:
        ValueError: The text is no path.
    """
    place = _place_of(structural, segments_of(path_text))
    if place is None or place.node is None:
        return place is not None and not place.keeps
    node = place.node
    if node.type != "array" and node.map_type != "atomic":
        return False
    waiting = [node.items] if node.type == "array" else [node]
    while waiting:
        below = waiting.pop()
        if below is None or below.preserve_unknown_fields:
            continue
        if below.properties:
            return True
        additional = below.additional_properties
        waiting += [below.items, additional if isinstance(additional, Structural) else None]
    return False


def is_path(text: str) -> bool:
    """
    Report whether a text is a path as ``specified_paths`` writes it.
    """
    try:
        segments_of(text)
    except ValueError:
        return False
    return True


def unspecified(structural: Structural | None, named: Iterable[str]) -> tuple[str, ...]:
    """
    Return the paths that the API server's pruning may remove.

    If unknown fields were preserved (``.raw.**``) and the schema now specifies one of them more
    narrowly, that one is included as ``.raw.field.**``.

    Returns:
        Sorted paths in text form.

    Raises:
        ValueError: A text is not such a path.
    """
    known = frozenset(named)
    lost = {path for path in known if not specifies(structural, path)}
    for path in known - lost:
        if segments_of(path)[-1:] == [ANYTHING]:
            lost.update(_narrowed(structural, path.removesuffix(ANYTHING), known))
    return tuple(sorted(lost))


def segments_of(path_text: str) -> list[str]:
    """
    Split a path into its segments.

    Raises:
        ValueError: The text is not a path of a schema.
    """
    segments = _SEGMENT.findall(path_text)
    if "".join(segments) != path_text:
        raise ValueError(f"not a path of a schema: {path_text!r}")
    return segments


class PathPosition(NamedTuple):
    """
    The position of a walk along a path.

    Attributes:
        node: The schema at this position; None if there is none.
        keeps: Whether fields are kept that the node does not specify.
        is_resource: Whether the resource's own fields are implied.
        is_metadata: Whether it is the metadata of a resource, which no schema can widen.
    """

    node: Structural | None
    keeps: bool
    is_resource: bool = False
    is_metadata: bool = False

    def step(self, segment: str) -> "PathPosition | None":
        """
        Follow a segment; None if pruning removes the field.
        """
        if segment == _ANY_ITEM:
            return self._item()
        name = _unescape(segment[1:]) if segment != ANY_KEY else None
        if self.is_metadata:
            return KEPT if name is None or name in METADATA_FIELDS else None
        if self.is_resource and name in TYPE_META:
            return _METADATA if name == "metadata" else KEPT
        if self.node is not None:
            child = self.node.properties.get(name) if name is not None else None
            if child is not None:
                return _at(child)
            if self.node.additional_properties is not None:
                additional = self.node.additional_properties
                return _at(additional) if isinstance(additional, Structural) else _EMPTIED
        return KEPT if self.keeps else None

    def rendered(self, segment: str) -> str:
        """
        Write a segment; ``*`` for keys of a map, and for names that are too long.
        """
        if segment == _ANY_ITEM:
            return segment
        is_key = (
            self.node is not None
            and self.node.additional_properties is not None
            and _unescape(segment[1:]) not in self.node.properties
        )
        return ANY_KEY if is_key or len(segment) > _MAX_NAME_LENGTH else segment

    def _item(self) -> "PathPosition":
        item = None if self.node is None else self.node.items
        if item is None:
            # The field is kept; within it only fields that are kept anyway.
            return KEPT if self.keeps else _EMPTIED
        keeps = self.keeps or item.preserve_unknown_fields
        return PathPosition(item, keeps, item.embedded_resource)


KEPT = PathPosition(None, keeps=True)
"""Where everything is kept, whatever its name."""
_EMPTIED = PathPosition(None, keeps=False)
_METADATA = PathPosition(None, keeps=True, is_metadata=True)


def _at(node: Structural) -> PathPosition:
    return PathPosition(node, node.preserve_unknown_fields, node.embedded_resource)


def root_position(root: Structural | None) -> PathPosition:
    """
    Return where a walk along a path begins.
    """
    keeps = root is not None and root.preserve_unknown_fields
    return PathPosition(root, keeps, is_resource=True)


def _place_of(root: Structural | None, segments: Iterable[str]) -> PathPosition | None:
    place: PathPosition | None = root_position(root)
    for segment in segments:
        if place is None:
            return None
        place = place.step(segment)
    return place


def _children(node: Structural, *, is_root: bool) -> Iterator[tuple[str, Structural | None]]:
    if node.embedded_resource and not is_root:
        yield ".apiVersion", None
        yield ".kind", None
        yield ".metadata", None
        yield f".metadata{ANYTHING}", None
    for name, child in node.properties.items():
        if not (is_root and name in TYPE_META):
            yield f".{_escape(name)}", child
    if node.additional_properties is not None:
        additional = node.additional_properties
        yield ANY_KEY, additional if isinstance(additional, Structural) else None
    if node.items is not None:
        yield _ANY_ITEM, node.items
    if node.preserve_unknown_fields:
        yield ANYTHING, None


def _narrowed(root: Structural | None, here: str, known: frozenset[str]) -> Iterator[str]:
    place = _place_of(root, segments_of(here))
    if place is None or place.node is None:
        return
    for segment, child in _children(place.node, is_root=not here):
        path = here + segment
        is_implied = place.is_resource and segment[1:] in TYPE_META
        if path in known or segment == ANYTHING or is_implied:
            continue
        if child is None or not _keeps_all(child, as_item=segment == _ANY_ITEM):
            yield path if path.endswith(ANYTHING) else path + ANYTHING


def _keeps_all(node: Structural, *, as_item: bool) -> bool:
    # A scalar has no fields to remove. Items inherit the preservation of their list.
    if node.type not in ("", "object", "array") or node.int_or_string:
        return True
    return (
        (as_item or node.preserve_unknown_fields)
        and not node.properties
        and node.additional_properties is None
        and node.items is None
    )


def segment_of(key: str) -> str | None:
    """
    Make a segment of a key of ``fieldsV1``; None if it names no field and no item.
    """
    kind, colon, name = key.partition(":")
    if not colon:
        return None
    if kind == "f":
        return f".{_escape(name)}"
    return _ANY_ITEM if kind in ("k", "v", "i") else None


def _escape(name: str) -> str:
    # An object may own tens of thousands of fields, and hardly one has a special character.
    return name if name.isalnum() else _SPECIAL.sub(r"\\\g<0>", name)


def _unescape(text: str) -> str:
    return text if "\\" not in text else re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL)
