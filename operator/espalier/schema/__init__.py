"""
Check a structural schema, and prune, default, normalize and validate JSON values by it.

All functions are pure. Call them through the package: ``from espalier import schema``, then
``schema.parse(...)``. What is exported here is public and kept stable; other names may change, and
are imported from the module that defines them. A module is loaded when a name of it is used.
"""

from typing import TYPE_CHECKING

from espalier.lazy import lazy_names

if TYPE_CHECKING:
    from espalier.schema.model import Structural
    from espalier.schema.normalization.defaulting import (
        Defaulted,
        NullsDropped,
        default,
        drop_nulls,
    )
    from espalier.schema.normalization.normal_form import (
        Normalized,
        Normalizer,
        compile_normalizer,
        normalize,
    )
    from espalier.schema.normalization.pruning import Pruned, prune
    from espalier.schema.parsing import parse
    from espalier.schema.prefilter.screen import ScreenedValidation, compile_validation
    from espalier.schema.profile import Nulls, Profile
    from espalier.schema.publishing.openapi import convert_to_v2, strip, unfold
    from espalier.schema.rendering import render
    from espalier.schema.requests.scale import ScalePaths
    from espalier.schema.requests.stored_objects import Standing, StoredObjectVerdict, judge_stored
    from espalier.schema.requests.writes import (
        Resource,
        check_creation,
        check_status_update,
        check_update,
    )
    from espalier.schema.rules.judge import CelJudge
    from espalier.schema.rules.port import NO_JUDGE, Answer, RuleJudge
    from espalier.schema.structural.invariants import check_structural
    from espalier.schema.validation.walk import validate
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "model": ("Structural",),
            "normalization.defaulting": (
                "Defaulted",
                "NullsDropped",
                "default",
                "drop_nulls",
            ),
            "normalization.normal_form": (
                "Normalized",
                "Normalizer",
                "compile_normalizer",
                "normalize",
            ),
            "normalization.pruning": (
                "Pruned",
                "prune",
            ),
            "parsing": ("parse",),
            "prefilter.screen": (
                "ScreenedValidation",
                "compile_validation",
            ),
            "publishing.openapi": (
                "convert_to_v2",
                "strip",
                "unfold",
            ),
            "profile": (
                "Nulls",
                "Profile",
            ),
            "rendering": ("render",),
            "requests.scale": ("ScalePaths",),
            "requests.stored_objects": (
                "Standing",
                "StoredObjectVerdict",
                "judge_stored",
            ),
            "requests.writes": (
                "Resource",
                "check_creation",
                "check_status_update",
                "check_update",
            ),
            "rules.judge": ("CelJudge",),
            "rules.port": (
                "NO_JUDGE",
                "Answer",
                "RuleJudge",
            ),
            "structural.invariants": ("check_structural",),
            "validation.walk": ("validate",),
        },
    )

__all__ = [
    "NO_JUDGE",
    "Answer",
    "CelJudge",
    "Defaulted",
    "Normalized",
    "Normalizer",
    "Nulls",
    "NullsDropped",
    "Profile",
    "Pruned",
    "Resource",
    "RuleJudge",
    "ScalePaths",
    "ScreenedValidation",
    "Standing",
    "StoredObjectVerdict",
    "Structural",
    "check_creation",
    "check_status_update",
    "check_structural",
    "check_update",
    "compile_normalizer",
    "compile_validation",
    "convert_to_v2",
    "default",
    "drop_nulls",
    "judge_stored",
    "normalize",
    "parse",
    "prune",
    "render",
    "strip",
    "unfold",
    "validate",
]
