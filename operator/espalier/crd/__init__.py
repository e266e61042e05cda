"""
Read a CustomResourceDefinition, and report what an API server finds wrong with it.

All functions are pure. What is exported here is public and kept stable; other names may change, and
are imported from the module that defines them. A module is loaded when a name of it is used.
"""

from typing import TYPE_CHECKING

from espalier.lazy import lazy_names

if TYPE_CHECKING:
    from espalier.crd.advice.hints import hint_for
    from espalier.crd.advice.lint import Lint, lint
    from espalier.crd.advice.warnings import Warned, server_warnings
    from espalier.crd.definition import Condition, Definition, Version, read_definition
    from espalier.crd.openapi import OpenAPI, publish, published_versions
    from espalier.crd.resources import resource_of
    from espalier.crd.structural import nonstructural_condition, structural_findings, structural_of
    from espalier.crd.validation.definition import Rejection, check_definition
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "advice.hints": ("hint_for",),
            "advice.lint": (
                "Lint",
                "lint",
            ),
            "advice.warnings": (
                "Warned",
                "server_warnings",
            ),
            "definition": (
                "Condition",
                "Definition",
                "Version",
                "read_definition",
            ),
            "openapi": (
                "OpenAPI",
                "publish",
                "published_versions",
            ),
            "resources": ("resource_of",),
            "structural": (
                "nonstructural_condition",
                "structural_findings",
                "structural_of",
            ),
            "validation.definition": (
                "Rejection",
                "check_definition",
            ),
        },
    )

__all__ = [
    "Condition",
    "Definition",
    "Lint",
    "OpenAPI",
    "Rejection",
    "Version",
    "Warned",
    "check_definition",
    "hint_for",
    "lint",
    "nonstructural_condition",
    "publish",
    "published_versions",
    "read_definition",
    "resource_of",
    "server_warnings",
    "structural_findings",
    "structural_of",
]
