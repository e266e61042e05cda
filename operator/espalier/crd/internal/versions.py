"""
The versions of a definition in the internal form, read from v1 or v1beta1.
"""

from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from espalier.crd.internal.fields import Fields
from espalier.crd.internal.json_schema_props import decode_schema, keywords_set
from espalier.crd.internal.parsed_schema import VersionSchema
from espalier.paths import JSON
from espalier.schema.values import equal_json


class Scale(NamedTuple):
    """
    The ``scale`` subresource.
    """

    spec_replicas_path: str
    status_replicas_path: str
    label_selector_path: str


class Subresources(NamedTuple):
    """
    The subresources of a version.
    """

    has_status: bool
    scale: Scale | None


class PrinterColumn(NamedTuple):
    """
    One of ``additionalPrinterColumns``.
    """

    name: str
    type: str
    format: str
    description: str
    priority: int
    json_path: str


class Shared(Struct, frozen=True, kw_only=True):
    """
    The fields of a version, or those at the top for all versions.
    """

    validation: VersionSchema | None = None
    subresources: Subresources | None = None
    columns: tuple[PrinterColumn, ...] = ()
    selectable_fields: tuple[str, ...] = ()


class InternalVersion(Struct, frozen=True, kw_only=True):
    """
    One entry of ``spec.versions``.

    Attributes:
        own: The version's own fields in the internal form.
        whole: The fields that apply to the version: its own, or those at the top.
    """

    name: str
    served: bool
    storage: bool
    deprecated: bool
    deprecation_warning: str | None
    own: Shared
    whole: Shared


def read_versions(spec: Fields) -> tuple[Shared, list[InternalVersion]]:
    """
    Read the versions of v1: each field that is equal in all of them moves to the top.

    Source:
        apiextensions-apiserver, ``pkg/apis/apiextensions/v1/conversion.go``.
    """
    return _hoisted(_read_versions(spec))


def _read_versions(spec: Fields) -> list[InternalVersion]:
    entries = spec.objects("versions")
    shared = ((entry, _shared(entry, "schema", "jsonPath")) for entry in entries)
    return [_version(entry, own, own) for entry, own in shared]


def read_beta_versions(spec: Fields) -> tuple[Shared, list[InternalVersion]]:
    """
    Read the versions of v1beta1: all fields stay where they are.

    Source:
        apiextensions-apiserver, ``pkg/apis/apiextensions/v1beta1/defaults.go``.
    """
    entries = list(spec.objects("versions"))
    top = _shared(spec, "validation", "JSONPath")
    if not entries and spec.text("version"):
        only: JSON = {"name": spec.text("version"), "served": True, "storage": True}
        entries = [Fields(only, ("spec", "versions", 0))]
    owns = [_shared(entry, "schema", "JSONPath") for entry in entries]
    # If one version has such a field of its own, none has that of the top.
    base = Shared(
        validation=None if any(one.validation is not None for one in owns) else top.validation,
        subresources=None if any(one.subresources for one in owns) else top.subresources,
        columns=() if any(one.columns for one in owns) else top.columns,
        selectable_fields=top.selectable_fields,
    )
    read = []
    for entry, own in zip(entries, owns, strict=True):
        whole = Shared(
            validation=own.validation or base.validation,
            subresources=own.subresources or base.subresources,
            columns=own.columns or base.columns,
            selectable_fields=own.selectable_fields or base.selectable_fields,
        )
        read.append(_version(entry, own, whole))
    return top, read


def _version(entry: Fields, own: Shared, whole: Shared) -> InternalVersion:
    return InternalVersion(
        name=entry.text("name"),
        served=entry.flag("served"),
        storage=entry.flag("storage"),
        deprecated=entry.flag("deprecated"),
        deprecation_warning=entry.optional_text("deprecationWarning"),
        own=own,
        whole=whole,
    )


def _shared(holder: Fields, schema_key: str, json_path_key: str) -> Shared:
    validation = holder.object(schema_key)
    subresources = holder.object("subresources")
    return Shared(
        validation=None if validation is None else _validation(validation),
        subresources=None if subresources is None else _subresources(subresources),
        columns=tuple(
            PrinterColumn(
                name=column.text("name"),
                type=column.text("type"),
                format=column.text("format"),
                description=column.text("description"),
                priority=column.integer("priority", default=0),
                json_path=column.text(json_path_key),
            )
            for column in holder.objects("additionalPrinterColumns")
        ),
        selectable_fields=tuple(
            selected.text("jsonPath") for selected in holder.objects("selectableFields")
        ),
    )


def _validation(holder: Fields) -> VersionSchema:
    raw = holder.raw("openAPIV3Schema")
    if raw is None:
        return VersionSchema(None)
    decoded = decode_schema(raw, (*holder.path, "openAPIV3Schema"))
    return VersionSchema(decoded, keywords_set(raw, decoded))


def _subresources(subresources: Fields) -> Subresources:
    scale = subresources.object("scale")
    return Subresources(
        has_status=subresources.object("status") is not None,
        scale=None
        if scale is None
        else Scale(
            scale.text("specReplicasPath"),
            scale.text("statusReplicasPath"),
            scale.text("labelSelectorPath"),
        ),
    )


def _hoisted(versions: list[InternalVersion]) -> tuple[Shared, list[InternalVersion]]:
    # Each field that is equal in all versions goes to the top.
    if not versions:
        return Shared(), versions
    first = versions[0].whole
    wholes = [version.whole for version in versions]
    shared, own = Shared(), [*wholes]
    if all(same_validation(whole.validation, first.validation) for whole in wholes):
        shared = replace(shared, validation=first.validation)
        own = [replace(one, validation=None) for one in own]
    if all(whole.subresources == first.subresources for whole in wholes):
        shared = replace(shared, subresources=first.subresources)
        own = [replace(one, subresources=None) for one in own]
    if all(whole.columns == first.columns for whole in wholes):
        shared = replace(shared, columns=first.columns)
        own = [replace(one, columns=()) for one in own]
    if all(whole.selectable_fields == first.selectable_fields for whole in wholes):
        shared = replace(shared, selectable_fields=first.selectable_fields)
        own = [replace(one, selectable_fields=()) for one in own]
    return shared, [replace(version, own=one) for version, one in zip(versions, own, strict=True)]


def same_validation(left: VersionSchema | None, right: VersionSchema | None) -> bool:
    """
    Report whether two versions have the same schema, or none.
    """
    if left is None or right is None:
        return left is right
    return equal_json(left.schema, right.schema)
