"""
Find the fields of a manifest that API servers do not know.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from msgspec import Struct

from espalier.crd.internal.json_schema_props import KEYWORDS
from espalier.paths import JSON, Key, Path


class _Object(Struct, frozen=True):
    """
    The known fields of an object; None if the contents of a field are not checked.
    """

    fields: "Mapping[str, _Shape]"


class _ListFields(Struct, frozen=True):
    item: "_Shape"


class _Map(Struct, frozen=True):
    value: "_Shape"


_Shape = _Object | _ListFields | _Map | None


def _object(*leaves: str, **inner: _Shape) -> _Object:
    return _Object(MappingProxyType({**dict.fromkeys(leaves), **inner}))


def _schema(*, decoded_apart: bool) -> _Object:
    fields: dict[str, _Shape] = dict.fromkeys(KEYWORDS)
    node = _Object(MappingProxyType(fields))
    for keyword in ("allOf", "anyOf", "oneOf"):
        fields[keyword] = _ListFields(node)
    for keyword in ("properties", "patternProperties", "definitions"):
        fields[keyword] = _Map(node)
    fields["not"] = node
    fields["externalDocs"] = _object("description", "url")
    fields["x-kubernetes-validations"] = _ListFields(
        _object("rule", "message", "messageExpression", "reason", "fieldPath", "optionalOldSelf")
    )
    if decoded_apart:
        for keyword in ("items", "additionalProperties", "additionalItems"):
            fields[keyword] = node
    return node


_SCHEMA = _schema(decoded_apart=False)
_WHOLE_SCHEMA = _schema(decoded_apart=True)
_VALIDATION = _object(openAPIV3Schema=_SCHEMA)
_SUBRESOURCES = _object(
    status=_object(),
    scale=_object("specReplicasPath", "statusReplicasPath", "labelSelectorPath"),
)
_SELECTABLE = _ListFields(_object("jsonPath"))
_NAMES = _object("plural", "singular", "shortNames", "kind", "listKind", "categories")
_CLIENT_CONFIG = _object("url", "caBundle", service=_object("namespace", "name", "path", "port"))
_CONDITION = (*("type", "status", "lastTransitionTime", "reason", "message", "observedGeneration"),)
_STATUS = _object(
    "storedVersions",
    "observedGeneration",
    conditions=_ListFields(_object(*_CONDITION)),
    acceptedNames=_NAMES,
)


def _definition(*, beta: bool) -> _Object:
    column = (*("name", "type", "format", "description", "priority"),)
    columns = _ListFields(_object(*column, "JSONPath" if beta else "jsonPath"))
    version = _object(
        *("name", "served", "storage", "deprecated", "deprecationWarning"),
        schema=_VALIDATION,
        subresources=_SUBRESOURCES,
        additionalPrinterColumns=columns,
        selectableFields=_SELECTABLE,
    )
    conversion = _object(
        "strategy",
        webhook=_object("conversionReviewVersions", clientConfig=_CLIENT_CONFIG),
    )
    top: dict[str, _Shape] = {}
    if beta:
        conversion = _object(
            "strategy", "conversionReviewVersions", webhookClientConfig=_CLIENT_CONFIG
        )
        top = {
            "version": None,
            "validation": _VALIDATION,
            "subresources": _SUBRESOURCES,
            "additionalPrinterColumns": columns,
            "selectableFields": _SELECTABLE,
        }
    spec = _object(
        "group",
        "scope",
        "preserveUnknownFields",
        names=_NAMES,
        versions=_ListFields(version),
        conversion=conversion,
        **top,
    )
    return _object("apiVersion", "kind", "metadata", spec=spec, status=_STATUS)


_V1, _V1BETA1 = _definition(beta=False), _definition(beta=True)


def unknown_fields(manifest: JSON) -> Iterator[Path]:
    """
    Yield the unknown fields of a definition that the API server drops with a warning.

    Fields of metadata are excluded, and so are those below ``items`` and ``additionalProperties``,
    which it drops without a warning.

    Args:
        manifest: Decoded, of v1 or v1beta1; values of a wrong JSON type are ignored.

    Source:
        apiextensions-apiserver, ``pkg/apis/apiextensions/v1/types.go``; sigs.k8s.io/json,
        ``UnmarshalStrict``.
    """
    is_beta = isinstance(manifest, dict) and str(manifest.get("apiVersion")).endswith("/v1beta1")
    yield from _unknown(manifest, _V1BETA1 if is_beta else _V1, ())


def unknown_keywords(raw: JSON, path: Path, *, silent: bool) -> Iterator[Path]:
    """
    Yield the unknown keywords of a schema.

    Args:
        raw: The decoded ``openAPIV3Schema``.
        path: The path of the schema.
        silent: Whether to include those that the server drops without a warning.
    """
    yield from _unknown(raw, _WHOLE_SCHEMA if silent else _SCHEMA, path)


def _unknown(value: JSON, shape: _Shape, path: Path) -> Iterator[Path]:
    match shape, value:
        case _Object(fields), dict():
            for name, inner in value.items():
                if name not in fields:
                    yield (*path, name)
                else:
                    yield from _unknown(inner, fields[name], (*path, name))
        case _ListFields(item), list():
            for index, inner in enumerate(value):
                yield from _unknown(inner, item, (*path, index))
        case _Map(inner_shape), dict():
            for name, inner in value.items():
                yield from _unknown(inner, inner_shape, (*path, Key(name)))
        case _:
            return
