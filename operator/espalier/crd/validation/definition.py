"""
Check a new definition, or an update of a definition, as an API server does.

Rules are compiled and their costs estimated as by the newest known server; rules of defaults are
evaluated.
"""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from espalier.crd.internal.definition import Internal, Names, read_internal
from espalier.crd.internal.versions import InternalVersion, Shared
from espalier.crd.manifest_paths import v1_path
from espalier.crd.validation import errors as field_errors
from espalier.crd.validation.conversion import conversion_errors
from espalier.crd.validation.levels import levels_errors, together_errors
from espalier.crd.validation.requirements import Requirements, has_defaults, requirements_for
from espalier.crd.validation.schemas import schema_errors
from espalier.crd.validation.versions import (
    column_errors,
    selectable_errors,
    subresource_errors,
    warning_errors,
)
from espalier.findings import FieldError
from espalier.golang.names import dns1035_label_errors, dns1123_subdomain_errors
from espalier.paths import JSON, Key, Path
from espalier.schema import Profile
from espalier.schema.metadata.validation import check_metadata
from espalier.schema.validation.default_values import default_judge
from espalier.schema.validation.defaults import DefaultCheck

_JUDGE = default_judge(profile=Profile.APISERVER)
_APPROVED = "api-approved.kubernetes.io"
_SPEC: Path = ("spec",)


class Rejection(Struct, frozen=True):
    """
    One error for which the API server would refuse a definition.

    Attributes:
        error: The server's field error, with the server's path.
        manifest_path: The path in the manifest.
    """

    error: FieldError
    manifest_path: Path

    def __str__(self) -> str:
        return str(self.error)


def check_definition(
    manifest: JSON, old: JSON = None, *, judge: DefaultCheck = _JUDGE, allow_defaults: bool = True
) -> tuple[Rejection, ...]:
    """
    Return every error for which an API server would refuse a definition.

    Fields that the server sets itself are not checked: resource versions, uids and times. Neither
    is a namespace, which it removes before it validates.

    Args:
        manifest: A decoded CustomResourceDefinition of v1 or v1beta1; never changed. If it has no
            status, the server's initial status is assumed.
        old: The definition that it replaces; None if it is new. Its status is used instead of the
            manifest's.
        judge: Checks the values of defaults, and that they satisfy the rules of their schemas.
        allow_defaults: Whether new defaults are allowed. Servers allow them since 1.17; the
            proposals have a feature gate, which only keeps defaults if the old definition has some.

    Returns:
        The errors, in the order of the manifest; none if the server would accept it. Rules in
        schemas that are nested too deeply to be compiled are not checked.

    Raises:
        MalformedDefinitionError: One of them is not a definition, or a field has the wrong JSON
            type: the server would not decode it.

    Source:
        apiextensions-apiserver, ``pkg/apis/apiextensions/validation/validation.go``,
        ``ValidateCustomResourceDefinition`` and ``ValidateCustomResourceDefinitionUpdate``.
    """
    before = None if old is None else read_internal(old)
    return rejections(read_internal(manifest), before, judge=judge, allow_defaults=allow_defaults)


def rejections(
    new: Internal,
    before: Internal | None,
    *,
    judge: DefaultCheck = _JUDGE,
    allow_defaults: bool = True,
) -> tuple[Rejection, ...]:
    """
    Return the errors of ``check_definition`` for definitions that are already read.
    """
    found: list[FieldError] = [*_metadata(new, before)]
    requirements = requirements_for(new, before, allow_defaults=allow_defaults)
    found += _spec(new, requirements, judge)
    if before is not None:
        found += _immutable(new, before, requirements)
    status = new if before is None else before
    found += _names(status.accepted_names, ("status", "acceptedNames"))
    found += _stored_versions(new, before)
    found += _approval(new, before)
    found += _preserving(new, before)
    # The internal form has the paths of v1beta1.
    return tuple(
        Rejection(error, error.path if new.is_beta else v1_path(error.path)) for error in found
    )


def _preserving(new: Internal, old: Internal | None) -> Iterator[FieldError]:
    if new.preserve_unknown_fields and not (old and old.preserve_unknown_fields):
        detail = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true"
            " in spec.versions[*].schema instead"
        )
        yield field_errors.invalid((*_SPEC, "preserveUnknownFields"), value=True, detail=detail)


def _metadata(new: Internal, old: Internal | None) -> Iterator[FieldError]:
    path: Path = ("metadata",)
    if old is not None:
        if new.name != old.name:
            yield field_errors.invalid((*path, "name"), new.name, "field is immutable")
        yield from check_metadata(new.metadata, path=path, with_finalizers=False)
        return
    generate = new.metadata_text("generateName")
    if generate:
        # The server appends a suffix, so the name may end with a dash; the server cuts two
        # characters for that.
        is_cut = len(generate) > 1 and generate.endswith("-")
        shown = f"{generate[:-2]}a" if is_cut else generate
        for error in _name_errors(generate, shown, new):
            yield field_errors.invalid((*path, "generateName"), generate, error)
    if not new.name:
        yield field_errors.required((*path, "name"), "name or generateName is required")
    else:
        for error in _name_errors(new.name, new.name, new):
            yield field_errors.invalid((*path, "name"), new.name, error)
    yield from check_metadata(new.metadata, path=path)


