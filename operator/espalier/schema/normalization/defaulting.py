"""
Fill in defaults, and drop nulls that are not nullable.
"""

from typing import NamedTuple

from espalier.paths import JSON, Path
from espalier.schema.model import Structural
from espalier.schema.normalization.closures import Act, Note, paths_of
from espalier.schema.normalization.compiler import Compiler, Steps, compiled
from espalier.schema.profile import Nulls, Profile
from espalier.schema.values import copy_json


class NullsDropped(NamedTuple):
    """
    A value without the dropped nulls, and their paths, in document order.
    """

    value: JSON
    dropped: tuple[Path, ...]


class Defaulted(NamedTuple):
    """
    A value with defaults, and the paths that were filled in, in document order.

    Attributes:
        dropped: The paths of nulls that the profile ``KEP`` removes in the same step.
    """

    value: JSON
    filled: tuple[Path, ...]
    dropped: tuple[Path, ...] = ()


def drop_nulls(value: JSON, structural: Structural | None) -> NullsDropped:
    """
    Remove fields that are null, not nullable and without a default, as the API server does.

    Args:
        value: Decoded JSON of any shape; never changed.

    Source:
        apiextensions-apiserver, ``pkg/apiserver/schema/defaulting/prunenulls.go``.
    """
    steps = Steps(profile=Profile.APISERVER, drop_nulls=True)
    changed, note = compiled(structural, steps, is_resource=False).within(value)
    return NullsDropped(changed, paths_of(note)[Act.NULL_DROPPED])


def default(
    value: JSON,
    structural: Structural | None,
    *,
    profile: Profile,
    nulls: Nulls = Nulls.NORMALIZE,
) -> Defaulted:
    """
    Fill in the defaults of absent fields.

    Args:
        value: Decoded JSON of any shape; never changed.
        nulls: How the profile ``KEP`` treats nulls; ``APISERVER`` always treats a null that is not
            nullable as absent.

    Source:
        KEP-1101 and KEP-1929; apiextensions-apiserver,
        ``pkg/apiserver/schema/defaulting/algorithm.go``.
    """
    steps = filling_steps(profile, nulls)
    filled, at_root = fill_root(value, structural, steps)
    filled, below = compiled(structural, steps, is_resource=False).within(filled)
    paths = paths_of([((), at_root), ((), below)])
    return Defaulted(filled, paths[Act.FILLED], paths[Act.NULL_DROPPED])


def filling_steps(profile: Profile, nulls: Nulls) -> Steps:
    """
    Return the defaulting steps of a profile.
    """
    if profile is Profile.APISERVER:
        return Steps(profile=profile, fill=True, fill_nulls=True)
    normalizes = nulls is Nulls.NORMALIZE
    return Steps(
        profile=profile,
        fill=True,
        fill_nulls=normalizes,
        drop_nulls=normalizes,
        nulls_within_defaults=normalizes,
    )


def fill_root(value: JSON, structural: Structural | None, steps: Steps) -> tuple[JSON, Note]:
    """
    Replace a null root by the root's default, if the profile of the steps does so.
    """
    if value is not None or structural is None or structural.nullable or not steps.fill_nulls:
        return value, []
    if steps.profile is Profile.APISERVER or structural.default is None:
        return value, []
    return copy_json(Compiler(steps, {}).filling_of(structural)), Act.FILLED
