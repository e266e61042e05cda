"""
Espalier's own pruning, for definitions whose objects the API server does not prune: pure.

It is the careful one of ``espalier.schema``, by the schemas of all versions.
"""

from dataclasses import dataclass

from espalier import crd
from espalier.crd import Definition
from espalier.paths import JSON, Path
from espalier.schema.normalization.conservative_pruning import prune_conservatively

_PARTS = ("spec", "status")


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneResult:
    """
    What careful pruning makes of an object.

    Attributes:
        value: What is left; the very object if nothing is to be removed.
        removed: The topmost paths that go, sorted.
        mistyped: Where values of the wrong type stay with all that they hold.
        emptied: Which of ``spec`` and ``status`` held something and would hold nothing.
    """

    value: dict[str, JSON]
    removed: tuple[Path, ...]
    mistyped: tuple[Path, ...] = ()
    emptied: tuple[str, ...] = ()


class Pruner:
    """
    Prunes the objects of one definition.

    Raises:
        SchemaParseError: A schema of the definition cannot be read.
    """

    def __init__(self, definition: Definition) -> None:
        self._schemas = tuple(crd.structural_of(version) for version in definition.versions)

    def prune(self, obj: dict[str, JSON]) -> PruneResult:
        """
        Remove the fields that no version's schema specifies.

        Args:
            obj: A whole object; never changed.
        """
        value, removed, mistyped = prune_conservatively(obj, self._schemas)
        if not removed or not isinstance(value, dict):
            return PruneResult(value=obj, removed=(), mistyped=mistyped)
        return PruneResult(
            value=value,
            removed=tuple(path for path, _ in removed),
            mistyped=mistyped,
            emptied=tuple(part for part in _PARTS if obj.get(part) and not value.get(part)),
        )
