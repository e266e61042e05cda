"""
One CustomResourceDefinition: its versions, what is stored, and what its schemas amount to. Pure.
"""

from espalier.crd.advice.hints import hint_for
from espalier.crd.advice.lint import Lint, lint
from espalier.crd.advice.warnings import Warned, server_warnings, warnings_of
from espalier.crd.definition import Condition, Definition, Version, read_definition
from espalier.crd.field_sets import (
    Named,
    is_atomic,
    may_lie_in,
    named_paths,
    specified_paths,
    specifies,
    unspecified,
)
from espalier.crd.internal.definition import Internal, read_internal
from espalier.crd.internal.parsed_schema import ParsedSchema
from espalier.crd.manifest_paths import path_in_manifest
from espalier.crd.openapi import OpenAPI, publish, published_versions
from espalier.crd.resources import resource_of
from espalier.crd.structural import nonstructural_condition, structural_findings, structural_of
from espalier.crd.validation.definition import Rejection, check_definition, rejections

__all__ = [
    "Condition",
    "Definition",
    "Internal",
    "Lint",
    "Named",
    "OpenAPI",
    "ParsedSchema",
    "Rejection",
    "Version",
    "Warned",
    "check_definition",
    "hint_for",
    "is_atomic",
    "lint",
    "may_lie_in",
    "named_paths",
    "nonstructural_condition",
    "path_in_manifest",
    "publish",
    "published_versions",
    "read_definition",
    "read_internal",
    "rejections",
    "resource_of",
    "server_warnings",
    "specified_paths",
    "specifies",
    "structural_findings",
    "structural_of",
    "unspecified",
    "warnings_of",
]
