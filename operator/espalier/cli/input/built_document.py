"""
What is read from a YAML document, and within which limits.
"""

from collections.abc import Mapping
from typing import NamedTuple

from espalier.cli.input.positions import Mark, Place
from espalier.paths import JSON, Path

MAX_DEPTH = 256
"""The deepest nesting that is read; the deepest published CRDs have about 60 levels."""

MAX_ALIASED_VALUES = 1_000_000
"""The most values that all aliases of one document together may stand for."""


class UnreadableDocumentError(ValueError):
    """
    A document cannot be read. ``files`` turns this into ``SourceError``.
    """

    def __init__(self, detail: str, mark: Mark | None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.mark = mark


class Duplicate(NamedTuple):
    """
    A key that its map already had, and its position; the map holds the value of the last one.
    """

    path: Path
    mark: Mark | None


class BuiltDocument(NamedTuple):
    """
    One document, and the positions of its values by the id of the container and the step in it.
    """

    value: JSON
    marks: Mapping[Place, Mark]
    root: Mark
    duplicates: tuple[Duplicate, ...] = ()
