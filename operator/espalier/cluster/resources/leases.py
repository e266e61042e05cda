"""
Leases of definitions, held by runs, and of buckets of definitions, held by replicas.
"""

from collections.abc import Collection

from espalier import names
from espalier.cluster.resources.named_leases import DURATION_SECONDS, LeaseName, NamedLeases
from espalier.cluster.transport.client import Client
from espalier.cluster.transport.paths import hash_of, name_of
from espalier.crd import Definition
from espalier.engine.ports.shards import Part
from espalier.engine.ports.state import Bucket
from espalier.errors import LeaseLostError


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


class HttpPartLeases:
    """
    Implement ``espalier.engine.ports.state.Leases`` for a run on one part of a definition.

    All parts of one division hold the lease of the definition together, under one identity. So
    neither a run on the whole definition nor one of another division gets it while one of them is
    at work. Each part has a lease of its own besides, which one process at a time holds.
    """

    def __init__(self, client: Client, namespace: str, identity: str, part: Part) -> None:
        self._part = part
        self._together = identity_of_parts(part.count)
        self._shared = NamedLeases(client, namespace, self._together)
        self._own = NamedLeases(client, namespace, identity)

    @property
    def duration_seconds(self) -> float:
        """
        The time that a lease lasts without renewal.
        """
        return self._own.duration_seconds

    async def acquire(self, definition: Definition) -> None:
        """
        Take or renew both leases; see ``NamedLeases.acquire``.

        Raises:
            LeaseLostError: Another process holds one of them.
        """
        try:
            await self._shared.acquire(_lease_of(definition))
        except LeaseLostError as error:
            # Other parts renew it at the same moment: each conflict was a renewal.
            if error.holder != self._together:
                raise
        await self._own.acquire(_lease_of(definition, part=self._part))

    async def release(self, definition: Definition) -> None:
        """
        Release the lease of the part; that of the definition runs out after the last part.
        """
        await self._own.release(_lease_of(definition, part=self._part))


def identity_of_parts(count: int) -> str:
    """
    Return the name under which all parts of a division hold the lease of their definition.
    """
    return f"migrate-in-{count}-parts"


def _lease_of(definition: Definition, *, part: Part | None = None) -> LeaseName:
    return LeaseName(
        name=name_of("lease" if part is None else f"lease-part-{part.number}", definition.name),
        subject=definition.name,
        labels={names.CRD_HASH: hash_of(definition.name)},
        annotations={names.CRD: definition.name},
    )
