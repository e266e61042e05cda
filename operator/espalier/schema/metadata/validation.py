"""
Validate the apiVersion, kind and metadata of embedded resources.

The metadata is decoded already, by ``decoding.py`` and ``embedded_resources.py``.
"""

import functools
from collections.abc import Iterator, Mapping

from espalier.errors import MalformedValueError
from espalier.findings import ErrorType, FieldError
from espalier.golang.names import (
    bytes_of,
    dns1035_label_errors,
    dns1123_label_errors,
    label_value_errors,
    path_segment_errors,
    qualified_name_errors,
)
from espalier.golang.printing import Printed, go_json
from espalier.paths import JSON, Key, Path
from espalier.schema.metadata.decoding import decode_metadata
from espalier.schema.model import Structural

_OWNER_MEMBERS = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")
"""The members of an owner reference, in the order in which the server prints them."""

_MAX_ANNOTATIONS_BYTES = 256 << 10
_MAX_MANAGER_BYTES, _MAX_SUBRESOURCE_BYTES = 128, 256


def check_embedded(
    value: JSON, structural: Structural | None, *, is_resource: bool = False, path: Path = ()
) -> Iterator[FieldError]:
    """
    Yield the errors of the embedded resources in a value.

    Args:
        value: Decoded JSON of any shape; never changed.
        is_resource: Whether the value itself is an embedded resource, regardless of its schema.

    Source:
        apiextensions-apiserver, ``pkg/apiserver/schema/objectmeta/validation.go``, ``Validate``.
    """
    node = Structural() if structural is None and is_resource else structural
    if node is None:
        return
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from check_embedded(item, node.items, path=(*path, index))
    elif isinstance(value, dict):
        if is_resource or node.embedded_resource:
            yield from _resource(value, path)
        for name, member in value.items():
            step = name if name in node.properties else Key(name)
            yield from check_embedded(member, node.child(name), path=(*path, step))


@functools.lru_cache(maxsize=1024)
def embeds_resources(structural: Structural) -> bool:
    """
    Report whether a schema has an embedded resource outside of its junctors.
    """
    return any(node.embedded_resource for node in structural.nodes())


def _resource(members: Mapping[str, JSON], path: Path) -> Iterator[FieldError]:
    for name in ("apiVersion", "kind"):
        if name not in members:
            yield _required((*path, name))
    if "apiVersion" in members:
        yield from _api_version(members["apiVersion"], (*path, "apiVersion"))
    if "kind" in members:
        yield from _kind(members["kind"], (*path, "kind"))
    if "metadata" in members:
        below = (*path, "metadata")
        try:
            metadata = decode_metadata(members["metadata"], drop_malformed=False).value
        except MalformedValueError as error:
            yield _invalid(below, members["metadata"], str(error))
            return
        if isinstance(metadata, dict):
            yield from _names(metadata, below)
            yield from check_metadata(metadata, path=below)


def _api_version(value: JSON, path: Path) -> Iterator[FieldError]:
    if not isinstance(value, str):
        yield _invalid(path, value, "must be a string")
    elif not value:
        yield _invalid(path, value, "must not be empty")
    elif value.count("/") > 1:
        yield _invalid(path, value, f"unexpected GroupVersion string: {value}")


def _kind(value: JSON, path: Path) -> Iterator[FieldError]:
    if not isinstance(value, str):
        yield _invalid(path, value, "must be a string")
    elif not value:
        yield _invalid(path, value, "must not be empty")
    elif errors := dns1035_label_errors(value.lower()):
        detail = "may have mixed case, but should otherwise match: " + ",".join(errors)
        yield _invalid(path, value, detail)


def _names(metadata: Mapping[str, JSON], path: Path) -> Iterator[FieldError]:
    for name, is_prefix in (("generateName", True), ("name", False)):
        for error in path_segment_errors(_text(metadata, name), is_prefix=is_prefix):
            yield _invalid((*path, name), metadata[name], error)
    namespace = _text(metadata, "namespace")
    if namespace:
        for error in dns1123_label_errors(namespace):
            yield _invalid((*path, "namespace"), namespace, error)


def check_metadata(
    metadata: Mapping[str, JSON], *, path: Path, with_finalizers: bool = True
) -> Iterator[FieldError]:
    """
    Yield the errors of metadata, except those of names.

    Args:
        metadata: In canonical form, as ``decode_metadata`` gives it.
        with_finalizers: Whether finalizers are checked; updates do not check them.

    Source:
        apimachinery, ``pkg/api/validation/objectmeta.go``.
    """
    generation = metadata.get("generation", 0)
    if isinstance(generation, int) and generation < 0:
        detail = "must be greater than or equal to 0"
        yield _invalid((*path, "generation"), generation, detail)
    yield from _labels(_texts(metadata, "labels"), (*path, "labels"))
    yield from _annotations(_texts(metadata, "annotations"), (*path, "annotations"))
    yield from _owners(_list(metadata, "ownerReferences"), (*path, "ownerReferences"))
    if with_finalizers:
        yield from _finalizers(_list(metadata, "finalizers"), (*path, "finalizers"))
    for index, entry in enumerate(_list(metadata, "managedFields")):
        if isinstance(entry, dict):
            yield from _managed(entry, (*path, "managedFields", index))


