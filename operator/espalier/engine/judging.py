"""
Does an object satisfy its schema? The one place where the engine asks.
"""

from collections.abc import Iterable

from espalier import schema
from espalier.engine.counting import general
from espalier.findings import FieldError
from espalier.paths import JSON
from espalier.schema import Profile, Structural


def violations_of(value: JSON, structural: Structural | None) -> tuple[FieldError, ...]:
    """
    Find what the API server would hold against an object that is sent to it anew.

    Args:
        value: In its normal form.
    """
    return schema.validate(value, structural, profile=Profile.APISERVER)


def without_values(violations: Iterable[FieldError]) -> tuple[str, ...]:
    """
    Write violations by path and kind alone: what stands in an object must not get out.
    """
    return tuple(f"{general(one.path)}: {one.type.value.strip()}" for one in violations)
