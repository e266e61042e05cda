"""
Stories of objects that cannot be pruned at once: busy servers, repairs, owners, unreadable objects.
"""

from dataclasses import replace

import pytest

from espalier.engine import Reason, run
from espalier.engine.ports import ObjectKey
from espalier.engine.status import conditions
from espalier.errors import ClusterError, RejectedError, UndecodableError
from espalier.paths import JSON
from tests.engine.controller.pruned import GARBAGE, SETTINGS, WRITES, PrunedCluster
from tests.engine.controller.test_contested_objects import contest
from tests.fakes.faults import busy, expired, rejected
from tests.fakes.widgets import ENFORCE, written_by

EMPTIED: dict[str, JSON] = {"spec": {"junk": 1}}


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


async def test_a_tender_after_a_run_that_failed_does_not_report_that_all_is_well() -> None:
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
async def test_an_event_that_cannot_be_read_does_not_end_tending(error: ClusterError) -> None:
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
