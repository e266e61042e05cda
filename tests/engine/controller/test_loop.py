"""
Stories of tending a legacy definition: beside others, with those who put fields back, and repairs.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar, copy_context
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from espalier.crd import Condition, Definition
from espalier.engine import Ports, Reason, RunSettings, keep_pruned, restore, run
from espalier.engine.coordination.lease import LeaseHolder
from espalier.engine.ports import Endpoint, ObjectKey
from espalier.engine.ports.progress import PassProgress
from espalier.engine.ports.reporter import Reporter
from espalier.engine.status import conditions
from espalier.errors import ClusterError, LeaseLostError, RejectedError, UndecodableError
from espalier.paths import JSON
from tests.fakes.cluster import FakeCluster
from tests.fakes.faults import busy, expired, rejected
from tests.fakes.leases import FakeLease, FakeLeases
from tests.fakes.widgets import ENFORCE, legacy_widgets, written_by

SETTINGS = RunSettings(settle_seconds=0, page_size=10, max_in_flight=4)

GARBAGE: dict[str, JSON] = {"spec": {"size": 1}, "stray": 1}
EMPTIED: dict[str, JSON] = {"spec": {"junk": 1}}
WRITES = ("archive", "replace", "replace/status", "rewrite", "annotate")

T = TypeVar("T")
identity_of_writer = ContextVar("identity_of_writer", default="")


class SlowCluster(FakeCluster):
    """
    Takes its time for writes.
    """

    seconds = 0.0

    async def replace(
        self, resource: Endpoint, obj: dict[str, JSON], *, subresource: str | None
    ) -> dict[str, JSON]:
        await self.clock.sleep(self.seconds)
        return await super().replace(resource, obj, subresource=subresource)


class Listener:
    """
    Keeps what one operator has said last.
    """

    def __init__(self) -> None:
        self.said: tuple[Condition, ...] = ()

    async def report(
        self,
        definition: Definition,
        conditions: Sequence[Condition],
        progress: PassProgress | None = None,
    ) -> None:
        assert definition.name
        assert progress is None
        self.said = tuple(conditions)


class PrunedCluster:
    """
    A cluster of one legacy definition, and the one lease that all who write to it need.
    """

    def __init__(self, *, labels: dict[str, str] | None = None) -> None:
        self.cluster = SlowCluster(legacy_widgets(labels=labels or ENFORCE))
        self.lease = FakeLease()
        self.clock = self.cluster.clock
        self.unguarded: list[tuple[str, str, str]] = []
        self.cluster.hooks.append(self.watch)

    def watch(self, call: str, name: str) -> None:
        """
        Note the writes of whoever does not hold the lease.
        """
        identity = identity_of_writer.get()
        if call in WRITES and identity != self.lease.holder:
            self.unguarded.append((identity, call, name))

    def begin(self, identity: str, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        """
        Have somebody do something in the background.
        """
        context = copy_context()
        context.run(identity_of_writer.set, identity)
        return asyncio.create_task(work, context=context)

    def ports(self, identity: str) -> Ports:
        leases = FakeLeases(self.lease, identity, self.clock)
        return replace(self.cluster.ports, leases=leases)

    def tending(
        self,
        identity: str = "operator",
        settings: RunSettings = SETTINGS,
        reported: tuple[Condition, ...] = (),
        reporter: Reporter | None = None,
    ) -> "asyncio.Task[None]":
        definition = self.cluster.definition
        assert definition is not None
        ports, reporter = self.ports(identity), reporter or self.cluster
        return self.begin(
            identity, keep_pruned(definition, ports, settings, reporter, reported=reported)
        )

    @asynccontextmanager
    async def tended(
        self, settings: RunSettings = SETTINGS, reported: tuple[Condition, ...] = ()
    ) -> AsyncIterator["asyncio.Task[None]"]:
        task = self.tending(settings=settings, reported=reported)
        try:
            await self.clock.sleep(3)
            yield task
        finally:
            if task.done():
                task.result()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert self.unguarded == []

    def hold(self, identity: str = "another", *, seconds: float = float("inf")) -> None:
        self.lease.holder = identity
        self.lease.until_seconds = self.clock.monotonic_seconds() + seconds

    def is_clean(self, name: str) -> bool:
        return "stray" not in self.cluster.raw(name)

    @property
    def said(self) -> Condition:
        return self.cluster.reports[-1][0]


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


async def test_whoever_has_the_lease_is_waited_for_and_what_came_meanwhile_is_pruned() -> None:
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
    report = await restore(definition, cluster.entries(definition), cluster, world.clock)
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
async def test_whoever_waits_for_the_lease_gets_it_however_much_is_to_be_pruned(pace: str) -> None:
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


async def test_what_a_busy_server_leaves_undone_is_named_and_done_in_the_end() -> None:
    world = PrunedCluster()
    async with world.tended():
        world.cluster.fail("replace", busy(), name="w0", times=7)
        world.cluster.put("w0", GARBAGE, version="v1")
        world.cluster.put("w1", GARBAGE, version="v1")
        await world.clock.sleep(15)
        assert world.is_clean("w1")
        assert (world.said.status, world.said.reason) == ("False", Reason.FAILED)
        assert "default/w0 (429 TooManyRequests)" in world.said.message
        await world.clock.sleep(200)
        assert world.is_clean("w0")
        assert world.said.status == "True"


async def test_the_rate_of_writes_holds_while_tending() -> None:
    world = PrunedCluster()
    async with world.tended(replace(SETTINGS, writes_per_second=0.5)):
        for number in range(60):
            world.cluster.put(f"w{number:02}", GARBAGE, version="v1")
        await world.clock.sleep(40)
        clean = sum(world.is_clean(f"w{number:02}") for number in range(60))

    # All of it is used, and no more.
    assert 18 <= clean <= 40 / 2 + 1


async def test_the_rate_of_bytes_holds_while_tending() -> None:
    large: dict[str, JSON] = {**GARBAGE, "stray": "x" * 100_000}
    world = PrunedCluster()
    async with world.tended(replace(SETTINGS, bytes_per_second=50_000.0)):
        for number in range(60):
            world.cluster.put(f"w{number:02}", large, version="v1")
        await world.clock.sleep(40)
        clean = sum(world.is_clean(f"w{number:02}") for number in range(60))

    # Bytes count once they are written: what is under way at a time comes on top.
    assert 10 <= clean <= 40 / 2 + 2 * SETTINGS.max_in_flight


@pytest.mark.parametrize("how", ["repaired", "deleted", "deleted unseen", "repaired unseen"])
async def test_a_trouble_ends_with_what_it_was_about(how: str) -> None:
    world = PrunedCluster()
    async with world.tended():
        world.cluster.put("bad", EMPTIED, version="v1")
        await world.clock.sleep(5)
        assert world.said.reason == Reason.WOULD_LOSE_DATA
        if how.endswith("unseen"):
            world.cluster.fail("watch_objects", expired())
            world.cluster.close_watches()
            await world.clock.sleep(0)
        if how.startswith("deleted"):
            world.cluster.delete("bad")
        else:
            world.cluster.touch("bad", {"spec": {"size": 1}})
        await world.clock.sleep(30)
        assert world.said.status == "True"


async def test_an_object_that_fails_and_is_repaired_meanwhile_is_not_tried_again() -> None:
    world = PrunedCluster()
    async with world.tended():
        world.cluster.fail("replace", rejected("no"), name="bad")
        world.cluster.put("bad", GARBAGE, version="v1")
        await world.clock.sleep(5)
        assert "default/bad (422 Invalid" in world.said.message
        del world.cluster.raw("bad")["stray"]
        world.cluster.touch("bad")
        await world.clock.sleep(1)
        assert world.said.status == "True"
        world.cluster.calls.clear()
        await world.clock.sleep(300)
        assert world.cluster.count("get_object", "acquire", *WRITES) == 0


async def test_an_object_that_comes_to_be_owned_is_left_alone_though_it_was_due() -> None:
    world = PrunedCluster(labels={**ENFORCE, "espalier.dev/skip-owned": "true"})
    async with world.tended():
        await contest(world, "w0", "kubectl")
        assert "default/w0" in world.said.message
        world.cluster.etcd[ObjectKey("default", "w0")].managed_fields.append(
            written_by("kustomize-controller", {"f:stray": {}})
        )
        world.cluster.touch("w0")
        world.cluster.calls.clear()
        await world.clock.sleep(3 * 3600)
        assert world.cluster.count(*WRITES) == 0
        assert not world.is_clean("w0")
        assert world.said.reason == Reason.PARTIAL


async def test_an_object_that_comes_to_be_owned_right_before_it_is_read_is_left_alone() -> None:
    world = PrunedCluster(labels={**ENFORCE, "espalier.dev/skip-owned": "true"})

    def own(call: str, name: str) -> None:
        if (call, name) == ("get_object", "new"):
            world.cluster.etcd[ObjectKey("default", "new")].managed_fields.append(
                written_by("helm-controller", {"f:stray": {}})
            )

    async with world.tended():
        world.cluster.hooks.append(own)
        world.cluster.put("new", GARBAGE, version="v1")
        await world.clock.sleep(30)
        assert world.cluster.count("get_object") == 1
        assert not world.is_clean("new")


async def test_an_object_that_comes_to_be_owned_while_it_is_written_is_left_alone() -> None:
    world = PrunedCluster(labels={**ENFORCE, "espalier.dev/skip-owned": "true"})

    def own(call: str, name: str) -> None:
        if (call, name) == ("replace", "new"):
            stored = world.cluster.etcd[ObjectKey("default", "new")]
            stored.managed_fields.append(written_by("helm-controller", {"f:stray": {}}))
            world.cluster.touch("new")

    async with world.tended():
        world.cluster.hooks.append(own)
        world.cluster.put("new", GARBAGE, version="v1")
        await world.clock.sleep(30)
        assert world.cluster.count("replace") == 1
        assert not world.is_clean("new")


async def contest(
    world: PrunedCluster, name: str, *managers: str, fields: JSON = None, seconds: float = 4
) -> None:
    """
    Have somebody put a field back until the object is left alone.
    """
    key = world.cluster.put(name, {"spec": {"size": 1}}, version="v1", managed=None)
    world.cluster.etcd[key].managed_fields = [
        written_by("kubectl", {"f:spec": {"f:size": {}}}),
        *(written_by(manager, fields or {"f:stray": {"f:a": {}}}) for manager in managers),
    ]
    for _ in range(8):
        world.cluster.touch(name, {"stray": {"a": 1}})
        await world.clock.sleep(seconds)
    assert not world.is_clean(name)


async def test_those_who_put_fields_back_are_named(caplog: pytest.LogCaptureFixture) -> None:
    world = PrunedCluster()
    async with world.tended():
        await contest(world, "w0", "argocd-controller", "a\n\x1b" + "b" * 1000)
    message = world.said.message
    named = "argocd-controller, a\\n\\x1b" + "b" * 125
    assert message == (
        "1 object cannot be kept in form: default/w0"
        f" (removed fields keep coming back, put back by {named})"
    )
    (record,) = [r for r in caplog.records if "keep coming back" in r.getMessage()]
    assert vars(record)["managers"] == named
    assert vars(record)["object"] == "default/w0"


async def test_two_operators_say_the_same_of_an_object_that_is_fought_for() -> None:
    world = PrunedCluster()
    listeners = [Listener(), Listener()]
    tasks = [
        world.tending(f"operator {number}", reporter=listener)
        for number, listener in enumerate(listeners)
    ]
    await world.clock.sleep(3)
    await contest(world, "w0", "trebuchet", seconds=10)
    one, two = listeners
    assert "put back by trebuchet" in one.said[0].message
    assert one.said == two.said
    await world.clock.sleep(3 * 3600)
    assert world.is_clean("w0")
    assert one.said[0].status == two.said[0].status == "True"
    for task in tasks:
        assert not task.done()
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert world.unguarded == []


async def test_edits_in_a_row_are_no_fight() -> None:
    world = PrunedCluster()
    async with world.tended():
        world.cluster.put("w0", {"spec": {"size": 1}}, version="v1")
        for _ in range(2):
            for number in range(5):
                world.cluster.touch("w0", {"stray": number})
                await asyncio.sleep(0)
            await world.clock.sleep(20)
            assert world.is_clean("w0")
        assert world.cluster.reports == []


async def test_whoever_has_written_other_fields_is_not_named() -> None:
    world = PrunedCluster()
    async with world.tended():
        await contest(world, "w0", "another", fields={"f:spec": {"f:color": {}}})

    assert "(removed fields keep coming back)" in world.said.message


@pytest.mark.parametrize("fault", ["denied", "put back at once"])
async def test_one_bad_object_does_not_keep_a_run_from_being_tended(fault: str) -> None:
    world = PrunedCluster()
    cluster = world.cluster
    for name in ("bad", "good"):
        cluster.put(name, GARBAGE, version="v1")

    def put_back(call: str, _: str) -> None:
        if call == "list_objects":
            cluster.touch("bad", {"stray": 2})

    if fault == "denied":
        cluster.fail("replace", rejected(), name="bad", times=1000)
    else:
        cluster.hooks.append(put_back)
    assert cluster.definition is not None
    running = run(cluster.definition, world.ports("operator"), SETTINGS, cluster)
    outcome = await world.begin("operator", running)
    assert (outcome.reason, outcome.watches_on, outcome.retries) == (Reason.FAILED, True, True)
    assert not outcome.is_proved
    assert "default/bad" in outcome.conditions[0].message
    assert world.is_clean("good")
    async with world.tended(reported=outcome.conditions[:1]):
        cluster.put("new", GARBAGE, version="v1")
        await world.clock.sleep(30)
        assert world.is_clean("new")
        assert world.said.status == "False"


async def test_a_tender_after_a_run_that_failed_does_not_say_that_all_is_well() -> None:
    reported = conditions.not_current(Reason.FAILED, "1 object of 9 could not be rewritten")

    world = PrunedCluster()
    async with world.tended(reported=reported):
        world.cluster.put("bad", EMPTIED, version="v1")
        world.cluster.put("new", GARBAGE, version="v1")
        await world.clock.sleep(5)
        assert world.is_clean("new")
        assert world.said.reason == Reason.WOULD_LOSE_DATA
        world.cluster.delete("bad")
        await world.clock.sleep(5)
        assert world.cluster.reports[-1] == reported
        await world.clock.sleep(SETTINGS.resurvey_seconds + 10)
        assert world.cluster.reports[-1][:1] == reported


UNDECODABLE = UndecodableError(verb="watch", resource="r", status=500, reason="StorageReadError")


@pytest.mark.parametrize("error", [UNDECODABLE, rejected("nested too deeply", status=0)])
async def test_an_event_that_nobody_can_read_does_not_end_tending(error: ClusterError) -> None:
    world = PrunedCluster()
    async with world.tended():
        world.cluster.fail("watch_objects", error, times=3)
        world.cluster.close_watches()
        await world.clock.sleep(0)
        world.cluster.put("new", GARBAGE, version="v1")
        world.cluster.calls.clear()
        await world.clock.sleep(60)
        assert world.is_clean("new")

    assert world.cluster.count("list_objects") == 3


async def test_a_list_that_is_refused_ends_tending() -> None:
    world = PrunedCluster()
    world.cluster.fail("list_objects", rejected("no"))
    with pytest.raises(RejectedError):
        await world.tending()


@pytest.mark.parametrize("end", ["repaired", "deleted"])
async def test_an_object_that_the_server_cannot_read_any_more_is_named_until_it_can(
    end: str,
) -> None:
    world = PrunedCluster()
    async with world.tended():
        key = world.cluster.put("bad", {"spec": {"size": 1}}, version="v1")
        await world.clock.sleep(1)
        world.cluster.etcd[key].is_broken = True
        world.cluster.fail("watch_objects", expired())
        world.cluster.close_watches()
        await world.clock.sleep(30)
        assert world.said.reason == Reason.UNDECODABLE
        assert "default/bad (the API server cannot read what is stored)" in world.said.message
        world.cluster.put("new", GARBAGE, version="v1")
        await world.clock.sleep(5)
        assert world.is_clean("new")
        world.cluster.etcd[key].is_broken = False
        if end == "repaired":
            world.cluster.touch("bad")
        else:
            del world.cluster.etcd[key]
            world.cluster.close_watches()
        await world.clock.sleep(30)
        assert world.said.status == "True"


async def test_an_object_that_cannot_be_read_when_it_is_to_be_pruned_is_named() -> None:
    world = PrunedCluster()

    def spoil(call: str, name: str) -> None:
        if (call, name) == ("get_object", "bad"):
            world.cluster.etcd[ObjectKey("default", "bad")].is_broken = True

    async with world.tended():
        world.cluster.hooks.append(spoil)
        world.cluster.put("bad", GARBAGE, version="v1")
        await world.clock.sleep(5)
        assert world.said.reason == Reason.UNDECODABLE
        assert "default/bad" in world.said.message
