"""
Stories of replicas that divide the definitions among them.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from espalier.engine.coordination.buckets import bucket_of
from espalier.engine.flowcontrol.calls import run_with_watchers
from espalier.engine.ports.state import Bucket
from espalier.errors import ForbiddenError, LeaseLostError, NamespaceGoneError
from tests.fakes.replicas import DURATION_SECONDS, Replica, Rivals

CRD = "widgets.example.com"
ALONE = Bucket(0, 1)


@asynccontextmanager
async def contending(*replicas: Replica) -> AsyncIterator[list[asyncio.Task[None]]]:
    """
    Let replicas contend as long as the block lasts.
    """
    tasks = [asyncio.create_task(replica.buckets.contend(replica)) for replica in replicas]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.parametrize(
    ("name", "number"),
    # The values of Go's hash/fnv, New32a: 0x811c9dc5, 0xe40c292c and 0xbf9cf968.
    [("", 0x811C9DC5 % 64), ("a", 0xE40C292C % 64), ("foobar", 0xBF9CF968 % 64)],
)
def test_the_bucket_of_a_name_is_its_fnv_1a_hash(name: str, number: int) -> None:
    assert bucket_of(name, 64) == Bucket(number, 64)
    assert bucket_of(name, 1) == ALONE


async def test_of_one_bucket_one_replica_is_the_leader_and_the_others_wait() -> None:
    rivals = Rivals(1)
    one, two = rivals.replica("one"), rivals.replica("two")
    async with contending(one, two):
        await rivals.clock.advance(100)
        assert [one.buckets.owns(CRD), two.buckets.owns(CRD)] == [True, False]
        await one.buckets.confirm(CRD)
        assert [one.buckets.may_begin(CRD), two.buckets.may_begin(CRD)] == [True, False]
        with pytest.raises(LeaseLostError, match="another replica"):
            await two.buckets.confirm(CRD)
    assert (one.log[0], two.log) == ("pick up", [])
    assert one.shares[0] == 1.0


async def test_each_replica_keeps_at_most_its_part_of_the_buckets_and_of_the_budget() -> None:
    rivals = Rivals(8)
    one, two, three = (rivals.replica(name) for name in ("one", "two", "three"))
    async with contending(one):
        await rivals.clock.advance(1)
        assert Counter(rivals.holders()) == {"one": 8}
        async with contending(two, three):
            await rivals.clock.advance(30)
            held = Counter(rivals.holders())
            assert one.shares[-1] == held["one"] / 8
    assert held.keys() == {"one", "two", "three"}
    assert max(held.values()) == 3
    # What is given up is put down before its lease is free.
    assert sum(entry.endswith("and report") for entry in one.log) == 8 - held["one"]


async def test_who_leaves_puts_down_its_work_before_others_may_take_it() -> None:
    rivals = Rivals(1)
    one, two = rivals.replica("one"), rivals.replica("two")
    async with contending(one):
        await rivals.clock.advance(1)
        async with contending(two):
            await rivals.clock.advance(1)
            begun = rivals.clock.monotonic_seconds()
            await one.buckets.close()
            assert rivals.clock.monotonic_seconds() == begun
            assert not one.buckets.owns(CRD)
            await rivals.clock.advance(2)
            assert two.buckets.owns(CRD)
    assert one.log[:2] == ["pick up", "put down 0, and report"]


async def test_a_dead_replica_s_buckets_go_to_the_others_when_its_leases_run_out() -> None:
    rivals = Rivals(4)
    one, two = rivals.replica("one"), rivals.replica("two")
    async with contending(one), contending(two):
        await rivals.clock.advance(30)
        assert Counter(rivals.holders()) == {"one": 2, "two": 2}
        one.cut_off()
        await rivals.clock.advance(5)
        assert Counter(rivals.holders()) == {"one": 2, "two": 2}
        await rivals.clock.advance(DURATION_SECONDS)
        assert Counter(rivals.holders()) == {"two": 4}


async def test_no_write_begins_in_doubt_and_the_work_ends_before_another_may_take_it() -> None:
    rivals = Rivals(1)
    one, two = rivals.replica("one"), rivals.replica("two")
    async with contending(one):
        await rivals.clock.advance(1)
        async with contending(two):
            await rivals.clock.advance(20)
            await one.buckets.confirm(CRD)
            one.cut_off()
            await rivals.clock.advance(DURATION_SECONDS / 3 + 0.2)
            asking = asyncio.ensure_future(one.buckets.confirm(CRD))
            await rivals.clock.advance(2)
            assert not asking.done()
            assert not one.buckets.may_begin(CRD)
            owned = [True]
            while rivals.holders() == ["one"]:
                owned.append(one.buckets.owns(CRD))
                await rivals.clock.advance(0.1)
            assert not owned[-1]
            with pytest.raises(LeaseLostError, match="another replica"):
                await asking
            assert two.buckets.owns(CRD)
    assert one.log == ["pick up", "put down 0"]


async def test_a_doubt_that_passes_lets_the_write_begin() -> None:
    rivals = Rivals(1)
    one = rivals.replica("one")
    async with contending(one):
        await rivals.clock.advance(1)
        one.cut_off()
        await rivals.clock.advance(DURATION_SECONDS / 3)
        asking = asyncio.ensure_future(one.buckets.confirm(CRD))
        await rivals.clock.advance(1)
        assert not asking.done()
        one.cut_off(is_cut_off=False)
        await asyncio.wait_for(asking, 2)
        assert one.buckets.owns(CRD)


async def test_without_the_right_to_its_lease_a_replica_asks_ever_more_seldom_and_holds_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rivals = Rivals(1)
    one = rivals.replica("one")
    one.leases.failures = [
        ForbiddenError(verb="get", resource="leases", status=403) for _ in range(6)
    ]
    async with contending(one):
        await rivals.clock.advance(60)
        assert not one.buckets.owns(CRD)
        assert len(caplog.records) == 5
        await rivals.clock.advance(60)
        assert one.buckets.owns(CRD)


async def test_where_no_namespace_is_a_process_works_alone() -> None:
    rivals = Rivals(1)
    one = rivals.replica("one")
    gone = NamespaceGoneError(verb="create", resource="leases", status=404, namespace="ns")
    one.leases.failures = [gone] * 3
    async with contending(one):
        await rivals.clock.advance(12)
        assert one.leases.failures == []
        assert one.buckets.owns(CRD)
        await rivals.clock.advance(5)
        assert rivals.holders() == ["one"]


async def test_a_replica_that_is_cancelled_puts_its_work_down() -> None:
    rivals = Rivals(2)
    one = rivals.replica("one")
    await run_with_watchers(rivals.clock.sleep(1), one.buckets.contend(one))
    assert sorted(one.log) == ["pick up", "pick up", "put down 0", "put down 1"]
    assert rivals.holders() == ["", ""]
