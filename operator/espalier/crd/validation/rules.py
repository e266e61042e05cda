"""
Check validation rules, as far as that is possible without compiling them.
"""

import re
from collections.abc import Iterator

from espalier.crd.internal.json_schema_props import Keywords, text
from espalier.crd.internal.parsed_schema import ParsedSchema
from espalier.crd.validation import errors as field_errors
from espalier.errors import SchemaParseError
from espalier.findings import FieldError
from espalier.golang.printing import Pointed
from espalier.paths import Path
from espalier.schema import Profile
from espalier.schema.rules.field_paths import resolve

_REASONS = (
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
)


def rule_errors(node: Keywords, path: Path) -> Iterator[FieldError]:
    """
    Yield the errors of ``x-kubernetes-validations`` of one node.

    Source:
        apiextensions-apiserver, ``pkg/apis/apiextensions/validation/validation.go``,
        ``ValidateCustomResourceDefinitionOpenAPISchema``.
    """
    rules = node.get("x-kubernetes-validations")
    if not isinstance(rules, list):
        return
    parsed = ParsedSchema({**node})
    for index, rule in enumerate(rules):
        if isinstance(rule, dict):
            below = (*path, "x-kubernetes-validations", index)
            yield from _rule_and_message(rule, below)
            yield from _rest(rule, below)
            yield from _field_path(rule, parsed, (*below, "fieldPath"))


def _rule_and_message(rule: Keywords, path: Path) -> Iterator[FieldError]:
    expression, message = _trimmed(text(rule, "rule")), _trimmed(text(rule, "message"))
    if not expression:
        yield field_errors.required((*path, "rule"), "rule is not specified")
    elif "message" in rule and not message:
        detail = "must be non-empty if specified"
        yield field_errors.invalid((*path, "message"), rule["message"], detail)
    elif _has_newlines(message):
        detail = "must not contain line breaks"
        yield field_errors.invalid((*path, "message"), rule["message"], detail)
    elif _has_newlines(expression) and not message:
        detail = "message must be specified if rule contains line breaks"
        yield field_errors.required((*path, "message"), detail)


def _rest(rule: Keywords, path: Path) -> Iterator[FieldError]:
    if "messageExpression" in rule and not _trimmed(text(rule, "messageExpression")):
        detail = "messageExpression must be non-empty if specified"
        yield field_errors.required((*path, "messageExpression"), detail)
    if "reason" in rule and rule["reason"] not in _REASONS:
        # The server has a type of its own for reasons, so it prints them as JSON.
        reason = Pointed(text(rule, "reason"))
        yield field_errors.unsupported((*path, "reason"), reason, _REASONS)


def _field_path(rule: Keywords, parsed: ParsedSchema, path: Path) -> Iterator[FieldError]:
    written = text(rule, "fieldPath")
    if not written:
        return
    if not _trimmed(written):
        yield field_errors.invalid(path, written, "must be non-empty if specified")
    if _has_newlines(written):
        yield field_errors.invalid(path, written, "must not contain line breaks")
    if not _leads_somewhere(written, parsed):
        yield field_errors.invalid(path, written, "must be a valid path")


def _leads_somewhere(written: str, parsed: ParsedSchema) -> bool:
    try:
        structural = parsed.under(Profile.APISERVER)
    except SchemaParseError:
        # Another check reports that; the server does not report the path then.
        return True
    return not resolve(written, structural, allow_brackets=True).problem


def _trimmed(written: str) -> str:
    return written.strip()


def _has_newlines(written: str) -> bool:
    return re.search(r"[\n\r]", written) is not None
