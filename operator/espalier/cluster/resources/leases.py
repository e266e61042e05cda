"""
Leases of definitions, held by runs, and of buckets of definitions, held by replicas.
"""

from collections.abc import Collection

from espalier import names
from espalier.cluster.resources.named_leases import DURATION_SECONDS, LeaseName, NamedLeases
from espalier.cluster.transport.client import Client
from espalier.cluster.transport.paths import hash_of, name_of
from espalier.crd import Definition
from espalier.engine.ports.state import Bucket


class HttpLeases:
    """
    Implement ``espalier.engine.ports.state.Leases``; see ``NamedLeases`` for the arguments.
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
        self._leases = NamedLeases(
            client,
            namespace,
            identity,
            duration_seconds=duration_seconds,
            overtaken=overtaken,
        )

    @property
    def duration_seconds(self) -> float:
        """
        The time that a lease lasts without renewal.
        """
        return self._leases.duration_seconds

    async def acquire(self, definition: Definition) -> None:
        """
        Take or renew the lease of this definition; see ``NamedLeases.acquire``.

        Raises:
            LeaseLostError: Another process holds the lease.
            NamespaceGoneError: The namespace is missing or being deleted.
            NotFoundError: The API server has no Lease API.
        """
        await self._leases.acquire(_lease_of(definition))

    async def release(self, definition: Definition) -> None:
        """
        Release the lease; a failure is only logged, since the lease expires by itself.
        """
        await self._leases.release(_lease_of(definition))


class HttpBucketLeases:
    """
    Implement ``espalier.engine.ports.state.BucketLeases``; see ``NamedLeases`` for the arguments.

    Attributes:
        overtaken: The replicas whose buckets ran out and were taken over. In these buckets they
            write nothing more, so that the leases of their runs need not run out as well.
    """

    def __init__(
        self,
        client: Client,
        namespace: str,
        identity: str,
        *,
        duration_seconds: int = DURATION_SECONDS,
    ) -> None:
        self._leases = NamedLeases(client, namespace, identity, duration_seconds=duration_seconds)
        self.overtaken: set[str] = set()

    @property
    def duration_seconds(self) -> float:
        """
        The time that a lease lasts without renewal.
        """
        return self._leases.duration_seconds

    async def acquire(self, bucket: Bucket) -> None:
        """
        Take or renew the lease of a bucket; see ``NamedLeases.acquire``.
        """
        holder = await self._leases.acquire(LeaseName(bucket.name, bucket.name))
        if holder:
            self.overtaken.add(holder)

    async def release(self, bucket: Bucket) -> None:
        """
        Release the lease of a bucket.
        """
        await self._leases.release(LeaseName(bucket.name, bucket.name))


def _lease_of(definition: Definition) -> LeaseName:
    return LeaseName(
        name=name_of("lease", definition.name),
        subject=definition.name,
        labels={names.CRD_HASH: hash_of(definition.name)},
        annotations={names.CRD: definition.name},
    )
