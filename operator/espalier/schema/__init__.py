"""
One structural schema and one JSON value: check, prune, drop nulls, default. Pure.
"""

from espalier.schema.model import Nulls, Profile, Structural, ValueValidation
from espalier.schema.parsing import parse
from espalier.schema.structural import check_structural, render_structural
from espalier.schema.values import copy_json, is_of_type, type_of

__all__ = [
    "Nulls",
    "Profile",
    "Structural",
    "ValueValidation",
    "check_structural",
    "copy_json",
    "is_of_type",
    "parse",
    "render_structural",
    "type_of",
]
