"""
What etcd holds: an object's bytes at the version at which they were stored, with whatever no
schema specifies. What is read is normalised as the API server does it.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from espalier import crd, schema
from espalier.crd import Definition, Version
from espalier.engine.ports import (
    Endpoint,
    ObjectKey,
    StoredMetadata,
    WatchEvent,
)
from espalier.errors import (
    ConflictError,
    ConversionError,
    ConversionRefusedError,
    NotFoundError,
    RejectedError,
    UndecodableError,
)
from espalier.paths import JSON
from espalier.schema import Profile
from espalier.schema.values import copy_json, equal_json
from tests.fakes.widgets import WIDGETS, written_by


@dataclass(slots=True)
class Stored:
    """
    One object in etcd.
    """

    uid: str
    version: int
    raw: dict[str, JSON]
    managed_fields: list[JSON] = field(default_factory=list)
    created_at: str = "2026-01-01T00:00:00Z"
    generation: int = 1
    annotations: dict[str, JSON] = field(default_factory=dict)
    is_terminating: bool = False
    is_broken: bool = False
    refusal: str = ""
    is_silent: bool = False


class FakeEtcd:
    """
    The objects of one definition, as a server stores, reads and publishes them.
    """

    def __init__(self, definition: Definition) -> None:
        self.definition: Definition | None = definition
        self.etcd: dict[ObjectKey, Stored] = {}
        self.names_broken = True
        self.strips_managed_fields = False
        self.bad_tokens: dict[str, Exception] = {}
        self.lost_on_write: tuple[str, ...] = ()
        self.admission: Callable[[dict[str, JSON]], None] | None = None
        self._version = 100
        self._watchers: list[asyncio.Queue[WatchEvent | None]] = []

    def put(
        self,
        name: str,
        content: Mapping[str, JSON],
        *,
        version: str = "v1alpha1",
        managed: Sequence[str] | None = ("size",),
        uid: str = "",
        owner: str = "kubectl",
    ) -> ObjectKey:
        """
        Write an object straight into etcd; ``managed`` names fields of its spec.
        """
        key = ObjectKey("default", name)
        fields: JSON = {"f:spec": {f"f:{path}": {} for path in managed or ()}}
        self.etcd[key] = Stored(
            uid=uid or f"uid-{name}",
            version=self._next_version(),
            raw={"apiVersion": f"example.com/{version}", "kind": "Widget", **content},
            managed_fields=[] if managed is None else [written_by(owner, fields)],
        )
        self._publish("ADDED", key)
        return key

    def fill(self, count: int) -> None:
        """
        Store objects at v1alpha1, which lack v1's default.
        """
        for number in range(count):
            self.put(f"w{number:03d}", {"spec": {"size": number}})

    def change(self, **changes: object) -> None:
        """
        Change the definition; its generation rises with its versions.
        """
        assert self.definition is not None
        bump = {"resource_version": str(self._next_version())}
        if "versions" in changes:
            changes = {"generation": self.definition.generation + 1, **changes}
        self.definition = replace(self.definition, **(bump | changes))  # type: ignore[arg-type]

    def raw(self, name: str) -> dict[str, JSON]:
        return self.etcd[ObjectKey("default", name)].raw

    def touch(self, name: str, content: Mapping[str, JSON] | None = None) -> None:
        """
        Have somebody else write an object: the same bytes, or others, at another version.
        """
        key = ObjectKey("default", name)
        stored = self.etcd[key]
        if content is not None:
            stored.raw = {**stored.raw, **content}
        stored.version = self._next_version()
        self._publish("MODIFIED", key)

    def delete(self, name: str) -> None:
        key = ObjectKey("default", name)
        gone = self._read(key)
        del self.etcd[key]
        for queue in self._watchers:
            queue.put_nowait(
                WatchEvent(type="DELETED", object=gone, resource_version=str(self._next_version()))
            )

    def close_watches(self) -> None:
        for queue in self._watchers:
            queue.put_nowait(None)

    def _next_version(self) -> int:
        self._version += 1
        return self._version

    def _page(
        self, resource: Endpoint, page_size: int, token: str | None, namespace: str
    ) -> tuple[list[ObjectKey], str | None, int | None]:
        if token in self.bad_tokens:
            raise self.bad_tokens[token]
        # Tokens are below what is listed.
        places = {key: key.name if namespace else str(key) for key in self.etcd}
        keys = [
            key
            for key in sorted(self.etcd, key=str)
            if namespace in ("", key.namespace) and (token is None or places[key] > token)
        ]
        page, rest = keys[:page_size], keys[page_size:]
        broken = [key for key in page if self.etcd[key].is_broken]
        if broken:
            raise self._undecodable(broken)
        refused = [key for key in page if self._is_refused(key, resource.version)]
        if refused:
            raise self._refusal(refused)
        return page, places[page[-1]] if rest else None, len(rest) if rest else None

    def _seen(self, raw: Mapping[str, JSON], at: str = "") -> dict[str, JSON]:
        # A read fills in the defaults of the version at which the object is stored, no others.
        assert self.definition is not None
        storage = self.definition.storage
        shown = self.definition.version(at) if at else storage
        name = str(raw["apiVersion"]).partition("/")[2]
        stored = next((v for v in self.definition.versions if v.name == name), storage)
        seen = self._normalized(raw, stored, fills=True)
        return self._normalized({**seen, "apiVersion": f"example.com/{shown.name}"}, shown)

    def _rewritten(self, raw: Mapping[str, JSON]) -> dict[str, JSON]:
        """
        What a rewrite makes of stored bytes: a webhook may convert them otherwise than for a read.
        """
        assert self.definition is not None
        made = self._normal(raw)
        is_converted = raw["apiVersion"] != f"example.com/{self.definition.storage.name}"
        spec = made.get("spec")
        if is_converted and isinstance(spec, dict):
            made["spec"] = {k: v for k, v in spec.items() if k not in self.lost_on_write}
        return made

    def _store_rewritten(self, key: ObjectKey, *, keeps: bool) -> None:
        """
        Store an object anew; its generation rises if more changes than its version.

        Args:
            keeps: Whether it is stored; a dry run goes through admission alone.
        """
        stored = self.etcd[key]
        shown, sent = self._seen(stored.raw), self._rewritten(stored.raw)
        admitted = self._admitted(sent)
        if not keeps:
            return
        if self.lost_on_write:
            # The server compares with what the webhook has made.
            shown = {**shown, "spec": admitted.get("spec")}
        if not equal_json(admitted, shown):
            stored.generation += 1
        self._store(key, admitted)
        if self.strips_managed_fields:
            # As API servers before 1.37, where an entry names a version without v1's color.
            stored.managed_fields = []

    def _metadata(self, key: ObjectKey) -> StoredMetadata:
        stored = self.etcd[key]
        return StoredMetadata(
            key=key,
            uid=stored.uid,
            resource_version=str(stored.version),
            created_at=stored.created_at,
            managed_fields=tuple(stored.managed_fields),
            generation=stored.generation,
            tags=hash(frozenset((name, str(text)) for name, text in stored.annotations.items())),
        )

    def _normal(self, raw: Mapping[str, JSON]) -> dict[str, JSON]:
        assert self.definition is not None
        return self._normalized(self._seen(raw), self.definition.storage, fills=True)

    def _normalized(
        self, raw: Mapping[str, JSON], version: Version, *, fills: bool = False
    ) -> dict[str, JSON]:
        assert self.definition is not None
        structural = crd.structural_of(version)
        value: JSON = dict(raw)
        if not self.definition.preserve_unknown_fields:
            value = schema.prune(value, structural, profile=Profile.APISERVER).value
            value = schema.drop_nulls(value, structural).value
        if fills:
            value = schema.default(value, structural, profile=Profile.APISERVER).value
        assert isinstance(value, dict)
        return value

    def _read(self, key: ObjectKey, at: str = "") -> dict[str, JSON]:
        stored = self._found(key, at)
        metadata: dict[str, JSON] = {
            "namespace": key.namespace,
            "name": key.name,
            "uid": stored.uid,
            "resourceVersion": str(stored.version),
            "creationTimestamp": stored.created_at,
            "generation": stored.generation,
        }
        if stored.managed_fields:
            metadata["managedFields"] = [*stored.managed_fields]
        if stored.annotations:
            metadata["annotations"] = {**stored.annotations}
        if stored.is_terminating:
            metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        return {**self._seen(stored.raw, at), "metadata": metadata}

    def _is_refused(self, key: ObjectKey, version: str) -> bool:
        stored = self.etcd[key]
        return bool(stored.refusal) and stored.raw["apiVersion"] != f"example.com/{version}"

    def _refusal(self, refused: Sequence[ObjectKey]) -> ConversionRefusedError | ConversionError:
        if self.etcd[refused[0]].is_silent:
            # The webhook's text reads like that of a server that could not call it.
            return ConversionError(
                verb="list",
                resource=WIDGETS,
                status=500,
                reason="InternalError",
                detail=f"conversion webhook for Widget failed: {self.etcd[refused[0]].refusal}",
            )
        keys = tuple(f"/example.com/widgets/{key}" for key in refused) if self.names_broken else ()
        return ConversionRefusedError(
            verb="list",
            resource=WIDGETS,
            status=500,
            reason="InternalError",
            detail=f"the conversion webhook refuses it: {self.etcd[refused[0]].refusal}",
            keys=keys,
        )

    def _undecodable(self, broken: Sequence[ObjectKey]) -> UndecodableError:
        keys = tuple(f"/example.com/widgets/{key}" for key in broken) if self.names_broken else ()
        return UndecodableError(
            verb="list", resource=WIDGETS, status=500, reason="StorageReadError", keys=keys
        )

    def _found(self, key: ObjectKey, at: str = "") -> Stored:
        if self.definition is None or key not in self.etcd:
            raise NotFoundError(
                verb="get", resource=str(key), status=404, reason="NotFound", is_object=True
            )
        if self.etcd[key].is_broken:
            raise self._undecodable([key])
        assert self.definition is not None
        if self._is_refused(key, at or self.definition.storage.name):
            raise self._refusal([key])
        return self.etcd[key]

    def _check(self, key: ObjectKey, uid: str, resource_version: str | None) -> Stored:
        stored = self._found(key)
        if resource_version is not None and resource_version != str(stored.version):
            raise ConflictError(verb="patch", resource=str(key), status=409, reason="Conflict")
        if uid != stored.uid:
            raise RejectedError(
                verb="patch",
                resource=str(key),
                status=422,
                reason="Invalid",
                detail="metadata.uid: Invalid value: field is immutable",
            )
        return stored

    def _admitted(self, obj: dict[str, JSON]) -> dict[str, JSON]:
        if self.admission is None:
            return obj
        copied = copy_json(obj)
        assert isinstance(copied, dict)
        self.admission(copied)
        return copied

    def _store(self, key: ObjectKey, raw: dict[str, JSON]) -> None:
        stored = self.etcd[key]
        if equal_json(raw, stored.raw):
            return
        stored.raw = raw
        stored.version = self._next_version()
        self._publish("MODIFIED", key)

    def _publish(self, type_: str, key: ObjectKey) -> None:
        for queue in self._watchers:
            queue.put_nowait(
                WatchEvent(
                    type=type_,
                    object=self._read(key),
                    resource_version=str(self.etcd[key].version),
                )
            )
