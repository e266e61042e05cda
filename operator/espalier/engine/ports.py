"""
The world as the engine sees it: small protocols in domain words, no client types.

``espalier.cluster`` implements them over HTTP, ``tests/fakes`` in memory. All calls are
coroutines that time out by themselves; what they raise is listed a protocol.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from espalier.crd import Condition, Definition
from espalier.engine.progressing import PassProgress
from espalier.engine.stored import (
    MetadataPage,
    ObjectKey,
    ObjectPage,
    Resource,
    StoredMetadata,
    WatchEvent,
    key_of,
)
from espalier.paths import JSON

__all__ = [
    "Archive",
    "ArchiveEntry",
    "Checkpoints",
    "Clock",
    "Definitions",
    "Leases",
    "MetadataPage",
    "ObjectKey",
    "ObjectPage",
    "Objects",
    "Reporter",
    "Resource",
    "Rights",
    "StoredMetadata",
    "UnreadablePage",
    "WatchEvent",
    "key_of",
]


class Objects(Protocol):
    """
    The stored objects of one resource.

    Lists leave ``resourceVersion`` unset, so that they are quorum reads.

    Raises:
        TransientError: Busy or away, after the adapter's own bounded retries of reads.
        ExpiredTokenError: 410 on a continue token or a watch.
        NotFoundError: The object, or the resource, is gone.
        ConflictError: 409 on a write.
        ForbiddenError: 401, or a 403 that is not admission's.
        UndecodableError: The server cannot read what is stored.
        RejectedError: Another 4xx, or admission denies it.
    """

    async def list_metadata(
        self,
        resource: Resource,
        *,
        page_size: int,
        continue_token: str | None,
        namespace: str = "",
    ) -> MetadataPage:
        """
        List a page of PartialObjectMetadata, of one namespace or of all.
        """

    async def list_objects(
        self,
        resource: Resource,
        *,
        page_size: int,
        continue_token: str | None,
        namespace: str = "",
    ) -> ObjectPage:
        """
        List a page of whole objects, of one namespace or of all.
        """

    async def list_namespaces(self) -> tuple[str, ...]:
        """
        Name all namespaces of the cluster.
        """

    def token_at(self, place: str) -> str:
        """
        Make a token by which a list goes on at a place, whether an object is there or not.

        Args:
            place: ``namespace/name``, or a name where one namespace or a resource without them is
                listed. Behind an object is its place with a zero character at the end.
        """

    def place_of(self, token: str) -> str | None:
        """
        Tell where a token goes on; None if it is of an unknown form.
        """

    async def get_object(self, resource: Resource, key: ObjectKey) -> dict[str, JSON]:
        """
        Read one object.
        """

    async def rewrite(
        self, resource: Resource, key: ObjectKey, *, uid: str, resource_version: str | None
    ) -> str:
        """
        Have the server store an object anew by a merge patch that changes nothing.

        Args:
            uid: Guards against an object of the same name that is another one.
            resource_version: The one seen, or None to leave it out (after repeated conflicts).

        Returns:
            The resource version afterwards; the one given, if the bytes were right already.
        """

    async def try_rewrite(
        self, resource: Resource, key: ObjectKey, *, uid: str, resource_version: str
    ) -> dict[str, JSON]:
        """
        Do the same as a dry run; nothing is stored.

        Returns:
            The whole object as it would be after admission.
        """

    async def annotate(
        self,
        resource: Resource,
        key: ObjectKey,
        *,
        uid: str,
        resource_version: str,
        annotations: Mapping[str, str | None],
    ) -> str:
        """
        Put annotations on an object by a merge patch, or take them off where a text is None.

        Returns:
            The resource version afterwards.
        """

    async def replace_managed_fields(
        self,
        resource: Resource,
        key: ObjectKey,
        *,
        uid: str,
        resource_version: str,
        managed_fields: Sequence[JSON],
    ) -> None:
        """
        Replace ``metadata.managedFields`` by a JSON Patch that tests uid and resource version.
        """

    async def replace(
        self, resource: Resource, obj: dict[str, JSON], *, subresource: str | None
    ) -> dict[str, JSON]:
        """
        PUT an object that carries uid and resourceVersion; ``subresource`` is None or ``status``.

        Returns:
            The object as stored.
        """

    def watch_objects(
        self, resource: Resource, *, resource_version: str
    ) -> AsyncIterator[WatchEvent]:
        """
        Watch from a resource version until the server closes the stream.

        Raises:
            ExpiredTokenError: The resource version is too old; list anew.
        """


class Definitions(Protocol):
    """
    The CustomResourceDefinitions. Errors as for ``Objects``.
    """

    async def get_definition(self, name: str) -> Definition:
        """
        Read one from etcd, not from a cache.
        """

    async def get_resource_version(self, name: str) -> str:
        """
        Read the resource version of one, likewise; little is read for it.
        """

    async def set_stored_versions(
        self, definition: Definition, versions: Sequence[str]
    ) -> Definition:
        """
        Replace ``status.storedVersions`` by a merge patch with uid and resourceVersion.

        Raises:
            ConflictError: The definition changed since it was read.
        """

    async def apply_conditions(
        self, definition: Definition, conditions: Sequence[Condition], *, field_manager: str
    ) -> None:
        """
        Server-side apply of ``status.conditions`` with the definition's uid; none takes ours away.
        """

    async def other_migrations(self, definition: Definition) -> tuple[str, ...]:
        """
        Name the server's own migrations of these objects that have not come to their end.

        Returns:
            None where the server knows no such thing.

        Raises:
            ForbiddenError: It does not let us look.
        """


class Rights(Protocol):
    """
    What the process may do.
    """

    async def missing_verbs(
        self, resource: Resource, verbs: Sequence[str], *, namespace: str = ""
    ) -> tuple[str, ...]:
        """
        Ask by SelfSubjectAccessReview which verbs are not granted.

        Args:
            verbs: Each may name a subresource: ``update/status``.
            namespace: Where; empty for all namespaces at once.
        """


class Checkpoints(Protocol):
    """
    Durable JSON documents, one a CRD, that outlive the process.
    """

    async def load(self, definition: Definition) -> dict[str, JSON] | None:
        """
        Read the document of this CRD; None if there is none, or if it is of another uid.
        """

    async def save(self, definition: Definition, document: Mapping[str, JSON]) -> None:
        """
        Store the document; it is durable on return.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveEntry:
    """
    What is to be removed from one object.

    Attributes:
        patch: An inverse JSON Patch: a ``test`` of every array ancestor, then ``add``s.
    """

    api_version: str
    kind: str
    key: ObjectKey
    uid: str
    resource_version: str
    patch: tuple[dict[str, JSON], ...] = field(hash=False)


