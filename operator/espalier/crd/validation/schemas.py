"""
Check one schema of a definition as the API server does.

``espalier.schema`` checks structure and defaults; this module has the checks that a definition
adds.
"""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from espalier import schema
from espalier.crd.internal.json_schema_props import Keywords, child, children, members, nodes, text
from espalier.crd.internal.parsed_schema import VersionSchema
from espalier.crd.validation import errors as field_errors
from espalier.crd.validation.known_expressions import rules_of
from espalier.crd.validation.list_types import item_errors, list_errors
from espalier.crd.validation.requirements import TYPES, Requirements
from espalier.crd.validation.rules import rule_errors
from espalier.errors import SchemaParseError
from espalier.findings import FieldError
from espalier.paths import Key, Path
from espalier.schema import Profile
from espalier.schema.validation.defaults import DefaultCheck, check_defaults

_OWN_FIELDS = frozenset({"metadata", "kind", "apiVersion"})

# With a status subresource the root may have only keywords that still apply without the status.
_ALLOWED_WITH_STATUS = {
    "description": "Description",
    "type": "Type",
    "format": "Format",
    "title": "Title",
    "maximum": "Maximum",
    "exclusiveMaximum": "ExclusiveMaximum",
    "minimum": "Minimum",
    "exclusiveMinimum": "ExclusiveMinimum",
    "maxLength": "MaxLength",
    "minLength": "MinLength",
    "pattern": "Pattern",
    "maxItems": "MaxItems",
    "minItems": "MinItems",
    "uniqueItems": "UniqueItems",
    "multipleOf": "MultipleOf",
    "required": "Required",
    "items": "Items",
    "properties": "Properties",
    "externalDocs": "ExternalDocs",
    "example": "Example",
    "x-kubernetes-preserve-unknown-fields": "XPreserveUnknownFields",
    "x-kubernetes-validations": "XValidations",
}


def schema_errors(
    validation: VersionSchema,
    path: Path,
    requirements: Requirements,
    *,
    set_with_status: tuple[str, ...],
    judge: DefaultCheck,
) -> tuple[FieldError, ...]:
    """
    Return all errors of a schema.

    Args:
        validation: The ``schema`` of the version; without an ``openAPIV3Schema`` there are no
            errors.
        path: The server's path of the schema.
        set_with_status: The keywords of the root, if the status subresource is on.

    Source:
        apiextensions-apiserver, ``pkg/apis/apiextensions/validation/validation.go``,
        ``validateCustomResourceDefinitionValidation``.
    """
    keywords = validation.schema
    if keywords is None:
        return ()
    found = list(_root_with_status(keywords, path, set_with_status))
    if "nullable" in keywords:
        found.append(
            field_errors.forbidden((*path, "nullable"), "nullable cannot be true at the root")
        )
    unreadable: FieldError | None = None
    is_sound = False
    if requirements.structural:
        try:
            unsound = _structure(validation, path, requirements, judge)
        except SchemaParseError as error:
            unreadable = field_errors.invalid(path, "", str(error))
        else:
            found += unsound
            is_sound = not unsound
    others = tuple(_node(keywords, path, _SchemaContext(requirements), is_root=True))
    found += others
    if is_sound and any(rules_of(node) for node in nodes(keywords)):
        from espalier.crd.validation.rule_compilation import compilation_errors  # noqa: PLC0415 - few have rules

        known, limit_each = requirements.known, requirements.limit_each_rule
        found += compilation_errors(validation, path, others, known, limit_each=limit_each)
    if unreadable is not None and not found:
        found.append(unreadable)
    return tuple(found)


def _root_with_status(
    keywords: Keywords, path: Path, names: tuple[str, ...]
) -> Iterator[FieldError]:
    for keyword in names:
        if keyword == "type" and text(keywords, "type") != "object":
            detail = (
                'only "object" is allowed as the type at the root of the schema'
                " if the status subresource is enabled"
            )
            yield field_errors.invalid((*path, "type"), text(keywords, "type"), detail)
            return
        if keyword not in _ALLOWED_WITH_STATUS:
            allowed = " ".join(_ALLOWED_WITH_STATUS.values())
            detail = (
                f"only [{allowed}] fields are allowed at the root of the schema"
                " if the status subresource is enabled"
            )
            yield field_errors.invalid(path, {**keywords}, detail)
            return


