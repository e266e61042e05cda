"""
Create, update, patch, apply and delete.

A write encodes the whole object at the storage version and compares the bytes with the stored ones.
If they are equal, nothing is written, so that a patch without changes shows whether an object is
current.
"""

import time
from collections.abc import Callable

from espalier.sandbox import ownership, patching
from espalier.sandbox.calls import (
    APPLY,
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    ObjectRequest,
    apply_body,
    delete_options,
    json_body,
    patch_body,
)
from espalier.sandbox.checking import (
    check_body,
    check_delete,
    check_name,
    check_new_name,
    check_preconditions,
    check_update,
)
from espalier.sandbox.codecs import Codec
from espalier.sandbox.field_validation import check_fields, check_patched_fields
from espalier.sandbox.kinds import CRDS, NAMESPACES
from espalier.sandbox.ownership import Writer
from espalier.sandbox.preparing import prepare_new, prepare_update, scaffold_of
from espalier.sandbox.store import Store, Stored
from espalier.sandbox.wire import (
    Object,
    RequestRefusal,
    already_exists,
    bad_request,
    conflict,
    details_of,
    not_found,
    server_error,
    terminating,
)

CLEANUP = "customresourcecleanup.apiextensions.k8s.io"


def utc_now() -> str:
    """
    Return the time in the format of object metadata.
    """
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class Writing:
    """
    Write objects to a store.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def create(self, codec: Codec, call: ObjectRequest) -> Object:
        """
        Create an object.

        Raises:
            Refusal: 400, 404 for the namespace, 409, 422.
        """
        body = json_body(call.body, codec.kind.kind)
        check_body(codec.kind, call, body)
        check_fields(codec, call, body)
        return self._create(codec, call, codec.accept(body))

    def update(self, codec: Codec, call: ObjectRequest) -> Object:
        """
        Replace an object.

        Raises:
            Refusal: 400, 404, 409, 422.
        """
        body = json_body(call.body, codec.kind.kind)
        check_body(codec.kind, call, body)
        check_fields(codec, call, body)
        new = codec.accept(body)
        stored = self._get(codec, call)
        return self._update(codec, call, stored, lambda _: new)

    def patch(self, codec: Codec, call: ObjectRequest) -> tuple[Object, bool]:
        """
        Patch an object; an apply creates an object that does not exist.

        Returns:
            The object, and whether it was created.

        Raises:
            Refusal: 400, 404, 409, 415, 422.
        """
        match call.content_type:
            case "application/merge-patch+json":
                return self._patch(codec, call, patching.merge), False
            case "application/json-patch+json":
                return self._patch(codec, call, patching.json_patch), False
            case "application/strategic-merge-patch+json" if codec.kind.typed:
                # No list of the kinds served here has a merge key that a client needs.
                return self._patch(codec, call, patching.merge), False
            case "application/apply-patch+yaml":
                return self._apply(codec, call)
            case _:
                raise _unsupported(codec)

    def delete(self, codec: Codec, call: ObjectRequest) -> Object:
        """
        Delete an object, or mark it as deleted if it has finalizers.

        Returns:
            A Status if the object is deleted, else the object.

        Raises:
            Refusal: 404, 409.
        """
        stored = self._get(codec, call)
        options = delete_options(call.body)
        live = codec.read(stored)
        kind, metadata = codec.kind, live["metadata"]
        check_delete(kind, options, metadata)
        dry_run = call.dry_run or options.get("dryRun") == ["All"]
        if kind in (CRDS, NAMESPACES) or metadata.get("finalizers"):
            return self._mark_deleted(codec, stored, live, dry_run=dry_run)
        if not dry_run:
            self._store.delete(stored.key)
        details = details_of(kind.group, kind.plural, metadata["name"])
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": {**details, "uid": metadata.get("uid", "")},
        }

    def delete_all(self, codec: Codec, listed: Object) -> None:
        """
        Delete the objects of a list.
        """
        for item in listed["items"]:
            metadata = item["metadata"]
            key = codec.kind.key(metadata.get("namespace", ""), metadata["name"])
            stored = self._store.get(key)
            if stored is not None and metadata.get("finalizers"):
                self._mark_deleted(codec, stored, codec.read(stored), dry_run=False)
            elif stored is not None:
                self._store.delete(key)

    def _get(self, codec: Codec, call: ObjectRequest) -> Stored:
        target = call.target
        stored = self._store.get(codec.kind.key(target.namespace, target.name))
        if stored is None:
            raise not_found(codec.kind.group, codec.kind.plural, target.name)
        return stored

    def _create(
        self, codec: Codec, call: ObjectRequest, new: Object, *, fields: list[Object] | None = None
    ) -> Object:
        kind, namespace = codec.kind, call.target.namespace
        check_new_name(kind, new.get("metadata", {}))
        if new["metadata"].get("resourceVersion"):
            raise server_error("resourceVersion should not be set on objects to be created")
        if namespace:
            self._check_namespace(codec, namespace, str(new.get("metadata", {}).get("name", "")))
        new = prepare_new(codec, new, namespace, now=utc_now())
        if fields is None:
            fields = ownership.track_update(
                scaffold_of(kind, new), new, codec.shape, _writer(codec, call)
            )
        new["metadata"] = _with_fields(new["metadata"], fields)
        name = new["metadata"]["name"]
        key = kind.key(namespace, name)
        if self._store.get(key) is not None:
            raise already_exists(kind.group, kind.plural, name)
        value = codec.store(new)
        revision = 0 if call.dry_run else self._store.put(key, value)
        return _answer(codec, Stored(key, value, revision))

    def _patch(
        self, codec: Codec, call: ObjectRequest, change: Callable[[Object, object], Object]
    ) -> Object:
        patch = patch_body(call.body)
        stored = self._get(codec, call)

        def patched(live: Object) -> Object:
            new = change(live, patch)
            metadata = new.get("metadata")
            check_name(call, metadata if isinstance(metadata, dict) else {})
            check_patched_fields(codec, call, new)
            return codec.accept(new)

        return self._update(codec, call, stored, patched)

    def _apply(self, codec: Codec, call: ObjectRequest) -> tuple[Object, bool]:
        kind, target = codec.kind, call.target
        config = apply_body(call.body)
        metadata = dict(config.get("metadata") or {})
        metadata.setdefault("name", target.name)
        if metadata.get("managedFields"):
            raise bad_request("metadata.managedFields must be nil")
        config = _own_part(codec, call, {**config, "metadata": metadata})
        check_body(kind, call, config)
        for path in codec.undeclared(config):
            where = f"({metadata.get('namespace', '')}/{target.name}; {kind.api_version}, "
            raise server_error(
                f"failed to create typed patch object {where}Kind={kind.kind}): "
                f".{path}: field not declared in schema"
            )
        writer = _writer(codec, call)
        stored = self._store.get(kind.key(target.namespace, target.name))
        if stored is None:
            return self._apply_new(codec, call, config, writer), True

        def applied(live: Object) -> Object:
            merged = ownership.apply(live, config, codec.shape, writer, force=call.force)
            fields = merged["metadata"].pop("managedFields")
            accepted = codec.accept(merged)
            accepted["metadata"]["managedFields"] = fields
            return accepted

        return self._update(codec, call, stored, applied, tracks=False), False

    def _apply_new(
        self, codec: Codec, call: ObjectRequest, config: Object, writer: Writer
    ) -> Object:
        kind, name = codec.kind, call.target.name
        if call.target.subresource:
            raise not_found(kind.group, kind.plural, name)
        if uid := config["metadata"].get("uid"):
            text = (
                f"uid mismatch: the provided object specified uid {uid}, and no existing object "
                "was found"
            )
            raise conflict(kind.group, kind.plural, name, text)
        merged = ownership.apply(None, config, codec.shape, writer, force=True)
        fields = merged["metadata"].pop("managedFields")
        return self._create(codec, call, codec.accept(merged), fields=fields)

    def _update(
        self,
        codec: Codec,
        call: ObjectRequest,
        stored: Stored,
        change: Callable[[Object], Object],
        *,
        tracks: bool = True,
    ) -> Object:
        live = codec.read(stored)
        new = change(live)
        check_preconditions(codec.kind, call, stored, live, new)
        check_update(codec.kind, live, new)
        new = prepare_update(codec, live, new, call.target.subresource)
        if tracks:
            writer = _writer(codec, call)
            before = dict(codec.default(live))
            if codec.kind.has_status and not call.target.subresource:
                # The server changes the status here, not the client.
                before["status"] = new.get("status")
            fields = ownership.track_update(before, new, codec.shape, writer)
            new["metadata"] = _with_fields(new["metadata"], fields)
        value = codec.store(new)
        if call.dry_run:
            return _answer(codec, stored._replace(value=value))
        if "deletionTimestamp" in new["metadata"] and not _is_held(codec, new):
            self._store.delete(stored.key)
            return _answer(codec, stored._replace(value=value))
        if value != stored.value:
            stored = Stored(stored.key, value, self._store.put(stored.key, value))
        return _answer(codec, stored)

    def _check_namespace(self, codec: Codec, namespace: str, name: str) -> None:
        found = self._store.get(NAMESPACES.key("", namespace))
        if found is None:
            raise not_found("", "namespaces", namespace)
        if b'"deletionTimestamp"' in found.value:
            raise terminating(codec.kind.group, codec.kind.plural, name, namespace)

    def _mark_deleted(self, codec: Codec, stored: Stored, live: Object, *, dry_run: bool) -> Object:
        metadata = dict(live["metadata"])
        if "deletionTimestamp" in metadata:
            return _answer(codec, stored)
        metadata["deletionTimestamp"] = utc_now()
        marked = {**live, "metadata": metadata}
        if codec.kind is CRDS:
            metadata["finalizers"] = [*metadata.get("finalizers", []), CLEANUP]
            marked["status"] = _terminating(live["status"], metadata["deletionTimestamp"])
        elif codec.kind is NAMESPACES:
            marked["status"] = {"phase": "Terminating"}
        else:
            metadata["deletionGracePeriodSeconds"] = 0
            if not codec.kind.typed:
                metadata["generation"] += 1
        value = codec.store(marked)
        revision = stored.revision if dry_run else self._store.put(stored.key, value)
        return _answer(codec, Stored(stored.key, value, revision))


def _answer(codec: Codec, stored: Stored) -> Object:
    # The response is decoded from the stored bytes, as in the API server.
    answer = codec.read(stored)
    if not stored.revision:
        del answer["metadata"]["resourceVersion"]
    return answer


def _writer(codec: Codec, call: ObjectRequest) -> Writer:
    return Writer(
        name=call.manager,
        operation="Apply" if call.content_type == APPLY else "Update",
        api_version=codec.kind.api_version,
        subresource=call.target.subresource,
        now=utc_now(),
    )


def _with_fields(metadata: Object, fields: list[Object]) -> Object:
    kept = {key: value for key, value in metadata.items() if key != "managedFields"}
    return {**kept, "managedFields": fields} if fields else kept


def _own_part(codec: Codec, call: ObjectRequest, config: Object) -> Object:
    if call.target.subresource:
        names = ("name", "namespace", "uid", "resourceVersion")
        metadata = {k: v for k, v in config["metadata"].items() if k in names}
        kept = {k: v for k, v in config.items() if k in ("apiVersion", "kind", "status")}
        return {**kept, "metadata": metadata}
    if codec.kind.has_status:
        return {key: value for key, value in config.items() if key != "status"}
    return config


def _is_held(codec: Codec, obj: Object) -> bool:
    return bool(obj["metadata"].get("finalizers")) or codec.kind is NAMESPACES


def _terminating(status: Object, now: str) -> Object:
    condition = {
        "type": "Terminating",
        "status": "True",
        "lastTransitionTime": now,
        "reason": "InstanceDeletionPending",
        "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will "
        "begin soon",
    }
    return {**status, "conditions": [*(status.get("conditions") or []), condition]}


def _unsupported(codec: Codec) -> RequestRefusal:
    offers = [JSON_PATCH, MERGE, *([STRATEGIC] if codec.kind.typed else []), APPLY]
    return RequestRefusal(
        status=415,
        reason="UnsupportedMediaType",
        message="the body of the request was in an unknown format - accepted media types "
        f"include: {', '.join(offers)}",
    )
