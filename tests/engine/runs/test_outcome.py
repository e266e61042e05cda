"""
Stories of what a run counts.
"""

from espalier.engine import RunOutcome, RunSettings, run
from espalier.engine.ports import ObjectKey
from espalier.engine.status.tally import MAX_FAILED, Tally, Totals, total
from tests.fakes.cluster import FakeCluster
from tests.fakes.faults import busy, conflict, rejected
from tests.fakes.widgets import widgets, written_by

SETTINGS = RunSettings(settle_seconds=1, page_size=4, max_in_flight=4)
SKIPS = {"espalier.dev/mode": "enforce", "espalier.dev/skip-owned": "true"}
DENIED = 'admission webhook "w.example.com" denied the request: team label is missing'


async def run_on(cluster: FakeCluster) -> RunOutcome:
    assert cluster.definition is not None
    return await run(cluster.definition, cluster.ports, SETTINGS, cluster)


def a_cluster(objects: int = 10) -> FakeCluster:
    cluster = FakeCluster(widgets())
    cluster.fill(objects)
    return cluster


async def test_what_is_rewritten_once_counts_once() -> None:
    cluster = a_cluster()
    cluster.put("w900", {"spec": {"size": 900, "color": "red"}}, version="v1")
    outcome = await run_on(cluster)
    assert outcome.totals == Totals(rewritten=10, unchanged=1)


async def test_each_outcome_of_an_object_is_reported() -> None:
    cluster = a_cluster()
    cluster.change(labels=SKIPS)
    fields = written_by("argocd-controller", {"f:spec": {"f:size": {}}}, version="v1alpha1")
    cluster.etcd[ObjectKey("default", "w000")].managed_fields = [fields]
    cluster.fail("rewrite", rejected(DENIED, status=400), name="w001", times=99)
    cluster.fail("rewrite", conflict(), name="w002", times=99)
    cluster.fail("rewrite", busy(), name="w003", times=99)

    def delete(call: str, name: str) -> None:
        if (call, name) == ("rewrite", "w004"):
            cluster.delete("w004")
            cluster.hooks.clear()

    cluster.hooks.append(delete)
    outcome = await run_on(cluster)

    assert outcome.totals is not None
    causes = {key.name: cause for key, cause in outcome.totals.failed}
    assert causes == {
        "w001": '400 Invalid, denied by admission webhook "w.example.com"',
        "w002": "409 Conflict",
        "w003": "429 TooManyRequests",
    }
    assert outcome.totals == Totals(
        rewritten=5,
        unchanged=0,
        gone=1,
        conflict=1,
        rejected=1,
        unanswered=1,
        skipped=1,
        failed=outcome.totals.failed,
    )


async def test_a_run_that_comes_to_no_object_counts_none() -> None:
    cluster = a_cluster()
    cluster.migrations = ("another",)
    assert (await run_on(cluster)).totals is None


def test_failed_objects_are_named_up_to_a_bound() -> None:
    tally = Tally()
    for number in range(MAX_FAILED + 10):
        tally.seen += 1
        tally.fail(ObjectKey("ns", f"o{number}"), f"cause {number}", kind="cause")
    totals = total([tally])
    assert totals is not None
    assert totals.rejected == MAX_FAILED + 10
    assert len(totals.failed) == MAX_FAILED


async def test_a_conflict_is_tried_again_after_a_pause_from_the_second_one_on() -> None:
    cluster = a_cluster(1)
    times: list[float] = []

    def note(call: str, _: str) -> None:
        if call == "rewrite" and len(times) < 4:
            times.append(cluster.clock.monotonic_seconds())
            raise conflict()

    cluster.hooks.append(note)
    assert (await run_on(cluster)).is_proved
    first, second, third, fourth = times
    assert second == first
    assert 0.5 <= third - second <= 0.75
    assert 1.0 <= fourth - third <= 1.5
