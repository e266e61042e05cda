"""
Remove what a schema does not specify.
"""

from typing import NamedTuple

from espalier.errors import MalformedValueError
from espalier.paths import JSON, Path, render_path, render_unknown
from espalier.schema.model import Structural
from espalier.schema.normalization.closures import Act, paths_of
from espalier.schema.normalization.compiler import OWN_FIELDS, Steps, compiled
from espalier.schema.normalization.type_mismatches import type_mismatches
from espalier.schema.profile import Profile


class Pruned(NamedTuple):
    """
    A pruned value, and the removed paths, in document order.
    """

    value: JSON
    removed: tuple[Path, ...]

    def unknown(self) -> tuple[str, ...]:
        """
        Return the removed paths as text, as the API server reports unknown fields.

        The paths are sorted, and exclude a resource's own fields at the root.
        """
        paths = (path for path in self.removed if len(path) > 1 or path[0] not in OWN_FIELDS)
        return tuple(sorted(render_unknown(path) for path in paths))


def prune(
    value: JSON,
    structural: Structural | None,
    *,
    profile: Profile,
    is_resource: bool = True,
    strict_types: bool = False,
) -> Pruned:
    """
    Remove the fields that a schema does not specify.

    Args:
        value: Decoded JSON of any shape; never changed, and the same one comes back where nothing
            is removed.
        structural: None if there is no schema, which prunes all fields.
        is_resource: Whether the value's own apiVersion, kind and metadata are kept.
        strict_types: Raise on values of a wrong JSON type, as in the proposals.

    Raises:
        MalformedValueError: Only with ``strict_types``: the first value of a wrong type.

    Source:
        KEP-1101; apiextensions-apiserver, ``pkg/apiserver/schema/pruning/algorithm.go``.
    """
    if strict_types:
        for wrong in type_mismatches(value, structural)[:1]:
            detail = f"must be of type {wrong.expected}, found {wrong.found}"
            raise MalformedValueError(f".{render_path(wrong.path)}: {detail}")
    change = compiled(structural, Steps(profile=profile, prune=True), is_resource=is_resource)
    pruned, note = change.within(value)
    return Pruned(pruned, paths_of(note)[Act.PRUNED])
