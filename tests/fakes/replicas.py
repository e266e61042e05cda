"""
Replicas of the operator that divide the buckets of definitions among them.
"""

import asyncio
from dataclasses import dataclass, field

from espalier.engine.coordination.buckets import Buckets
from espalier.engine.coordination.pause import Pause
from espalier.engine.ports.state import Bucket
from espalier.errors import LeaseLostError, TransientError
from tests.fakes.clock import FakeClock
from tests.fakes.leases import FakeLease

DURATION_SECONDS = 15.0


class FakeBucketLeases:
    """
    Implements ``espalier.engine.ports.state.BucketLeases`` for one replica.

    Attributes:
        failures: Raised by the next calls, one each.
        is_cut_off: Whether no call reaches the server.
    """

    def __init__(self, leases: dict[str, FakeLease], identity: str, clock: FakeClock) -> None:
        self._leases = leases
        self._identity = identity
        self._clock = clock
        self.duration_seconds = DURATION_SECONDS
        self.failures: list[Exception] = []
        self.is_cut_off = False

    async def acquire(self, bucket: Bucket) -> None:
        await asyncio.sleep(0)
        if self.failures:
            raise self.failures.pop(0)
        if self.is_cut_off:
            raise TransientError(verb="patch", resource="leases", reason="Timeout")
        now = self._clock.monotonic_seconds()
        lease = self._leases.setdefault(bucket.name, FakeLease())
        if lease.holder not in ("", self._identity) and now <= lease.until_seconds:
            raise LeaseLostError(bucket.name, lease.holder)
        lease.holder, lease.until_seconds = self._identity, now + self.duration_seconds

    async def release(self, bucket: Bucket) -> None:
        await asyncio.sleep(0)
        lease = self._leases.get(bucket.name)
        if lease is not None and lease.holder == self._identity and not self.is_cut_off:
            lease.holder = ""


class FakeReplicas:
    """
    Implements ``espalier.engine.ports.state.Replicas``: those with one dictionary see each other.
    """

    def __init__(self, beats: dict[str, float], identity: str, clock: FakeClock) -> None:
        self._beats = beats
        self._identity = identity
        self._clock = clock
        self.is_cut_off = False

    async def beat(self) -> int:
        await asyncio.sleep(0)
        if self.is_cut_off:
            raise TransientError(verb="patch", resource="leases", reason="Timeout")
        now = self._clock.monotonic_seconds()
        self._beats[self._identity] = now
        return sum(now - at <= DURATION_SECONDS for at in self._beats.values())

    async def leave(self) -> None:
        await asyncio.sleep(0)
        self._beats.pop(self._identity, None)


class FakeSwitch:
    """
    Implements ``espalier.engine.ports.state.PauseSwitch``.

    Attributes:
        is_on: What it shows.
        reads: How often it was read.
        is_cut_off: Whether it cannot be read.
    """

    def __init__(self) -> None:
        self.is_on = False
        self.reads = 0
        self.is_cut_off = False

    async def is_set(self) -> bool:
        await asyncio.sleep(0)
        self.reads += 1
        if self.is_cut_off:
            raise TransientError(verb="get", resource="configmaps", reason="Timeout")
        return self.is_on


@dataclass(slots=True)
class Replica:
    """
    One of them, with a log of what it did.

    Attributes:
        shares: What parts of all buckets it had, one after the other.
    """

    buckets: Buckets
    leases: FakeBucketLeases
    others: FakeReplicas
    shares: list[float]
    log: list[str] = field(default_factory=list)

    def cut_off(self, *, is_cut_off: bool = True) -> None:
        """
        Let no call reach the server.
        """
        self.leases.is_cut_off = self.others.is_cut_off = is_cut_off

    def pick_up(self) -> None:
        self.log.append("pick up")

    async def put_down(self, bucket: Bucket, *, may_report: bool) -> None:
        self.log.append(f"put down {bucket.number}{', and report' if may_report else ''}")


class Rivals:
    """
    What replicas share.
    """

    def __init__(self, count: int) -> None:
        self.clock = FakeClock()
        self.count = count
        self.leases: dict[str, FakeLease] = {}
        self.beats: dict[str, float] = {}
        self.switch = FakeSwitch()

    def replica(self, identity: str, *, is_paused: bool = False) -> Replica:
        """
        Make one more.
        """
        leases = FakeBucketLeases(self.leases, identity, self.clock)
        others = FakeReplicas(self.beats, identity, self.clock)
        shares: list[float] = []
        buckets = Buckets(
            leases,
            others,
            self.clock,
            count=self.count,
            pause=Pause(self.switch, self.clock, is_permanent=is_paused),
            on_share=shares.append,
        )
        return Replica(buckets, leases, others, shares)

    def holders(self) -> list[str]:
        """
        Return who holds the buckets, one after the other.
        """
        return [self.leases[Bucket(n, self.count).name].holder for n in range(self.count)]
