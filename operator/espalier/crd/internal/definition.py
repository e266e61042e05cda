"""
The internal form of a definition, which the API server validates.

It has the form of v1beta1: fields of all versions are at the top. From v1, fields that are equal in
all versions move to the top; the paths of the server's findings follow from that, and
``manifest_paths.py`` converts them back. From v1beta1, all fields stay where they are.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from msgspec import Struct

from espalier.crd.api_versions import is_beta
from espalier.crd.internal.client_config import ClientConfig, read_client_config
from espalier.crd.internal.fields import Fields
from espalier.crd.internal.parsed_schema import VersionSchema
from espalier.crd.internal.versions import (
    InternalVersion,
    Shared,
    read_beta_versions,
    read_versions,
)
from espalier.errors import MalformedDefinitionError, MalformedValueError
from espalier.names import ESTABLISHED
from espalier.paths import JSON, Path
from espalier.schema.metadata.decoding import decode_metadata


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


class Conversion(NamedTuple):
    """
    ``spec.conversion``.

    Attributes:
        client_config: The webhook's ``clientConfig``; None if it has none.
    """

    strategy: str
    client_config: ClientConfig | None
    review_versions: tuple[str, ...]


class Internal(Struct, frozen=True, kw_only=True):
    """
    A definition in the internal form, with the defaults of the API filled in.

    Attributes:
        metadata: In canonical form.
        is_beta: Whether the manifest is of v1beta1.
        version: ``spec.version`` of v1beta1, or the name of the first version.
        shared: The fields at the top.
        stored_versions: ``status.storedVersions``; None if the manifest has none.
    """

    is_beta: bool
    metadata: Mapping[str, JSON]
    group: str
    version: str
    scope: str
    names: Names
    accepted_names: Names
    versions: tuple[InternalVersion, ...]
    shared: Shared
    conversion: Conversion
    preserve_unknown_fields: bool
    stored_versions: tuple[str, ...] | None
    established: bool
    versions_raw: JSON = None

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
        Yield all schemas with their paths in the manifest; a shared one is yielded once.
        """
        top: Path = ("spec", "validation") if self.is_beta else ("spec", "versions", 0, "schema")
        own = ((("spec", "versions", i, "schema"), one.own) for i, one in enumerate(self.versions))
        for path, holder in ((top, self.shared), *own):
            if holder.validation is not None and holder.validation.schema is not None:
                yield holder.validation.schema, (*path, "openAPIV3Schema")

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
    beta = is_beta(root.raw("apiVersion"), root.raw("kind"))
    spec, status = root.required_object("spec"), root.required_object("status")
    shared, versions = read_beta_versions(spec) if beta else read_versions(spec)
    preserve = spec.flag("preserveUnknownFields")
    if beta and spec.raw("preserveUnknownFields") is None:
        preserve = True
    first = versions[0].name if versions else ""
    return Internal(
        is_beta=beta,
        metadata=_metadata(root),
        group=spec.text("group"),
        version=(spec.text("version") if beta else "") or first,
        scope=spec.text("scope") or ("Namespaced" if beta else ""),
        names=_defaulted(_names(spec.required_object("names"))),
        accepted_names=_names(status.required_object("acceptedNames")),
        versions=tuple(versions),
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
