"""
Prepare a written object as an API server does, before it is validated and stored.
"""

import secrets
import uuid

from espalier.sandbox import definitions
from espalier.sandbox.codecs import Codec
from espalier.sandbox.kinds import CRDS, NAMESPACES, Kind
from espalier.sandbox.wire import Object

_SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
_NEVER_NEW = ("generation", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields")
_KEPT = (
    "uid",
    "creationTimestamp",
    "generation",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "namespace",
)


def prepare_new(codec: Codec, new: Object, namespace: str, *, now: str) -> Object:
    """
    Return a new object with name, uid and creation time, and without the client's status.

    Raises:
        Refusal: 422 if the object is an invalid definition.
    """
    kind = codec.kind
    metadata = {key: value for key, value in new["metadata"].items() if key not in _NEVER_NEW}
    suffix = "".join(secrets.choice(_SUFFIX_LETTERS) for _ in range(_SUFFIX_LENGTH))
    metadata.setdefault("name", f"{metadata.get('generateName', '')}{suffix}")
    if namespace:
        metadata["namespace"] = namespace
    metadata |= {"uid": str(uuid.uuid4()), "creationTimestamp": now}
    if kind is CRDS or not kind.typed:
        metadata["generation"] = 1
    new = dict(codec.default({**new, "metadata": metadata}))
    if kind.has_status and kind is not NAMESPACES:
        new.pop("status", None)
    if kind is CRDS:
        new["status"] = _first_status(new)
        definitions.check(new, None)
    return new


def scaffold_of(kind: Kind, new: Object) -> Object:
    """
    Return the empty object to compare a new object with; its creator owns the difference.
    """
    if kind is NAMESPACES:
        return {"spec": new["spec"], "status": new["status"]}
    if kind is CRDS:
        return {**kind.scaffold, "status": new["status"]}
    return dict(kind.scaffold)


def prepare_update(codec: Codec, live: Object, new: Object, subresource: str) -> Object:
    """
    Return the new object with the fields that a request cannot change, and the next generation.

    Raises:
        Refusal: 422 if the object is an invalid definition.
    """
    if subresource:
        return _status_only(live, new)
    kind, was = codec.kind, live["metadata"]
    metadata = {key: value for key, value in new["metadata"].items() if key not in _KEPT}
    metadata |= {key: was[key] for key in _KEPT if key in was}
    prepared = {**new, "metadata": metadata}
    if kind.has_status:
        prepared.pop("status", None)
        if "status" in live:
            prepared["status"] = live["status"]
    if kind is CRDS:
        prepared["status"] = _with_storage(prepared)
        definitions.check(prepared, live)
    if _content(codec, prepared) != _content(codec, live) and "generation" in was:
        metadata["generation"] = was["generation"] + 1
    return prepared


def _status_only(live: Object, new: Object) -> Object:
    given = new["metadata"].get("managedFields")
    prepared = {key: value for key, value in live.items() if key != "status"}
    if "status" in new:
        prepared["status"] = new["status"]
    prepared["metadata"] = {**live["metadata"], **({"managedFields": given} if given else {})}
    return prepared


def _content(codec: Codec, obj: Object) -> Object:
    if codec.kind.typed:
        return {"spec": obj.get("spec")}
    return {key: value for key, value in obj.items() if key != "metadata"}


def _first_status(new: Object) -> Object:
    return {
        "conditions": [],
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": [definitions.storage_name(new)],
    }


def _with_storage(crd: Object) -> Object:
    status = crd.get("status") or {}
    stored, storage = status.get("storedVersions") or [], definitions.storage_name(crd)
    return {**status, "storedVersions": stored if storage in stored else [*stored, storage]}
