"""
The structural check by the enhancement proposals.

It differs from the server's check in a few rules: completeness applies at every level, the patterns
of int-or-string need the extension, ``metadata`` within junctors is forbidden at the root only, and
unions are supported.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from espalier.findings import ErrorType, FieldError
from espalier.paths import JSON, Key, Path
from espalier.schema.model import Structural

_IMPLICIT = frozenset({"apiVersion", "kind", "metadata"})


def kep_errors(root: Structural, path: Path) -> list[FieldError]:
    """
    Return everything that the proposals forbid; each error once.

    Source:
        KEP-2335 (vanilla OpenAPI subset: structural schema).
    """
    errors: dict[tuple[Path, str], FieldError] = {}
    waiting: list[tuple[Structural, Path, bool]] = [(root, path, False)]
    while waiting:
        node, at, is_typed = waiting.pop()
        for below, detail in _node_errors(node, at, is_root=node is root, is_typed=is_typed):
            errors.setdefault((below, detail), _error(below, detail))
        is_resource = node is root or node.embedded_resource
        waiting += [
            (child, (*at, "properties", Key(name)), is_resource and name in _IMPLICIT)
            for name, child in node.properties.items()
        ]
        if node.items is not None:
            waiting.append((node.items, (*at, "items"), False))
        if isinstance(node.additional_properties, Structural):
            waiting.append((node.additional_properties, (*at, "additionalProperties"), False))
    return list(errors.values())


def _node_errors(
    node: Structural, at: Path, *, is_root: bool, is_typed: bool
) -> Iterator[tuple[Path, str]]:
    if node.embedded_resource and node.type != "object":
        yield (*at, "type"), "must be object if x-kubernetes-embedded-resource is true"
    elif not (is_typed or node.type or node.int_or_string or node.preserve_unknown_fields):
        yield (*at, "type"), "must be non-empty"
    if node.embedded_resource and not (node.preserve_unknown_fields or node.properties):
        yield (
            (*at, "properties"),
            (
                "must be non-empty if x-kubernetes-embedded-resource is true"
                " without x-kubernetes-preserve-unknown-fields"
            ),
        )
    metadata = node.properties.get("metadata") if is_root else None
    if metadata is not None and not _restricts_only_names(metadata):
        yield (
            (*at, "properties", Key("metadata")),
            "must not specify anything other than type: object, name and generateName",
        )
    yield from _union_errors(node, at)
    yield from _junctor_errors(node, at, is_root=is_root)


def _restricts_only_names(metadata: Structural) -> bool:
    return (
        metadata.type in ("", "object")
        and metadata.properties.keys() <= {"name", "generateName"}
        and metadata.differs_only_in("type", "properties")
    )


class _Member(NamedTuple):
    """
    A schema within a junctor, and the node of the structure that it describes.

    ``node`` is None where the structure lacks it: that is reported once, not again below.
    """

    schema: Structural
    path: Path
    node: Structural | None
    node_path: Path
    skips_any_of: bool = False

    def nested(self) -> "Iterator[_Member]":
        """
        Yield the members of its own junctors; they describe the same node.
        """
        for below, schema in self.schema.value_validation.junctors():
            if not (self.skips_any_of and below[0] == "anyOf"):
                yield _Member(schema, (*self.path, *below), self.node, self.node_path)


def _junctor_errors(node: Structural, at: Path, *, is_root: bool) -> Iterator[tuple[Path, str]]:
    waiting = list(_members(node, at))
    while waiting:
        member = waiting.pop()
        for keyword, state in _forbidden(member.schema):
            yield (*member.path, keyword), f"must be {state} to be structural"
        at_root = is_root and member.node is node
        if at_root and "metadata" in member.schema.properties:
            yield (
                (*member.path, "properties", Key("metadata")),
                "must not be specified inside of a logical junctor at the root",
            )
        waiting += member.nested()
        for child, below in _named_in(member.schema):
            found, found_at = _found(member.node, below)
            if found is None and not _is_implicit(member.node, below, at_root=at_root):
                yield (*member.node_path, *below, "type"), "must be non-empty"
            path, node_path = (*member.path, *below), (*member.node_path, *found_at)
            waiting.append(_Member(child, path, found, node_path))


def _members(node: Structural, at: Path) -> Iterator[_Member]:
    validation = node.value_validation
    for below, member in validation.junctors():
        if node.int_or_string and below[0] == "anyOf" and validation.any_of_is_int_or_string():
            continue
        skips = (
            node.int_or_string
            and below == ("allOf", 0)
            and member.value_validation.any_of_is_int_or_string()
        )
        yield _Member(member, (*at, *below), node, at, skips)


def _is_implicit(node: Structural | None, below: Path, *, at_root: bool) -> bool:
    if node is None:
        return True
    return below[-1] in _IMPLICIT and (at_root or node.embedded_resource)


def _named_in(member: Structural) -> Iterator[tuple[Structural, Path]]:
    for name, child in member.properties.items():
        yield child, ("properties", Key(name))
    if member.items is not None:
        yield member.items, ("items",)


def _found(node: Structural | None, below: Path) -> tuple[Structural | None, Path]:
    if node is None:
        return None, below
    if below == ("items",):
        return node.items, below
    found = node.properties.get(str(below[-1]))
    if found is None and isinstance(node.additional_properties, Structural):
        return node.additional_properties, ("additionalProperties",)
    return found, below


def _forbidden(member: Structural) -> Iterator[tuple[str, str]]:
    for keyword, is_set, state in (
        ("type", bool(member.type), "empty"),
        ("title", bool(member.title), "empty"),
        ("description", bool(member.description), "empty"),
        ("additionalProperties", member.additional_properties is not None, "undefined"),
        ("default", member.default is not None, "undefined"),
        ("nullable", member.nullable, "false"),
        ("readOnly", member.read_only, "false"),
        ("x-kubernetes-preserve-unknown-fields", member.preserve_unknown_fields, "false"),
        ("x-kubernetes-embedded-resource", member.embedded_resource, "false"),
        ("x-kubernetes-int-or-string", member.int_or_string, "false"),
        ("x-kubernetes-unions", bool(member.unions), "empty"),
    ):
        if is_set:
            yield keyword, state


def _union_errors(node: Structural, at: Path) -> Iterator[tuple[Path, str]]:
    for index, union in enumerate(node.unions):
        here = (*at, "x-kubernetes-unions", index)
        if not isinstance(union, Mapping):
            yield here, "must be an object"
            continue
        discriminator, fields = union.get("discriminator"), union.get("fields")
        if not discriminator:
            if fields:
                yield (*here, "fields"), "must be undefined if discriminator is empty"
            continue
        yield from _discriminator_errors(node, discriminator, here)
        for name in fields if isinstance(fields, Mapping) else ():
            if name not in node.properties:
                yield (*here, "fields", Key(name)), "must name a property of the object"


def _discriminator_errors(
    node: Structural, discriminator: JSON, here: Path
) -> Iterator[tuple[Path, str]]:
    named = node.properties.get(discriminator) if isinstance(discriminator, str) else None
    if named is None:
        yield (*here, "discriminator"), "must name a property of the object"
    elif named.type != "string":
        yield (*here, "discriminator"), "must name a property of type string"


def _error(path: Path, detail: str) -> FieldError:
    last = path[-1]
    origin = "properties" if isinstance(last, (int, Key)) else last
    return FieldError(type=ErrorType.INVALID, path=path, detail=detail, origin=origin)
