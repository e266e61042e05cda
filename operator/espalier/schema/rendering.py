"""
Write ``Structural`` as ``openAPIV3Schema``: the inverse of ``parsing.py``.

Keywords that are not set are not written. Like the API server's own export, the profile
``APISERVER`` leaves out ``additionalProperties`` of junctors.
"""

from espalier.paths import JSON
from espalier.schema.model import Structural, ValueValidation
from espalier.schema.profile import Profile
from espalier.schema.values import copy_json


def render(structural: Structural, *, profile: Profile) -> dict[str, JSON]:
    """
    Write a schema as JSON.

    Returns:
        A new object that shares nothing with the schema.

    Source:
        apiextensions-apiserver, ``pkg/apiserver/schema/kubeopenapi.go``, ``ToKubeOpenAPI``.
    """
    return _Renderer(profile).node(structural, in_junctor=False)


class _Renderer:
    def __init__(self, profile: Profile) -> None:
        self._kep = profile is Profile.KEP

    def node(self, node: Structural, *, in_junctor: bool) -> dict[str, JSON]:
        written: dict[str, JSON] = {
            "type": node.type or None,
            "title": node.title or None,
            "description": node.description or None,
            "nullable": node.nullable or None,
            "readOnly": node.read_only or None,
            "default": copy_json(node.default),
            "example": copy_json(node.example),
            "externalDocs": copy_json(node.external_docs),
            "properties": {
                name: self.node(child, in_junctor=in_junctor)
                for name, child in node.properties.items()
            }
            or None,
            "items": None if node.items is None else self.node(node.items, in_junctor=in_junctor),
            "x-kubernetes-preserve-unknown-fields": node.preserve_unknown_fields or None,
            "x-kubernetes-embedded-resource": node.embedded_resource or None,
            "x-kubernetes-int-or-string": node.int_or_string or None,
            "x-kubernetes-list-type": node.list_type,
            "x-kubernetes-list-map-keys": [*node.list_map_keys] or None,
            "x-kubernetes-map-type": node.map_type,
            "x-kubernetes-validations": copy_json([*node.validations]) or None,
            "x-kubernetes-unions": copy_json([*node.unions]) or None,
        }
        if self._kep or not in_junctor:
            written["additionalProperties"] = self._additional(node, in_junctor=in_junctor)
        written.update(self._validation(node.value_validation))
        return {keyword: value for keyword, value in written.items() if value is not None}

    def _additional(self, node: Structural, *, in_junctor: bool) -> JSON:
        additional = node.additional_properties
        if isinstance(additional, Structural):
            return self.node(additional, in_junctor=in_junctor)
        return additional

    def _validation(self, validation: ValueValidation) -> dict[str, JSON]:
        written: dict[str, JSON] = {
            keyword: _written(getattr(validation, name)) for name, keyword in _KEYWORDS.items()
        }
        for keyword, members in (
            ("allOf", validation.all_of),
            ("anyOf", validation.any_of),
            ("oneOf", validation.one_of),
        ):
            written[keyword] = [self.node(member, in_junctor=True) for member in members] or None
        if validation.not_ is not None:
            written["not"] = self.node(validation.not_, in_junctor=True)
        return written


_KEYWORDS = {
    "format": "format",
    "maximum": "maximum",
    "exclusive_maximum": "exclusiveMaximum",
    "minimum": "minimum",
    "exclusive_minimum": "exclusiveMinimum",
    "max_length": "maxLength",
    "min_length": "minLength",
    "pattern": "pattern",
    "max_items": "maxItems",
    "min_items": "minItems",
    "unique_items": "uniqueItems",
    "multiple_of": "multipleOf",
    "enum": "enum",
    "max_properties": "maxProperties",
    "min_properties": "minProperties",
    "required": "required",
}


def _written(value: "JSON | tuple[JSON, ...]") -> JSON:
    # A zero is written, too: it was set.
    if isinstance(value, tuple):
        return copy_json([*value]) or None
    return None if value is False or value == "" else value
