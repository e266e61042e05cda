"""
Which definitions a replica of the operator is responsible for.

Each definition belongs to one of N buckets by a hash of its name, and each bucket has a Lease. A
replica tries for all buckets, and keeps at most its part: N divided by the number of replicas that
are alive, rounded up. Only the holder of a bucket reads, reports and writes for its definitions.

The holder stops to write when its lease is in doubt, before another replica may take it. A holder
that leaves, or is paused, ends its work first, and then releases the lease.

Source:
    client-go, ``tools/leaderelection``; knative.dev/pkg, ``leaderelection`` and ``reconciler``.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import lru_cache
from typing import Protocol

from espalier.engine.coordination.lease import LOOK_AGAIN_SECONDS, RENEWALS_PER_LEASE, LeaseHolder
from espalier.engine.coordination.pause import Pause
from espalier.engine.flowcontrol.calls import run_with_watchers, wait_for_any
from espalier.engine.ports.clock import Clock
from espalier.engine.ports.state import Bucket, BucketLeases, Replicas
from espalier.errors import ClusterError, LeaseLostError, NamespaceGoneError

logger = logging.getLogger(__name__)

RETRY_SECONDS = 2.0
"""Between two tries to take a lease that another replica holds: client-go's RetryPeriod."""

LONGEST_RETRY_SECONDS = 30.0
"""The longest pause while a lease cannot be asked for."""

LOOK_SECONDS = 0.5
"""How soon it is seen that a bucket must be left."""


@lru_cache(maxsize=16_384)
def bucket_of(crd: str, count: int) -> Bucket:
    """
    Return the bucket of a definition: the FNV-1a hash of its name, modulo the number of buckets.

    Source:
        Go, ``hash/fnv``, ``New32a``.
    """
    value = 2_166_136_261
    for byte in crd.encode():
        value = (value ^ byte) * 16_777_619 % 2**32
    return Bucket(value % count, count)


class Duties(Protocol):
    """
    What the holder of a bucket does.
    """

    def pick_up(self) -> None:
        """
        Begin the work on definitions of a bucket that is held now.
        """

    async def put_down(self, bucket: Bucket, *, may_report: bool) -> None:
        """
        End the work on the definitions of a bucket.

        Args:
            may_report: Whether the bucket is still held, so that the last reports can be written.
        """


