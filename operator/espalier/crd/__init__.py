"""
Read a CustomResourceDefinition, and report what an API server finds wrong with it.

All functions are pure. What is exported here is public and kept stable; other names may change, and
are imported from the module that defines them.
"""

from espalier.crd.advice.hints import hint_for
from espalier.crd.advice.lint import Lint, lint
from espalier.crd.advice.warnings import Warned, server_warnings
from espalier.crd.definition import Condition, Definition, Version, read_definition
from espalier.crd.openapi import OpenAPI, publish, published_versions
from espalier.crd.resources import resource_of
from espalier.crd.structural import nonstructural_condition, structural_findings, structural_of
from espalier.crd.validation.definition import Rejection, check_definition

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
