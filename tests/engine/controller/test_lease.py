"""
Stories of operators that prune beside one another: the lease decides which of them writes.
"""

import asyncio
from dataclasses import replace

import pytest

from espalier.engine import restore, run
from espalier.engine.coordination.lease import LeaseHolder
from espalier.engine.ports import ObjectKey
from espalier.errors import LeaseLostError
from espalier.paths import JSON
from tests.engine.controller.pruned import (
    GARBAGE,
    SETTINGS,
    WRITES,
    PrunedCluster,
    identity_of_writer,
)
from tests.fakes.faults import busy
from tests.fakes.permits import gate_of
from tests.fakes.widgets import legacy_widgets


async def taken(world: PrunedCluster, identity: str) -> float:
    """
    Take the lease as commands do, and tell how long that took.
    """
    holder = LeaseHolder(
        world.ports(identity).leases, world.clock, world.cluster.definition or legacy_widgets()
    )
    begun = world.clock.monotonic_seconds()
    while True:
        try:
            await holder.take()
        except LeaseLostError:
            await world.clock.sleep(1)
        else:
            return world.clock.monotonic_seconds() - begun


async def test_nothing_is_written_without_the_lease_and_it_is_given_back() -> None:
    world = PrunedCluster()
    async with world.tended():
        world.cluster.put("new", GARBAGE, version="v1")
        await world.clock.sleep(2)
        assert world.is_clean("new")
        assert world.lease.holder == ""
        world.cluster.touch("new", {"spec": {"size": "large"}})
        await world.clock.sleep(SETTINGS.resurvey_seconds + 10)
    cluster = world.cluster
    assert cluster.count("annotate") == 1
    assert [entry.key.name for entry in cluster.archived] == ["new"]


async def test_of_two_operators_that_tend_one_archives_and_prunes_an_object() -> None:
    world = PrunedCluster()
    tasks = [world.tending("one"), world.tending("two")]
    await world.clock.sleep(3)
    for number in range(30):
        world.cluster.put(f"w{number}", GARBAGE, version="v1")
    await world.clock.sleep(60)
    assert all(world.is_clean(f"w{number}") for number in range(30))
    assert not any(task.done() for task in tasks)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert world.unguarded == []
    cluster = world.cluster
    assert sorted(entry.key.name for entry in cluster.archived) == sorted(
        f"w{number}" for number in range(30)
    )
    assert cluster.count("replace") == 30


async def test_an_operator_goes_on_tending_when_the_other_one_dies() -> None:
    world = PrunedCluster()
    async with world.tended():
        world.hold(seconds=15)
        world.cluster.put("new", GARBAGE, version="v1")
        await world.clock.sleep(14)
        assert not world.is_clean("new")
        await world.clock.sleep(4)
        assert world.is_clean("new")


async def test_the_holder_of_the_lease_is_waited_for_and_what_came_meanwhile_is_pruned() -> None:
    world = PrunedCluster()
    async with world.tended():
        world.hold("migrate")
        for number in range(50):
            world.cluster.put(f"w{number}", GARBAGE, version="v1")
        world.cluster.calls.clear()
        await world.clock.sleep(1000)
        assert world.cluster.count(*WRITES) == 0
        world.lease.holder = ""
        await world.clock.sleep(5)
        assert all(world.is_clean(f"w{number}") for number in range(50))

    assert len(world.cluster.archived) == 50


async def test_a_migration_beside_a_tender_has_the_objects_for_itself() -> None:
    world = PrunedCluster()
    cluster = world.cluster

    def disturb(call: str, _: str) -> None:
        if call == "list_objects" and identity_of_writer.get() == "migrate":
            for number in range(5):
                cluster.put(f"new{cluster.count('list_objects')}-{number}", GARBAGE)

    async with world.tended() as task:
        cluster.hooks.append(disturb)
        assert cluster.definition is not None
        migrating = run(cluster.definition, world.ports("migrate"), SETTINGS, cluster)
        await world.begin("migrate", migrating)
        cluster.hooks.remove(disturb)
        await world.clock.sleep(10)
        assert not task.done()
        assert all("stray" not in stored.raw for stored in cluster.etcd.values())
    archived = [entry.key.name for entry in cluster.archived]
    assert len(archived) == len(set(archived)) == len(cluster.etcd)