def _labels(labels: Mapping[str, str], path: Path) -> Iterator[FieldError]:
    for key, value in labels.items():
        for error in qualified_name_errors(key):
            yield _invalid(path, key, error)
        for error in label_value_errors(value):
            yield _invalid(path, value, error)


def _annotations(annotations: Mapping[str, str], path: Path) -> Iterator[FieldError]:
    for key in annotations:
        for error in qualified_name_errors(key.lower()):
            yield _invalid(path, key, error)
    size = sum(bytes_of(key) + bytes_of(value) for key, value in annotations.items())
    if size > _MAX_ANNOTATIONS_BYTES:
        yield _too_long(path, _MAX_ANNOTATIONS_BYTES)


def _owners(owners: list[JSON], path: Path) -> Iterator[FieldError]:
    controller = ""
    for index, owner in enumerate(owners):
        if not isinstance(owner, dict):
            continue
        yield from _owner(owner, (*path, index))
        if owner.get("controller") is True:
            named = f"{_text(owner, 'kind')}/{_text(owner, 'name')}"
            if controller:
                detail = (
                    'Only one reference can have Controller set to true. Found "true" in'
                    f" references for {controller} and {named}"
                )
                printed = ",".join(_printed(one) for one in owners if isinstance(one, dict))
                yield _invalid(path, Printed(f"[{printed}]"), detail)
            else:
                controller = named


def _owner(owner: Mapping[str, JSON], path: Path) -> Iterator[FieldError]:
    api_version, kind = _text(owner, "apiVersion"), _text(owner, "kind")
    if not api_version:
        yield _required((*path, "apiVersion"), "must not be empty")
    elif api_version.count("/") > 1 or not api_version.rpartition("/")[2]:
        detail = "must be <group>/<version> or <version>"
        yield _invalid((*path, "apiVersion"), api_version, detail)
    for name in ("kind", "name", "uid"):
        if not _text(owner, name):
            yield _required((*path, name), "must not be empty")
    if (api_version, kind) in (("v1", "Event"), ("/v1", "Event")):
        detail = "/v1, Kind=Event is disallowed from being an owner"
        yield _invalid(path, Printed(_printed(owner)), detail)


def _printed(owner: Mapping[str, JSON]) -> str:
    members = [
        f"{go_json(name)}:{go_json(owner[name])}" for name in _OWNER_MEMBERS if name in owner
    ]
    return f"{{{','.join(members)}}}"


def _finalizers(finalizers: list[JSON], path: Path) -> Iterator[FieldError]:
    for finalizer in finalizers:
        for error in qualified_name_errors(finalizer if isinstance(finalizer, str) else ""):
            yield _invalid(path, finalizer, error)
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        detail = "finalizer orphan and foregroundDeletion cannot be both set"
        yield _invalid(path, finalizers, detail)


def _managed(entry: Mapping[str, JSON], path: Path) -> Iterator[FieldError]:
    operation, fields_type = _text(entry, "operation"), _text(entry, "fieldsType")
    manager = _text(entry, "manager")
    if not operation:
        yield _required((*path, "operation"), "must not be empty")
    elif operation not in ("Apply", "Update"):
        yield FieldError(
            type=ErrorType.NOT_SUPPORTED,
            path=(*path, "operation"),
            value=operation,
            detail='supported values: "Apply", "Update"',
            origin="metadata",
        )
    if fields_type not in ("", "FieldsV1"):
        yield _invalid((*path, "fieldsType"), fields_type, "must be `FieldsV1`")
    if bytes_of(manager) > _MAX_MANAGER_BYTES:
        yield _too_long((*path, "manager"), _MAX_MANAGER_BYTES)
    for at, char in enumerate(manager):
        if not char.isprintable():
            position = bytes_of(manager[:at])
            detail = f"invalid character U+{ord(char):04X} (at position {position})"
            yield _invalid((*path, "manager"), manager, detail)
    if bytes_of(_text(entry, "subresource")) > _MAX_SUBRESOURCE_BYTES:
        yield _too_long((*path, "subresource"), _MAX_SUBRESOURCE_BYTES)


def _text(members: Mapping[str, JSON], name: str) -> str:
    value = members.get(name)
    return value if isinstance(value, str) else ""


def _texts(members: Mapping[str, JSON], name: str) -> Mapping[str, str]:
    value = members.get(name)
    if not isinstance(value, dict):
        return {}
    return {key: text for key, text in value.items() if isinstance(text, str)}


def _list(members: Mapping[str, JSON], name: str) -> list[JSON]:
    value = members.get(name)
    return value if isinstance(value, list) else []


def _required(path: Path, detail: str = "") -> FieldError:
    return FieldError(type=ErrorType.REQUIRED, path=path, detail=detail, origin="metadata")


def _invalid(path: Path, value: JSON, detail: str) -> FieldError:
    return FieldError(
        type=ErrorType.INVALID, path=path, value=value, detail=detail, origin="metadata"
    )


def _too_long(path: Path, max_bytes: int) -> FieldError:
    detail = f"may not be more than {max_bytes} bytes"
    return FieldError(type=ErrorType.TOO_LONG, path=path, detail=detail, origin="metadata")
