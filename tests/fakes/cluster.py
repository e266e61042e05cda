# ruff: noqa: ARG002 - the ports name more arguments than a cluster in memory needs
"""
A cluster in memory behind the engine's ports, with a call log and scripted faults.

It keeps what etcd would hold: an object's bytes at the version at which they were stored, with
whatever no schema specifies. What is read is normalised as the API server does it.
"""

import asyncio
import posixpath
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from espalier import crd, schema
from espalier.crd import Condition, Definition, Version
from espalier.engine import Ports
from espalier.engine.ports import (
    Endpoint,
    MetadataPage,
    ObjectKey,
    ObjectPage,
    StoredMetadata,
    WatchEvent,
)
from espalier.engine.ports.archive import ArchiveEntry, UnreadablePage
from espalier.engine.ports.progress import PassProgress
from espalier.errors import (
    ConflictError,
    ConversionRefusedError,
    ExpiredTokenError,
    NotFoundError,
    RejectedError,
    TransientError,
    UndecodableError,
)
from espalier.paths import JSON
from espalier.schema import Profile
from espalier.schema.values import copy_json, equal_json
from tests.fakes.clock import FakeClock

WIDGETS = "widgets.example.com"

V1ALPHA1_SCHEMA: dict[str, JSON] = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
        "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
    },
}
V1_SCHEMA: dict[str, JSON] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "size": {"type": "integer"},
                "color": {"type": "string", "default": "red"},
            },
        },
        "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
    },
}
ENFORCE = {"espalier.dev/mode": "enforce"}


def widgets(**changes: object) -> Definition:
    """
    Make a definition that has just moved its storage version from v1alpha1 to v1.
    """
    made = Definition(
        name=WIDGETS,
        uid="crd-1",
        resource_version="1",
        generation=1,
        group="example.com",
        kind="Widget",
        plural="widgets",
        namespaced=True,
        versions=(
            Version(name="v1alpha1", served=True, storage=False, schema=V1ALPHA1_SCHEMA),
            Version(name="v1", served=True, storage=True, schema=V1_SCHEMA, has_status=True),
        ),
        stored_versions=("v1alpha1", "v1"),
        preserve_unknown_fields=False,
        conversion="None",
        established=True,
        deleting=False,
        labels=ENFORCE,
    )
    return replace(made, **changes)  # type: ignore[arg-type]  # a test knows the fields


def legacy_widgets(**changes: object) -> Definition:
    """
    Make a definition whose objects the server does not prune, at one version.
    """
    plain: dict[str, JSON] = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "size": {"type": "integer"},
                    "ports": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {"port": {"type": "integer"}},
                        },
                    },
                },
            },
            "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
        },
    }
    version = Version(name="v1", served=True, storage=True, schema=plain, has_status=True)
    defaults: dict[str, object] = {
        "versions": (version,),
        "stored_versions": ("v1",),
        "preserve_unknown_fields": True,
    }
    return widgets(**(defaults | changes))


def written_by(manager: str, fields: JSON, *, version: str = "v1") -> dict[str, JSON]:
    """
    Make an entry of managedFields.
    """
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": f"example.com/{version}",
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }


class Killed(BaseException):
    """
    The process is no more.
    """


@dataclass(slots=True)
class Stored:
    """
    One object in etcd.
    """

    uid: str
    version: int
    raw: dict[str, JSON]
    managed_fields: list[JSON] = field(default_factory=list)
    annotations: dict[str, JSON] = field(default_factory=dict)
    is_terminating: bool = False
    is_broken: bool = False
    refusal: str = ""


@dataclass(slots=True)
class Fault:
    """
    What some calls are answered with.
    """

    call: str
    error: Exception
    name: str = ""
    times: int = 1
    is_after_effect: bool = False


