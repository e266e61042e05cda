"""
The internal form of a definition, which the API server validates.

Fields that are equal in all versions are at the top, and not in the versions; the paths of the
server's findings follow from that. ``manifest_paths.py`` converts them back.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from espalier.crd.internal.client_config import ClientConfig, read_client_config
from espalier.crd.internal.fields import Fields
from espalier.crd.internal.json_schema_props import decode_schema, keywords_set
from espalier.crd.internal.parsed_schema import VersionSchema
from espalier.errors import MalformedDefinitionError, MalformedValueError
from espalier.names import ESTABLISHED
from espalier.paths import JSON, Path
from espalier.schema.metadata.decoding import decode_metadata
from espalier.schema.values import equal_json


class Names(NamedTuple):
    """
    ``spec.names`` or ``status.acceptedNames``.
    """

    plural: str = ""
    singular: str = ""
    kind: str = ""
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()


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


class Conversion(NamedTuple):
    """
    ``spec.conversion``.

    Attributes:
        client_config: The webhook's ``clientConfig``; None if it has none.
    """

    strategy: str
    client_config: ClientConfig | None
    review_versions: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """
    The fields of a version, or those at the top for all versions.
    """

    validation: VersionSchema | None = None
    subresources: Subresources | None = None
    columns: tuple[PrinterColumn, ...] = ()
    selectable_fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class InternalVersion:
    """
    One entry of ``spec.versions``.

    Attributes:
        own: The version's own fields in the internal form.
        whole: The version's fields in the external form.
    """

    name: str
    served: bool
    storage: bool
    deprecated: bool
    deprecation_warning: str | None
    own: Shared
    whole: Shared


@dataclass(frozen=True, slots=True, kw_only=True)
class Internal:
    """
    A definition in the internal form, with the defaults of the API filled in.

    Attributes:
        metadata: In canonical form.
        shared: The fields that are equal in all versions.
        stored_versions: ``status.storedVersions``; None if the manifest has none.
    """

    metadata: Mapping[str, JSON]
    group: str
    scope: str
    names: Names
    accepted_names: Names
    versions: tuple[InternalVersion, ...]
    shared: Shared
    conversion: Conversion
    preserve_unknown_fields: bool
    stored_versions: tuple[str, ...] | None
    established: bool
    versions_raw: JSON = field(default=None)

    @property
    def name(self) -> str:
        """
        Return ``metadata.name``; empty if it is absent.
        """
        return self.metadata_text("name")

    def metadata_text(self, name: str) -> str:
        """
        Return a text of the metadata; empty if it is absent.
        """
        value = self.metadata.get(name)
        return value if isinstance(value, str) else ""

    def annotation(self, name: str) -> str:
        """
        Return an annotation; empty if it is absent.
        """
        annotations = self.metadata.get("annotations")
        value = annotations.get(name) if isinstance(annotations, dict) else None
        return value if isinstance(value, str) else ""

    def schemas(self) -> tuple[dict[str, JSON], ...]:
        """
        Return all schemas; one that all versions share is returned once.
        """
        return tuple(found for found, _ in self.placed_schemas())

    def validations(self) -> tuple[VersionSchema, ...]:
        """
        Return the shared validation and those of the versions, as far as they have a schema.
        """
        holders = (self.shared, *(version.own for version in self.versions))
        return tuple(
            holder.validation
            for holder in holders
            if holder.validation is not None and holder.validation.schema is not None
        )

    def placed_schemas(self) -> Iterator[tuple[dict[str, JSON], Path]]:
        """
        Yield all schemas with their paths in a v1 manifest; a shared one is yielded once.
        """
        holders = ((0, self.shared), *((i, one.own) for i, one in enumerate(self.versions)))
        for index, holder in holders:
            if holder.validation is not None and holder.validation.schema is not None:
                path = ("spec", "versions", index, "schema", "openAPIV3Schema")
                yield holder.validation.schema, path

    def storage_version(self) -> str | None:
        """
        Return the name of the first version that is marked as the storage version.
        """
        return next((version.name for version in self.versions if version.storage), None)


def read_internal(manifest: JSON) -> Internal:
    """
    Read a manifest of ``apiextensions.k8s.io/v1`` or ``v1beta1``.

    Raises:
        MalformedDefinitionError: The manifest is not a CustomResourceDefinition, or a field has the
            wrong JSON type: the API server could not decode it.

    Source:
        apiextensions-apiserver, ``pkg/apis/apiextensions/v1/conversion.go`` and ``defaults.go``.
    """
    root = Fields(manifest, ())
    beta = _is_beta(root)
    spec, status = root.required_object("spec"), root.required_object("status")
    versions = _versions(spec, beta=beta)
    shared, versions = _hoisted(versions)
    preserve = spec.flag("preserveUnknownFields")
    if beta and spec.raw("preserveUnknownFields") is None:
        preserve = True
    return Internal(
        metadata=_metadata(root),
        group=spec.text("group"),
        scope=spec.text("scope") or ("Namespaced" if beta else ""),
        names=_defaulted(_names(spec.required_object("names"))),
        accepted_names=_names(status.required_object("acceptedNames")),
        versions=versions,
        shared=shared,
        conversion=_conversion(spec, beta=beta),
        preserve_unknown_fields=preserve,
        stored_versions=status.texts("storedVersions") or None,
        established=any(
            condition.text("type") == ESTABLISHED and condition.text("status") == "True"
            for condition in status.objects("conditions")
        ),
        versions_raw=spec.raw("versions"),
    )


def _is_beta(root: Fields) -> bool:
    api_version, kind = root.raw("apiVersion"), root.raw("kind")
    known = ("apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1")
    if kind != "CustomResourceDefinition" or api_version not in known:
        raise MalformedDefinitionError(
            (),
            "not a CustomResourceDefinition of apiextensions.k8s.io/v1 or v1beta1"
            f" (kind {kind!r}, apiVersion {api_version!r})",
        )
    return api_version == known[1]


def _metadata(root: Fields) -> Mapping[str, JSON]:
    try:
        decoded = decode_metadata(root.raw("metadata"), drop_malformed=False).value
    except MalformedValueError as error:
        raise MalformedDefinitionError(("metadata",), str(error)) from error
    return decoded if isinstance(decoded, dict) else {}


def _names(names: Fields) -> Names:
    return Names(
        plural=names.text("plural"),
        singular=names.text("singular"),
        kind=names.text("kind"),
        list_kind=names.text("listKind"),
        short_names=names.texts("shortNames"),
        categories=names.texts("categories"),
    )


def _defaulted(names: Names) -> Names:
    return names._replace(
        singular=names.singular or names.kind.lower(),
        list_kind=names.list_kind or (f"{names.kind}List" if names.kind else ""),
    )


def _conversion(spec: Fields, *, beta: bool) -> Conversion:
    conversion = spec.object("conversion")
    if conversion is None:
        return Conversion("None", None, ())
    if beta:
        strategy = conversion.text("strategy")
        reviews = conversion.texts("conversionReviewVersions")
        if strategy == "Webhook" and not reviews:
            reviews = ("v1beta1",)
        config = read_client_config(conversion.object("webhookClientConfig"))
        return Conversion(strategy, config, reviews)
    webhook = conversion.object("webhook")
    if webhook is None:
        return Conversion(conversion.text("strategy"), None, ())
    return Conversion(
        conversion.text("strategy"),
        read_client_config(webhook.object("clientConfig")),
        webhook.texts("conversionReviewVersions"),
    )


def _versions(spec: Fields, *, beta: bool) -> tuple[InternalVersion, ...]:
    entries = list(spec.objects("versions"))
    if not beta:
        return tuple(_version(entry, _shared(entry, "schema", "jsonPath")) for entry in entries)
    top = _shared(spec, "validation", "JSONPath")
    if not entries and spec.text("version"):
        only: JSON = {"name": spec.text("version"), "served": True, "storage": True}
        entries = [Fields(only, ("spec", "versions", 0))]
    read = []
    for entry in entries:
        own = _shared(entry, "schema", "JSONPath")
        whole = Shared(
            validation=own.validation or top.validation,
            subresources=own.subresources or top.subresources,
            columns=own.columns or top.columns,
            selectable_fields=own.selectable_fields or top.selectable_fields,
        )
        read.append(_version(entry, whole))
    return tuple(read)


def _version(entry: Fields, whole: Shared) -> InternalVersion:
    return InternalVersion(
        name=entry.text("name"),
        served=entry.flag("served"),
        storage=entry.flag("storage"),
        deprecated=entry.flag("deprecated"),
        deprecation_warning=entry.optional_text("deprecationWarning"),
        own=whole,
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


def _hoisted(
    versions: tuple[InternalVersion, ...],
) -> tuple[Shared, tuple[InternalVersion, ...]]:
    # Each field that is equal in all versions goes to the top.
    if not versions:
        return Shared(), versions
    first = versions[0].whole
    wholes = [version.whole for version in versions]
    shared, own = Shared(), [*wholes]
    if all(_same_validation(whole.validation, first.validation) for whole in wholes):
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
    split = (replace(version, own=one) for version, one in zip(versions, own, strict=True))
    return shared, tuple(split)


def _same_validation(left: VersionSchema | None, right: VersionSchema | None) -> bool:
    if left is None or right is None:
        return left is right
    return equal_json(left.schema, right.schema)
