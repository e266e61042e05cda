"""
What the adapter does for runs on parts: leases, documents and lists.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from espalier.cluster import Cluster
from espalier.cluster.resources.leases import HttpPartLeases
from espalier.cluster.transport.paths import name_of
from espalier.engine.ports import HashRange, Part
from espalier.errors import LeaseLostError
from tests.cluster.scripted import (
    WIDGETS,
    ManualClock,
    Reply,
    Script,
    Shelf,
    connected,
    definition,
)

WHOLE = name_of("lease", "widgets.example.com")


@asynccontextmanager
async def a_cluster() -> AsyncIterator[tuple[Cluster, Shelf, ManualClock]]:
    shelf, clock = Shelf(), ManualClock()
    async with connected(shelf, clock=clock) as cluster:
        yield cluster, shelf, clock


def part_of(cluster: Cluster, number: int, count: int, identity: str) -> HttpPartLeases:
    return HttpPartLeases(cluster.leasing, "ns", identity, Part(number, count))


def holders(shelf: Shelf) -> dict[str, str]:
    return {
        path.rpartition("/")[2]: lease["spec"]["holderIdentity"]
        for path, lease in shelf.objects.items()
    }


async def test_parts_work_side_by_side_and_each_is_held_once() -> None:
    async with a_cluster() as (cluster, shelf, _):
        zero, one = part_of(cluster, 0, 2, "a"), part_of(cluster, 1, 2, "b")
        for _ in range(3):
            # Each of them has the version of the shared lease that the other one has replaced.
            await zero.acquire(definition())
            await one.acquire(definition())
        with pytest.raises(LeaseLostError, match="a holds the lease"):
            await part_of(cluster, 0, 2, "c").acquire(definition())

        assert holders(shelf) == {
            WHOLE: "migrate-in-2-parts",
            name_of("lease-part-0", "widgets.example.com"): "a",
            name_of("lease-part-1", "widgets.example.com"): "b",
        }
        await zero.release(definition())
        await part_of(cluster, 0, 2, "c").acquire(definition())
        await one.acquire(definition())


async def test_a_whole_run_and_parts_exclude_each_other() -> None:
    async with a_cluster() as (cluster, _, clock):
        part, whole = part_of(cluster, 0, 2, "a"), cluster.leases("ns", "whole")
        await part.acquire(definition())
        with pytest.raises(LeaseLostError, match="migrate-in-2-parts holds the lease"):
            await whole.acquire(definition())
        clock.now_seconds += 14
        await part.acquire(definition())
        clock.now_seconds += 14
        with pytest.raises(LeaseLostError):
            await whole.acquire(definition())

        # A part that ends leaves the definition's lease to the other ones; after the last one it
        # runs out.
        await part.release(definition())
        clock.now_seconds += 15.1
        await whole.acquire(definition())
        with pytest.raises(LeaseLostError, match="whole holds the lease"):
            await part.acquire(definition())
        await whole.release(definition())
        await part.acquire(definition())


async def test_after_the_last_part_the_lease_is_free_for_the_last_step_alone() -> None:
    async with a_cluster() as (cluster, _, _):
        await part_of(cluster, 0, 2, "a").acquire(definition())
        last = cluster.leases_among("ns", homes=lambda _: (), after_parts=2)
        with pytest.raises(LeaseLostError):
            await cluster.leases_among("ns", homes=lambda _: ()).acquire(definition())
        other = cluster.leases_among("ns", homes=lambda _: (), after_parts=3)
        with pytest.raises(LeaseLostError):
            await other.acquire(definition())
        await last.acquire(definition())
        # A part that comes back meanwhile does not get it.
        with pytest.raises(LeaseLostError):
            await part_of(cluster, 0, 2, "a").acquire(definition())


async def test_parts_of_two_divisions_exclude_each_other() -> None:
    async with a_cluster() as (cluster, _, clock):
        half, quarter = part_of(cluster, 0, 2, "a"), part_of(cluster, 3, 4, "b")
        await half.acquire(definition())
        with pytest.raises(LeaseLostError, match="migrate-in-2-parts"):
            await quarter.acquire(definition())
        await half.release(definition())
        clock.now_seconds += 15.1
        await quarter.acquire(definition())
        with pytest.raises(LeaseLostError, match="migrate-in-4-parts"):
            await half.acquire(definition())


async def test_each_part_has_a_document_of_its_own() -> None:
    async with a_cluster() as (cluster, shelf, _):
        await cluster.checkpoints("ns").save(definition(), {"of": "all"})
        for number in range(2):
            await cluster.checkpoints("ns", part=number).save(definition(), {"of": number})

        assert await cluster.checkpoints("ns").load(definition()) == {"of": "all"}
        assert await cluster.checkpoints("ns", part=1).load(definition()) == {"of": 1}
        assert await cluster.checkpoints("ns", part=2).load(definition()) is None
        assert await cluster.checkpoints("ns", part=1).load(definition(uid="another")) is None
        assert {held["metadata"]["ownerReferences"][0]["uid"] for held in shelf.objects.values()}


async def test_a_list_asks_the_server_for_a_shard() -> None:
    script = Script(Reply(body={"metadata": {"resourceVersion": "9"}, "items": None}))

    async with connected(script) as cluster:
        await cluster.objects.list_metadata(
            WIDGETS, page_size=2, continue_token=None, shard=HashRange(0, 1 << 64)
        )

    (seen,) = script.seen
    assert seen.query == {
        "limit": "2",
        "shardSelector": (
            "shardRange(object.metadata.uid, '0x0000000000000000', '0x10000000000000000')"
        ),
    }
