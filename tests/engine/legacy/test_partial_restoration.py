"""
What is restored in part is told in full: refused writes, lost leases, damaged pages, other hands.
"""

import asyncio
from dataclasses import replace

import pytest

from espalier.crd import Definition
from espalier.engine import RestoreReport, restore, restore_alone
from espalier.engine.legacy.restorable import BY_ESPALIER
from espalier.engine.ports import ObjectKey
from espalier.errors import ClusterError, ForbiddenError, LeaseLostError, NotFoundError
from espalier.paths import JSON
from tests.engine.legacy.garbage import CLEAN, GARBAGE, content
from tests.engine.legacy.test_restoration import KEY, prune, pruned, refusals, restored
from tests.fakes.cluster import FakeCluster
from tests.fakes.faults import busy, conflict, rejected
from tests.fakes.leases import FakeLease, FakeLeases
from tests.fakes.permits import gate_of
from tests.fakes.widgets import legacy_widgets, widgets

IN_STATUS = {"/status/old"}
ELSEWHERE = ["/spec/junk", "/spec/ports/0/proto", "/stray"]


def not_served() -> NotFoundError:
    return NotFoundError(verb="get", resource="widgets", status=404, reason="NotFound")


def denied() -> ForbiddenError:
    return ForbiddenError(verb="update", resource="widgets", status=403, reason="Forbidden")


@pytest.mark.parametrize("error", [denied(), rejected("no"), conflict(), busy()])
async def test_a_status_that_stays_refused_does_not_hide_what_was_written(
    error: ClusterError,
) -> None:
    cluster = await pruned()
    cluster.fail("replace/status", error, times=99)
    report = await restored(cluster)
    assert report.restored == {KEY: ELSEWHERE}
    assert set(refusals(report)) == IN_STATUS
    assert str(error.status) in refusals(report)["/status/old"]
    assert report.present == 0
    assert content(cluster, "a") == GARBAGE | {"status": {"ready": True}}


async def test_a_write_whose_answer_was_lost_is_reported_as_restored() -> None:
    cluster = await pruned()
    cluster.fail_after("replace", busy())
    report = await restored(cluster)
    assert report.restored == {KEY: [*ELSEWHERE[:2], "/status/old", "/stray"]}
    assert (report.refused, report.present) == ([], 0)


async def test_what_cannot_be_read_back_is_reported() -> None:
    cluster = await pruned()

    def break_reading(call: str, _: str) -> None:
        if call == "replace/status":
            cluster.fail("get_object", denied(), times=99)

    cluster.hooks.append(break_reading)
    report = await restored(cluster)
    assert refusals(report) == {"": "403 Forbidden; and it could not be read back: 403 Forbidden"}


async def test_a_field_that_admission_takes_away_was_written_but_is_not_there() -> None:
    cluster = await pruned()

    def strip(obj: dict[str, JSON]) -> None:
        obj.pop("stray", None)

    cluster.admission = strip
    report = await restored(cluster)
    assert refusals(report) == {"/stray": "it was written, but is not there"}


async def test_a_resource_that_is_not_served_for_a_moment_is_asked_again() -> None:
    cluster = await pruned()
    cluster.fail("get_object", not_served(), times=2)
    cluster.fail("replace/status", not_served())
    report = await restored(cluster)
    assert report.refused == []
    assert content(cluster, "a") == GARBAGE


async def test_a_resource_that_is_not_served_is_an_error_and_no_object_is_called_gone() -> None:
    cluster = await pruned()
    cluster.fail("get_object", not_served(), times=99)
    with pytest.raises(NotFoundError):
        await restored(cluster)


def in_namespaces(names: str) -> dict[str, object]:
    return {"annotations": {"espalier.dev/namespaces": names}}


def labelled(**labels: str) -> dict[str, object]:
    given = {f"espalier.dev/{name.replace('_', '-')}": text for name, text in labels.items()}
    return {"labels": {**widgets().labels, **given}}


BARE = legacy_widgets().versions[0]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(labelled(prune="false"), id="nothing is pruned"),
        pytest.param({**labelled(), **in_namespaces("others")}, id="other namespaces are pruned"),
        pytest.param(labelled(mode="observe"), id="nothing is written"),
        pytest.param(
            {"labels": widgets().labels, "versions": (replace(BARE, schema={}),)}, id="no schema"
        ),
    ],
)
async def test_what_would_not_be_removed_again_is_put_back(change: dict[str, object]) -> None:
    cluster = await pruned()
    cluster.change(**change)
    assert (await restored(cluster)).refused == []
    assert content(cluster, "a") == GARBAGE


async def test_an_object_that_is_skipped_gets_its_fields_back_and_others_do_not() -> None:
    cluster = FakeCluster(legacy_widgets())
    cluster.put("mine", GARBAGE, version="v1")
    cluster.put("owned", GARBAGE, version="v1", owner="argocd-controller")
    await prune(cluster)
    cluster.change(**labelled(skip_owned="true"), **in_namespaces("default"))
    report = await restored(cluster)
    assert {refusal.key.name for refusal in report.refused} == {"mine"}
    assert content(cluster, "owned") == GARBAGE
    assert content(cluster, "mine") == CLEAN


