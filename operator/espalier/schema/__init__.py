"""
One structural schema and one JSON value: check, prune, drop nulls, default. Pure.

Call through the package: ``from espalier import schema``, then ``schema.parse(...)``.
"""

from espalier.golang.names import bytes_of, dns1035_label_errors, dns1123_subdomain_errors
from espalier.golang.regexps import pattern_error
from espalier.schema.metadata.decoding import Decoded, decode_metadata, drop_unknown_metadata
from espalier.schema.metadata.validation import check_embedded, check_metadata
from espalier.schema.model import Nulls, Profile, Structural, ValueValidation
from espalier.schema.normalization.conservative_pruning import Carefully, prune_carefully
from espalier.schema.normalization.defaulting import Defaulted, NullsDropped, default, drop_nulls
from espalier.schema.normalization.normal_form import (
    Normalized,
    Normalizer,
    compile_normalizer,
    normalize,
)
from espalier.schema.normalization.pruned_defaults import pruned_defaults
from espalier.schema.normalization.pruning import Pruned, prune
from espalier.schema.normalization.type_mismatches import Mistyped, mistyped_values
from espalier.schema.parsing import parse
from espalier.schema.prefilter.screen import ScreenedValidation, compile_validation
from espalier.schema.publishing.openapi import convert_to_v2, strip, strip_defaults, unfold
from espalier.schema.rendering import render
from espalier.schema.requests.scale import ScalePaths
from espalier.schema.requests.stored_objects import Standing, StoredObjectVerdict, judge_stored
from espalier.schema.requests.writes import (
    Resource,
    check_creation,
    check_status_update,
    check_update,
)
from espalier.schema.rules.evaluation import CelJudge
from espalier.schema.rules.port import NO_JUDGE, Answer, RuleJudge, RuleOutcome, Ruling, has_rules
from espalier.schema.structural.hints import fix_hint
from espalier.schema.structural.invariants import check_structural, render_structural
from espalier.schema.validation.default_values import default_judge
from espalier.schema.validation.defaults import DefaultCheck, accept_any_value, check_defaults
from espalier.schema.validation.formats import recognizes_format
from espalier.schema.validation.walk import RULES, check_value, render_validation, validate
from espalier.schema.values import copy_json, equal_json, is_of_type, type_of

__all__ = [
    "NO_JUDGE",
    "RULES",
    "Answer",
    "Carefully",
    "CelJudge",
    "Decoded",
    "DefaultCheck",
    "Defaulted",
    "Mistyped",
    "Normalized",
    "Normalizer",
    "Nulls",
    "NullsDropped",
    "Profile",
    "Pruned",
    "Resource",
    "RuleJudge",
    "RuleOutcome",
    "Ruling",
    "ScalePaths",
    "ScreenedValidation",
    "Standing",
    "StoredObjectVerdict",
    "Structural",
    "ValueValidation",
    "accept_any_value",
    "bytes_of",
    "check_creation",
    "check_defaults",
    "check_embedded",
    "check_metadata",
    "check_status_update",
    "check_structural",
    "check_update",
    "check_value",
    "compile_normalizer",
    "compile_validation",
    "convert_to_v2",
    "copy_json",
    "decode_metadata",
    "default",
    "default_judge",
    "dns1035_label_errors",
    "dns1123_subdomain_errors",
    "drop_nulls",
    "drop_unknown_metadata",
    "equal_json",
    "fix_hint",
    "has_rules",
    "is_of_type",
    "judge_stored",
    "mistyped_values",
    "normalize",
    "parse",
    "pattern_error",
    "prune",
    "prune_carefully",
    "pruned_defaults",
    "recognizes_format",
    "render",
    "render_structural",
    "render_validation",
    "strip",
    "strip_defaults",
    "type_of",
    "unfold",
    "validate",
]
