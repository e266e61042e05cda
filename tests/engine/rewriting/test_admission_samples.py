"""
Stories of admission that changes objects of some namespaces or pages only.
"""

from dataclasses import replace

import pytest

from espalier.engine import Reason, RunSettings, run
from espalier.engine.ports import ObjectKey
from espalier.paths import JSON
from tests.fakes.cluster import FakeCluster
from tests.fakes.faults import rejected
from tests.fakes.widgets import widgets

SETTINGS = RunSettings(settle_seconds=1, page_size=500, max_in_flight=2)


def spread_over(*namespaces: str, each: int) -> FakeCluster:
    """
    Make a cluster of objects with ascending sizes, in the order of the namespaces.
    """
    cluster = FakeCluster(widgets())
    for number in range(each * len(namespaces)):
        key = cluster.put(f"w{number:03d}", {"spec": {"size": number}})
        stored = cluster.etcd.pop(key)
        cluster.etcd[ObjectKey(namespaces[number // each], key.name)] = stored
    return cluster


def turn_green(cluster: FakeCluster, sizes: range) -> None:
    """
    Have admission change objects of some sizes.
    """

    def mutate(obj: dict[str, JSON]) -> None:
        spec = obj["spec"]
        assert isinstance(spec, dict)
        if spec["size"] in sizes:
            spec["color"] = "green"

    cluster.admission = mutate


async def reason_on(cluster: FakeCluster, settings: RunSettings = SETTINGS) -> str:
    assert cluster.definition is not None
    outcome = await run(cluster.definition, cluster.ports, settings, cluster)
    return outcome.reason


def greens(cluster: FakeCluster) -> int:
    return sum(
        stored.raw["spec"] == {"size": int(key.name[1:]), "color": "green"}
        for key, stored in cluster.etcd.items()
    )


async def test_admission_that_changes_objects_after_the_first_page_is_found() -> None:
    cluster = spread_over("default", each=60)
    turn_green(cluster, range(20, 60))
    assert await reason_on(cluster, replace(SETTINGS, page_size=20)) == Reason.ADMISSION_MUTATES
    assert greens(cluster) == 0


@pytest.mark.parametrize("page_size", [20, 60, 500])
async def test_admission_that_changes_objects_of_later_namespaces_is_found(page_size: int) -> None:
    cluster = spread_over("a", "b", "c", each=20)
    turn_green(cluster, range(20, 60))
    settings = replace(SETTINGS, page_size=page_size)
    assert await reason_on(cluster, settings) == Reason.ADMISSION_MUTATES
    assert greens(cluster) == 0


async def test_admission_that_changes_objects_of_one_namespace_in_a_page_is_found() -> None:
    # Neither the first nor the middle nor the last object is of that namespace.
    cluster = spread_over("a", "b", "c", "d", "e", each=12)
    turn_green(cluster, range(12, 24))
    assert await reason_on(cluster) == Reason.ADMISSION_MUTATES
    assert greens(cluster) == 0


async def test_a_namespace_whose_dry_run_is_denied_is_sampled_again_on_the_next_page() -> None:
    cluster = spread_over("a", "b", each=20)
    for number in range(40):
        if number not in range(30, 40):
            cluster.fail("try_rewrite", rejected("no"), name=f"w{number:03d}", times=99)
    cluster.faults = [one for one in cluster.faults if one.name >= "w020"]
    turn_green(cluster, range(30, 40))
    assert await reason_on(cluster, replace(SETTINGS, page_size=10)) == Reason.ADMISSION_MUTATES


async def test_at_most_one_dry_run_in_fifty_writes_is_made_beyond_the_first_three() -> None:
    cluster = spread_over(*(f"n{number:03d}" for number in range(250)), each=4)
    cluster.fail("set_stored_versions", rejected("enough"), times=9)
    await reason_on(cluster)
    # Two passes of two pages.
    assert cluster.count("try_rewrite") == 2 * (3 + 1000 // 50)
