"""
Leases that are worth nothing while somebody holds one of the same definition in another namespace.

An operator keeps its leases in its own namespace, and may only look there. A command is given the
namespace, and may be given the wrong one: then both would work on one definition at a time. So
whoever may list leases in all namespaces looks there too, whenever it takes or renews its own.
"""

import logging
from datetime import datetime

import msgspec

from espalier.cluster.resources.leases import DURATION_SECONDS, HttpLeases
from espalier.cluster.transport.client import ApiRequest, Client
from espalier.cluster.transport.paths import hash_of
from espalier.crd import Definition
from espalier.errors import ForbiddenError, LeaseLostError

logger = logging.getLogger(__name__)

SKEW_SECONDS = 60.0
"""How far the clocks of two machines may be apart; a lease counts as held for so much longer."""

_CALL_SECONDS = 4.0


class _ForeignLeaseMetadata(msgspec.Struct):
    namespace: str = ""


class _ForeignLeaseSpec(msgspec.Struct, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    renew_time: str | None = None


class _ForeignLease(msgspec.Struct):
    metadata: _ForeignLeaseMetadata
    spec: _ForeignLeaseSpec | None = None


class _Leases(msgspec.Struct):
    items: list[_ForeignLease]


_leases = msgspec.json.Decoder(_Leases)


class NeighbourlyLeases:
    """
    Implements ``espalier.engine.ports.state.Leases``; gives way to whoever is at work elsewhere.
    """

    def __init__(self, client: Client, namespace: str, leases: HttpLeases) -> None:
        self._client = client
        self._namespace = namespace
        self._leases = leases
        self._may_look = True

    @property
    def duration_seconds(self) -> float:
        """
        How long a lease lasts without renewal.
        """
        return self._leases.duration_seconds

    async def acquire(self, definition: Definition) -> None:
        """
        Take or renew the lease, and give it back if another namespace has one that is held.

        Raises:
            LeaseLostError: Somebody else has it, here or elsewhere.
        """
        await self._leases.acquire(definition)
        if not self._may_look:
            return
        found = await self._elsewhere(definition)
        if found is not None:
            await self._leases.release(definition)
            raise found

    async def release(self, definition: Definition) -> None:
        """
        Give the lease back.
        """
        await self._leases.release(definition)

    async def _elsewhere(self, definition: Definition) -> LeaseLostError | None:
        call = ApiRequest(
            verb="list",
            resource="leases.coordination.k8s.io",
            method="GET",
            path="/apis/coordination.k8s.io/v1/leases",
            query={"labelSelector": f"espalier.dev/crd-hash={hash_of(definition.name)}"},
            total_seconds=_CALL_SECONDS,
        )
        try:
            found = await self._client.fetch(call, _leases)
        except ForbiddenError:
            self._may_look = False
            logger.warning(
                "Whether somebody is at work in another namespace could not be looked for.",
                extra={"crd": definition.name, "namespace": self._namespace},
            )
            return None
        for lease in found.items:
            spec, namespace = lease.spec or _ForeignLeaseSpec(), lease.metadata.namespace
            if namespace != self._namespace and spec.holder_identity and self._is_fresh(spec):
                return LeaseLostError(
                    definition.name,
                    spec.holder_identity,
                    detail=f"{spec.holder_identity} holds the lease of this CRD in the namespace"
                    f" {namespace}, not in {self._namespace}: see --operator-namespace",
                )
        return None

    def _is_fresh(self, spec: _ForeignLeaseSpec) -> bool:
        try:
            renewed = datetime.fromisoformat(spec.renew_time or "")
            now = datetime.fromisoformat(self._client.clock.utc_timestamp())
            apart_seconds = abs((now - renewed).total_seconds())
        except (ValueError, TypeError):
            return False
        duration_seconds = spec.lease_duration_seconds or DURATION_SECONDS
        return apart_seconds < duration_seconds + SKEW_SECONDS