async def put_back(world: PrunedCluster) -> None:
    """
    Restore as the command does it.
    """
    cluster = world.cluster
    await taken(world, "restore")
    definition = cluster.definition
    assert definition is not None
    report = await restore(
        definition, cluster.entries(definition), cluster, world.clock, gate_of(cluster)
    )
    assert report.restored == {ObjectKey("default", "w0"): ["/stray"]}
    await world.ports("restore").leases.release(definition)


async def test_what_is_restored_under_the_lease_is_not_pruned_by_a_tender_that_is_behind() -> None:
    properties: JSON = {"spec": {"type": "object"}, "stray": {"type": "integer"}}
    schema: dict[str, JSON] = {"type": "object", "properties": properties}

    world = PrunedCluster()
    cluster = world.cluster
    restoring: list[asyncio.Task[None]] = []

    def change_and_restore(call: str, name: str) -> None:
        if (call, name) == ("get_object", "new0"):
            cluster.hooks.remove(change_and_restore)
            version = replace(legacy_widgets().versions[0], schema=schema)
            cluster.change(versions=(version,))
            restoring.append(world.begin("restore", put_back(world)))

    async with world.tended() as task:
        cluster.put("w0", GARBAGE, version="v1")
        await world.clock.sleep(5)
        assert world.is_clean("w0")
        cluster.hooks.append(change_and_restore)
        for number in range(12):
            cluster.put(f"new{number}", {"spec": {"size": 1}, "junk": 1}, version="v1")
        cluster.touch("w0", {"junk": 1})
        await asyncio.wait_for(task, 30)
        await asyncio.wait_for(restoring[0], 30)
        await world.clock.sleep(5)
    assert cluster.raw("w0")["stray"] == 1


@pytest.mark.parametrize("pace", ["bounded", "busy", "steady"])
async def test_an_operator_that_waits_for_the_lease_gets_it_however_much_is_to_be_pruned(
    pace: str,
) -> None:
    world = PrunedCluster()
    rate = 1.0 if pace == "bounded" else None
    world.cluster.seconds = 0.3 if pace == "steady" else 0.0
    async with world.tended(replace(SETTINGS, writes_per_second=rate)):
        if pace == "busy":
            world.cluster.fail("replace", busy(retry_after_seconds=20), times=10_000)
        for number in range(500):
            world.cluster.put(f"w{number:03}", GARBAGE, version="v1")
        for _ in range(5):
            await world.clock.sleep(7)
            assert await taken(world, "restore") < 15
            world.lease.holder = ""
        assert 0 < sum(world.is_clean(f"w{n:03}") for n in range(500)) < 500 or pace == "busy"


async def test_a_burst_that_loses_the_lease_stops_and_is_finished_later() -> None:
    world = PrunedCluster()
    async with world.tended():

        def steal(call: str, _: str) -> None:
            if call == "replace":
                world.cluster.hooks.remove(steal)
                world.hold("thief")

        world.cluster.hooks.append(steal)
        world.cluster.fail("replace", busy(retry_after_seconds=6), times=4)
        for number in range(8):
            world.cluster.put(f"w{number}", GARBAGE, version="v1")
        await world.clock.sleep(1)
        # What was under way when it was taken away, before its time.
        assert 0 < len(world.unguarded) <= SETTINGS.max_in_flight
        world.unguarded.clear()
        await world.clock.sleep(30)
        assert not any(world.is_clean(f"w{number}") for number in range(8))
        world.lease.holder = ""
        await world.clock.sleep(100)
        assert all(world.is_clean(f"w{number}") for number in range(8))
