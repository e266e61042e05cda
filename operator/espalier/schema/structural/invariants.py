"""
The structural check: first the invariants of all nodes, then completeness.

Both profiles return field errors. The messages of the profile ``KEP`` have another form, which
``render_structural`` writes: ``.properties[foo].type must be non-empty``.
"""

from collections.abc import Iterator

from espalier.findings import ErrorType, FieldError
from espalier.golang.regexps import pattern_error
from espalier.paths import JSON, Key, Path, render_path
from espalier.schema.model import NO_VALIDATION, Structural, ValueValidation
from espalier.schema.profile import Profile
from espalier.schema.structural.proposals import kep_errors


def check_structural(
    structural: Structural | None, *, profile: Profile, path: Path = ()
) -> tuple[FieldError, ...]:
    """
    Return everything that makes a schema not structural.

    Args:
        path: The path of the schema in its definition, a prefix of the paths of all findings.

    Returns:
        The findings, sorted by their rendered messages; empty if there is no schema.

    Source:
        apiextensions-apiserver, ``pkg/apiserver/schema/validation.go``, ``ValidateStructural``,
        and ``complete.go``.
    """
    if structural is None:
        return ()
    if profile is Profile.KEP:
        errors = kep_errors(structural, path)
    else:
        errors = []
        _check_node(structural, "root", path, errors)
        errors.extend(_incomplete(structural, path))
    return tuple(
        sorted(errors, key=lambda error: render_structural(error, profile=profile, path=path))
    )


def render_structural(error: FieldError, *, profile: Profile, path: Path = ()) -> str:
    """
    Write the message of a finding of ``check_structural`` in the form of its profile.

    Args:
        path: The path that was passed to ``check_structural``; messages of ``KEP`` omit it.
    """
    if profile is Profile.APISERVER:
        return str(error)
    return f".{render_path(error.path[len(path) :])} {error.detail}"


_EMPTY_TYPE = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}


def _check_node(node: Structural, level: str, path: Path, errors: list[FieldError]) -> None:
    if node.type == "array" and node.items is None:
        errors.append(_required((*path, "items"), "must be specified"))
    if node.items is not None:
        _check_node(node.items, "item", (*path, "items"), errors)
    for name, child in node.properties.items():
        if not child.is_plain_scalar():  # at which there is nothing to find
            _check_node(child, "field", (*path, "properties", Key(name)), errors)
    if isinstance(node.additional_properties, Structural):
        below = (*path, "additionalProperties")
        _check_node(node.additional_properties, "field", below, errors)
    if node.int_or_string:
        errors.extend(_extensions(node, path))
    if not node.type or level == "root" or node.embedded_resource:
        errors.extend(_types(node, level, path))
        errors.extend(_resource(node, level, path))
    validation = node.value_validation
    if validation is NO_VALIDATION:
        return
    _check_validation(
        validation,
        path,
        errors,
        skip_any_of=validation.any_of_is_int_or_string(),
        skip_in_all_of=any(
            first.value_validation.any_of_is_int_or_string() for first in validation.all_of[:1]
        ),
    )


def _extensions(node: Structural, path: Path) -> Iterator[FieldError]:
    for keyword, is_set in (
        ("x-kubernetes-preserve-unknown-fields", node.preserve_unknown_fields),
        ("x-kubernetes-embedded-resource", node.embedded_resource),
    ):
        if node.int_or_string and is_set:
            detail = "must be false if x-kubernetes-int-or-string is true"
            yield _invalid((*path, keyword), detail, value=True)


def _types(node: Structural, level: str, path: Path) -> Iterator[FieldError]:
    if node.embedded_resource and node.type != "object":
        detail = "must be object if x-kubernetes-embedded-resource is true"
        if node.type:
            yield _invalid((*path, "type"), detail, value=node.type)
        else:
            yield _required((*path, "type"), detail)
    elif not (node.type or node.int_or_string or node.preserve_unknown_fields):
        yield _required((*path, "type"), _EMPTY_TYPE[level])
    if level == "root" and node.type not in ("", "object"):
        yield _invalid((*path, "type"), "must be object at the root", value=node.type)


def _resource(node: Structural, level: str, path: Path) -> Iterator[FieldError]:
    at_root = level == "root"
    if node.additional_properties is not None:
        below = (*path, "additionalProperties")
        if at_root:
            yield _forbidden(below, "must not be used at the root")
        if node.embedded_resource:
            detail = "must not be used if x-kubernetes-embedded-resource is set"
            yield _forbidden(below, detail)
    if at_root or node.embedded_resource:
        for name, type_ in (("kind", "string"), ("apiVersion", "string"), ("metadata", "object")):
            child = node.properties.get(name)
            if child is not None and child.type != type_:
                below = (*path, "properties", Key(name), "type")
                yield _invalid(below, f"must be {type_}", value=child.type)
    metadata = node.properties.get("metadata")
    if at_root and metadata is not None and not _restricts_only_names(metadata):
        detail = (
            "must not specify anything other than name and generateName,"
            " but metadata is implicitly specified"
        )
        yield _forbidden((*path, "properties", Key("metadata")), detail)
    if node.embedded_resource and not (node.preserve_unknown_fields or node.properties):
        detail = (
            "must not be empty if x-kubernetes-embedded-resource is true"
            " without x-kubernetes-preserve-unknown-fields"
        )
        yield _required((*path, "properties"), detail)