def _name_errors(name: str, shown: str, definition: Internal) -> list[str]:
    errors = dns1123_subdomain_errors(shown)
    if name != f"{definition.names.plural}.{definition.group}":
        errors.append('must be spec.names.plural+"."+spec.group')
    return errors


def _spec(new: Internal, requirements: Requirements, judge: DefaultCheck) -> Iterator[FieldError]:
    yield from _group_and_scope(new)
    yield from _schemas_present(new, requirements)
    if requirements.defaults and new.preserve_unknown_fields and has_defaults(new):
        detail = "must be false in order to use defaults in the schema"
        yield field_errors.invalid((*_SPEC, "preserveUnknownFields"), value=True, detail=detail)
    for index, version in enumerate(new.versions):
        path = (*_SPEC, "versions", index)
        if errors := dns1035_label_errors(version.name):
            yield field_errors.invalid((*path, "name"), version.name, ",".join(errors))
        yield from _version(version, path, new, requirements, judge)
    yield from levels_errors(new)
    yield from together_errors(new)
    for name in ("plural", "singular", "kind", "listKind"):
        if not _named(new.names, name):
            yield field_errors.required((*_SPEC, "names", name))
    yield from _names(new.names, (*_SPEC, "names"))
    has_status = any(map(_has_status, (new.shared, *(version.own for version in new.versions))))
    first = _for_version(requirements, new.version)
    yield from _shared(new.shared, _SPEC, "validation", first, judge, has_status=has_status)
    yield from _selectable_at_top(new, requirements)
    if new.preserve_unknown_fields and new.conversion.strategy != "None":
        path = (*_SPEC, "conversion", "strategy")
        detail = "must be None if spec.preserveUnknownFields is true"
        yield field_errors.invalid(path, new.conversion.strategy, detail)
    yield from conversion_errors(new.conversion, requirements)


def _group_and_scope(new: Internal) -> Iterator[FieldError]:
    path = (*_SPEC, "group")
    if not new.group:
        yield field_errors.required(path)
    elif errors := dns1123_subdomain_errors(new.group):
        yield field_errors.invalid(path, new.group, ",".join(errors))
    elif "." not in new.group:
        yield field_errors.invalid(path, new.group, "should be a domain with at least one dot")
    if not new.scope:
        yield field_errors.required((*_SPEC, "scope"))
    elif new.scope not in ("Cluster", "Namespaced"):
        yield field_errors.unsupported((*_SPEC, "scope"), new.scope, ("Cluster", "Namespaced"))


def _schemas_present(new: Internal, requirements: Requirements) -> Iterator[FieldError]:
    if _has_schema(new.shared):
        return
    for index, version in enumerate(new.versions):
        if _has_schema(version.own):
            continue
        path = (*_SPEC, "versions", index, "schema", "openAPIV3Schema")
        if requirements.schemas:
            yield field_errors.required(path)
        elif version.served and not new.preserve_unknown_fields:
            yield field_errors.required(path, "because otherwise all fields are pruned")


def _has_schema(holder: Shared) -> bool:
    return holder.validation is not None and holder.validation.schema is not None


def _has_status(holder: Shared) -> bool:
    return holder.subresources is not None and holder.subresources.has_status


def _version(
    version: InternalVersion,
    path: Path,
    new: Internal,
    requirements: Requirements,
    judge: DefaultCheck,
) -> Iterator[FieldError]:
    yield from warning_errors(version, path)
    yield from _shared(
        version.own,
        path,
        "schema",
        _for_version(requirements, version.name),
        judge,
        has_status=_has_status(_first_of(new, version.name)),
    )
    if version.own.selectable_fields:
        below = (*path, "selectableFields")
        validation = version.own.validation
        if validation is None or validation.schema is None:
            detail = "may only be set when `version.schema.openAPIV3Schema` is not included"
            yield field_errors.invalid(below, "", detail)
        else:
            yield from selectable_errors(
                version.own.selectable_fields,
                validation,
                below,
                may_be_many=requirements.may_have_many_fields.get(version.name, False),
            )


def _for_version(requirements: Requirements, name: str) -> Requirements:
    return replace(requirements, limit_each_rule=name not in requirements.unchanged)


def _first_of(new: Internal, name: str) -> Shared:
    # The server looks up subresources by name, so the first of two versions with the same name
    # counts.
    return next(version.whole for version in new.versions if version.name == name)


