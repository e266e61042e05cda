"""
Check a created or updated object as an API server does: all of its checks, in its order.

Requests are not modelled: the objects are decoded, pruned and defaulted, as ``normalize`` returns
them.
"""

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from msgspec import Struct

from espalier.errors import MalformedValueError
from espalier.findings import ErrorType, FieldError
from espalier.paths import JSON, Path
from espalier.schema.metadata.decoding import decode_metadata
from espalier.schema.metadata.root_validation import check_own_metadata, check_updated_metadata
from espalier.schema.metadata.validation import check_embedded, embeds_resources
from espalier.schema.model import Structural
from espalier.schema.prefilter.screen import compile_validation
from espalier.schema.profile import Profile
from espalier.schema.ratcheting import Correlation, Tolerance
from espalier.schema.requests.scale import ScalePaths, check_scale
from espalier.schema.rules.port import Answer, RuleJudge, answer_with_rules
from espalier.schema.validation.list_types import check_list_types, new_list_errors
from espalier.schema.validation.walk import RULES, check_keywords, distinct

Object: TypeAlias = dict[str, JSON]


class Resource(Struct, frozen=True, kw_only=True):
    """
    One version of a custom resource: everything that the checks of its objects depend on.

    Attributes:
        api_version: Group and version: ``example.com/v1``.
        structural: The schema, parsed in the profile ``APISERVER``; None if there is none.
        has_status: Whether the ``status`` subresource is on.
        scale: The paths of the ``scale`` subresource; None if that is off.
    """

    api_version: str
    kind: str
    structural: Structural | None
    is_namespaced: bool = True
    has_status: bool = False
    scale: ScalePaths | None = None


def check_creation(obj: Object, resource: Resource, *, rules: RuleJudge = RULES) -> Answer:
    """
    Return the answer of an API server to the creation of an object, its status included.

    Args:
        obj: In normal form, with its name and namespace; never changed. A real creation drops the
            status if the ``status`` subresource is on: leave it out then.

    Source:
        apiextensions-apiserver, ``pkg/registry/customresource/strategy.go``, ``Validate``.
    """
    change = _Change(obj, None, None)
    structural = _to_be_walked(obj, resource)
    errors = [*_type_meta(obj, resource)]
    if not errors:
        own = _own_metadata(obj, is_namespaced=resource.is_namespaced, is_common=False)
        errors = [*distinct(own), *_keywords(change, structural)]
        errors += check_scale(obj, resource.scale, of_status=False)
        errors += check_scale(obj, resource.scale, of_status=True)
    errors += _embedded(obj, structural)
    errors += check_list_types(obj, structural)
    return _with_rules(errors, change, resource, rules)


def check_update(
    obj: Object, old: Object, resource: Resource, *, rules: RuleJudge = RULES
) -> Answer:
    """
    Return the answer of an API server to an update of an object, with ratcheting.

    Args:
        obj: In normal form; never changed. Fields that an update cannot change are taken from the
            old object: the status if that is a subresource, times, generation and uid.
        old: The old object as the server reads it, in normal form, too.

    Returns:
        The answer. As in the server's, errors of metadata are listed twice.

    Source:
        apiserver, ``pkg/registry/rest/update.go``, ``BeforeUpdate``; apiextensions-apiserver,
        ``pkg/registry/customresource/strategy.go``, ``ValidateUpdate``.
    """
    new = _with_kept_metadata(obj, old)
    if resource.has_status:
        new.pop("status", None)
        if "status" in old:
            new["status"] = old["status"]
    change = _Change.of(new, old, resource)
    structural = _to_be_walked(new, resource)
    errors = [*_common(change, resource)]
    type_meta = [*_type_meta(new, resource)]
    errors += type_meta
    if not type_meta:
        errors += distinct(_updated_metadata(change))
        errors += _keywords(change, structural)
        errors += check_scale(new, resource.scale, of_status=False)
        errors += check_scale(new, resource.scale, of_status=True)
    errors += _embedded(new, structural)
    errors += new_list_errors(new, old, structural)
    return _with_rules(errors, change, resource, rules)


def check_status_update(
    obj: Object, old: Object, resource: Resource, *, rules: RuleJudge = RULES
) -> Answer:
    """
    Return the answer of an API server to an update through the ``status`` subresource.

    Args:
        obj: In normal form; never changed. Only its status counts.
        old: The old object as the server reads it, in normal form, too.

    Source:
        apiextensions-apiserver, ``pkg/registry/customresource/status_strategy.go``,
        ``ValidateUpdate``.
    """
    new = {name: member for name, member in old.items() if name != "status"}
    if "status" in obj:
        new["status"] = obj["status"]
    change = _Change.of(new, old, resource)
    structural = _to_be_walked(new, resource)
    errors = [*_common(change, resource)]
    type_meta = [*_type_meta(new, resource)]
    errors += type_meta
    if not type_meta:
        errors += distinct(_updated_metadata(change))
        errors += _status_keywords(change, structural)
        errors += check_scale(new, resource.scale, of_status=True)
    errors += new_list_errors(new, old, structural)
    return _with_rules(errors, change, resource, rules)


