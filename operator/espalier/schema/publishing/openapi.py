"""
The forms in which a schema is published: unfolded, stripped of value validation, for OpenAPI v2.

Unfolding expresses the extensions in plain OpenAPI, so that clients that do not know them validate
alike. Stripping keeps the structure. All functions are idempotent, and return a new schema; the
argument is never changed.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from msgspec.structs import replace

from espalier.paths import JSON
from espalier.schema.model import NO_VALIDATION, Structural, ValueValidation
from espalier.schema.profile import Profile
from espalier.schema.publishing.unions import unfold_unions
from espalier.schema.rendering import render
from espalier.schema.values import equal_json

API_VERSION_PATTERN = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
)
"""The pattern of the ``apiVersion`` of an unfolded embedded resource."""


def unfold(structural: Structural, *, profile: Profile) -> Structural:
    """
    Express in plain OpenAPI what the extensions imply.

    Both profiles unfold int-or-string. ``KEP`` also unfolds embedded resources and unions. That may
    move the type of an embedded resource's field into ``allOf``, so the result is for publishing
    only.

    Source:
        KEP-2335; apiextensions-apiserver, ``pkg/apiserver/schema/unfold.go``.
    """
    if profile is Profile.APISERVER:
        return _mapped(structural, _unfold_int_or_string)
    return _mapped(
        structural,
        lambda node: unfold_unions(_unfold_embedded(_unfold_int_or_string(node))),
    )


def strip(structural: Structural, *, profile: Profile = Profile.APISERVER) -> Structural:
    """
    Remove all value validation; valid values stay valid.

    Types, defaults, nullability, titles and descriptions, extensions, validation rules and unions
    stay.

    Args:
        profile: ``KEP`` adds the types of an embedded resource's own fields, which are implied
            otherwise.

    Source:
        KEP-2335, "Litmus Test Examples"; apiextensions-apiserver,
        ``pkg/apiserver/schema/skeleton.go``, ``StripValueValidations``.
    """
    stripped = _mapped(structural, lambda node: replace(node, value_validation=NO_VALIDATION))
    return stripped if profile is Profile.APISERVER else _mapped(stripped, _add_own_types)


def _add_own_types(node: Structural) -> Structural:
    if not node.embedded_resource:
        return node
    own = {
        name: replace(node.properties.get(name, Structural()), type=implied.type)
        for name, implied in _IMPLIED.items()
    }
    return replace(node, properties=MappingProxyType({**node.properties, **own}))


def strip_defaults(structural: Structural) -> Structural:
    """
    Remove all defaults, as publishing for OpenAPI v2 does.

    Source:
        KEP-1929; apiextensions-apiserver, ``pkg/controller/openapi/builder/builder.go``.
    """
    return _mapped(structural, lambda node: replace(node, default=None))


def convert_to_v2(structural: Structural) -> Structural:
    """
    Remove what OpenAPI v2 and its clients do not support.

    Source:
        apiextensions-apiserver, ``pkg/controller/openapi/v2/conversion.go``,
        ``ToStructuralOpenAPIV2``.
    """
    return _mapped(structural, _convert_node_to_v2)


def _mapped(node: Structural, change: Callable[[Structural], Structural]) -> Structural:
    # Parents come first: children that a parent drops are not visited, and it sees the others
    # unchanged.
    changed = change(node)
    additional = changed.additional_properties
    return replace(
        changed,
        properties=MappingProxyType(
            {name: _mapped(child, change) for name, child in changed.properties.items()}
        ),
        items=None if changed.items is None else _mapped(changed.items, change),
        additional_properties=(
            _mapped(additional, change) if isinstance(additional, Structural) else additional
        ),
    )


_INT_OR_STRING = (Structural(type="integer"), Structural(type="string"))


def _unfold_int_or_string(node: Structural) -> Structural:
    validation = node.value_validation
    shown = validation.any_of_is_int_or_string() or any(
        first.value_validation.any_of_is_int_or_string() for first in validation.all_of[:1]
    )
    if not node.int_or_string or shown:
        return node
    if not validation.any_of:
        unfolded = replace(validation, any_of=_INT_OR_STRING)
    else:
        first = Structural(value_validation=ValueValidation(any_of=_INT_OR_STRING))
        unfolded = replace(validation, all_of=(first, *validation.all_of))
    return replace(node, value_validation=unfolded)


_IMPLIED: Mapping[str, Structural] = MappingProxyType(
    {
        "apiVersion": Structural(
            type="string", value_validation=ValueValidation(pattern=API_VERSION_PATTERN)
        ),
        "kind": Structural(type="string"),
        "metadata": Structural(type="object"),
    }
)


def _unfold_embedded(node: Structural) -> Structural:
    if not node.embedded_resource:
        return node
    properties = dict(node.properties)
    for name, implied in _IMPLIED.items():
        found = properties.get(name)
        properties[name] = implied if found is None else _and_implied(found, implied)
    required = node.value_validation.required
    missing = tuple(name for name in ("kind", "apiVersion") if name not in required)
    return replace(
        node,
        properties=MappingProxyType(properties),
        value_validation=replace(node.value_validation, required=required + missing),
    )


def _and_implied(found: Structural, implied: Structural) -> Structural:
    first = found.value_validation.all_of[:1]
    if _is_same(found, implied) or (first and _is_same(first[0], implied)):
        return found
    return Structural(value_validation=ValueValidation(all_of=(implied, found)))


def _is_same(left: Structural, right: Structural) -> bool:
    one: JSON = render(left, profile=Profile.KEP)
    return equal_json(one, render(right, profile=Profile.KEP))


def _convert_node_to_v2(node: Structural) -> Structural:
    validation = replace(node.value_validation, all_of=(), any_of=(), one_of=(), not_=None)
    # Clients misread properties or items of a schema that is untyped or preserves unknown fields,
    # and an array without items.
    opaque = node.nullable or node.preserve_unknown_fields
    items = None if opaque else node.items
    properties = MappingProxyType({}) if opaque else node.properties
    drops_type = (
        node.nullable
        or (node.type == "array" and items is None)
        or (node.type == "object" and node.preserve_unknown_fields)
    )
    additional = node.additional_properties
    nullable_values = isinstance(additional, Structural) and additional.nullable
    required = tuple(
        name
        for name in validation.required
        if not nullable_values and not (name in properties and properties[name].nullable)
    )
    return replace(
        node,
        type="" if drops_type else node.type,
        nullable=False,
        items=items,
        properties=properties,
        value_validation=replace(validation, required=required),
    )
