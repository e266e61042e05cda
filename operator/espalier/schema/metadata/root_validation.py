"""
Validate the metadata of a whole resource on creation and on update.

Names, namespaces and immutable fields are checked here. Checks that also apply to embedded
resources are in ``validation.py``.
"""

from collections.abc import Iterator, Mapping
from typing import Protocol

from espalier.findings import ErrorType, FieldError
from espalier.golang.names import (
    dns1123_label_errors,
    dns1123_subdomain_errors,
    path_segment_errors,
)
from espalier.golang.printing import quote
from espalier.paths import JSON, Path
from espalier.schema.metadata.validation import check_metadata
from espalier.schema.values import equal_json

_PATH: Path = ("metadata",)
_IMMUTABLE = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")


def check_own_metadata(
    metadata: Mapping[str, JSON], *, is_namespaced: bool, is_name_free: bool = False
) -> Iterator[FieldError]:
    """
    Yield the errors in the metadata of a resource that do not depend on an older object.

    Args:
        metadata: In canonical form, as ``decode_metadata`` gives it.
        is_name_free: Whether any name is valid that can be a path segment.

    Source:
        apimachinery, ``pkg/api/validation/objectmeta.go``, ``ValidateObjectMetaAccessor``.
    """
    errors_of = path_segment_errors if is_name_free else _subdomain_errors
    yield from _names(metadata, errors_of)
    namespace = _text(metadata, "namespace")
    below = (*_PATH, "namespace")
    if not is_namespaced:
        if namespace:
            yield _error(ErrorType.FORBIDDEN, below, None, "not allowed on this type")
    elif not namespace:
        yield _error(ErrorType.REQUIRED, below, None, "")
    else:
        for detail in dns1123_label_errors(namespace):
            yield _invalid(below, namespace, detail)
    yield from check_metadata(metadata, path=_PATH)


def check_updated_metadata(
    metadata: Mapping[str, JSON], old: Mapping[str, JSON]
) -> Iterator[FieldError]:
    """
    Yield the errors of an update of metadata: changes of immutable fields.

    Args:
        metadata: In canonical form, like the old one.

    Source:
        apimachinery, ``pkg/api/validation/objectmeta.go``,
        ``ValidateObjectMetaAccessorUpdate``.
    """
    if "deletionTimestamp" in old:
        yield from _new_finalizers(metadata.get("finalizers"), old.get("finalizers"))
    if not _text(metadata, "resourceVersion"):
        detail = "must be specified for an update"
        yield _invalid((*_PATH, "resourceVersion"), "", detail)
    common = [*check_metadata(metadata, path=_PATH, with_finalizers=False)]
    # All of them except the first one of a kind come after the comparisons.
    generation = [one for one in common if one.path == (*_PATH, "generation")]
    yield from generation
    new_number, old_number = metadata.get("generation", 0), old.get("generation", 0)
    if isinstance(new_number, int) and isinstance(old_number, int) and new_number < old_number:
        yield _invalid((*_PATH, "generation"), new_number, "must not be decremented")
    for name in ("name", "namespace"):
        if _text(metadata, name) != _text(old, name):
            yield _invalid((*_PATH, name), _text(metadata, name), "field is immutable")
    for name in _IMMUTABLE:
        if not equal_json(metadata.get(name), old.get(name)):
            shown = metadata.get(name, "" if name == "uid" else None)
            # For the server a time is not a text, but it is printed as JSON, too.
            yield _invalid((*_PATH, name), shown, "field is immutable")
    yield from common[len(generation) :]


class _NameErrors(Protocol):
    def __call__(self, text: str, *, is_prefix: bool) -> list[str]: ...


def _names(metadata: Mapping[str, JSON], errors_of: _NameErrors) -> Iterator[FieldError]:
    name, generate = _text(metadata, "name"), _text(metadata, "generateName")
    if generate:
        for detail in errors_of(generate, is_prefix=True):
            yield _invalid((*_PATH, "generateName"), generate, detail)
    if not name:
        detail = "name or generateName is required"
        yield _error(ErrorType.REQUIRED, (*_PATH, "name"), None, detail)
    else:
        for detail in errors_of(name, is_prefix=False):
            yield _invalid((*_PATH, "name"), name, detail)


def _subdomain_errors(text: str, *, is_prefix: bool) -> list[str]:
    if is_prefix and len(text) > 1 and text.endswith("-"):
        # The server removes two characters, although one would be enough.
        return dns1123_subdomain_errors(f"{text[:-2]}a")
    return dns1123_subdomain_errors(text)


def _new_finalizers(finalizers: JSON, old: JSON) -> Iterator[FieldError]:
    before = old if isinstance(old, list) else []
    now = finalizers if isinstance(finalizers, list) else []
    added = {one for one in now if isinstance(one, str) and one not in before}
    if added:
        found = ", ".join(map(quote, sorted(added)))
        detail = (
            "no new finalizers can be added if the object is being deleted,"
            f" found new finalizers []string{{{found}}}"
        )
        yield _error(ErrorType.FORBIDDEN, (*_PATH, "finalizers"), None, detail)


def _text(metadata: Mapping[str, JSON], name: str) -> str:
    value = metadata.get(name)
    return value if isinstance(value, str) else ""


def _invalid(path: Path, value: JSON, detail: str) -> FieldError:
    return _error(ErrorType.INVALID, path, value, detail)


def _error(type_: ErrorType, path: Path, value: JSON, detail: str) -> FieldError:
    return FieldError(type=type_, path=path, value=value, detail=detail, origin="metadata")
