"""
Validate and default CustomResourceDefinitions as an API server does.

Only the rules that matter to Espalier are checked: names, versions, the storage version, stored
versions, ``preserveUnknownFields``, and that there are schemas and they are structural. The other
rules of the API server (printer columns, paths of subresources, values of defaults, CEL) are not.
"""

from collections.abc import Iterator

from espalier import schema
from espalier.crd import Definition, read_definition
from espalier.crd.structural import structural_findings, structural_of
from espalier.errors import MalformedDefinitionError, SchemaParseError
from espalier.findings import ErrorType
from espalier.golang.printing import render_value
from espalier.paths import JSON, Path
from espalier.sandbox.kinds import CRD_GROUP
from espalier.sandbox.wire import Cause, Object, RequestRefusal, bad_request, invalid
from espalier.schema import Profile

_KIND = "CustomResourceDefinition"
_REASONS = {
    ErrorType.REQUIRED: "FieldValueRequired",
    ErrorType.FORBIDDEN: "FieldValueForbidden",
    ErrorType.INVALID: "FieldValueInvalid",
    ErrorType.TYPE_INVALID: "FieldValueTypeInvalid",
    ErrorType.NOT_SUPPORTED: "FieldValueNotSupported",
    ErrorType.DUPLICATE: "FieldValueDuplicate",
    ErrorType.TOO_LONG: "FieldValueTooLong",
    ErrorType.TOO_MANY: "FieldValueTooMany",
    ErrorType.TOO_FEW: "FieldValueTooFew",
    ErrorType.INTERNAL: "InternalError",
}
_SPEC_FIELDS = ("conversion", "group", "names", "preserveUnknownFields", "scope", "versions")
_VERSION_FIELDS = (
    "additionalPrinterColumns",
    "deprecated",
    "deprecationWarning",
    "name",
    "schema",
    "selectableFields",
    "served",
    "storage",
    "subresources",
)
_SHARED = ("additionalPrinterColumns", "subresources")


def as_v1(obj: Object) -> Object:
    """
    Return a stored definition of v1beta1 or v1 as v1, with defaults.
    """
    spec = dict(obj.get("spec") or {})
    if obj.get("apiVersion") == f"{CRD_GROUP}/v1beta1":
        spec = _spec_of_beta(spec)
    return with_defaults({**obj, "apiVersion": f"{CRD_GROUP}/v1", "spec": spec})


def _spec_of_beta(spec: Object) -> Object:
    preserve = spec.get("preserveUnknownFields")
    versions = spec.get("versions") or [
        {"name": spec.get("version", ""), "served": True, "storage": True}
    ]
    shared: Object = {key: spec[key] for key in _SHARED if spec.get(key) is not None}
    if spec.get("validation"):
        shared["schema"] = spec["validation"]
    return {
        **spec,
        "preserveUnknownFields": True if preserve is None else preserve,
        "versions": [{**shared, **version} for version in versions],
    }


def with_defaults(obj: Object) -> Object:
    """
    Fill in the API server's defaults, and drop unknown fields.
    """
    spec = {key: value for key, value in obj["spec"].items() if key in _SPEC_FIELDS}
    names = dict(spec.get("names") or {})
    kind = names.get("kind", "")
    names["singular"] = names.get("singular") or kind.lower()
    names["listKind"] = names.get("listKind") or f"{kind}List"
    spec["names"] = names
    spec["conversion"] = spec.get("conversion") or {"strategy": "None"}
    spec["versions"] = [
        {key: value for key, value in version.items() if key in _VERSION_FIELDS}
        for version in spec.get("versions") or []
    ]
    if not spec.get("preserveUnknownFields"):
        spec.pop("preserveUnknownFields", None)
    return {**obj, "spec": spec}


def storage_name(obj: Object) -> str:
    """
    Return the name of the storage version; empty if there is none.
    """
    return next((v["name"] for v in obj["spec"]["versions"] if v.get("storage")), "")


def check(new: Object, old: Object | None) -> Definition:
    """
    Validate a written definition.

    Args:
        new: The new definition, with defaults and with its future status.
        old: The previous definition; None for a create.

    Raises:
        Refusal: 422 with the API server's messages, or 400 if it cannot be decoded.
    """
    try:
        definition = read_definition(new)
        before = read_definition(old) if old is not None else None
    except MalformedDefinitionError as error:
        raise bad_request(str(error)) from error
    causes = list(_causes(definition, before))
    if causes:
        raise invalid(CRD_GROUP, _KIND, definition.name, causes)
    return definition


