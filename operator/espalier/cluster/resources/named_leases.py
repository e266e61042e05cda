"""
Leases of ``coordination.k8s.io``: for each, one process at a time holds it.

The clocks of machines differ. So another holder's lease counts as expired when *this* process has
seen it unchanged for its whole duration.

Source:
    client-go, ``tools/leaderelection/leaderelection.go``.
"""

import asyncio
import logging
import os
import secrets
import socket
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import msgspec

from espalier import names
from espalier.cluster.transport.client import ApiRequest, Client
from espalier.cluster.transport.media_types import MERGE_PATCH_TYPE
from espalier.cluster.transport.paths import segment
from espalier.errors import ClusterError, ConflictError, LeaseLostError, NotFoundError
from espalier.paths import JSON

logger = logging.getLogger(__name__)

DURATION_SECONDS = 15
"""The lease duration of Kubernetes' own controllers."""

# A slower renewal is of no use: there must be time left for another attempt.
_MAX_CALL_SECONDS = 4.0
_CALLS_PER_LEASE = 4
_ATTEMPTS = 3
_MAX_HOST_CHARACTERS = 63


class _LeaseSpec(msgspec.Struct, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class _LeaseMetadata(msgspec.Struct, rename="camel"):
    # Absent in the answer to a dry run.
    resource_version: str = ""


class _Lease(msgspec.Struct):
    metadata: _LeaseMetadata
    spec: _LeaseSpec | None = None


_lease = msgspec.json.Decoder(_Lease)


@dataclass(frozen=True, slots=True)
class _SeenLease:
    """
    A state of a lease, and when this process first saw it.
    """

    resource_version: str
    at_seconds: float


@dataclass(frozen=True, slots=True)
class LeaseName:
    """
    A Lease in the namespace.

    Attributes:
        name: Of the object.
        subject: What it protects, for messages.
        labels: Of the object when it is created; it always has the label of what Espalier manages.
    """

    name: str
    subject: str
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    annotations: Mapping[str, str] = field(default_factory=dict, hash=False)


def own_identity() -> str:
    """
    Return a unique name for this process: host, process id and a random part.
    """
    host = socket.gethostname()[:_MAX_HOST_CHARACTERS]
    return f"{host}_{os.getpid()}_{secrets.token_hex(4)}"


class NamedLeases:
    """
    Take, renew and release Leases by their names.

    Args:
        namespace: The namespace of the Leases.
        identity: The name of this holder; no other process may have the same.
        duration_seconds: The time that a lease lasts without renewal.
        overtaken: Holders that are known to write nothing more: their leases count as free.
    """

    def __init__(
        self,
        client: Client,
        namespace: str,
        identity: str,
        *,
        duration_seconds: int = DURATION_SECONDS,
        overtaken: Collection[str] = frozenset(),
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._identity = identity
        self._duration_seconds = duration_seconds
        self._overtaken = overtaken
        # The version that this process wrote last; empty if a call of its own has no answer yet.
        self._held: dict[str, str] = {}
        self._seen: dict[str, _SeenLease] = {}

    @property
    def duration_seconds(self) -> float:
        """
        The time that a lease lasts without renewal.
        """
        return float(self._duration_seconds)

    async def acquire(self, lease: LeaseName) -> str:
        """
        Take or renew a lease.

        A lease of another holder is taken over when it has not changed for its whole duration
        since this process first saw it. So the caller must try again later for that.

        Returns:
            The holder whose lease ran out and was taken over just now; empty if there was none.

        Raises:
            LeaseLostError: Another process holds the lease.
            NamespaceGoneError: The namespace is missing or being deleted.
            NotFoundError: The API server has no Lease API.
        """
        holder = ""
        missing: NotFoundError | None = None
        for _ in range(_ATTEMPTS):
            version = self._held.get(lease.name)
            try:
                if version:
                    await self._renew(lease, version, transitions=None)
                    return ""
                found = await self._found(lease)
                # Even if this is cancelled, ``release`` gives back what may have been taken.
                self._held[lease.name] = ""
                if found is None:
                    await self._create(lease)
                    return ""
                spec = found.spec or _LeaseSpec()
                holder = spec.holder_identity or ""
                left_seconds = self._left_seconds(lease, found)
                if left_seconds >= 0:
                    del self._held[lease.name]
                    raise LeaseLostError(lease.subject, holder, left_seconds)
                transitions = spec.lease_transitions or 0
                if holder != self._identity:
                    transitions += 1
                await self._renew(lease, found.metadata.resource_version, transitions=transitions)
            except (ConflictError, NotFoundError) as error:
                # Another process has changed or deleted the lease: read it again.
                self._held.pop(lease.name, None)
                missing = error if isinstance(error, NotFoundError) else None
                continue
            return holder if holder != self._identity else ""
        if missing is not None:
            raise missing
        raise LeaseLostError(lease.subject, holder)

    async def release(self, lease: LeaseName) -> None:
        """
        Release the lease; a failure is only logged, since the lease expires by itself.

        Who is cancelled meanwhile ends when that is done: a process that is stopped at the end of
        a run would leave the lease to run out.
        """
        version = self._held.pop(lease.name, None)
        if version is None:
            return
        releasing = asyncio.create_task(self._give_back(lease, version))
        try:
            await asyncio.shield(releasing)
        except asyncio.CancelledError:
            await asyncio.wait({releasing})
            raise

    async def _give_back(self, lease: LeaseName, version: str) -> None:
        try:
            if not (version and await self._freed(lease, version)):
                # The answer to the last renewal may have been lost.
                found = await self._found(lease)
                spec = found.spec if found is not None else None
                if found is not None and spec and spec.holder_identity == self._identity:
                    await self._freed(lease, found.metadata.resource_version)
        except ClusterError as error:
            logger.warning(
                "A lease could not be released.",
                extra={"lease": lease.name, "error": str(error)},
            )

    async def _freed(self, lease: LeaseName, version: str) -> bool:
        spec: dict[str, JSON] = {"holderIdentity": "", "leaseDurationSeconds": 1}
        try:
            await self._patch(lease, version, spec)
        except (NotFoundError, ConflictError):
            return False
        return True

    def _left_seconds(self, lease: LeaseName, found: _Lease) -> float:
        """
        Return the seconds until the lease expires without renewal; negative if it is free.
        """
        spec = found.spec or _LeaseSpec()
        holder = spec.holder_identity
        if not holder or holder == self._identity or holder in self._overtaken:
            return -1.0
        now_seconds = self._client.clock.monotonic_seconds()
        sight = self._seen.get(lease.name)
        if sight is None or sight.resource_version != found.metadata.resource_version:
            sight = _SeenLease(found.metadata.resource_version, now_seconds)
            self._seen[lease.name] = sight
        duration_seconds = spec.lease_duration_seconds or DURATION_SECONDS
        return sight.at_seconds + duration_seconds - now_seconds

    async def _found(self, lease: LeaseName) -> _Lease | None:
        # No retries here: a lease must be taken soon or not at all.
        try:
            return await self._client.fetch(self._call(lease, "get", "GET"), _lease)
        except NotFoundError:
            return None

    async def _create(self, lease: LeaseName) -> None:
        call = self._call(lease, "create", "POST")
        now = self._now()
        body: dict[str, JSON] = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {
                "name": lease.name,
                "namespace": self._namespace,
                "labels": {**names.MANAGED_BY, **lease.labels},
                "annotations": dict(lease.annotations),
            },
            "spec": {**self._spec(now), "acquireTime": now, "leaseTransitions": 0},
        }
        call = call._replace(query={"fieldManager": names.FIELD_MANAGER}, body=body)
        created = await self._client.fetch(call, _lease)
        self._held[lease.name] = created.metadata.resource_version

    async def _renew(self, lease: LeaseName, version: str, *, transitions: int | None) -> None:
        now = self._now()
        spec = self._spec(now)
        if transitions is not None:
            spec |= {"acquireTime": now, "leaseTransitions": transitions}
        self._held[lease.name] = await self._patch(lease, version, spec)

    async def _patch(self, lease: LeaseName, version: str, spec: dict[str, JSON]) -> str:
        call = self._call(lease, "patch", "PATCH")._replace(
            query={"fieldManager": names.FIELD_MANAGER},
            body={"metadata": {"resourceVersion": version}, "spec": spec},
            content_type=MERGE_PATCH_TYPE,
        )
        return (await self._client.fetch(call, _lease)).metadata.resource_version

    def _spec(self, now: str) -> dict[str, JSON]:
        return {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": self._duration_seconds,
            "renewTime": now,
        }

    def _now(self) -> str:
        # A MicroTime has exactly six digits after the decimal point.
        return self._client.clock.utc_timestamp().removesuffix("Z") + ".000000Z"

    def _call(self, lease: LeaseName, verb: str, method: str) -> ApiRequest:
        return lease_call(
            self._namespace, lease.name, verb, method, duration_seconds=self._duration_seconds
        )


def lease_call(
    namespace: str, name: str, verb: str, method: str, *, duration_seconds: float
) -> ApiRequest:
    """
    Make a call about one Lease; it is cut short early enough for another one.
    """
    path = f"/apis/coordination.k8s.io/v1/namespaces/{segment(namespace)}/leases"
    return ApiRequest(
        verb=verb,
        resource=f"leases.coordination.k8s.io {namespace}/{name}",
        method=method,
        path=path if method == "POST" else f"{path}/{segment(name)}",
        total_seconds=min(_MAX_CALL_SECONDS, duration_seconds / _CALLS_PER_LEASE),
    )
