"""
The checks that apply to a definition; an update may keep errors of the old definition.

If the old definition fails a check anywhere, the check is relaxed for all versions and fields.
"""

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct, field
from msgspec.structs import replace

from espalier import schema
from espalier.crd.internal.client_config import ca_bundle_problem
from espalier.crd.internal.definition import Internal
from espalier.crd.internal.json_schema_props import child, nodes, text
from espalier.crd.internal.parsed_schema import VersionSchema
from espalier.crd.internal.versions import Shared, same_validation
from espalier.crd.validation.known_expressions import NOTHING_KNOWN, Known, known_expressions
from espalier.crd.validation.list_types import is_set_of_non_atomic, item_errors
from espalier.errors import EspalierError, SchemaParseError
from espalier.schema import Profile
from espalier.schema.normalization.pruned_defaults import pruned_defaults
from espalier.schema.values import equal_json

TYPES = ("array", "boolean", "integer", "number", "object", "string")
MAX_SELECTABLE_FIELDS = 8
ACCEPTED_REVIEW_VERSIONS = ("v1", "v1beta1")

_EXTENSIONS = (
    "x-kubernetes-embedded-resource",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-validations",
)


class Requirements(Struct, frozen=True, kw_only=True):
    """
    The checks that apply; checks without an attribute here always apply.

    Attributes:
        defaults: Whether defaults are allowed.
        known: The expressions of the old definition.
        unchanged: The versions whose schemas are the same as in the old definition.
        limit_each_rule: Whether the cost of each single rule is limited; set for each version.
        may_have_many_fields: The versions that may have too many selectable fields.
        readable_ca_bundle: Whether the webhook's CA bundle must be valid. It need not be until the
            definition is established.
        immutable_names: Whether scope and kind are immutable.
    """

    schemas: bool = True
    defaults: bool = True
    valid_types: bool = True
    structural: bool = True
    pruned_defaults: bool = True
    atomic_sets: bool = True
    map_keys: bool = True
    known_review_version: bool = True
    readable_ca_bundle: bool = False
    immutable_names: bool = False
    known: Known = NOTHING_KNOWN
    unchanged: frozenset[str] = frozenset()
    limit_each_rule: bool = True
    may_have_many_fields: Mapping[str, bool] = field(default_factory=lambda: MappingProxyType({}))


def requirements_for(
    new: Internal, old: Internal | None, *, allow_defaults: bool = True
) -> Requirements:
    """
    Return the checks that apply to a new definition, or to an update.

    Source:
        apiextensions-apiserver, ``pkg/apis/apiextensions/validation/validation.go``,
        ``ValidateCustomResourceDefinitionUpdate``.
    """
    chosen = Requirements() if old is None else _after(new, old)
    defaults = allow_defaults or (old is not None and has_defaults(old))
    must_be_structural = (
        not new.preserve_unknown_fields or has_defaults(new) or _has_extensions(new)
    )
    structural = chosen.structural or must_be_structural
    return replace(chosen, structural=structural, defaults=defaults)


def has_defaults(definition: Internal) -> bool:
    """
    Report whether a schema has a default anywhere.
    """
    return any("default" in node for root in definition.schemas() for node in nodes(root))


def structural_errors(validation: VersionSchema) -> bool:
    """
    Report whether a schema is not structural, or cannot be parsed.
    """
    try:
        structural = validation.parsed.under(Profile.APISERVER)
    except SchemaParseError:
        return True
    return bool(schema.check_structural(structural, profile=Profile.APISERVER))


def _after(new: Internal, old: Internal) -> Requirements:
    every = [node for root in old.schemas() for node in nodes(root)]
    reviews = old.conversion.review_versions
    return Requirements(
        schemas=_all_have_schemas(old),
        valid_types=all(text(node, "type") in ("", *TYPES) for node in every),
        structural=not any(structural_errors(found) for found in old.validations()),
        pruned_defaults=not any(_has_unpruned_defaults(found) for found in old.validations()),
        atomic_sets=not any(is_set_of_non_atomic(node) for node in every),
        map_keys=not any(any(item_errors(node, ())) for node in every),
        known_review_version=not reviews
        or any(version in ACCEPTED_REVIEW_VERSIONS for version in reviews),
        readable_ca_bundle=old.established and not _has_unreadable_bundle(old),
        immutable_names=old.established,
        known=known_expressions(old.schemas()),
        unchanged=_unchanged(new, old),
        may_have_many_fields=_many_fields(new, old),
    )


def _unchanged(new: Internal, old: Internal) -> frozenset[str]:
    return frozenset(
        version.name
        for version in new.versions
        if _is_unchanged(_schema_for(new, version.name), _schema_for(old, version.name))
    )


def _is_unchanged(new: Shared | None, old: Shared | None) -> bool:
    if new is None or old is None:
        return False
    return same_validation(new.validation, old.validation)


def _schema_for(definition: Internal, name: str) -> Shared | None:
    # What has the schema of a version; None if the server finds none.
    top, versions = definition.shared, definition.versions
    if not any(version.own.validation is not None for version in versions):
        # Then the server assumes this schema for any version, even for one that does not exist.
        return top
    if top.validation is not None:
        return None
    return next((version.own for version in versions if version.name == name), None)


def _has_unreadable_bundle(definition: Internal) -> bool:
    config = definition.conversion.client_config
    return (
        config is not None and config.ca_bundle != b"" and ca_bundle_problem(config.ca_bundle) != ""
    )


def _all_have_schemas(definition: Internal) -> bool:
    return _has_schema(definition.shared) or all(
        _has_schema(version.own) for version in definition.versions
    )


def _has_schema(holder: Shared) -> bool:
    return holder.validation is not None and holder.validation.schema is not None


def _has_extensions(definition: Internal) -> bool:
    return any(
        keyword in node
        for root in definition.schemas()
        for node in nodes(root)
        for keyword in _EXTENSIONS
    )


def _has_unpruned_defaults(validation: VersionSchema) -> bool:
    keywords = validation.schema
    if keywords is None or not any("default" in node for node in nodes(keywords)):
        return False
    if structural_errors(validation):
        return False
    items = child(keywords, "items")
    if not isinstance(keywords.get("default", {}), dict) or (
        items is not None and any("default" in node for node in nodes(items))
    ):
        # The server cannot build a resource with such a default, and stops checking.
        return False
    structural = validation.parsed.under(Profile.APISERVER)
    try:
        pruned = pruned_defaults(structural)
    except EspalierError:
        return False
    return any(not equal_json(node.default, left) for node, left in pruned.items())


def _many_fields(new: Internal, old: Internal) -> Mapping[str, bool]:
    # By the name of the version; the empty name stands for the fields shared by all versions.
    before = {version.name: version.own.selectable_fields for version in old.versions}
    before[""] = old.shared.selectable_fields
    after = {version.name: version.own.selectable_fields for version in new.versions}
    after[""] = new.shared.selectable_fields
    return MappingProxyType(
        {
            name: len(fields) > MAX_SELECTABLE_FIELDS and fields == before.get(name)
            for name, fields in after.items()
        }
    )
