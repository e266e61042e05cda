"""
What a person may do about a refusal, a warning or a lint of a definition, in a few words.

The hints of the structural check stand with it, in ``espalier.schema``.
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
        "default-within-map": "see to it that the default is valid, or take it away",
        "empty-range": "raise the upper bound, or lower this one",
        "enum-null": "take null out of the enum; `nullable` without an enum lets it pass",
        "closed-map": "take it away: fields that no schema names are pruned",
        "enum-nullable": "take `nullable` away, or put the enum into an `anyOf`",
        "enum-type": "write the value in the field's type, or change the type",
        "nested-default": "give the parent `default: {}`, if the default shall always apply",
        "optional-map-key": "name the key under `required` of the items, or give it a default",
        "pattern": "write it for RE2: no lookaround, no back-references, all brackets closed",
        "preserved-or-pruned": f"declare what may stand here, or add `{_PRESERVE}: true` here too",
        "required-undeclared": "declare the field under `properties`, or do not require it",
        "struct-default": "make the field optional, or let it default to `{}`",
        "unknown-keyword": "take it away, or look for a typing error",
        "zero-value-default": "take the field out of `required`; in Go, make it a pointer",
        "unknown-field": "take it away, or look for a typing error or a wrong indentation",
        "unrecognized-format": "use a format that API servers know, or a `pattern`",
        "set-of-collections": "make it an atomic list, or a map with keys",
    }
)
"""For each rule of lints and of warnings."""

# In this order, the first that is found in what the server says.
_BY_DETAIL: tuple[tuple[str, str], ...] = (
    (
        "field is immutable",
        "leave it as it is; to change it, delete the definition and make it anew",
    ),
    ("must have exactly one version", "mark one version, and no other, with `storage: true`"),
    ("unique version names", "rename or remove the version whose name another one has"),
    ("missing from spec.versions", "keep the version until stored objects are migrated from it"),
    ("must have the storage version", "add the storage version to `status.storedVersions`"),
    ("must be spec.names.plural", "name it `<plural>.<group>`"),
    ("name or generateName is required", "name it `<plural>.<group>`"),
    (
        "otherwise all fields are pruned",
        f"give it a schema, be it `type: object` and `{_PRESERVE}`",
    ),
    ("set x-kubernetes-preserve", f"write false, and `{_PRESERVE}: true` where it is needed"),
    ("must be false in order to use", "write `preserveUnknownFields: false`"),
    ("must be None if spec.preserve", "write `preserveUnknownFields: false`, or do not convert"),
    ("runtime complexity", "use `x-kubernetes-list-type: set`"),
    ("mutual exclusive", "keep either `properties` or `additionalProperties`"),
    ("use nullable as an alternative", "give the type that it has, and `nullable: true`"),
    ("cannot be true at the root", "take `nullable` away here"),
    ("must be atomic as item", "make the items atomic: `x-kubernetes-map-type: atomic`"),
    ("so it must have a default or be", "name the key under `required` of the items"),
    ("cannot be nullable", "take `nullable` away here"),
    ("status subresource is enabled", "move it to `spec`: status must not be judged by it"),
    ("must not be set", "take the default away here"),
    ("must not have unknown fields", "declare the fields of the default, or take them out of it"),
    ("must be a simple json path", "begin the path with a dot"),
    ("should be a json path under", "let the path begin with what is named"),
    ("should be a domain with", "use a domain of yours as the group"),
    ("kind and listKind", "name the list differently, `<kind>List` for instance"),
    ("can only be set for deprecated", "write `deprecated: true` too, or take the warning away"),
    ("approval annotation", "use a group of your own: these are for Kubernetes' projects"),
    ("not set to Webhook", "write `strategy: Webhook`, or take this away"),
    ("exactly one of url or service", "keep either `url` or `service`"),
    ("load root certificates", "put the certificates of an authority here, in PEM and then base64"),
    ("only allowed URL scheme", "let the URL begin with `https://`"),
    ("DNS-1035", "choose another name: lower case letters, digits and dashes"),
    ("RFC 1123", "choose another name: lower case letters, digits, dashes and dots"),
    ("must be a scalar type", "choose keys that are strings, numbers or booleans"),
    ("must be object if parent", "let the items be objects, or the list type another one"),
    ("must all be names of item", "declare the key under `properties` of the items"),
    ("duplicate entries", "name each key once"),
    ("must be object if x-kubernetes-map-type", "write `type: object`, or take the map type away"),
    ("must be array if", "write `type: array`, or take the list type away"),
    ("must be map if", "write `x-kubernetes-list-type: map`, or take the keys away"),
    ("must not be empty if x-kubernetes-list-type", "name the keys of the items here"),
    ("must have a schema if", "add `items` with the schema of the list's items"),
    ("must be a valid URL", "write a URL like https://host/path"),
    ("at least one stored version", "mark one version with `storage: true`"),
    ("rule is not specified", "write the rule, or take it away"),
    ("must be non-empty if specified", "write something, or take it away"),
    ("must not be an empty string", "write something, or take it away"),
    ("must be no more than", "make it shorter"),
    ("must be <= ", "make it shorter"),
    ("may only be set when", "give the version a schema, or take this away"),
    ("duplicate version", "name each version once"),
    ("is not supported", "take it away; write out what it stands for"),
    ("single schema", "leave one schema for all items"),
    ("an invalid path", "name a field that the schema declares, with dots"),
    ("must point to a field of type", "select a field of one of these types"),
    ("must have at most", "select fewer fields"),
    ("supported values", "use one of the supported values"),
    ("must be one of", "use one of these"),
    ("compilation failed", "mend the expression where the caret points"),
    ("cost exceeds budget", "bound what it walks: `maxItems`, `maxLength`, `maxProperties`"),
    ("must evaluate to a", "let the expression give a value of that type"),
    ("oldSelf", "compare with `oldSelf` only where the old value can be found"),
    ("line breaks", "write it in one line, or give a message of one line"),
    ("must be a valid path", "name a field that the schema declares, below this one"),
)


def hint_for(found: Rejection | Warned | Lint, manifest: JSON = None) -> str:
    """
    Say how what was found can be mended.

    Args:
        manifest: The definition that it was found in; with it some hints are more precise.

    Returns:
        A few words without a full stop; never none.
    """
    if not isinstance(found, Rejection):
        return _BY_RULE[found.rule]
    error = found.error
    if error.detail.endswith("to be structural") or error.detail.startswith("because it is"):
        return fix_hint(error, {})
    for part, hint in _BY_DETAIL:
        if part in error.detail:
            return hint
    if any(step == "default" and not isinstance(step, Key) for step in found.v1_path):
        return "correct the default, or the schema that it must satisfy"
    within = _schema_and_place(found.v1_path, manifest)
    if within is not None and found.v1_path[-1] in _STRUCTURAL:
        root, place = within
        return fix_hint(
            FieldError(type=error.type, path=place, detail=error.detail, value=error.value), root
        )
    return _plain(error, found.v1_path)


_STRUCTURAL = frozenset({"type", "items", "properties", "additionalProperties", "metadata"})
_STRUCTURAL |= {"pattern", _PRESERVE, "x-kubernetes-embedded-resource"}
"""What has hints of its own in the structural check."""


def _schema_and_place(path: Path, manifest: JSON) -> tuple[JSON, Path] | None:
    match path:
        case ("spec", "versions", int(index), "schema", "openAPIV3Schema", *below) if below:
            return _schema_at(manifest, index), tuple(below)
        case _:
            return None


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
            return f"take `{name}` away"
        case ErrorType.DUPLICATE:
            return "name it once"
        case _:
            return f"mend `{name}`: {_first_words(error.detail)}"


def _first_words(detail: str) -> str:
    return re.split(r"[;(\n]", detail)[0].strip() or "the value is not allowed"
