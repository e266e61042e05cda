"""
All that a permit needs must be known at one moment, and once more in the moment of sending.
"""

import pytest

from espalier.engine.coordination.definition_guard import MAX_AGE_SECONDS, DefinitionGuard
from espalier.engine.coordination.write_gate import WriteGate
from espalier.engine.ports import ObjectKey, StoredMetadata, WritePermit
from tests.fakes.cluster import FakeCluster
from tests.fakes.widgets import widgets

SEEN = StoredMetadata(key=ObjectKey("ns", "a"), uid="u", resource_version="1")
LONGER_SECONDS = MAX_AGE_SECONDS + 1


class SlowFence:
    """
    Implements ``espalier.engine.ports.state.WriteFence``; the first confirmation takes long.
    """

    def __init__(self, cluster: FakeCluster) -> None:
        self._clock = cluster.clock
        self.is_sure = False
        self.confirmations = 0

    async def confirm(self, crd: str) -> None:
        del crd
        self.confirmations += 1
        if not self.is_sure:
            await self._clock.sleep(LONGER_SECONDS)
            self.is_sure = True

    def is_confirmed(self, crd: str) -> bool:
        del crd
        return self.is_sure

    def may_begin(self, crd: str) -> bool:
        del crd
        return True


class GateOnFake:
    """
    A gate on a definition in memory.

    Attributes:
        read_at: When the definition was read.
    """

    def __init__(self) -> None:
        self.cluster = FakeCluster(widgets())
        self.clock = self.cluster.clock
        self.read_at: list[float] = []
        self.cluster.hooks.append(self._note)
        assert self.cluster.definition is not None
        self.fence = SlowFence(self.cluster)
        guard = DefinitionGuard(self.cluster, self.clock, self.cluster.definition)
        self.gate = WriteGate(guard, self.fence)
        self.gate.open(None)

    async def permit(self) -> WritePermit:
        found = await self.gate.permit(SEEN)
        assert isinstance(found, WritePermit)
        return found

    def _note(self, call: str, _: str) -> None:
        if call == "get_definition":
            self.read_at.append(self.clock.monotonic_seconds())


async def test_a_definition_that_became_old_while_the_fence_was_waited_for_is_read_again() -> None:
    one = GateOnFake()
    permit = await one.permit()
    assert one.clock.monotonic_seconds() - one.read_at[-1] <= MAX_AGE_SECONDS
    assert permit.may_begin()


async def test_a_permit_does_not_hold_once_the_definition_was_read_too_long_ago() -> None:
    one = GateOnFake()
    permit = await one.permit()
    await one.clock.sleep(LONGER_SECONDS)
    assert not permit.may_begin()
    assert (await one.permit()).may_begin()


async def test_what_is_known_at_the_moment_is_asked_for_by_no_write() -> None:
    one = GateOnFake()
    await one.permit()
    before = (len(one.read_at), one.fence.confirmations)
    for _ in range(10):
        await one.permit()
    assert (len(one.read_at), one.fence.confirmations) == before


async def test_a_gate_that_was_closed_again_by_the_fence_waits_for_it() -> None:
    one = GateOnFake()
    await one.permit()
    before = one.fence.confirmations
    one.fence.is_sure = False
    await one.permit()
    assert one.fence.confirmations > before


async def test_a_gate_that_was_not_opened_permits_nothing() -> None:
    one = GateOnFake()
    assert one.cluster.definition is not None
    guard = DefinitionGuard(one.cluster, one.clock, one.cluster.definition)
    with pytest.raises(RuntimeError, match="not opened"):
        await WriteGate(guard, one.fence).permit(SEEN)
