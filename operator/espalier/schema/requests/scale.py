"""
Validate the values at the paths of the ``scale`` subresource.
"""

from collections.abc import Iterator
from typing import NamedTuple

from espalier.findings import ErrorType, FieldError
from espalier.golang.printing import go_text, render_value
from espalier.paths import JSON
from espalier.schema.values import type_of

_MAX_INT32 = (1 << 31) - 1
_INT64 = range(-(1 << 63), 1 << 63)


class ScalePaths(NamedTuple):
    """
    The paths of the subresource, as the definition has them: ``.spec.replicas``.
    """

    spec_replicas_path: str
    status_replicas_path: str
    label_selector_path: str = ""


def check_scale(obj: JSON, scale: ScalePaths | None, *, of_status: bool) -> Iterator[FieldError]:
    """
    Yield the errors of the values that the subresource shows.

    Args:
        of_status: Whether to check the replicas in the status and the selector; otherwise the
            replicas in the spec are checked.

    Source:
        apiextensions-apiserver, ``pkg/registry/customresource/validator.go``,
        ``ValidateScaleSpec`` and ``ValidateScaleStatus``.
    """
    if scale is None:
        return
    if not of_status:
        yield from _replicas(obj, scale.spec_replicas_path)
        return
    yield from _replicas(obj, scale.status_replicas_path)
    if scale.label_selector_path:
        _, problem = _lookup(obj, scale.label_selector_path, str, "string")
        if problem:
            yield _invalid(scale.label_selector_path, "", problem)


def _replicas(obj: JSON, path: str) -> Iterator[FieldError]:
    found, problem = _lookup(obj, path, int, "int64")
    number = found if isinstance(found, int) else 0
    if problem:
        yield _invalid(path, 0, problem)
    elif number < 0:
        yield _invalid(path, number, "should be a non-negative integer")
    elif number > _MAX_INT32:
        detail = f"should be less than or equal to {_MAX_INT32}"
        yield _invalid(path, number, detail)


def _lookup(obj: JSON, path: str, wanted: type, go_type: str) -> tuple[JSON, str]:
    # Return the value at the path, or None, and the error message, or an empty text.
    steps = path.removeprefix(".").split(".")
    value = obj
    for index, step in enumerate(steps):
        if value is None:
            return None, ""
        if not isinstance(value, dict):
            expected = "map[string]interface{}"
            return None, _accessor_error(steps[: index + 1], value, expected)
        if step not in value:
            return None, ""
        value = value[step]
    if value.__class__ is not wanted or (wanted is int and value not in _INT64):
        return None, _accessor_error(steps, value, go_type)
    return value, ""


def _accessor_error(steps: list[str], value: JSON, expected: str) -> str:
    kind = _GO_TYPES[type_of(value)]
    if isinstance(value, int) and not isinstance(value, bool) and value not in _INT64:
        kind, shown = "float64", render_value(float(value))
    else:
        shown = go_text(value)
    return f".{'.'.join(steps)} accessor error: {shown} is of the type {kind}, expected {expected}"


_GO_TYPES = {
    "null": "<nil>",
    "boolean": "bool",
    "integer": "int64",
    "number": "float64",
    "string": "string",
    "array": "[]interface {}",
    "object": "map[string]interface {}",
}


def _invalid(path: str, value: JSON, detail: str) -> FieldError:
    return FieldError(
        type=ErrorType.INVALID, path=(path,), value=value, detail=detail, origin="scale"
    )