def _selectable_at_top(new: Internal, requirements: Requirements) -> Iterator[FieldError]:
    fields, path = new.shared.selectable_fields, (*_SPEC, "selectableFields")
    if not fields:
        return
    if new.shared.validation is None:
        detail = "may only be set when validations.schema is included"
        yield field_errors.invalid(path, "", detail)
        return
    yield from selectable_errors(
        fields,
        new.shared.validation,
        path,
        may_be_many=requirements.may_have_many_fields.get("", False),
    )


def _shared(
    holder: Shared,
    path: Path,
    schema_key: str,
    requirements: Requirements,
    judge: DefaultCheck,
    *,
    has_status: bool,
) -> Iterator[FieldError]:
    if holder.validation is not None and _has_schema(holder):
        yield from schema_errors(
            holder.validation,
            (*path, schema_key, "openAPIV3Schema"),
            requirements,
            set_with_status=holder.validation.set_at_root if has_status else (),
            judge=judge,
        )
    yield from subresource_errors(holder.subresources, (*path, "subresources"))
    yield from column_errors(holder.columns, (*path, "additionalPrinterColumns"))


def _named(names: Names, field: str) -> str:
    return names.list_kind if field == "listKind" else str(getattr(names, field))


def _names(names: Names, path: Path) -> Iterator[FieldError]:
    for field in ("plural", "singular"):
        value = _named(names, field)
        if value and (errors := dns1035_label_errors(value)):
            yield field_errors.invalid((*path, field), value, ",".join(errors))
    for field in ("kind", "listKind"):
        value = _named(names, field)
        if value and (errors := dns1035_label_errors(value.lower())):
            detail = "may have mixed case, but should otherwise match: " + ",".join(errors)
            yield field_errors.invalid((*path, field), value, detail)
    if names.kind and names.kind == names.list_kind:
        detail = "kind and listKind may not be the same"
        yield field_errors.invalid((*path, "listKind"), names.list_kind, detail)
    for field, values in (("shortNames", names.short_names), ("categories", names.categories)):
        for index, value in enumerate(values):
            if errors := dns1035_label_errors(value):
                yield field_errors.invalid((*path, field, index), value, ",".join(errors))


def _immutable(new: Internal, old: Internal, requirements: Requirements) -> Iterator[FieldError]:
    fields = [
        ("group", new.group, old.group),
        ("names.plural", new.names.plural, old.names.plural),
    ]
    if requirements.immutable_names:
        named = ("names.kind", new.names.kind, old.names.kind)
        fields = [("scope", new.scope, old.scope), named, *fields]
    for field, value, before in fields:
        if value != before:
            yield field_errors.invalid((*_SPEC, *field.split(".")), value, "field is immutable")


def _stored_versions(new: Internal, old: Internal | None) -> Iterator[FieldError]:
    path: Path = ("status", "storedVersions")
    storage = new.storage_version()
    holder = new if old is None else old
    default = holder.storage_version()
    stored = [*(holder.stored_versions or ([] if default is None else [default]))]
    if old is not None and storage is not None and storage not in stored:
        # The server itself adds it to the status.
        stored.append(storage)
    if not stored:
        yield field_errors.invalid(path, None, "must have at least one stored version")
        return
    names: set[str] = set()
    for version in new.versions:
        # Each name counts once, also if two storage versions have the same name.
        if version.storage and (version.name not in stored or version.name in names):
            detail = f"must have the storage version {version.name}"
            yield field_errors.invalid(path, [*stored], detail)
        names.add(version.name)
    for index, name in enumerate(stored):
        # The server keeps the last one of several equal entries.
        if name not in names and name not in stored[index + 1 :]:
            yield field_errors.invalid((*path, index), name, _must_remain(name))


def _must_remain(name: str) -> str:
    return (
        f"missing from spec.versions; {name} was previously a storage version, and must remain in"
        " spec.versions until a storage migration ensures no data remains persisted in"
        f" {name} and removes {name} from status.storedVersions"
    )


def _approval(new: Internal, old: Internal | None) -> Iterator[FieldError]:
    if not f".{new.group}".endswith((".k8s.io", ".kubernetes.io")):
        return
    state = _approval_state(new)
    if state == "approved" or (old is not None and _approval_state(old) == state):
        return
    path: Path = ("metadata", "annotations", Key(_APPROVED))
    pull = "see https://github.com/kubernetes/enhancements/pull/1111"
    must = f'protected groups must have approval annotation "{_APPROVED}"'
    if state == "missing":
        yield field_errors.required(path, f"{must}, {pull}")
    else:
        detail = f'{must} with either a URL or a reason starting with "unapproved", {pull}'
        yield field_errors.invalid(path, new.annotation(_APPROVED), detail)


def _approval_state(definition: Internal) -> str:
    annotation = definition.annotation(_APPROVED)
    if not annotation:
        return "missing"
    if annotation.startswith("unapproved"):
        return "approved"
    from espalier.golang.urls import UrlError, parse_request_uri  # noqa: PLC0415 - few have a URL

    try:
        url = parse_request_uri(annotation)
    except UrlError:
        return "invalid"
    return "approved" if url.scheme and url.host else "invalid"
