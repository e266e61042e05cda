"""
Findings of the checks of a definition, made short.
"""

from espalier.findings import ErrorType, FieldError
from espalier.paths import JSON, Key, Path


def required(path: Path, detail: str = "") -> FieldError:
    """
    Say that something must be there.
    """
    return FieldError(type=ErrorType.REQUIRED, path=path, detail=detail, origin=_origin(path))


def forbidden(path: Path, detail: str) -> FieldError:
    """
    Say that something must not be there.
    """
    return FieldError(type=ErrorType.FORBIDDEN, path=path, detail=detail, origin=_origin(path))


def invalid(path: Path, value: JSON, detail: str) -> FieldError:
    """
    Say that a value is wrong.
    """
    return FieldError(
        type=ErrorType.INVALID, path=path, value=value, detail=detail, origin=_origin(path)
    )


def unsupported(path: Path, value: str, supported: tuple[str, ...]) -> FieldError:
    """
    Say that a value is none of those there are.
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
    # The innermost field: keys of maps and indexes are the users' own.
    fields = (step for step in reversed(path) if isinstance(step, str))
    return next((step for step in fields if not isinstance(step, Key)), "")
