import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from espalier.cluster.resources.leases import HttpLeases
from espalier.cluster.resources.named_leases import own_identity
from espalier.engine.ports.state import Bucket
from espalier.errors import ClusterError, LeaseLostError, TransientError
from tests.cluster.scripted import ManualClock, Reply, Shelf, connected, definition, status_of


@asynccontextmanager
async def two_holders(
    shelf: Shelf, clock: ManualClock
) -> AsyncIterator[tuple[HttpLeases, HttpLeases]]:
    async with connected(shelf, clock=clock) as cluster:
        yield cluster.leases("ns", "one"), cluster.leases("ns", "two")


async def test_one_holder_at_a_time_and_the_next_one_when_it_is_given_back() -> None:
    shelf, clock = Shelf(), ManualClock()
    async with two_holders(shelf, clock) as (one, two):
        await one.acquire(definition())
        await one.acquire(definition())
        with pytest.raises(LeaseLostError, match="one holds the lease"):
            await two.acquire(definition())
        await two.acquire(definition("others.example.com"))
        await one.release(definition())
        await two.acquire(definition())
        with pytest.raises(LeaseLostError, match="two holds the lease"):
            await one.acquire(definition())

    (held, _) = shelf.objects.values()
    assert held["spec"] == {
        "holderIdentity": "two",
        "leaseDurationSeconds": 15,
        "renewTime": "2026-01-02T03:04:05.000000Z",
        "acquireTime": "2026-01-02T03:04:05.000000Z",
        "leaseTransitions": 1,
    }


async def test_a_lease_of_a_replica_whose_bucket_ran_out_and_was_taken_over_is_free() -> None:
    shelf, clock, bucket = Shelf(), ManualClock(), Bucket(0, 1)
    async with connected(shelf, clock=clock) as cluster:
        buckets = {name: cluster.bucket_leases("ns", name) for name in ("one", "two")}
        leases = {
            name: cluster.leases("ns", name, overtaken=buckets[name].overtaken) for name in buckets
        }
        await buckets["one"].acquire(bucket)
        await leases["one"].acquire(definition())
        for name in ("x.example.com", "y.example.com"):
            await cluster.leases("ns", "a command").acquire(definition(name))
        with pytest.raises(LeaseLostError):
            await buckets["two"].acquire(bucket)
        clock.now_seconds += 15.1
        await buckets["two"].acquire(bucket)
        await leases["two"].acquire(definition())
        with pytest.raises(LeaseLostError):
            await leases["two"].acquire(definition("x.example.com"))
        # A bucket that was given up says nothing of who gave it up.
        await buckets["two"].release(bucket)
        await buckets["one"].acquire(bucket)
        with pytest.raises(LeaseLostError):
            await leases["one"].acquire(definition())


@pytest.mark.parametrize("method", ["POST", "PATCH"])
async def test_a_lease_is_released_though_the_answer_to_its_last_call_was_lost(method: str) -> None:
    shelf, clock = Shelf(), ManualClock()
    async with two_holders(shelf, clock) as (one, two):
        if method == "PATCH":
            await one.acquire(definition())
        shelf.lost_answers.add(method)
        with pytest.raises(TransientError):
            await one.acquire(definition())
        await one.release(definition())
        await two.acquire(definition())
        # What is not held is not released.
        await one.release(definition())
        await two.acquire(definition())


class QueueingShelf(Shelf):
    """
    Lets requests that change something wait, and drops those whose client has gone meanwhile.
    """

    def __init__(self) -> None:
        super().__init__()
        self.queued = asyncio.Event()
        self.turn = asyncio.Event()
        self.turn.set()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if request.method == "PATCH":
            self.queued.set()
            await self.turn.wait()
            if request.transport is None or request.transport.is_closing():
                raise web.HTTPServiceUnavailable
        return await super().answer(request)


