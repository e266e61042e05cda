"""
Short constructors for the findings on a definition.
"""

from espalier.findings import ErrorType, FieldError
from espalier.paths import JSON, Key, Path


def required(path: Path, detail: str = "") -> FieldError:
    """
    Make an error for a missing value.
    """
    return FieldError(type=ErrorType.REQUIRED, path=path, detail=detail, origin=_origin(path))


def forbidden(path: Path, detail: str) -> FieldError:
    """
    Make an error for a value that must not be set.
    """
    return FieldError(type=ErrorType.FORBIDDEN, path=path, detail=detail, origin=_origin(path))


def invalid(path: Path, value: JSON, detail: str) -> FieldError:
    """
    Make an error for an invalid value.
    """
    return FieldError(
        type=ErrorType.INVALID, path=path, value=value, detail=detail, origin=_origin(path)
    )


def unsupported(path: Path, value: str, supported: tuple[str, ...]) -> FieldError:
    """
    Make an error for a value that is not one of the supported ones.
    """
    listed = ", ".join(f'"{one}"' for one in supported)
    return FieldError(
        type=ErrorType.NOT_SUPPORTED,
        path=path,
        value=value,
        detail=f"supported values: {listed}",
        origin=_origin(path),
    )


def _origin(path: Path) -> str:
    # The innermost field; keys of maps and indexes depend on the user's data.
    fields = (step for step in reversed(path) if isinstance(step, str))
    return next((step for step in fields if not isinstance(step, Key)), "")
