"""
One structural schema and one JSON value: check, prune, drop nulls, default. Pure.

Call through the package: ``from espalier import schema``, then ``schema.parse(...)``.
"""

from espalier.schema.careful import Carefully, prune_carefully
from espalier.schema.defaulting import Defaulted, NullsDropped, default, drop_nulls
from espalier.schema.hinting import fix_hint
from espalier.schema.mistyping import Mistyped, mistyped_values
from espalier.schema.model import Nulls, Profile, Structural, ValueValidation
from espalier.schema.normalizing import Normalized, Normalizer, compile_normalizer, normalize
from espalier.schema.objectmeta import Decoded, decode_metadata, drop_unknown_metadata
from espalier.schema.parsing import parse
from espalier.schema.pruning import Pruned, prune
from espalier.schema.publishing import convert_to_v2, strip, strip_defaults, unfold
from espalier.schema.rendering import render
from espalier.schema.structural import check_structural, render_structural
from espalier.schema.values import copy_json, equal_json, is_of_type, type_of

__all__ = [
    "Carefully",
    "Decoded",
    "Defaulted",
    "Mistyped",
    "Normalized",
    "Normalizer",
    "Nulls",
    "NullsDropped",
    "Profile",
    "Pruned",
    "Structural",
    "ValueValidation",
    "check_structural",
    "compile_normalizer",
    "convert_to_v2",
    "copy_json",
    "decode_metadata",
    "default",
    "drop_nulls",
    "drop_unknown_metadata",
    "equal_json",
    "fix_hint",
    "is_of_type",
    "mistyped_values",
    "normalize",
    "parse",
    "prune",
    "prune_carefully",
    "render",
    "render_structural",
    "strip",
    "strip_defaults",
    "type_of",
    "unfold",
]