def _causes(new: Definition, old: Definition | None) -> Iterator[Cause]:
    if old is None and new.name != f"{new.plural}.{new.group}":
        text = 'must be spec.names.plural+"."+spec.group'
        yield _invalid("metadata.name", new.name, text)
    yield from _schema_causes(new, old)
    if sum(version.storage for version in new.versions) != 1:
        names: list[JSON] = [{"Name": version.name} for version in new.versions]
        text = "must have exactly one version marked as storage version"
        yield _invalid("spec.versions", names, text)
        return
    yield from _preserve_causes(new, old)
    yield from _stored_causes(new)
    for path, was, value in _immutable(new, old):
        if was != value:
            yield _invalid(path, value, "field is immutable")


def _invalid(path: str, value: JSON, text: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {render_value(value)}: {text}", path)


def _immutable(new: Definition, old: Definition | None) -> Iterator[tuple[str, str, str]]:
    if old is not None:
        yield "spec.group", old.group, new.group
        yield "spec.names.plural", old.plural, new.plural
    if old is not None and old.established:
        scopes = {True: "Namespaced", False: "Cluster"}
        yield "spec.scope", scopes[old.namespaced], scopes[new.namespaced]
        yield "spec.names.kind", old.kind, new.kind


def _schema_causes(new: Definition, old: Definition | None) -> Iterator[Cause]:
    if old is None or all(version.schema is not None for version in old.versions):
        for index, version in enumerate(new.versions):
            if version.schema is None:
                path = f"spec.versions[{index}].schema.openAPIV3Schema"
                yield Cause("FieldValueRequired", "Required value", path)
    if old is not None and new.preserve_unknown_fields and _is_nonstructural(old):
        return
    schemas = [version.schema for version in new.versions]
    # The API server's internal form has equal schemas only once, which shows in the paths.
    same = all(found == schemas[0] for found in schemas)
    for index, version in enumerate(new.versions[:1] if same else new.versions):
        where: Path = ("validation",) if same else ("versions", index, "schema")
        path_of: Path = ("spec", *where, "openAPIV3Schema")
        try:
            structural = structural_of(version)
        except SchemaParseError as error:
            yield _invalid(".".join(str(step) for step in path_of), "", str(error))
            continue
        for found in schema.check_structural(structural, profile=Profile.APISERVER, path=path_of):
            path, _, _ = str(found).partition(": ")
            yield Cause(_REASONS[found.type], found.message, path)


def _is_nonstructural(old: Definition) -> bool:
    try:
        return any(found.path[-1] != "preserveUnknownFields" for found in structural_findings(old))
    except SchemaParseError:
        return True


def _preserve_causes(new: Definition, old: Definition | None) -> Iterator[Cause]:
    if not new.preserve_unknown_fields:
        return
    path = "spec.preserveUnknownFields"
    if any(_has_default(version.schema) for version in new.versions):
        yield _invalid(path, True, "must be false in order to use defaults in the schema")
    if new.conversion != "None":
        text = "must be None if spec.preserveUnknownFields is true"
        yield _invalid("spec.conversion.strategy", new.conversion, text)
    if old is None or not old.preserve_unknown_fields:
        text = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
            "spec.versions[*].schema instead"
        )
        yield _invalid(path, True, text)


def _has_default(node: JSON) -> bool:
    waiting = [node]
    while waiting:
        found = waiting.pop()
        if not isinstance(found, dict):
            continue
        if found.get("default") is not None:
            return True
        properties = found.get("properties")
        waiting += properties.values() if isinstance(properties, dict) else ()
        waiting += (found.get("items"), found.get("additionalProperties"))
    return False


def _stored_causes(new: Definition) -> Iterator[Cause]:
    names = {version.name for version in new.versions}
    for index, stored in enumerate(new.stored_versions):
        if stored not in names:
            text = (
                f"missing from spec.versions; {stored} was previously a storage version, and must "
                "remain in spec.versions until a storage migration ensures no data remains "
                f"persisted in {stored} and removes {stored} from status.storedVersions"
            )
            yield _invalid(f"status.storedVersions[{index}]", stored, text)


def refuse_malformed(obj: Object) -> None:
    """
    Refuse a definition that cannot be decoded into the Go type.

    Raises:
        Refusal: 400.
    """
    spec = obj.get("spec")
    if not isinstance(spec, dict) or not isinstance(spec.get("names") or {}, dict):
        raise _unreadable("spec must be an object")
    versions = spec.get("versions") or []
    if not isinstance(versions, list) or not all(isinstance(v, dict) for v in versions):
        raise _unreadable("spec.versions must be a list of objects")


def _unreadable(text: str) -> RequestRefusal:
    return bad_request(f'{_KIND} in version "v1" cannot be handled as a {_KIND}: {text}')