def _structure(
    validation: VersionSchema, path: Path, requirements: Requirements, judge: DefaultCheck
) -> tuple[FieldError, ...]:
    structural = validation.parsed.under(Profile.APISERVER)
    found = schema.check_structural(structural, profile=Profile.APISERVER, path=path)
    return found or check_defaults(
        structural,
        profile=Profile.APISERVER,
        judge=judge,
        path=path,
        require_pruned=requirements.pruned_defaults,
    )


class _SchemaContext(Struct, frozen=True):
    """
    The facts about a node of the schema that depend on the nodes above.

    Attributes:
        no_defaults: Why a default is forbidden; empty if it is allowed.
    """

    requirements: Requirements
    no_defaults: str = ""
    inside_own_fields: bool = False


def _node(
    node: Keywords, path: Path, place: _SchemaContext, *, is_root: bool = False
) -> Iterator[FieldError]:
    yield from _keywords(node, path, place)
    if "uniqueItems" in node:
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield field_errors.forbidden((*path, "uniqueItems"), detail)
    yield from _additional(node, path, place)
    yield from _properties(node, path, place, is_root=is_root)
    yield from _nested(node, path, place)
    if node.get("x-kubernetes-preserve-unknown-fields") is False:
        below = (*path, "x-kubernetes-preserve-unknown-fields")
        yield field_errors.invalid(below, value=False, detail="must be true or undefined")
    requirements = place.requirements
    yield from list_errors(node, path, require_atomic_sets=requirements.atomic_sets)
    if requirements.map_keys:
        yield from item_errors(node, path)
    yield from rule_errors(node, path)


def _keywords(node: Keywords, path: Path, place: _SchemaContext) -> Iterator[FieldError]:
    type_ = text(node, "type")
    if place.requirements.valid_types and type_ and type_ not in TYPES:
        yield field_errors.unsupported((*path, "type"), type_, TYPES)
    if "default" in node and (place.no_defaults or not place.requirements.defaults):
        detail = f"must not be set {place.no_defaults}".rstrip()
        yield field_errors.forbidden((*path, "default"), detail)
    for keyword in (
        *("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"),
    ):
        if keyword in node:
            yield field_errors.forbidden((*path, keyword), f"{keyword} is not supported")
    if type_ == "null":
        detail = "type cannot be set to null, use nullable as an alternative"
        yield field_errors.forbidden((*path, "type"), detail)
    if members(node, "items"):
        detail = "items must be a schema object and not an array"
        yield field_errors.forbidden((*path, "items"), detail)
    if place.inside_own_fields and "x-kubernetes-embedded-resource" in node:
        detail = "must not be used inside of resource meta"
        yield field_errors.forbidden((*path, "x-kubernetes-embedded-resource"), detail)


def _additional(node: Keywords, path: Path, place: _SchemaContext) -> Iterator[FieldError]:
    additional = node.get("additionalProperties")
    if additional is None:
        return
    below = (*path, "additionalProperties")
    if "properties" in node and additional is not True:
        detail = "additionalProperties and properties are mutual exclusive"
        yield field_errors.forbidden(below, detail)
    if isinstance(additional, dict):
        inner = place
        if place.inside_own_fields:
            reason = "inside additionalProperties applying to object metadata"
            inner = replace(place, no_defaults=reason)
        yield from _node(additional, below, inner)


def _properties(
    node: Keywords, path: Path, place: _SchemaContext, *, is_root: bool
) -> Iterator[FieldError]:
    is_resource = is_root or "x-kubernetes-embedded-resource" in node
    for name, found in children(node, "properties").items():
        inner = place
        if is_resource and name in _OWN_FIELDS:
            inner = replace(place, inside_own_fields=True)
            if is_root:
                inner = replace(inner, no_defaults=f"in top-level {name}")
        yield from _node(found, (*path, "properties", Key(name)), inner)


def _nested(node: Keywords, path: Path, place: _SchemaContext) -> Iterator[FieldError]:
    negated, items = child(node, "not"), child(node, "items")
    if negated is not None:
        yield from _node(negated, (*path, "not"), place)
    for keyword in ("allOf", "oneOf", "anyOf"):
        for index, member in enumerate(members(node, keyword)):
            yield from _node(member, (*path, keyword, index), place)
    for keyword in ("definitions", "dependencies"):
        for name, found in children(node, keyword).items():
            yield from _node(found, (*path, keyword, Key(name)), place)
    if items is not None:
        yield from _node(items, (*path, "items"), place)
    for index, item in enumerate(members(node, "items")):
        yield from _node(item, (*path, "items", index), place)