class FakeCluster:
    """
    All of the engine's ports, and its reporter.
    """

    def __init__(self, definition: Definition) -> None:
        self.definition: Definition | None = definition
        self.clock = FakeClock()
        self.etcd: dict[ObjectKey, Stored] = {}
        self.calls: list[tuple[str, str]] = []
        self.faults: list[Fault] = []
        self.hooks: list[Callable[[str, str], None]] = []
        self.missing: tuple[str, ...] = ()
        self.archives_in_secrets = True
        self.rights: list[str] = []
        self.migrations: tuple[str, ...] = ()
        self.names_broken = True
        self.bad_tokens: dict[str, Exception] = {}
        self.documents: dict[str, dict[str, JSON]] = {}
        self.archived: list[ArchiveEntry] = []
        self.reports: list[tuple[Condition, ...]] = []
        self.progress: list[PassProgress] = []
        self.holder: str = ""
        self.admission: Callable[[dict[str, JSON]], None] | None = None
        self.kill_at: int | None = None
        self.is_killed_after_effect = False
        self.duration_seconds = 15.0
        self._version = 100
        self._watchers: list[asyncio.Queue[WatchEvent | None]] = []

    @property
    def ports(self) -> Ports:
        return Ports(
            objects=self,
            definitions=self,
            rights=self,
            checkpoints=self,
            archive=self,
            leases=self,
            clock=self.clock,
            namespace="espalier-system",
        )

    # What a test does.

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

    def fail(self, call: str, error: Exception, *, name: str = "", times: int = 1) -> None:
        self.faults.append(Fault(call, error, name, times))

    def fail_after(self, call: str, error: Exception, *, name: str = "", times: int = 1) -> None:
        """
        Carry out the call, and answer with an error all the same.
        """
        self.faults.append(Fault(call, error, name, times, is_after_effect=True))

    def count(self, *names: str) -> int:
        return sum(1 for call, _ in self.calls if call in names)

    @property
    def reasons(self) -> list[str]:
        """
        The reasons that were reported, each once in a row.
        """
        said: list[str] = []
        for conditions in self.reports:
            if not said or said[-1] != conditions[0].reason:
                said.append(conditions[0].reason)
        return said

    # The ports.

    async def list_metadata(
        self,
        resource: Endpoint,
        *,
        page_size: int,
        continue_token: str | None,
        namespace: str = "",
    ) -> MetadataPage:
        await self._enter("list_metadata", "")
        keys, token, remaining = self._page(resource, page_size, continue_token, namespace)
        await self._leave("list_metadata", "")
        return MetadataPage(
            objects=tuple(
                StoredMetadata(
                    key=key,
                    uid=self.etcd[key].uid,
                    resource_version=str(self.etcd[key].version),
                    managed_fields=tuple(self.etcd[key].managed_fields),
                )
                for key in keys
            ),
            continue_token=token,
            remaining=remaining,
            resource_version=str(self._version),
        )

    async def list_objects(
        self,
        resource: Endpoint,
        *,
        page_size: int,
        continue_token: str | None,
        namespace: str = "",
    ) -> ObjectPage:
        await self._enter("list_objects", "")
        keys, token, remaining = self._page(resource, page_size, continue_token, namespace)
        await self._leave("list_objects", "")
        return ObjectPage(
            objects=[self._read(key, resource.version) for key in keys],
            continue_token=token,
            remaining=remaining,
            resource_version=str(self._version),
        )

    async def list_namespaces(self) -> tuple[str, ...]:
        await self._enter("list_namespaces", "")
        return tuple({key.namespace for key in self.etcd if key.namespace})

    def token_at(self, place: str) -> str:
        # The server refuses all others.
        assert posixpath.normpath(f"/{place}") == f"/{place}"
        return place.removesuffix("\0")

    def place_of(self, token: str) -> str | None:
        return None if token in self.bad_tokens else f"{token}\0"

    async def get_object(self, resource: Endpoint, key: ObjectKey) -> dict[str, JSON]:
        await self._enter("get_object", key.name)
        obj = self._read(key, resource.version)
        await self._leave("get_object", key.name)
        return obj

    async def rewrite(
        self, resource: Endpoint, key: ObjectKey, *, uid: str, resource_version: str | None
    ) -> str:
        await self._enter("rewrite", key.name)
        stored = self._check(key, uid, resource_version)
        self._store(key, self._admitted(self._normal(stored.raw)))
        after = str(stored.version)
        await self._leave("rewrite", key.name)
        return after

    async def try_rewrite(
        self, resource: Endpoint, key: ObjectKey, *, uid: str, resource_version: str
    ) -> dict[str, JSON]:
        await self._enter("try_rewrite", key.name)
        self._check(key, uid, resource_version)
        read = self._read(key)
        tried = self._admitted(self._normal(read))
        return {**tried, "metadata": read["metadata"]}

    async def annotate(
        self,
        resource: Endpoint,
        key: ObjectKey,
        *,
        uid: str,
        resource_version: str,
        annotations: Mapping[str, str | None],
    ) -> str:
        await self._enter("annotate", key.name)
        stored = self._check(key, uid, resource_version)
        merged = {**stored.annotations, **annotations}
        stored.annotations = {name: text for name, text in merged.items() if text is not None}
        stored.version = self._next_version()
        self._publish("MODIFIED", key)
        await self._leave("annotate", key.name)
        return str(stored.version)

    async def replace_managed_fields(
        self,
        resource: Endpoint,
        key: ObjectKey,
        *,
        uid: str,
        resource_version: str,
        managed_fields: Sequence[JSON],
    ) -> None:
        await self._enter("replace_managed_fields", key.name)
        try:
            stored = self._check(key, uid, resource_version)
        except (ConflictError, RejectedError):
            raise failed_test() from None
        stored.managed_fields = [*managed_fields]
        stored.version = self._next_version()
        self._publish("MODIFIED", key)
        await self._leave("replace_managed_fields", key.name)

    async def replace(
        self, resource: Endpoint, obj: dict[str, JSON], *, subresource: str | None
    ) -> dict[str, JSON]:
        metadata = obj["metadata"]
        assert isinstance(metadata, dict)
        key = ObjectKey(str(metadata["namespace"]), str(metadata["name"]))
        call = "replace" if subresource is None else f"replace/{subresource}"
        await self._enter(call, key.name)
        stored = self._check(key, str(metadata["uid"]), str(metadata["resourceVersion"]))
        sent = {name: value for name, value in obj.items() if name != "metadata"}
        assert self.definition is not None
        if self.definition.storage.has_status:
            old, new = stored.raw, sent
            if subresource is not None:
                old, new = sent, {k: v for k, v in stored.raw.items() if k != "status"}
            sent = {k: v for k, v in new.items() if k != "status"}
            if "status" in old:
                sent["status"] = old["status"]
        self._store(key, self._admitted(self._normal(sent)))
        answer = self._read(key)
        await self._leave(call, key.name)
        return answer

    async def watch_objects(
        self, resource: Endpoint, *, resource_version: str
    ) -> AsyncIterator[WatchEvent]:
        await self._enter("watch_objects", "")
        queue: asyncio.Queue[WatchEvent | None] = asyncio.Queue()
        for key, stored in self.etcd.items():
            if stored.version > int(resource_version):
                queue.put_nowait(
                    WatchEvent(
                        type="MODIFIED",
                        object=self._read(key),
                        resource_version=str(stored.version),
                    )
                )
        self._watchers.append(queue)
        try:
            while (event := await queue.get()) is not None:
                yield event
        finally:
            self._watchers.remove(queue)

    async def get_definition(self, name: str) -> Definition:
        await self._enter("get_definition", name)
        if self.definition is None:
            raise NotFoundError(
                verb="get", resource=name, status=404, reason="NotFound", is_object=True
            )
        return self.definition

    async def get_resource_version(self, name: str) -> str:
        await self._enter("get_resource_version", name)
        if self.definition is None:
            raise NotFoundError(
                verb="get", resource=name, status=404, reason="NotFound", is_object=True
            )
        return self.definition.resource_version

    async def set_stored_versions(
        self, definition: Definition, versions: Sequence[str]
    ) -> Definition:
        await self._enter("set_stored_versions", definition.name)
        assert self.definition is not None
        if definition.resource_version != self.definition.resource_version:
            raise ConflictError(verb="patch", resource=WIDGETS, status=409, reason="Conflict")
        self.change(stored_versions=tuple(versions))
        await self._leave("set_stored_versions", definition.name)
        return self.definition

    async def other_migrations(self, definition: Definition) -> tuple[str, ...]:
        await self._enter("other_migrations", definition.name)
        return self.migrations

    async def apply_conditions(
        self, definition: Definition, conditions: Sequence[Condition], *, field_manager: str
    ) -> None:
        raise AssertionError("the reporter's business, not the engine's")

    async def missing_verbs(
        self, resource: Endpoint, verbs: Sequence[str], *, namespace: str = ""
    ) -> tuple[str, ...]:
        await self._enter("missing_verbs", resource.plural)
        where = f" in {namespace}" if namespace else ""
        self.rights += [f"{verb} {resource.plural}{where}" for verb in verbs]
        return tuple(verb for verb in verbs if f"{verb} {resource.plural}{where}" in self.missing)

    async def load(self, definition: Definition) -> dict[str, JSON] | None:
        await self._enter("load", definition.name)
        return self.documents.get(definition.uid)

    async def save(self, definition: Definition, document: Mapping[str, JSON]) -> None:
        await self._enter("save", definition.name)
        self.documents[definition.uid] = dict(document)
        await self._leave("save", definition.name)

    async def store(self, definition: Definition, entries: Sequence[ArchiveEntry]) -> str:
        await self._enter("archive", "+".join(entry.key.name for entry in entries))
        newest = {entry.uid: entry.patch for entry in self.archived}
        self.archived += [entry for entry in entries if newest.get(entry.uid) != entry.patch]
        await self._leave("archive", "")
        return f"archive-{len(self.archived)}"

    @property
    def secret_verbs(self) -> tuple[str, ...]:
        return ("get", "list", "create") if self.archives_in_secrets else ()

    def begin(self, definition: Definition) -> None:
        self.calls.append(("begin", definition.name))

    async def entries(
        self,
        definition: Definition,
        *,
        pass_over: Callable[[UnreadablePage], None] | None = None,
    ) -> AsyncIterator[ArchiveEntry]:
        for entry in reversed(self.archived):
            yield entry

    async def acquire(self, definition: Definition) -> None:
        await self._enter("acquire", definition.name)
        self.holder = "us"

    async def release(self, definition: Definition) -> None:
        await self._enter("release", definition.name)
        self.holder = ""

    async def report(
        self,
        definition: Definition,
        conditions: Sequence[Condition],
        progress: PassProgress | None = None,
    ) -> None:
        self.reports.append(tuple(conditions))
        if progress is not None:
            self.progress.append(progress)

    # What the server does.

    async def _enter(self, call: str, name: str) -> None:
        await asyncio.sleep(0)
        if self.kill_at is not None and not self.is_killed_after_effect:
            self._count_down()
        self.calls.append((call, name))
        for hook in [*self.hooks]:
            hook(call, name)
        self._raise_fault(call, name, is_after_effect=False)

    async def _leave(self, call: str, name: str) -> None:
        if self.kill_at is not None and self.is_killed_after_effect:
            self._count_down()
        self._raise_fault(call, name, is_after_effect=True)

    def _count_down(self) -> None:
        assert self.kill_at is not None
        self.kill_at -= 1
        if self.kill_at <= 0:
            self.kill_at = 0
            raise Killed

    def _raise_fault(self, call: str, name: str, *, is_after_effect: bool) -> None:
        for fault in self.faults:
            if (
                fault.call == call
                and fault.name in ("", name)
                and fault.times > 0
                and fault.is_after_effect is is_after_effect
            ):
                fault.times -= 1
                raise fault.error

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

    def _refusal(self, refused: Sequence[ObjectKey]) -> ConversionRefusedError:
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


def busy(*, retry_after_seconds: float | None = None) -> TransientError:
    """
    Make a 429.
    """
    return TransientError(
        verb="patch",
        resource=WIDGETS,
        status=429,
        reason="TooManyRequests",
        retry_after_seconds=retry_after_seconds,
    )


def expired(fresh_token: str | None = None) -> ExpiredTokenError:
    """
    Make a 410.
    """
    return ExpiredTokenError(
        verb="list", resource=WIDGETS, status=410, reason="Expired", fresh_token=fresh_token
    )


def conflict() -> ConflictError:
    """
    Make a 409.
    """
    return ConflictError(verb="patch", resource=WIDGETS, status=409, reason="Conflict")


def failed_test() -> RejectedError:
    """
    Make the 422 of a JSON Patch of which a test failed: the server does not say which, or that.
    """
    return RejectedError(verb="patch", resource=WIDGETS, status=422, reason="Invalid")


def rejected(detail: str = "", *causes: str, status: int = 422) -> RejectedError:
    """
    Make a 4xx that no retry helps.
    """
    return RejectedError(
        verb="patch",
        resource=WIDGETS,
        status=status,
        reason="Invalid",
        detail=detail,
        causes=causes,
    )