class Buckets:
    """
    Takes, keeps and leaves the leases of buckets; implements ``WriteFence``.

    Args:
        count: The number of buckets; with one, this is leader election.
        pause: While it is on, no bucket is taken or kept.
        on_share: Called with the part of all buckets that is held, if any is.
    """

    def __init__(
        self,
        leases: BucketLeases,
        replicas: Replicas,
        clock: Clock,
        *,
        count: int,
        pause: Pause,
        on_share: Callable[[float], None],
    ) -> None:
        self._leases = _LeasesWherePossible(leases)
        self._replicas = replicas
        self._clock = clock
        self._count = count
        self._pause = pause
        self._on_share = on_share
        self._alive = 1
        # In the order in which they were taken.
        self._held: dict[Bucket, LeaseHolder[Bucket]] = {}
        self._leaving: set[Bucket] = set()
        self._taking = asyncio.Lock()
        self._closing = asyncio.Event()
        self._closed = asyncio.Event()
        self._closed.set()

    def list_held(self) -> tuple[Bucket, ...]:
        """
        List the buckets whose leases are held.
        """
        return tuple(self._held)

    @property
    def is_paused(self) -> bool:
        """
        Whether a person has the operator write nothing.
        """
        return self._pause.is_on and self._pause.known.is_set()

    def owns(self, crd: str) -> bool:
        """
        Report whether work on a definition may begin here.
        """
        bucket = bucket_of(crd, self._count)
        return bucket in self._held and bucket not in self._leaving and not self._must_leave

    async def confirm(self, crd: str) -> None:
        """
        Wait until the lease of a definition's bucket is not in doubt.

        Raises:
            LeaseLostError: It is not held, or not any more, or the operator is paused.
            ClusterError: Whether it is paused cannot be read.
        """
        await self.confirm_bucket(bucket_of(crd, self._count), crd)

    async def confirm_bucket(self, bucket: Bucket, subject: str = "") -> None:
        """
        Wait until the lease of a bucket is not in doubt.

        Args:
            subject: What is written, for the message; a definition of the bucket or the bucket.

        Raises:
            LeaseLostError: As ``confirm``.
            ClusterError: As ``confirm``.
        """
        subject = subject or bucket.name
        while True:
            holder = self._held.get(bucket)
            if self._pause.is_on:
                raise LeaseLostError(subject, "", detail="the operator is paused")
            if holder is None:
                detail = "another replica of the operator is responsible for this CRD"
                raise LeaseLostError(subject, "", detail=detail)
            if not holder.is_in_doubt:
                if await self._pause.confirm():
                    continue
                if not holder.is_in_doubt:
                    return
            await self._clock.sleep(LOOK_AGAIN_SECONDS)

    def is_confirmed(self, crd: str) -> bool:
        """
        Report whether the lease of a definition's bucket is sure, and known not to be paused.
        """
        holder = self._held.get(bucket_of(crd, self._count))
        return holder is not None and not holder.is_in_doubt and self._pause.is_known_off()

    def may_begin(self, crd: str) -> bool:
        """
        Report whether the lease of a definition's bucket is held, and neither in doubt nor paused.
        """
        return self.may_begin_in(bucket_of(crd, self._count))

    def may_begin_in(self, bucket: Bucket) -> bool:
        """
        Report whether the lease of a bucket is held, and neither in doubt nor paused.
        """
        holder = self._held.get(bucket)
        return holder is not None and not holder.is_in_doubt and not self._pause.is_on

    async def contend(self, duties: Duties) -> None:
        """
        Try for all buckets and keep a part of them, until ``close`` is called.
        """
        self._closed.clear()
        try:
            async with asyncio.TaskGroup() as group:
                companions = [
                    group.create_task(self._count_replicas()),
                    group.create_task(self._pause.follow()),
                ]
                await asyncio.wait(
                    [
                        group.create_task(self._contend_for(Bucket(n, self._count), duties))
                        for n in range(self._count)
                    ]
                )
                for companion in companions:
                    companion.cancel()
            if self._count > 1:
                await self._replicas.leave()
        finally:
            self._closed.set()

    async def close(self) -> None:
        """
        Leave all buckets, so that other replicas need not wait, and end.
        """
        self._closing.set()
        await self._closed.wait()

    async def _count_replicas(self) -> None:
        # Of one bucket, the part is one, however many replicas there are.
        while self._count > 1:
            try:
                if not self._pause.is_on:
                    self._alive = await self._replicas.beat()
            except ClusterError as error:
                logger.warning("Could not count the replicas.", extra={"error": str(error)})
            await self._clock.sleep(self._leases.duration_seconds / RENEWALS_PER_LEASE)

    @property
    def _most(self) -> int:
        return -(-self._count // self._alive)

    async def _contend_for(self, bucket: Bucket, duties: Duties) -> None:
        failures = 0
        while not (self._pause.known.is_set() or self._closing.is_set()):
            await wait_for_any(self._clock, RETRY_SECONDS, self._pause.known, self._closing)
        while not self._closing.is_set():
            holder = None
            try:
                holder = await self._take(bucket)
                failures = 0
            except LeaseLostError:
                failures = 0
            except ClusterError as error:
                failures += 1
                logger.warning(
                    "Could not ask for the lease of a bucket; trying again.",
                    extra={"bucket": bucket.name, "error": str(error)},
                )
            if holder is not None:
                await self._hold(bucket, holder, duties)
            pause_seconds = min(RETRY_SECONDS * 2.0 ** min(failures, 5), LONGEST_RETRY_SECONDS)
            await wait_for_any(self._clock, pause_seconds, self._closing)

    async def _take(self, bucket: Bucket) -> LeaseHolder[Bucket] | None:
        # One at a time, so that no more than the part is taken.
        async with self._taking:
            if len(self._held) >= self._most or self._must_leave:
                return None
            holder = LeaseHolder(self._leases, self._clock, bucket, kind="bucket")
            await holder.take()
            self._held[bucket] = holder
            return holder

    async def _hold(self, bucket: Bucket, holder: LeaseHolder[Bucket], duties: Duties) -> None:
        logger.info("Took a bucket of definitions.", extra={"bucket": bucket.name})
        self._share()
        duties.pick_up()
        try:
            await run_with_watchers(
                self._until_left(bucket, duties), holder.renew(), holder.expire()
            )
        except LeaseLostError as error:
            logger.warning(
                "Lost a bucket of definitions.",
                extra={"bucket": bucket.name, "error": str(error)},
            )
        finally:
            del self._held[bucket]
            self._leaving.discard(bucket)
            self._share()
            await duties.put_down(bucket, may_report=False)
            await self._leases.release(bucket)

    async def _until_left(self, bucket: Bucket, duties: Duties) -> None:
        while not (self._must_leave or self._is_surplus(bucket)):
            await wait_for_any(self._clock, LOOK_SECONDS, self._closing)
        self._leaving.add(bucket)
        await duties.put_down(bucket, may_report=True)
        logger.info("Left a bucket of definitions.", extra={"bucket": bucket.name})

    @property
    def _must_leave(self) -> bool:
        return self._closing.is_set() or self._pause.is_on

    def _is_surplus(self, bucket: Bucket) -> bool:
        kept = [one for one in self._held if one not in self._leaving]
        return bucket in kept[self._most :]

    def _share(self) -> None:
        if self._held:
            self._on_share(len(self._held) / self._count)


class _LeasesWherePossible:
    """
    Implements ``BucketLeases``; without a namespace for Leases, every bucket is free.

    The pods of an operator live in that namespace. Whatever runs without it runs elsewhere and
    alone, and has to report that the namespace is missing.
    """

    def __init__(self, inner: BucketLeases) -> None:
        self._inner = inner

    async def acquire(self, bucket: Bucket) -> None:
        try:
            await self._inner.acquire(bucket)
        except NamespaceGoneError as error:
            logger.warning(
                "There is no namespace for the lease of a bucket.",
                extra={"bucket": bucket.name, "error": str(error)},
            )

    async def release(self, bucket: Bucket) -> None:
        await self._inner.release(bucket)

    @property
    def duration_seconds(self) -> float:
        return self._inner.duration_seconds
