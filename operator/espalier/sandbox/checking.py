"""
The checks that an API server makes on a written object of any kind.
"""

import re
from typing import Any

from espalier.golang.printing import quote
from espalier.sandbox.calls import ObjectRequest, revision_of
from espalier.sandbox.kinds import Kind
from espalier.sandbox.store import Stored
from espalier.sandbox.wire import Cause, Object, bad_request, conflict, invalid

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_IMMUTABLE_FIELDS = ("data", "binaryData", "stringData")
_CONDITIONAL = ("Lease", "ServiceAccount", "CustomResourceDefinition")


def check_body(kind: Kind, call: ObjectRequest, body: Object) -> None:
    """
    Compare apiVersion, kind, name and namespace of a body with the request.

    Raises:
        Refusal: 400, or 422 for another kind.
    """
    api_version, named = body.get("apiVersion"), body.get("kind")
    if not api_version or not named:
        raise bad_request(f"Object 'Kind' is missing in '{kind.kind}'")
    if api_version != kind.api_version:
        raise bad_request(
            f"the API version in the data ({api_version}) does not match the expected API version "
            f"({kind.api_version})"
        )
    metadata = body.get("metadata") or {}
    if named != kind.kind:
        text = f"Invalid value: {quote(str(named))}: must be {kind.kind}"
        cause = Cause("FieldValueInvalid", text, "kind")
        raise invalid(kind.group, str(named), metadata.get("name", ""), [cause])
    check_name(call, metadata)


def check_name(call: ObjectRequest, metadata: Object) -> None:
    """
    Compare the name and the namespace of an object with the request.

    Raises:
        Refusal: 400.
    """
    name, target = metadata.get("name", ""), call.target
    if target.name and name != target.name:
        raise bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({target.name})"
        )
    if metadata.get("namespace", target.namespace) != target.namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def check_new_name(kind: Kind, metadata: Object) -> None:
    """
    Require a name or a generateName.

    Raises:
        Refusal: 422.
    """
    name = metadata.get("name", "")
    if not name and not metadata.get("generateName"):
        text = "Required value: name or generateName is required"
        cause = Cause("FieldValueRequired", text, "metadata.name")
        raise invalid(kind.group, kind.kind, "", [cause])
    if name and not _NAME.fullmatch(name):
        text = f"Invalid value: {quote(name)}: {_NAME_TEXT}"
        cause = Cause("FieldValueInvalid", text, "metadata.name")
        raise invalid(kind.group, kind.kind, name, [cause])


def check_preconditions(
    kind: Kind, call: ObjectRequest, stored: Stored, live: Object, new: Object
) -> None:
    """
    Compare the resource version and, for a PUT, the uid with what is stored.

    Raises:
        Refusal: 409; 422 for a PUT that lacks a required resource version; 500 for a resource
            version that is not a number.
    """
    name, metadata = call.target.name, new["metadata"]
    uid, own = metadata.get("uid"), live["metadata"].get("uid", "")
    if call.verb == "update" and uid and uid != own:
        raise conflict(
            kind.group,
            kind.plural,
            name,
            f"StorageError: invalid object, Code: 4, Key: {stored.key}, ResourceVersion: 0, "
            f"AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, "
            f"UID in object meta: {own}",
        )
    revision = metadata.get("resourceVersion")
    if revision:
        if revision_of(revision) != stored.revision:
            raise conflict(kind.group, kind.plural, name)
    elif call.verb == "update" and (not kind.typed or kind.kind in _CONDITIONAL):
        text = "Invalid value: 0: must be specified for an update"
        cause = Cause("FieldValueInvalid", text, "metadata.resourceVersion")
        raise invalid(kind.group, kind.plural, name, [cause])


def check_update(kind: Kind, live: Object, new: Object) -> None:
    """
    Require that immutable fields have not changed.

    Raises:
        Refusal: 422.
    """
    was, metadata = live["metadata"], new["metadata"]
    name, uid = was.get("name", ""), metadata.get("uid")
    if uid and uid != was.get("uid", ""):
        text = f"Invalid value: {quote(uid)}: field is immutable"
        # Two layers of the API server check this, so the error is listed twice.
        causes = [Cause("FieldValueInvalid", text, "metadata.uid")] * 2
        raise invalid(kind.group, kind.kind, name, causes)
    before = was.get("finalizers") or []
    added = [item for item in metadata.get("finalizers") or [] if item not in before]
    if added and "deletionTimestamp" in was:
        found = ", ".join(quote(item) for item in added)
        text = (
            "Forbidden: no new finalizers can be added if the object is being deleted, "
            f"found new finalizers []string{{{found}}}"
        )
        causes = [Cause("FieldValueForbidden", text, "metadata.finalizers")] * 2
        raise invalid(kind.group, kind.kind, name, causes)
    _check_immutable(kind, live, new)


def _check_immutable(kind: Kind, live: Object, new: Object) -> None:
    if kind.kind not in ("Secret", "ConfigMap") or live.get("immutable") is not True:
        return
    fields = [name for name in _IMMUTABLE_FIELDS if live.get(name) != new.get(name)]
    if new.get("immutable") is not True:
        fields.insert(0, "immutable")
    text = "Forbidden: field is immutable when `immutable` is set"
    causes = [Cause("FieldValueForbidden", text, name) for name in fields]
    if causes:
        raise invalid(kind.group, kind.kind, live["metadata"]["name"], causes)


def check_delete(kind: Kind, options: Object, metadata: dict[str, Any]) -> None:
    """
    Compare a delete's preconditions with what is stored.

    Raises:
        Refusal: 409.
    """
    wanted = options.get("preconditions") or {}
    uid, revision = wanted.get("uid"), wanted.get("resourceVersion")
    name, own, at = metadata["name"], metadata.get("uid", ""), metadata["resourceVersion"]
    if uid and uid != own:
        raise conflict(
            kind.group,
            kind.kind,
            name,
            f"the UID in the precondition ({uid}) does not match the UID in record ({own}). "
            "The object might have been deleted and then recreated",
        )
    if revision and revision != at:
        raise conflict(
            kind.group,
            kind.kind,
            name,
            f"the ResourceVersion in the precondition ({revision}) does not match the "
            f"ResourceVersion in record ({at}). The object might have been modified",
        )
