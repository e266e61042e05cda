"""
Short hints how to fix a rejection, a warning or a lint of a definition.

The hints of the structural check are in ``espalier.schema.structural``.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

from espalier.crd.advice.lint import Lint
from espalier.crd.advice.warnings import Warned
from espalier.crd.validation.definition import Rejection
from espalier.findings import ErrorType, FieldError
from espalier.paths import JSON, Key, Path
from espalier.schema.structural.hints import fix_hint

_PRESERVE = "x-kubernetes-preserve-unknown-fields"

_BY_RULE: Mapping[str, str] = MappingProxyType(
    {
        "default-within-map": "make the default valid, or remove it",
        "empty-range": "raise the upper bound, or lower this one",
        "enum-null": "remove null from the enum; `nullable` without an enum accepts it",
        "closed-map": "remove it: fields that no schema specifies are pruned",
        "enum-nullable": "remove `nullable`, or move the enum into an `anyOf`",
        "enum-type": "write the value in the field's type, or change the type",
        "nested-default": "add `default: {}` to the parent, if the default must always apply",
        "own-short-name": "remove the short name",
        "quantity-of-integer": "convert it first: `quantity(string(...))`",
        "rule-not-checked": "split the rule into several that are simpler",
        "string-bound-only": "add `minimum` and `maximum` for integers, or a rule for both forms",
        "transition-on-optional": "move the rule to the parent, and test with has() there",
        "unguarded-field": "test it first: `!has(...) || ...`; or require it, or give it a default",
        "optional-map-key": "add the key to `required` of the items, or add a default to it",
        "pattern": "write it for RE2: no lookaround, no backreferences, all brackets closed",
        "preserved-or-pruned": f"declare the allowed fields, or add `{_PRESERVE}: true` here, too",
        "required-undeclared": "declare the field under `properties`, or do not require it",
        "struct-default": "make the field optional, or use `{}` as its default",
        "unknown-keyword": "remove it, or check its spelling",
        "zero-value-default": "remove the field from `required`; in Go, make it a pointer",
        "unknown-field": "remove it, or check its spelling and indentation",
        "unrecognized-format": "use a format that API servers know, or a `pattern`",
        "set-of-collections": "make it an atomic list, or a map with keys",
    }
)
"""The hint for each rule of lints and warnings."""

# The first entry whose text is in the server's message applies.
_BY_DETAIL: tuple[tuple[str, str], ...] = (
    (
        "field is immutable",
        "keep the old value; to change it, delete the definition and create it again",
    ),
    ("must have exactly one version", "mark exactly one version with `storage: true`"),
    ("unique version names", "rename or remove one of the versions with the same name"),
    ("missing from spec.versions", "keep the version until its stored objects are migrated"),
    ("must have the storage version", "add the storage version to `status.storedVersions`"),
    ("must be spec.names.plural", "name it `<plural>.<group>`"),
    ("name or generateName is required", "name it `<plural>.<group>`"),
    (
        "otherwise all fields are pruned",
        f"add a schema, for example `type: object` and `{_PRESERVE}: true`",
    ),
    (
        "set x-kubernetes-preserve",
        f"set it to false, and add `{_PRESERVE}: true` where it is needed",
    ),
    ("must be false in order to use", "write `preserveUnknownFields: false`"),
    (
        "must be None if spec.preserve",
        "write `preserveUnknownFields: false`, or use the conversion strategy None",
    ),
    ("runtime complexity", "use `x-kubernetes-list-type: set`"),
    ("mutual exclusive", "keep either `properties` or `additionalProperties`"),
    (
        "use nullable as an alternative",
        "write the type of the non-null values, and `nullable: true`",
    ),
    ("cannot be true at the root", "remove `nullable` here"),
    ("must be atomic as item", "make the items atomic: `x-kubernetes-map-type: atomic`"),
    ("so it must have a default or be", "name the key under `required` of the items"),
    ("cannot be nullable", "remove `nullable` here"),
    ("status subresource is enabled", "move it to `spec`: it must not apply to the status"),
    ("must not be set", "remove the default here"),
    ("must not have unknown fields", "declare the fields of the default, or remove them from it"),
    ("must be a simple json path", "start the path with a dot"),
    ("should be a json path under", "start the path with the field in the message"),
    ("should be a domain with", "use a domain that you own as the group"),
    ("kind and listKind", "use another name for the list, for example `<kind>List`"),
    ("can only be set for deprecated", "add `deprecated: true`, or remove the warning"),
    ("approval annotation", "use your own group: these are reserved for Kubernetes projects"),
    ("not set to Webhook", "write `strategy: Webhook`, or remove this"),
    ("exactly one of url or service", "keep either `url` or `service`"),
    (
        "load root certificates",
        "write the CA certificates here, PEM encoded and then base64 encoded",
    ),
    ("only allowed URL scheme", "start the URL with `https://`"),
    ("DNS-1035", "use another name: lowercase letters, digits and dashes"),
    ("RFC 1123", "use another name: lowercase letters, digits, dashes and dots"),
    ("must be a scalar type", "use keys that are strings, numbers or booleans"),
    ("must be object if parent", "make the items objects, or use another list type"),
    ("must all be names of item", "declare the key under `properties` of the items"),
    ("duplicate entries", "list each key once"),
    ("must be object if x-kubernetes-map-type", "write `type: object`, or remove the map type"),
    ("must be array if", "write `type: array`, or remove the list type"),
    ("must be map if", "write `x-kubernetes-list-type: map`, or remove the keys"),
    ("must not be empty if x-kubernetes-list-type", "list the keys of the items here"),
    ("must have a schema if", "add `items` with the schema of the list's items"),
    ("must be a valid URL", "write a URL like https://host/path"),
    ("at least one stored version", "mark one version with `storage: true`"),
    ("rule is not specified", "write the rule, or remove it"),
    ("must be non-empty if specified", "write a value, or remove it"),
    ("must not be an empty string", "write a value, or remove it"),
    ("must be no more than", "make it shorter"),
    ("must be <= ", "make it shorter"),
    ("may only be set when", "add a schema to the version, or remove this"),
    ("duplicate version", "list each version once"),
    ("is not supported", "remove it; write the schema in full instead"),
    ("single schema", "use one schema for all items"),
    ("an invalid path", "write the path of a declared field, with dots"),
    ("must point to a field of type", "select a field of one of these types"),
    ("must have at most", "select fewer fields"),
    ("supported values", "use one of the supported values"),
    ("must be one of", "use one of these"),
    ("compilation failed", "correct the expression where the caret points"),
    ("cost exceeds budget", "limit its values: `maxItems`, `maxLength`, `maxProperties`"),
    ("must evaluate to a", "write an expression that returns a value of that type"),
    ("oldSelf", "use `oldSelf` only where old values are correlated"),
    ("line breaks", "write it in one line, or add a message of one line"),
    ("must be a valid path", "write the path of a declared field below this one"),
)


def hint_for(found: Rejection | Warned | Lint, manifest: JSON = None) -> str:
    """
    Return a hint how to fix a rejection, a warning or a lint.

    Args:
        manifest: The definition, which makes some hints more precise.

    Returns:
        A short text without a full stop; never empty.
    """
    if not isinstance(found, Rejection):
        return _BY_RULE[found.rule]
    error = found.error
    if error.detail.endswith("to be structural") or error.detail.startswith("because it is"):
        return fix_hint(error, {})
    if _METADATA.search(error.detail):
        return "rules can read only `name` and `generateName` of metadata: remove the test"
    for part, hint in _BY_DETAIL:
        if part in error.detail:
            return hint
    if any(step == "default" and not isinstance(step, Key) for step in found.manifest_path):
        return "correct the default, or the schema that it must satisfy"
    within = _schema_and_place(found.manifest_path, manifest)
    if within is not None and found.manifest_path[-1] in _STRUCTURAL:
        root, place = within
        return fix_hint(
            FieldError(type=error.type, path=place, detail=error.detail, value=error.value), root
        )
    return _plain(error, found.manifest_path)


# The compiler marks the dot before the field that it does not know.
_METADATA = re.compile(r"undefined field '\w+'\n \| (?=.*metadata\.)")
_STRUCTURAL = frozenset({"type", "items", "properties", "additionalProperties", "metadata"})
_STRUCTURAL |= {"pattern", _PRESERVE, "x-kubernetes-embedded-resource"}
"""The keywords with hints in the structural check."""


def _schema_and_place(path: Path, manifest: JSON) -> tuple[JSON, Path] | None:
    match path:
        case ("spec", "versions", int(index), "schema", "openAPIV3Schema", *below) if below:
            return _schema_at(manifest, index), tuple(below)
        case ("spec", "validation", "openAPIV3Schema", *below) if below:
            return _top_schema(manifest), tuple(below)
        case _:
            return None


def _top_schema(manifest: JSON) -> JSON:
    match manifest:
        case {"spec": {"validation": {"openAPIV3Schema": root}}}:
            return root
        case _:
            return {}


def _schema_at(manifest: JSON, index: int) -> JSON:
    match manifest:
        case {"spec": {"versions": list(versions)}} if index < len(versions):
            version = versions[index]
        case _:
            return {}
    match version:
        case {"schema": {"openAPIV3Schema": root}}:
            return root
        case _:
            return {}


def _plain(error: FieldError, path: Path) -> str:
    fields = (step for step in reversed(path) if isinstance(step, str))
    name = next((step for step in fields if not isinstance(step, Key)), "it")
    match error.type:
        case ErrorType.REQUIRED:
            return f"add `{name}`"
        case ErrorType.FORBIDDEN:
            return f"remove `{name}`"
        case ErrorType.DUPLICATE:
            return "list it once"
        case _:
            return f"correct `{name}`: {_first_clause(error.detail)}"


def _first_clause(detail: str) -> str:
    return re.split(r"[;(\n]", detail)[0].strip() or "the value is not allowed"
