"""
Leases that also respect an operator's lease of the same definition in another namespace.

An operator keeps its leases in its own namespace. A command is given that namespace and may be
given a wrong one; then both would work on one definition at the same time. So a command also checks
the namespaces in which operators are known to run, whenever it takes or renews its lease. It checks
no others, since any tenant may create a Lease of any name in its own namespace.
"""

import logging
from collections.abc import Callable, Collection
from datetime import datetime

import msgspec

from espalier.cluster.resources.named_leases import DURATION_SECONDS, lease_call
from espalier.cluster.transport.client import Client
from espalier.cluster.transport.paths import name_of
from espalier.crd import Definition
from espalier.engine.ports import Leases
from espalier.errors import ForbiddenError, LeaseLostError, NotFoundError

logger = logging.getLogger(__name__)

SKEW_SECONDS = 60.0
"""How far two clocks may differ; a foreign lease counts as held for this much longer."""


class _ForeignLeaseSpec(msgspec.Struct, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    renew_time: str | None = None


class _ForeignLease(msgspec.Struct):
    spec: _ForeignLeaseSpec | None = None


_lease = msgspec.json.Decoder(_ForeignLease)

Homes = Callable[[Definition], Collection[str]]
"""Return the namespaces in which operators of a definition are known to run."""


class ForeignAwareLeases:
    """
    Implement ``espalier.engine.ports.state.Leases``; give way to an operator in another namespace.

    Args:
        namespace: The namespace of the leases.
        leases: Those in that namespace.
        homes: Returns the namespaces to check; the own namespace among them has no effect.
    """

    def __init__(self, client: Client, namespace: str, leases: Leases, *, homes: Homes) -> None:
        self._client = client
        self._namespace = namespace
        self._leases = leases
        self._homes = homes
        self._forbidden: set[str] = set()

    @property
    def duration_seconds(self) -> float:
        """
        The time that a lease lasts without renewal.
        """
        return self._leases.duration_seconds

    async def acquire(self, definition: Definition) -> None:
        """
        Take or renew the lease, and release it if one is held in another namespace.

        Raises:
            LeaseLostError: Another process has the lease, here or in another namespace.
        """
        await self._leases.acquire(definition)
        for namespace in sorted({*self._homes(definition)} - {self._namespace} - self._forbidden):
            lost = await self._held_in(namespace, definition)
            if lost is not None:
                await self._leases.release(definition)
                raise lost

    async def release(self, definition: Definition) -> None:
        """
        Release the lease.
        """
        await self._leases.release(definition)

    async def _held_in(self, namespace: str, definition: Definition) -> LeaseLostError | None:
        name = name_of("lease", definition.name)
        call = lease_call(
            namespace, name, "get", "GET", duration_seconds=self._leases.duration_seconds
        )
        try:
            found = await self._client.fetch(call, _lease)
        except NotFoundError:
            return None
        except ForbiddenError:
            self._forbidden.add(namespace)
            logger.warning(
                "The lease in another namespace could not be checked: no permission to read it.",
                extra={"crd": definition.name, "namespace": namespace},
            )
            return None
        spec = found.spec or _ForeignLeaseSpec()
        if not spec.holder_identity or not self._is_fresh(spec):
            return None
        return LeaseLostError(
            definition.name,
            spec.holder_identity,
            detail=f"{spec.holder_identity} holds the lease of this CRD in the namespace"
            f" {namespace}, not in {self._namespace}: see --operator-namespace",
        )

    def _is_fresh(self, spec: _ForeignLeaseSpec) -> bool:
        try:
            renewed = datetime.fromisoformat(spec.renew_time or "")
            now = datetime.fromisoformat(self._client.clock.utc_timestamp())
            apart_seconds = abs((now - renewed).total_seconds())
        except (ValueError, TypeError):
            return False
        duration_seconds = spec.lease_duration_seconds or DURATION_SECONDS
        return apart_seconds < duration_seconds + SKEW_SECONDS
