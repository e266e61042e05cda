"""
Espalier's own pruning, for definitions whose objects the API server does not prune: pure.

It is the careful one. A field goes only if every version of the definition lets it go, by the
rules of both profiles. What lies within a value of the wrong type stays: such a value is wrong in
itself, and nothing tells what was meant by it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from espalier import crd, schema
from espalier.crd import Definition
from espalier.engine.inverting import value_at, without
from espalier.paths import JSON, Path
from espalier.schema import Profile, Structural

_PARTS = ("spec", "status")
_NEVER_PRUNED = frozenset({"apiVersion", "kind", "metadata"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Careful:
    """
    What careful pruning makes of an object.

    Attributes:
        value: What is left; the very object if nothing is to be removed.
        removed: The topmost paths that go, in document order.
        mistyped: Paths that would go, but for a value of the wrong type above them.
        emptied: Which of ``spec`` and ``status`` held something and would hold nothing.
    """

    value: dict[str, JSON]
    removed: tuple[Path, ...]
    mistyped: tuple[Path, ...] = ()
    emptied: tuple[str, ...] = ()


class Pruner:
    """
    Prunes the objects of one definition, at its storage version.

    Raises:
        SchemaParseError: A schema of the definition cannot be read.
    """

    def __init__(self, definition: Definition) -> None:
        self._schemas: tuple[tuple[Profile, Structural | None], ...] = tuple(
            (profile, crd.structural_of(version, profile=profile))
            for version in definition.versions
            for profile in (Profile.APISERVER, Profile.KEP)
        )

    def prune(self, obj: dict[str, JSON]) -> Careful:
        """
        Remove what nobody specifies.

        Args:
            obj: A whole object; never changed.
        """
        removed_by_all = self._removed_by_all(obj)
        mistyped = tuple(path for path in removed_by_all if self._is_mistyped(obj, path))
        removed = tuple(path for path in removed_by_all if path not in mistyped)
        if not removed:
            return Careful(value=obj, removed=(), mistyped=mistyped)
        value = without(obj, (tuple(str(step) for step in path) for path in removed))
        emptied = tuple(part for part in _PARTS if obj.get(part) and not value.get(part))
        return Careful(value=value, removed=removed, mistyped=mistyped, emptied=emptied)

    def _removed_by_all(self, obj: dict[str, JSON]) -> list[Path]:
        found: list[dict[Path, None]] = []
        for profile, structural in self._schemas:
            removed = schema.prune(obj, structural, profile=profile).removed
            if not removed:
                return []
            found.append(dict.fromkeys(removed))
        every = dict.fromkeys(path for removed in found for path in removed)
        return [
            path
            for path in every
            if path[0] not in _NEVER_PRUNED and all(_covers(removed, path) for removed in found)
        ]

    def _is_mistyped(self, obj: dict[str, JSON], path: Path) -> bool:
        return any(
            _meets_wrong_type(structural, obj, path)
            for profile, structural in self._schemas
            if profile is Profile.APISERVER
        )


def _covers(removed: Iterable[Path], path: Path) -> bool:
    # Whatever lies below a removed path goes with it.
    return any(path[:length] in removed for length in range(1, len(path) + 1))


def _meets_wrong_type(structural: Structural | None, obj: JSON, path: Path) -> bool:
    node = structural
    for length, step in enumerate(path):
        if node is None:
            return False
        holder = value_at(obj, path[:length])
        if node.int_or_string or (node.type and not schema.is_of_type(holder, node.type)):
            return True
        node = node.items if isinstance(step, int) else node.child(step)
    return False
