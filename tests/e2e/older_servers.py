"""
For which causes an older API server refuses an object that Espalier refuses as the newest one does.

Source:
    apiextensions-apiserver, ``pkg/apiserver/schema/cel/validation.go``; kube-openapi,
    ``pkg/validation/validate/schema.go``; apimachinery, ``pkg/api/validation/objectmeta.go``;
    all in the versions of the releases.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from espalier.crd.advice.server_versions import without_ranges
from espalier.findings import ErrorType, FieldError, Omitted
from espalier.paths import Key, Path, render_path
from espalier.schema import Structural
from tests.e2e.controlplane.api import Api

Cause = tuple[str, str, str]
"""The field, reason and message."""

RULED_VALUES_SINCE = 35
"""The minor version from which the cause of a rule has the value, or none; before, the type."""

METADATA_SINCE = 37
"""The minor version with other checks of owner references and of operations of managed fields."""

KEEPS_MANAGED_FIELDS_SINCE = 37
"""
The minor version from which a write keeps the managedFields that the server cannot convert.

Before, it removes all of them if the object has a field that another version, named in one of them,
does not specify; or if that version is not served any more.
"""

_RULE = "x-kubernetes-validations"
_OWNER = re.compile(r"(?<=\bmetadata)\.ownerReferences\[\d+\]")
_OPERATION = re.compile(r"\bmetadata\.managedFields\[\d+\]\.operation$")
BLOCKING = (
    ErrorType.NOT_SUPPORTED,
    ErrorType.REQUIRED,
    ErrorType.TOO_LONG,
    ErrorType.TOO_MANY,
    ErrorType.TYPE_INVALID,
)
"""The errors for which a server does not check rules."""


def minor_of(api: Api) -> int:
    """
    Return the minor version of a server.
    """
    return int(api.get("/version")["minor"].rstrip("+"))


def causes_of(errors: Iterable[FieldError], root: Structural | None, minor: int) -> list[Cause]:
    """
    Return the causes of a server of a minor version, from the errors of the newest one.

    Args:
        root: The schema of the object.
    """
    return [*_causes(errors, root, minor)]


def _causes(errors: Iterable[FieldError], root: Structural | None, minor: int) -> Iterator[Cause]:
    given = without_ranges(errors, minor)
    of_metadata = [one for one in given if minor < METADATA_SINCE and _is_of_metadata(one)]
    others = [one for one in given if one not in of_metadata]
    for error in of_metadata:
        yield _of_metadata(error)
    for error in others:
        # Without a path, it is the cause for which rules were not checked.
        if error.origin != _RULE or (not error.path and _are_rules_left_out(others, of_metadata)):
            yield _cause(error)
        elif error.path:
            is_older = minor < RULED_VALUES_SINCE
            yield _cause(replace(error, value=_ruled_type(error, root)) if is_older else error)


def _cause(error: FieldError) -> Cause:
    return render_path(error.path), error.reason, error.message


def _are_rules_left_out(others: list[FieldError], of_metadata: list[FieldError]) -> bool:
    return not of_metadata or any(one.type in BLOCKING for one in others)


def _ruled_type(error: FieldError, root: Structural | None) -> str:
    # A rule with a fieldPath stands at an object that has the path.
    node = _at(root, error.path)
    type_ = "" if node is None else node.type
    is_ruled = not isinstance(error.value, Omitted) or type_ in ("object", "array")
    return type_ if is_ruled else "object"


def _at(root: Structural | None, path: Path) -> Structural | None:
    node = root
    for part in path:
        if node is None:
            return None
        if isinstance(part, int):
            node = node.items
            continue
        name = str(part) if isinstance(part, Key) else part
        below = node.additional_properties
        node = node.properties.get(name) or (below if isinstance(below, Structural) else None)
    return node


def _is_of_metadata(error: FieldError) -> bool:
    path = render_path(error.path)
    return _OWNER.search(path) is not None or _OPERATION.search(path) is not None


def _of_metadata(error: FieldError) -> Cause:
    field, reason, message = _cause(error)
    if _OPERATION.search(field):
        text = f"Invalid value: {json.dumps(error.value or '')}: must be `Apply` or `Update`"
        return field, "FieldValueInvalid", text
    if error.type is ErrorType.REQUIRED:
        text = "version must not be empty" if field.endswith(".apiVersion") else "must not be empty"
        reason, message = "FieldValueInvalid", f'Invalid value: "": {text}'
    message = message.replace("must be <group>/<version> or <version>", "version must not be empty")
    return _OWNER.sub(".ownerReferences", field), reason, message