async def test_fields_that_came_back_by_other_hands_are_in_no_ones_way() -> None:
    cluster = FakeCluster(legacy_widgets())
    ports: JSON = [{"port": 1, "proto": "TCP"}, {"port": 2, "name": "web"}]
    cluster.put("a", {"spec": {"size": 1, "ports": ports, "junk": 1}}, version="v1")
    await prune(cluster)
    back: JSON = [{"port": 1, "proto": "TCP"}, {"port": 2}]
    cluster.touch("a", {"spec": {"size": 1, "ports": back, "junk": 1}})

    report = await restored(cluster)

    assert report.restored == {KEY: ["/spec/ports/1/name"]}
    assert (report.refused, report.present) == ([], 2)
    assert cluster.raw("a")["spec"] == {"size": 1, "ports": ports, "junk": 1}


@pytest.mark.parametrize("call", ["replace", "replace/status"])
async def test_an_object_that_is_recreated_meanwhile_gets_no_more(call: str) -> None:
    cluster = await pruned()

    def recreate(entered: str, _: str) -> None:
        if entered == call:
            cluster.hooks.clear()
            cluster.delete("a")
            cluster.put("a", {"spec": {"size": 1}}, version="v1", uid="another")

    cluster.hooks.append(recreate)
    report = await restored(cluster)
    assert refusals(report) == {"": "another object has this name now"}
    assert report.restored == {}
    assert content(cluster, "a") == {"spec": {"size": 1}}


class Relics:
    """
    Two pruned objects, their archive, and a lease that somebody else may have.
    """

    def __init__(self, cluster: FakeCluster) -> None:
        self.cluster = cluster
        self.lease = FakeLease()
        self.operator = FakeLeases(self.lease, "operator", cluster.clock)
        self.report = RestoreReport()
        self.told: list[str] = []

    @property
    def definition(self) -> Definition:
        assert self.cluster.definition is not None
        return self.cluster.definition

    async def restore(self) -> None:
        async def on_waiting(error: LeaseLostError) -> None:
            self.told.append(error.holder)

        async def restoring(fresh: Definition) -> RestoreReport:
            entries = cluster.entries(fresh, pass_over=self.report.unreadable.append)
            return await restore(
                fresh, entries, cluster, cluster.clock, gate_of(cluster), report=self.report
            )

        cluster = self.cluster
        leases = FakeLeases(self.lease, "restore", cluster.clock)
        await restore_alone(
            self.definition,
            cluster,
            leases,
            cluster.clock,
            restoring=restoring,
            on_waiting=on_waiting,
        )


async def relics() -> Relics:
    cluster = FakeCluster(legacy_widgets())
    for name in ("a", "b"):
        cluster.put(name, GARBAGE, version="v1")
    await prune(cluster)
    return Relics(cluster)


async def test_a_restore_waits_for_a_lease_that_is_given_back() -> None:
    site = await relics()
    await site.operator.acquire(site.definition)
    task = asyncio.create_task(site.restore())
    await asyncio.sleep(2)
    assert site.report.is_empty
    # What it was told to do has changed meanwhile.
    site.cluster.change(labels=widgets().labels)
    await site.operator.release(site.definition)
    await task
    assert site.told == ["operator"]
    assert {refusal.reason for refusal in site.report.refused} == {BY_ESPALIER}
    assert site.lease.holder == ""


async def test_a_restore_ends_when_the_lease_is_kept() -> None:
    site = await relics()

    async def keep() -> None:
        while True:
            await site.operator.acquire(site.definition)
            await asyncio.sleep(5)

    keeping = asyncio.create_task(keep())
    await asyncio.sleep(0.1)
    site.cluster.calls.clear()
    with pytest.raises(LeaseLostError, match="operator"):
        await site.restore()
    keeping.cancel()
    assert site.report.is_empty
    assert site.cluster.calls == []


async def test_a_lease_that_is_lost_midway_ends_it_and_what_was_done_is_reported() -> None:
    site = await relics()

    def hang(call: str, name: str) -> None:
        if (call, name) == ("replace", "a"):
            site.lease.holder, site.lease.until_seconds = "operator", float("inf")
            site.cluster.fail("replace", busy(retry_after_seconds=60), times=99)

    site.cluster.hooks.append(hang)
    with pytest.raises(LeaseLostError):
        await site.restore()
    assert [*site.report.restored] == [ObjectKey("default", "b")]
    assert [(one.key.name, one.reason) for one in site.report.refused] == [
        ("a", "it was interrupted; restore it again")
    ]
    assert content(site.cluster, "b") == GARBAGE
    assert site.lease.holder == "operator"