class _Change(NamedTuple):
    """
    An object, the one that it replaces, and their correlation.
    """

    new: Object
    old: Object | None
    correlation: Correlation | None

    @classmethod
    def of(cls, new: Object, old: Object, resource: Resource) -> "_Change":
        structural = resource.structural
        return cls(new, old, None if structural is None else Correlation(new, old, structural))


def _with_kept_metadata(obj: Object, old: Object) -> Object:
    metadata, before = _metadata(obj), _metadata(old)
    kept = dict(metadata)
    for name in ("generation", "creationTimestamp", "deletionTimestamp"):
        if name in before:
            kept[name] = before[name]
    for name in ("uid", "deletionGracePeriodSeconds"):
        if name in before:
            kept.setdefault(name, before[name])
    return {**obj, "metadata": kept} if kept or "metadata" in obj else dict(obj)


def _metadata(obj: Object) -> Object:
    found = obj.get("metadata")
    return found if isinstance(found, dict) else {}


def _type_meta(obj: Object, resource: Resource) -> Iterator[FieldError]:
    for name, wanted in (("kind", resource.kind), ("apiVersion", resource.api_version)):
        found = obj.get(name)
        text = found if isinstance(found, str) else ""
        if text != wanted:
            yield _invalid((name,), text, f"must be {wanted}")


def _own_metadata(obj: Object, *, is_namespaced: bool, is_common: bool) -> Iterator[FieldError]:
    decoded = _decoded(obj)
    if isinstance(decoded, FieldError):
        yield decoded
    else:
        yield from check_own_metadata(decoded, is_namespaced=is_namespaced, is_name_free=is_common)


def _common(change: _Change, resource: Resource) -> Iterator[FieldError]:
    # The checks that the server makes for updates of any resource.
    yield from _own_metadata(change.new, is_namespaced=resource.is_namespaced, is_common=True)
    yield from _updated_metadata(change)


def _updated_metadata(change: _Change) -> Iterator[FieldError]:
    new, old = _decoded(change.new), _decoded(change.old or {})
    for one in (new, old):
        if isinstance(one, FieldError):
            yield one
            return
    if isinstance(new, dict) and isinstance(old, dict):
        yield from check_updated_metadata(new, old)


def _decoded(obj: Object) -> "Object | FieldError":
    raw = obj.get("metadata")
    try:
        decoded = decode_metadata(raw, drop_malformed=False).value
    except MalformedValueError as error:
        return _invalid(("metadata",), raw, str(error))
    return decoded if isinstance(decoded, dict) else {}


def _to_be_walked(obj: Object, resource: Resource) -> Structural | None:
    # Return None if the object surely satisfies the schema: then no old error needs to be
    # tolerated.
    validation = compile_validation(resource.structural, Profile.APISERVER)
    return None if validation.is_soon_valid(obj) else resource.structural


def _keywords(change: _Change, structural: Structural | None) -> tuple[FieldError, ...]:
    if structural is None:
        return ()
    return check_keywords(change.new, structural, before=change.correlation)


def _embedded(obj: Object, structural: Structural | None) -> Iterator[FieldError]:
    # Few schemas embed resources, and a walk over the object takes long.
    if structural is not None and embeds_resources(structural):
        yield from check_embedded(obj, structural)


def _status_keywords(change: _Change, structural: Structural | None) -> tuple[FieldError, ...]:
    # A status is not checked if it has no schema of its own, or is removed.
    node = None if structural is None else structural.properties.get("status")
    if node is None or "status" not in change.new or change.correlation is None:
        return ()
    status, before = change.new["status"], change.correlation.key("status")
    if before is None:
        before = Correlation(status, None, node)
    return check_keywords(status, node, path=("status",), before=before)


def _with_rules(
    errors: list[FieldError], change: _Change, resource: Resource, rules: RuleJudge
) -> Answer:
    return answer_with_rules(
        errors, change.new, resource.structural, rules, Tolerance(change.correlation)
    )


def _invalid(path: Path, value: JSON, detail: str) -> FieldError:
    return FieldError(
        type=ErrorType.INVALID, path=path, value=value, detail=detail, origin="resource"
    )
