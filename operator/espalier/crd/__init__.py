"""
One CustomResourceDefinition: its versions, what is stored, and what its schemas amount to. Pure.
"""

from espalier.crd.checking import Rejection, check_definition, rejections
from espalier.crd.definition import Condition, Definition, Version, read_definition
from espalier.crd.hinting import hint_for
from espalier.crd.internal import Internal, read_internal
from espalier.crd.linting import Lint, lint
from espalier.crd.parsed import ParsedSchema
from espalier.crd.publishing import OpenAPI, publish, published_versions
from espalier.crd.resources import resource_of
from espalier.crd.specifying import (
    Named,
    is_atomic,
    may_lie_in,
    named_paths,
    specified_paths,
    specifies,
    unspecified,
)
from espalier.crd.structure import nonstructural_condition, structural_findings, structural_of
from espalier.crd.v1paths import path_in_manifest
from espalier.crd.warning import Warned, server_warnings, warnings_of

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