@dataclass(frozen=True, slots=True)
class UnreadablePage:
    """
    A page of an archive that is damaged, incomplete, or was taken away meanwhile.

    Attributes:
        name: Under which a person finds it.
    """

    name: str
    reason: str


class Archive(Protocol):
    """
    Where removed data is kept, a page of objects at a time.
    """

    @property
    def secret_verbs(self) -> tuple[str, ...]:
        """
        What storing needs to be allowed to do with Secrets; nothing where it is kept elsewhere.
        """

    def begin(self, definition: Definition) -> None:
        """
        Take note that a run begins: others may have stored pages of this CRD since the last one.
        """

    async def store(self, definition: Definition, entries: Sequence[ArchiveEntry]) -> str:
        """
        Keep the entries; they are durable on return.

        Where the newest entry of an object has the same patch already, nothing is added.

        Returns:
            The name under which a person finds them.

        Raises:
            ArchiveFullError: They cannot be kept; do not remove.
        """

    def entries(
        self,
        definition: Definition,
        *,
        pass_over: "Callable[[UnreadablePage], None] | None" = None,
    ) -> AsyncIterator[ArchiveEntry]:
        """
        Read all entries of this CRD, newest first.

        Args:
            pass_over: Takes the pages that cannot be read; without it a damaged one is an error.
        """


class Leases(Protocol):
    """
    One run per CRD in the whole cluster.
    """

    async def acquire(self, definition: Definition) -> None:
        """
        Take or renew the lease of this CRD; call again well before ``duration_seconds`` end.

        Raises:
            LeaseLostError: Another holder has it.
        """

    async def release(self, definition: Definition) -> None:
        """
        Give the lease back; never raises for a lease that is gone.
        """

    @property
    def duration_seconds(self) -> float:
        """
        How long a lease lasts without renewal.
        """


class Clock(Protocol):
    """
    Time, as a port, so that tests need not wait.
    """

    def monotonic_seconds(self) -> float:
        """
        Seconds from an arbitrary start; never goes back.
        """

    def utc_timestamp(self) -> str:
        """
        The time of day as RFC 3339 in UTC with whole seconds: ``2026-01-02T03:04:05Z``.
        """

    async def sleep(self, seconds: float) -> None:
        """
        Wait.
        """


class Reporter(Protocol):
    """
    Takes what a run has to say, whenever its state changes.
    """

    async def report(
        self,
        definition: Definition,
        conditions: Sequence[Condition],
        progress: PassProgress | None = None,
    ) -> None:
        """
        Publish Espalier's conditions; the receiver decides how often progress is written.

        Args:
            progress: What the first condition says of a pass that is under way, in numbers.
        """
