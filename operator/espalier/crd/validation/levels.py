"""
Check what the versions of a definition must have together, and what stands at the top.

Only definitions of v1beta1 can have a field at both levels: from v1, the server moves it itself.
"""

from collections.abc import Iterator

from espalier.crd.internal.definition import Internal
from espalier.crd.internal.versions import same_validation
from espalier.crd.validation import errors as field_errors
from espalier.findings import ErrorType, FieldError
from espalier.golang.names import dns1035_label_errors
from espalier.paths import Path

_SPEC: Path = ("spec",)


def levels_errors(new: Internal) -> Iterator[FieldError]:
    """
    Yield the errors of fields that are at both levels, or equal in all versions.

    Source:
        apiextensions-apiserver, ``pkg/apis/apiextensions/validation/validation.go``,
        ``validateCustomResourceDefinitionSpec``.
    """
    top, owns = new.shared, [version.own for version in new.versions]
    if top.validation is not None and any(one.validation is not None for one in owns):
        yield _exclusive("validation", "schemas")
    if top.subresources and any(one.subresources for one in owns):
        yield _exclusive("subresources", "subresources")
    if top.columns and any(one.columns for one in owns):
        yield _exclusive("additionalPrinterColumns", "additionalPrinterColumns")
    if not owns:
        return
    first = owns[0]
    if first.validation is not None and all(
        same_validation(one.validation, first.validation) for one in owns
    ):
        yield _identical(new, "schemas", "validation")
    if first.subresources and all(one.subresources == first.subresources for one in owns):
        yield _identical(new, "subresources", "subresources")
    if first.columns and all(one.columns == first.columns for one in owns):
        yield _identical(new, "additionalPrinterColumns", "additionalPrinterColumns")


def together_errors(new: Internal) -> Iterator[FieldError]:
    """
    Yield the errors of the versions' names and of the storage version.
    """
    path = (*_SPEC, "versions")
    names = [version.name for version in new.versions]
    if len(set(names)) < len(names):
        yield field_errors.invalid(path, new.versions_raw, "must contain unique version names")
    if sum(version.storage for version in new.versions) != 1:
        detail = "must have exactly one version marked as storage version"
        yield field_errors.invalid(path, new.versions_raw, detail)
    if new.version and (errors := dns1035_label_errors(new.version)):
        # The internal form of v1 has the name of the first version twice.
        yield field_errors.invalid((*_SPEC, "version"), new.version, ",".join(errors))
    if new.version and names and names[0] != new.version:
        detail = "must match the first version in spec.versions"
        yield field_errors.invalid((*_SPEC, "version"), new.version, detail)


def _exclusive(field: str, what: str) -> FieldError:
    return FieldError(
        type=ErrorType.FORBIDDEN,
        path=(*_SPEC, field),
        detail=f"top-level and per-version {what} are mutually exclusive",
        origin="versions",
    )


def _identical(new: Internal, what: str, field: str) -> FieldError:
    detail = (
        f"per-version {what} may not all be set to identical values"
        f" (top-level {field} should be used instead)"
    )
    return field_errors.invalid((*_SPEC, "versions"), new.versions_raw, detail)
