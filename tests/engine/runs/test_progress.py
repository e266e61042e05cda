"""
A run tells how far it came, in numbers.
"""

from dataclasses import replace

from espalier.engine import RunSettings, run
from espalier.engine.ports.progress import PassProgress
from espalier.engine.status.conditions import Reason
from tests.fakes.cluster import FakeCluster
from tests.fakes.faults import Killed
from tests.fakes.widgets import widgets

SETTINGS = RunSettings(settle_seconds=0, page_size=4, max_in_flight=1, writes_per_second=2)


async def run_on(cluster: FakeCluster) -> None:
    assert cluster.definition is not None
    await run(cluster.definition, cluster.ports, SETTINGS, cluster)


async def test_each_pass_reports_what_is_done_of_how_many_and_how_fast() -> None:
    cluster = FakeCluster(widgets())
    cluster.fill(10)
    await run_on(cluster)

    without_pace = [replace(one, objects_per_second=None) for one in cluster.progress]
    assert without_pace == [
        PassProgress(phase=phase, number=number, done=done, total=total)
        for phase, number in (("rewriting", 0), ("verifying", 1))
        for done, total in ((0, None), (4, 10), (8, 10), (10, 10))
    ]
    first, *others = [one.objects_per_second for one in cluster.progress[:4]]
    assert first is None
    # Two a second are allowed.
    assert all(pace is not None and 1 < pace < 4 for pace in others)


async def test_the_numbers_are_those_of_the_condition() -> None:
    cluster = FakeCluster(widgets())
    cluster.fill(6)
    await run_on(cluster)

    told = [one[0].message for one in cluster.reports if one[0].reason == Reason.REWRITING]
    assert told == [
        f"{one}: {one.done}{'' if one.total is None else f' of {one.total}'} objects,"
        " storage version v1, generation 1"
        for one in cluster.progress
    ]


async def test_a_run_that_goes_on_counts_what_was_done_before_but_not_as_its_own_pace() -> None:
    cluster = FakeCluster(widgets())
    cluster.fill(40)

    def kill(call: str, _: str) -> None:
        if call == "rewrite" and cluster.count("rewrite") > 30:
            raise Killed

    cluster.hooks.append(kill)
    try:
        await run_on(cluster)
    except Killed:
        cluster.hooks.clear()
    cluster.progress.clear()
    await run_on(cluster)
    begin, first, *_ = cluster.progress
    assert begin.done >= 20
    assert first.done == begin.done + 4
    assert first.objects_per_second is not None
    assert first.objects_per_second < 4
