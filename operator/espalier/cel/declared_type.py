"""
A type with the bounds that a schema declares for it, as the cost estimate needs them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from espalier.cel.types import STRING, CelType

MAX_REQUEST_BYTES: Final = 3 * 1024 * 1024


UNBOUNDED: Final = 0


@dataclass(frozen=True, slots=True, eq=False)
class Declaration:
    """
    What expressions know of the values of a schema.

    Attributes:
        type: The type of simple values; of others the kind only, for objects have no name yet.
        fields: Of objects, by the fields' escaped names.
        element: Of lists and of maps.
        max_elements: The most members, characters or bytes that values can have.
        min_bytes: The size of the smallest value as JSON.
    """

    type: CelType
    fields: Mapping[str, "Declaration"] = field(default_factory=dict)
    element: "Declaration | None" = None
    max_elements: int = UNBOUNDED
    min_bytes: int = 2

    @property
    def max_cardinality(self) -> int:
        """
        How many values of this type fit into a request, each with a comma.
        """
        return MAX_REQUEST_BYTES // (self.min_bytes + 1)

    def at(self, path: Iterable[str]) -> "Declaration | None":
        """
        Go down to a part.

        Args:
            path: Names of fields, ``@items``, ``@values`` and ``@keys``.
        """
        found: Declaration | None = self
        for name in path:
            if found is None:
                return None
            if name in ("@items", "@values"):
                found = found.element
            elif name == "@keys":
                found = _KEY if found.type.kind == "map" else None
            else:
                found = found.fields.get(name)
        return found


_KEY = Declaration(STRING)
