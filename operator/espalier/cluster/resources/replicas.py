"""
Which replicas of the operator are alive: each keeps an annotation of its own on one Lease.

A merge patch of one annotation meets no conflict, and its answer shows those of all the others. As
with Leases, no clock of another machine is believed: a replica counts as alive as long as this
process has seen its annotation change within the duration.
"""

import hashlib
import logging
from dataclasses import dataclass

import msgspec

from espalier import names
from espalier.cluster.resources.named_leases import DURATION_SECONDS, lease_call
from espalier.cluster.transport.client import ApiRequest, Client
from espalier.cluster.transport.media_types import MERGE_PATCH_TYPE
from espalier.errors import ClusterError, NotFoundError
from espalier.paths import JSON

logger = logging.getLogger(__name__)

NAME = "espalier-replicas"
"""Of the Lease; nobody holds it."""

_KEY = f"{names.PREFIX}replica-"
_KEY_CHARACTERS = 16


class _ReplicasMetadata(msgspec.Struct):
    annotations: dict[str, str] = msgspec.field(default_factory=dict)


class _ReplicasLease(msgspec.Struct):
    metadata: _ReplicasMetadata


_lease = msgspec.json.Decoder(_ReplicasLease)


@dataclass(frozen=True, slots=True)
class _SeenReplica:
    """
    What a replica's annotation was, and when this process first saw it.
    """

    value: str
    at_seconds: float


class HttpReplicas:
    """
    Implement ``espalier.engine.ports.state.Replicas``.

    Args:
        identity: The name of this replica; no other process may have the same.
        duration_seconds: For how long a replica counts that does not beat any more.
    """

    def __init__(
        self,
        client: Client,
        namespace: str,
        identity: str,
        *,
        duration_seconds: int = DURATION_SECONDS,
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._identity = identity
        self._key = _KEY + hashlib.sha256(identity.encode()).hexdigest()[:_KEY_CHARACTERS]
        self._duration_seconds = duration_seconds
        self._beats = 0
        self._seen: dict[str, _SeenReplica] = {}

    async def beat(self) -> int:
        """
        Change the own annotation, remove those of dead replicas, and count the living.

        Raises:
            ClusterError: The Lease can be neither patched nor created.
        """
        self._beats += 1
        annotations: dict[str, JSON] = {key: None for key in self._seen if not self._lives(key)}
        annotations[self._key] = f"{self._identity} {self._beats}"
        try:
            found = await self._patch(annotations)
        except NotFoundError:
            found = await self._create(annotations)
        self._look_at(found)
        return sum(self._lives(key) for key in {*self._seen, self._key})

    async def leave(self) -> None:
        """
        Remove the own annotation.
        """
        try:
            await self._patch({self._key: None})
        except ClusterError as error:
            logger.info("A replica could not leave.", extra={"error": str(error)})

    def _look_at(self, found: _ReplicasLease) -> None:
        now_seconds = self._client.clock.monotonic_seconds()
        values = {k: v for k, v in found.metadata.annotations.items() if k.startswith(_KEY)}
        self._seen = {
            key: seen
            if (seen := self._seen.get(key)) is not None and seen.value == value
            else _SeenReplica(value, now_seconds)
            for key, value in values.items()
        }

    def _lives(self, key: str) -> bool:
        if key == self._key:
            return True
        now_seconds = self._client.clock.monotonic_seconds()
        return now_seconds - self._seen[key].at_seconds <= self._duration_seconds

    async def _patch(self, annotations: dict[str, JSON]) -> _ReplicasLease:
        call = self._call("patch", "PATCH")._replace(
            body={"metadata": {"annotations": annotations}},
            content_type=MERGE_PATCH_TYPE,
        )
        return await self._client.fetch(call, _lease)

    async def _create(self, annotations: dict[str, JSON]) -> _ReplicasLease:
        own: dict[str, JSON] = {self._key: annotations[self._key]}
        body: dict[str, JSON] = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {
                "name": NAME,
                "namespace": self._namespace,
                "labels": dict(names.MANAGED_BY),
                "annotations": own,
            },
            "spec": {},
        }
        return await self._client.fetch(self._call("create", "POST")._replace(body=body), _lease)

    def _call(self, verb: str, method: str) -> ApiRequest:
        call = lease_call(
            self._namespace, NAME, verb, method, duration_seconds=self._duration_seconds
        )
        return call._replace(query={"fieldManager": names.FIELD_MANAGER})
