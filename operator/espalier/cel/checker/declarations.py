"""
What an expression may use: variables, functions, types, and the fields of objects.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from espalier.cel.signatures import Library
from espalier.cel.types import CelType


class ObjectFields(Protocol):
    """
    Knows the objects of a schema.
    """

    def find(self, type_name: str, field: str) -> CelType | None:
        """
        Find the type of a field.
        """

    def has(self, type_name: str) -> bool:
        """
        Report whether objects of this name are known.
        """


@dataclass(frozen=True, slots=True)
class Declarations:
    """
    What an expression may use.
    """

    variables: Mapping[str, CelType]
    functions: Library
    types: Mapping[str, CelType]
    fields: ObjectFields
