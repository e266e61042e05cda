"""
Conservative pruning: Espalier's own pruning for definitions that no server prunes.

In doubt a field stays: a path is removed only if every profile and every version of the definition
removes it, and values of a wrong type stay unchanged.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from espalier.paths import JSON, Path, Step
from espalier.schema.model import Structural
from espalier.schema.normalization.compiler import OWN_FIELDS
from espalier.schema.normalization.pruning import prune
from espalier.schema.normalization.type_mismatches import type_mismatches
from espalier.schema.profile import Profile


class ConservativelyPruned(NamedTuple):
    """
    The result of conservative pruning.

    Attributes:
        value: The same object if nothing was removed.
        removed: The removed paths, sorted, with their values. Only fields of objects are removed,
            never items of lists, so indexes are valid before and after. The values are shared with
            the original and must not be changed.
        mistyped: The paths of values of a wrong JSON type, sorted; they are kept with their
            contents.
    """

    value: JSON
    removed: tuple[tuple[Path, JSON], ...]
    mistyped: tuple[Path, ...]


def prune_conservatively(value: JSON, schemas: Sequence[Structural | None]) -> ConservativelyPruned:
    """
    Remove the fields of a whole object that surely no schema specifies.

    A path is removed if both profiles prune it by every schema, and if no parent has a wrong type
    by one of them. The root's apiVersion, kind and metadata stay unchanged.

    Args:
        value: Decoded JSON; never changed.
        schemas: The schemas of all versions. If one is None, or there are none, nothing is removed.
    """
    present = [structural for structural in schemas if structural is not None]
    if not present or len(present) != len(schemas):
        return ConservativelyPruned(value, (), ())
    mistyped = {
        wrong.path for structural in present for wrong in type_mismatches(value, structural)
    }
    paths = _removed_by_all(value, present)
    paths = [path for path in paths if not _is_covered(path, mistyped)]
    removed = tuple((path, _at(value, path)) for path in paths)
    return ConservativelyPruned(_without(value, paths), removed, tuple(sorted(mistyped)))


def _removed_by_all(value: JSON, schemas: Iterable[Structural]) -> list[Path]:
    # Pruning removes a set of subtrees. The intersection of several such sets consists of the
    # outermost roots of subtrees that all sets cover.
    common: list[Path] | None = None
    for structural in schemas:
        for profile in (Profile.APISERVER, Profile.KEP):
            removed = prune(value, structural, profile=profile).removed
            common = list(removed) if common is None else _intersect(common, removed)
            if not common:
                return []
    # Members of one container have steps of one type, so paths into one value can be sorted.
    return sorted(path for path in common or () if path[0] not in OWN_FIELDS)


def _intersect(left: Sequence[Path], right: Sequence[Path]) -> list[Path]:
    lefts, rights = set(left), set(right)
    narrowed = [path for path in left if _is_covered(path, rights)]
    return narrowed + [path for path in right if path not in lefts and _is_covered(path, lefts)]


def _is_covered(path: Path, roots: set[Path]) -> bool:
    return any(path[:length] in roots for length in range(len(path) + 1))


def _at(value: JSON, path: Path) -> JSON:
    found = value
    for step in path:
        found = _member(found, step)
    return found


def _without(value: JSON, paths: Iterable[Path]) -> JSON:
    # Copy only the containers above removed fields, each once.
    copies: dict[Path, dict[str, JSON] | list[JSON]] = {}
    for path in paths:
        for length in range(len(path)):
            here = path[:length]
            if here in copies:
                continue
            original = _member(copies[here[:-1]], here[-1]) if here else value
            if isinstance(original, (dict, list)):
                copies[here] = copied = original.copy()
                if here:
                    _put(copies[here[:-1]], here[-1], copied)
        holder, name = copies[path[:-1]], path[-1]
        if isinstance(holder, dict) and isinstance(name, str):
            del holder[name]
    return copies.get((), value)


def _member(container: JSON, step: Step) -> JSON:
    if isinstance(container, dict) and isinstance(step, str):
        return container[step]
    if isinstance(container, list) and isinstance(step, int):
        return container[step]
    raise LookupError(step)


def _put(container: JSON, step: Step, member: JSON) -> None:
    match container, step:
        case dict(), str():
            container[step] = member
        case list(), int():
            container[step] = member
        case _:
            raise LookupError(step)
