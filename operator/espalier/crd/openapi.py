"""
Publish a version of a definition as OpenAPI: the schema of its resource and that of its lists.

``espalier.schema`` publishes the schema itself; this module adds the fields that every resource
has. Their descriptions are our own.
"""

import enum
from collections.abc import Iterator, Mapping

from espalier import schema
from espalier.crd.definition import Definition, read_definition
from espalier.crd.internal.definition import Internal, read_internal
from espalier.crd.internal.json_schema_props import nodes, text
from espalier.crd.validation.requirements import TYPES
from espalier.errors import SchemaParseError
from espalier.paths import JSON
from espalier.schema import Profile, Structural
from espalier.schema.publishing.openapi import strip_defaults

_META = "io.k8s.apimachinery.pkg.apis.meta.v1"


class OpenAPI(enum.Enum):
    """
    The versions of OpenAPI; the value is the prefix of references.
    """

    V2 = "#/definitions/"
    V3 = "#/components/schemas/"


def published_versions(manifest: JSON) -> tuple[str, ...]:
    """
    Return the names of the published versions: the served ones, if the definition is established.

    Raises:
        MalformedDefinitionError: The manifest is no definition.

    Source:
        apiextensions-apiserver, ``pkg/controller/openapi/controller.go`` and ``openapiv3``.
    """
    definition = read_definition(manifest)
    if not definition.established:
        return ()
    return tuple(version.name for version in definition.versions if version.served)


def publish(
    manifest: JSON, version: str, *, openapi: OpenAPI, profile: Profile = Profile.APISERVER
) -> dict[str, JSON]:
    """
    Return the schemas of one version and of its lists as in an OpenAPI document.

    A schema that is not structural, or has a type that OpenAPI does not know, is published as
    ``type: object`` only. So is one whose root preserves unknown fields in v2, since clients would
    refuse these.

    Args:
        manifest: A decoded CustomResourceDefinition; never changed.
        openapi: The version of OpenAPI; v2 has neither defaults nor junctors.
        profile: ``KEP`` combines the implied fields of embedded resources with the schema's by
            ``allOf``, and unfolds unions; API servers overwrite the schema's, and do not support
            unions.

    Returns:
        The schemas by their names in references: first the resource, then its list.

    Raises:
        MalformedDefinitionError: The manifest is no definition.
        UnknownVersionError: There is no such version.

    Source:
        apiextensions-apiserver, ``pkg/controller/openapi/builder/builder.go``; KEP-2335,
        "Publishing".
    """
    definition, internal = read_definition(manifest), read_internal(manifest)
    definition.version(version)
    kind, list_kind = internal.names.kind, internal.names.list_kind
    name = _model_name(internal, version, kind)
    own = _own_extensions(internal, version, kind)
    listed = _own_extensions(internal, version, list_kind)
    return {
        name: {**_resource(definition, internal, version, openapi, profile), **own},
        _model_name(internal, version, list_kind): {**_list(internal, name, openapi), **listed},
    }


def _resource(
    definition: Definition, internal: Internal, version: str, openapi: OpenAPI, profile: Profile
) -> dict[str, JSON]:
    structural = _publishable(definition.version(version).schema, internal, version, profile)
    is_open = structural is not None and (
        structural.preserve_unknown_fields or definition.preserve_unknown_fields
    )
    if structural is None or (openapi is OpenAPI.V2 and is_open):
        return {"type": "object"}
    unfolded = schema.unfold(structural, profile=profile)
    if openapi is OpenAPI.V2:
        unfolded = schema.convert_to_v2(strip_defaults(unfolded))
    written = schema.render(unfolded, profile=profile)
    if profile is Profile.APISERVER:
        _overwrite_embedded(written, openapi)
    properties = written.get("properties")
    written["properties"] = {
        **(properties if isinstance(properties, dict) else {}),
        **_own_fields(_reference("ObjectMeta", openapi)),
    }
    return written


def _publishable(
    raw: JSON, internal: Internal, version: str, profile: Profile
) -> Structural | None:
    if any(text(node, "type") not in ("", *TYPES) for node in _nodes_of(internal, version)):
        return None
    try:
        structural = schema.parse(raw, profile=profile)
    except SchemaParseError:
        return None
    return None if schema.check_structural(structural, profile=profile) else structural


def _nodes_of(internal: Internal, version: str) -> Iterator[Mapping[str, JSON]]:
    for found in internal.versions:
        validation = found.whole.validation
        if found.name == version and validation is not None and validation.schema is not None:
            yield from nodes(validation.schema)


def _overwrite_embedded(node: dict[str, JSON], openapi: OpenAPI) -> None:
    # The schema was made here, so it may be changed in place.
    inner = [node.get("items"), node.get("additionalProperties")]
    properties = node.get("properties")
    inner += properties.values() if isinstance(properties, dict) else ()
    for child in inner:
        if isinstance(child, dict):
            _overwrite_embedded(child, openapi)
    is_open = node.get("x-kubernetes-preserve-unknown-fields") is True
    if node.get("x-kubernetes-embedded-resource") is not True or (
        is_open and openapi is OpenAPI.V2
    ):
        return
    node["properties"] = {
        **(properties if isinstance(properties, dict) else {}),
        **_own_fields(_reference("ObjectMeta", openapi)),
    }
    listed = node.get("required")
    required = listed if isinstance(listed, list) else []
    missing = [name for name in ("kind", "apiVersion") if name not in required]
    node["required"] = [*required, *missing]


def _own_fields(metadata: JSON) -> dict[str, JSON]:
    return {
        "apiVersion": {"type": "string", "description": "The group and the version of the schema."},
        "kind": {"type": "string", "description": "The kind of the object, in camel case."},
        "metadata": metadata,
    }


def _reference(name: str, openapi: OpenAPI) -> JSON:
    description = "What all objects have: names, labels, owners and the like."
    if name == "ListMeta":
        description = "What all lists have."
    reference: JSON = {"$ref": f"{openapi.value}{_META}.{name}"}
    if openapi is OpenAPI.V3:
        # A reference must be the only keyword there.
        return {"allOf": [reference], "description": description}
    return {"$ref": f"{openapi.value}{_META}.{name}", "description": description}


def _list(internal: Internal, name: str, openapi: OpenAPI) -> dict[str, JSON]:
    items: JSON = {
        "type": "array",
        "items": {"$ref": f"{openapi.value}{name}"},
        "description": f"The {internal.names.plural}.",
    }
    return {
        "type": "object",
        "description": f"{internal.names.list_kind} is a list of {internal.names.kind}",
        "required": ["items"],
        "properties": {"items": items, **_own_fields(_reference("ListMeta", openapi))},
    }


def _own_extensions(internal: Internal, version: str, kind: str) -> dict[str, JSON]:
    identity: JSON = {"group": internal.group, "version": version, "kind": kind}
    written: dict[str, JSON] = {"x-kubernetes-group-version-kind": [identity]}
    # If several versions have the same name, the server uses the first one.
    holder = next(found for found in internal.versions if found.name == version).whole
    if holder.selectable_fields:
        written["x-kubernetes-selectable-fields"] = [
            {"fieldPath": selected.removeprefix(".")} for selected in holder.selectable_fields
        ]
    return written


def _model_name(internal: Internal, version: str, kind: str) -> str:
    group = ".".join(reversed(internal.group.split(".")))
    return f"{group}.{version}.{kind}"
