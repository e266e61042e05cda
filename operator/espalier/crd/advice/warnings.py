"""
The warnings of an API server about a definition: the texts of its ``Warning`` headers.
"""

from collections.abc import Iterator

from msgspec import Struct

from espalier.crd.advice.unknown_fields import unknown_fields
from espalier.crd.internal.definition import Internal, read_internal
from espalier.crd.internal.json_schema_props import Keywords, child, placed_nodes, text
from espalier.errors import MalformedValueError
from espalier.golang.printing import quote
from espalier.paths import JSON, Path
from espalier.schema.metadata.decoding import decode_metadata
from espalier.schema.validation.formats import recognizes_format


class Warned(Struct, frozen=True):
    """
    One warning of an API server.

    Attributes:
        rule: The name of the warning's rule.
        text: The server's text.
        path: The path of the first cause in the manifest; it is not part of the text.
    """

    rule: str
    text: str
    path: Path

    def __str__(self) -> str:
        return self.text


def server_warnings(manifest: JSON, old: JSON = None) -> tuple[Warned, ...]:
    """
    Return the warnings of an API server about a definition.

    The server warns about unknown fields even if it refuses the definition.

    Args:
        manifest: A decoded CustomResourceDefinition of v1 or v1beta1.
        old: The definition that it replaces: its warnings are not repeated, except those about
            unknown fields.

    Returns:
        Each text once: unknown fields in the order of the manifest, then formats, then sets. The
        server itself sends only the warnings that fit into its headers, and formats in any order.

    Raises:
        MalformedDefinitionError: The server could not decode one of them.

    Source:
        apiextensions-apiserver, ``pkg/registry/customresourcedefinition/strategy.go``,
        ``WarningsOnCreate`` and ``WarningsOnUpdate``.
    """
    before = None if old is None else read_internal(old)
    return warnings_of(manifest, read_internal(manifest), before)


def warnings_of(manifest: JSON, new: Internal, before: Internal | None) -> tuple[Warned, ...]:
    """
    Return the warnings of ``server_warnings`` for definitions that are already read.

    Args:
        manifest: The manifest of the new definition.
    """
    known = frozenset() if before is None else {warned.text for warned in _accepted(before)}
    unique: dict[str, Warned] = {}
    for warned in (*_unknown(manifest), *_accepted(new)):
        if warned.rule == "unknown-field" or warned.text not in known:
            unique.setdefault(warned.text, warned)
    return tuple(unique.values())


def _unknown(manifest: JSON) -> Iterator[Warned]:
    members = manifest if isinstance(manifest, dict) else {}
    order = {name: index for index, name in enumerate(members)}
    paths = [*unknown_fields(members), *_unknown_in_metadata(members.get("metadata"))]
    for path in sorted(paths, key=lambda path: order[str(path[0])]):
        # The server writes keys of maps like fields.
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
        yield Warned("unknown-field", f"unknown field {quote(''.join(steps)[1:])}", path)


def _unknown_in_metadata(metadata: JSON) -> Iterator[Path]:
    try:
        decoded = decode_metadata(metadata, drop_malformed=False)
    except MalformedValueError:
        return
    for path in decoded.unknown:
        yield ("metadata", *path)


def _accepted(definition: Internal) -> Iterator[Warned]:
    sets: list[Warned] = []
    for root, path in definition.placed_schemas():
        for node, below in placed_nodes(root):
            sets += _sets(node, (*path, *below))
            format_ = text(node, "format")
            if format_ and not recognizes_format(format_, text(node, "type")):
                format_text = f"unrecognized format {quote(format_)}"
                yield Warned("unrecognized-format", format_text, (*path, *below, "format"))
    yield from sorted(sets, key=lambda warned: warned.text)


def _sets(node: Keywords, path: Path) -> Iterator[Warned]:
    if text(node, "x-kubernetes-list-type") != "set":
        return
    items = child(node, "items")
    type_ = "" if items is None else text(items, "type")
    if type_ in ("object", "array"):
        set_text = (
            f"x-kubernetes-list-type: set for items of type {quote(type_)} is not supported"
            " by server-side apply or CEL validation rules"
        )
        yield Warned("set-of-collections", set_text, (*path, "x-kubernetes-list-type"))
