"""
Check subresources, printer columns, selectable fields and the deprecation warning of a version.
"""

from collections.abc import Iterator

from espalier.crd.internal.parsed_schema import VersionSchema
from espalier.crd.internal.versions import InternalVersion, PrinterColumn, Scale, Subresources
from espalier.crd.validation import errors as field_errors
from espalier.crd.validation.requirements import MAX_SELECTABLE_FIELDS
from espalier.errors import SchemaParseError
from espalier.findings import ErrorType, FieldError
from espalier.golang.names import bytes_of
from espalier.golang.printing import Pointed
from espalier.paths import Key, Path, render_path
from espalier.schema import Profile, Structural
from espalier.schema.rules.field_paths import resolve

_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = (*("byte", "date", "date-time", "double", "float", "int32", "int64", "password"),)
_MAX_WARNING_BYTES = 256


def warning_errors(version: InternalVersion, path: Path) -> Iterator[FieldError]:
    """
    Yield the errors of the deprecation warning of a version.

    Source:
        apiextensions-apiserver, ``pkg/apis/apiextensions/validation/validation.go``,
        ``validateDeprecationWarning``.
    """
    if version.deprecation_warning is None:
        return
    warning = Pointed(version.deprecation_warning)
    below = (*path, "deprecationWarning")
    if not version.deprecated:
        yield field_errors.invalid(below, warning, "can only be set for deprecated versions")
        return
    if bytes_of(warning) > _MAX_WARNING_BYTES:
        detail = f"must be <= {_MAX_WARNING_BYTES} characters long"
        yield field_errors.invalid(below, warning, detail)
    if not warning:
        yield field_errors.invalid(below, warning, "must not be an empty string")
    for at, char in enumerate(warning):
        if not char.isprintable():
            index = bytes_of(warning[:at])
            detail = (
                "must only contain printable UTF-8 characters;"
                f" non-printable character found at index {index}"
            )
            yield field_errors.invalid(below, warning, detail)
            return


def subresource_errors(subresources: Subresources | None, path: Path) -> Iterator[FieldError]:
    """
    Yield the errors of the paths of the ``scale`` subresource.

    Source:
        apiextensions-apiserver, ``pkg/apis/apiextensions/validation/validation.go``,
        ``ValidateCustomResourceDefinitionSubresources``.
    """
    if subresources is None or subresources.scale is None:
        return
    scale: Scale = subresources.scale
    below = (*path, "scale")
    for name, value, root in (
        ("specReplicasPath", scale.spec_replicas_path, ".spec"),
        ("statusReplicasPath", scale.status_replicas_path, ".status"),
    ):
        if not value:
            yield field_errors.required((*below, name))
        else:
            yield from _under(value, (root,), f"under {root}", (*below, name))
    if scale.label_selector_path:
        roots, where = (".spec", ".status"), "under either .spec or .status"
        yield from _under(scale.label_selector_path, roots, where, (*below, "labelSelectorPath"))


def _under(value: str, roots: tuple[str, ...], where: str, path: Path) -> Iterator[FieldError]:
    if not value.startswith("."):
        yield field_errors.invalid(path, value, _NOT_SIMPLE)
    elif not value.startswith(tuple(f"{root}." for root in roots)):
        # Only one of these paths is optional: it is a pointer in Go.
        shown = Pointed(value) if len(roots) > 1 else value
        yield field_errors.invalid(path, shown, f"should be a json path {where}")


_NOT_SIMPLE = "must be a simple json path starting with ."


def column_errors(columns: tuple[PrinterColumn, ...], path: Path) -> Iterator[FieldError]:
    """
    Yield the errors of printer columns.

    Source:
        apiextensions-apiserver, ``pkg/apis/apiextensions/validation/validation.go``,
        ``ValidateCustomResourceColumnDefinition``.
    """
    for index, column in enumerate(columns):
        below = (*path, index)
        types, formats = ",".join(_COLUMN_TYPES), ",".join(_COLUMN_FORMATS)
        if not column.name:
            yield field_errors.required((*below, "name"))
        if not column.type:
            yield field_errors.required((*below, "type"), f"must be one of {types}")
        elif column.type not in _COLUMN_TYPES:
            yield field_errors.invalid((*below, "type"), column.type, f"must be one of {types}")
        if column.format and column.format not in _COLUMN_FORMATS:
            yield field_errors.invalid(
                (*below, "format"), column.format, f"must be one of {formats}"
            )
        if not column.json_path:
            yield field_errors.required((*below, "JSONPath"))
        elif not column.json_path.startswith("."):
            yield field_errors.invalid((*below, "JSONPath"), column.json_path, _NOT_SIMPLE)


def selectable_errors(
    fields: tuple[str, ...],
    validation: VersionSchema,
    path: Path,
    *,
    may_be_many: bool,
) -> Iterator[FieldError]:
    """
    Yield the errors of selectable fields.

    Args:
        validation: The schema of the same version, or the shared one; it must exist.
        path: The path of the list.
        may_be_many: Whether more than eight are allowed.

    Source:
        apiextensions-apiserver, ``pkg/apis/apiextensions/validation/validation.go``,
        ``ValidateCustomResourceSelectableFields``.
    """
    try:
        structural = validation.parsed.under(Profile.APISERVER)
    except SchemaParseError as error:
        structural = None
        yield field_errors.invalid((*path[:-1], "schema", "openAPIV3Schema"), "", str(error))
    seen: set[str] = set()
    for index, written in enumerate(fields):
        below = (*path, index, "jsonPath")
        if not written:
            yield field_errors.required(below)
            continue
        resolved = resolve(written, structural, allow_brackets=False)
        if resolved.problem:
            yield field_errors.invalid(below, written, f"is an invalid path: {resolved.problem}")
            continue
        yield from _selectable(resolved.path, resolved.structural, written, below)
        rendered = render_path(resolved.path)
        if rendered in seen:
            yield FieldError(
                type=ErrorType.DUPLICATE, path=below, value=written, origin="selectableFields"
            )
        seen.add(rendered)
    if len(seen) > MAX_SELECTABLE_FIELDS and not may_be_many:
        yield FieldError(
            type=ErrorType.TOO_MANY,
            path=path,
            value=len(seen),
            detail=f"must have at most {MAX_SELECTABLE_FIELDS} items",
            origin="selectableFields",
        )


def _selectable(
    leads_to: Path, structural: Structural | None, written: str, path: Path
) -> Iterator[FieldError]:
    if leads_to[:1] == ("metadata",) and not isinstance(leads_to[0], Key):
        yield field_errors.invalid(path, written, "must not point to fields in metadata")
    if structural is None or structural.type not in ("string", "boolean", "integer"):
        detail = (
            "must point to a field of type string, boolean or integer."
            " Enum string fields and strings with formats are allowed."
        )
        yield field_errors.invalid(path, written, detail)