async def test_a_lease_is_released_though_the_release_is_cancelled() -> None:
    shelf, clock = QueueingShelf(), ManualClock()
    async with two_holders(shelf, clock) as (one, two):
        await one.acquire(definition())
        shelf.turn.clear()
        releasing = asyncio.create_task(one.release(definition()))
        await shelf.queued.wait()
        releasing.cancel()
        done, _ = await asyncio.wait({releasing}, timeout=0)
        shelf.turn.set()
        with pytest.raises(asyncio.CancelledError):
            await releasing

        assert done == set()
        await two.acquire(definition())


async def test_a_lease_runs_out_when_it_was_seen_unchanged_for_its_duration() -> None:
    shelf, clock = Shelf(), ManualClock()
    async with two_holders(shelf, clock) as (one, two):
        await one.acquire(definition())
        # However old it is: only what was watched here counts.
        clock.now_seconds += 3600
        for _ in range(2):
            with pytest.raises(LeaseLostError):
                await two.acquire(definition())
            clock.now_seconds += 15
            # A renewal begins the watch anew.
            await one.acquire(definition())
        with pytest.raises(LeaseLostError):
            await two.acquire(definition())
        clock.now_seconds += 15
        with pytest.raises(LeaseLostError):
            await two.acquire(definition())
        clock.now_seconds += 0.1
        await two.acquire(definition())
        with pytest.raises(LeaseLostError, match="two"):
            await one.acquire(definition())


async def test_the_duration_that_its_holder_wrote_is_waited_for() -> None:
    shelf, clock = Shelf(), ManualClock()
    async with connected(shelf, clock=clock) as cluster:
        short = cluster.leases("ns", "one", duration_seconds=5)
        other = cluster.leases("ns", "two", duration_seconds=60)
        assert short.duration_seconds == 5.0
        await short.acquire(definition())
        (held,) = shelf.objects.values()
        assert held["spec"]["leaseDurationSeconds"] == 5
        with pytest.raises(LeaseLostError):
            await other.acquire(definition())
        clock.now_seconds += 5.1
        await other.acquire(definition())
    (taken_over,) = shelf.objects.values()
    assert taken_over["spec"]["leaseDurationSeconds"] == 60


async def test_who_may_not_have_a_lease_is_reported_when_it_runs_out() -> None:
    shelf, clock = Shelf(), ManualClock()
    async with two_holders(shelf, clock) as (one, two):
        await one.acquire(definition())
        with pytest.raises(LeaseLostError) as first:
            await two.acquire(definition())
        clock.now_seconds += 4
        with pytest.raises(LeaseLostError) as second:
            await two.acquire(definition())

    assert (first.value.free_in_seconds, second.value.free_in_seconds) == (15, 11)


async def test_a_lease_of_the_same_holder_is_taken_up_again() -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        await cluster.leases("ns", "one").acquire(definition())
        await cluster.leases("ns", "one").acquire(definition())

    (held,) = shelf.objects.values()
    assert held["spec"]["leaseTransitions"] == 0


async def test_a_lease_that_was_taken_away_is_made_anew() -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        leases = cluster.leases("ns")
        await leases.acquire(definition())
        shelf.objects.clear()
        await leases.acquire(definition())

    assert len(shelf.objects) == 1


async def test_a_lease_that_others_keep_snatching_is_lost() -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        for _ in range(3):
            shelf.refusals.append(("POST", Reply(409, status_of(409, "AlreadyExists"))))
        with pytest.raises(LeaseLostError, match="another process holds"):
            await cluster.leases("ns").acquire(definition())


async def test_a_lease_whose_answer_was_lost_is_held_with_the_next_call() -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        leases = cluster.leases("ns", "one")
        await leases.acquire(definition())
        shelf.lost_answers.add("PATCH")
        with pytest.raises(ClusterError):
            await leases.acquire(definition())
        await leases.acquire(definition())


@pytest.mark.parametrize("status", [404, 409, 500])
async def test_giving_back_never_fails(status: int) -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        leases = cluster.leases("ns")
        await leases.release(definition())
        await leases.acquire(definition())
        shelf.refusals.append(("PATCH", Reply(status, "")))
        await leases.release(definition())

    assert not shelf.refusals


def test_no_two_processes_have_the_same_identity() -> None:
    assert own_identity() != own_identity()