def _restricts_only_names(metadata: Structural) -> bool:
    only_names = metadata.properties.keys() <= {"name", "generateName"}
    return only_names and metadata.differs_only_in("type", "default", "properties")


def _check_validation(
    validation: ValueValidation,
    path: Path,
    errors: list[FieldError],
    *,
    skip_any_of: bool,
    skip_in_all_of: bool = False,
) -> None:
    for below, member in validation.junctors():
        if skip_any_of and below[0] == "anyOf":
            continue
        skip = skip_in_all_of and below == ("allOf", 0)
        _check_member(member, (*path, *below), errors, skip_any_of=skip)
    if validation.pattern:
        problem = pattern_error(validation.pattern)
        if problem is not None:
            detail = f"must be a valid regular expression, but isn't: {problem}"
            errors.append(_invalid((*path, "pattern"), detail, value=validation.pattern))


def _check_member(
    member: Structural, path: Path, errors: list[FieldError], *, skip_any_of: bool = False
) -> None:
    _check_validation(member.value_validation, path, errors, skip_any_of=skip_any_of)
    if member.items is not None:
        _check_member(member.items, (*path, "items"), errors)
    for name, child in member.properties.items():
        _check_member(child, (*path, "properties", Key(name)), errors)
    for keyword, is_set, state in (
        ("type", bool(member.type), "empty"),
        ("title", bool(member.title), "empty"),
        ("description", bool(member.description), "empty"),
        ("default", member.default is not None, "undefined"),
        # The server accepts `false`: its decoder reads it as absent.
        ("additionalProperties", member.additional_properties not in (None, False), "undefined"),
        ("nullable", member.nullable, "false"),
        ("x-kubernetes-preserve-unknown-fields", member.preserve_unknown_fields, "false"),
        ("x-kubernetes-embedded-resource", member.embedded_resource, "false"),
        ("x-kubernetes-int-or-string", member.int_or_string, "false"),
        ("x-kubernetes-list-map-keys", bool(member.list_map_keys), "empty"),
        ("x-kubernetes-list-type", member.list_type is not None, "undefined"),
        ("x-kubernetes-map-type", member.map_type is not None, "undefined"),
        ("x-kubernetes-validations", bool(member.validations), "empty"),
    ):
        if is_set:
            errors.append(_forbidden((*path, keyword), f"must be {state} to be structural"))
    if "metadata" in member.properties:
        below = (*path, "properties", Key("metadata"))
        errors.append(_forbidden(below, "must not be specified in a nested context"))


def _incomplete(root: Structural, path: Path) -> Iterator[FieldError]:
    # Fields that the root's junctors name must exist in the structure. Junctors of other nodes are
    # not checked, as the server's check does not descend.
    waiting = [
        (member, root, path, (*path, *below)) for below, member in root.value_validation.junctors()
    ]
    while waiting:
        member, node, node_path, member_path = waiting.pop()
        waiting += [
            (nested, node, node_path, (*member_path, *below))
            for below, nested in member.value_validation.junctors()
        ]
        named: list[tuple[Structural, Structural | None, Path]] = [
            (child, node.properties.get(name), ("properties", Key(name)))
            for name, child in member.properties.items()
        ]
        if member.items is not None:
            named.append((member.items, node.items, ("items",)))
        for child, found, below in named:
            if found is not None:
                waiting.append((child, found, (*node_path, *below), (*member_path, *below)))
            else:
                detail = f"because it is defined in {render_path((*member_path, *below))}"
                yield _required((*node_path, *below), detail)


def _required(path: Path, detail: str) -> FieldError:
    return FieldError(type=ErrorType.REQUIRED, path=path, detail=detail, origin=_origin(path))


def _forbidden(path: Path, detail: str) -> FieldError:
    return FieldError(type=ErrorType.FORBIDDEN, path=path, detail=detail, origin=_origin(path))


def _invalid(path: Path, detail: str, *, value: JSON) -> FieldError:
    return FieldError(
        type=ErrorType.INVALID, path=path, value=value, detail=detail, origin=_origin(path)
    )


def _origin(path: Path) -> str:
    last = path[-1]
    return "properties" if isinstance(last, (int, Key)) else last
