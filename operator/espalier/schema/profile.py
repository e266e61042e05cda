"""
The sets of rules that objects and schemas are held to; commands choose by them without a schema.
"""

import enum


class Profile(enum.Enum):
    """
    The set of rules that applies.
    """

    KEP = "kep"
    """The rules that the enhancement proposals state."""

    APISERVER = "apiserver"
    """The rules that API servers follow."""


class Nulls(enum.Enum):
    """
    How the profile ``KEP`` treats nulls that are not nullable.
    """

    KEEP = "keep"
    """They are values like any other, as in the first proposal."""

    NORMALIZE = "normalize"
    """They are defaulted, or removed where there is no default."""
