"""
One lease, and several who want it.
"""

import asyncio
from dataclasses import dataclass

from espalier.crd import Definition
from espalier.errors import LeaseLostError
from tests.fakes.clock import FakeClock


@dataclass(slots=True)
class FakeLease:
    """
    What the cluster keeps of it.
    """

    holder: str = ""
    until_seconds: float = 0.0


class FakeLeases:
    """
    Implements ``espalier.engine.ports.state.Leases`` for one of those who want the lease.
    """

    duration_seconds = 15.0

    def __init__(self, lease: FakeLease, identity: str, clock: FakeClock) -> None:
        self._lease = lease
        self._identity = identity
        self._clock = clock

    async def acquire(self, definition: Definition) -> None:
        await asyncio.sleep(0)
        now, lease = self._clock.monotonic_seconds(), self._lease
        if lease.holder not in ("", self._identity) and now <= lease.until_seconds:
            raise LeaseLostError(definition.name, lease.holder)
        lease.holder, lease.until_seconds = self._identity, now + self.duration_seconds

    async def release(self, definition: Definition) -> None:
        await asyncio.sleep(0)
        assert definition.name
        if self._lease.holder == self._identity:
            self._lease.holder = ""
