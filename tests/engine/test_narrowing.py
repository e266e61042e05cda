"""
Stories of objects that the server itself cannot read: the others go on, and nothing is trimmed.
"""

import pytest

from espalier.engine import Outcome, Reason, RunSettings, Scope, run, survey
from espalier.engine.narrowing import key_of_storage_key
from espalier.engine.ports import ObjectKey
from tests.fakes.clock import play
from tests.fakes.cluster import FakeCluster, legacy_widgets, widgets

SETTINGS = RunSettings(settle_seconds=1, page_size=8, max_in_flight=2)


def a_cluster(*broken: int, count: int = 30, is_named: bool = True) -> FakeCluster:
    cluster = FakeCluster(widgets())
    cluster.fill(count)
    cluster.names_broken = is_named
    for number in broken:
        cluster.etcd[ObjectKey("default", f"w{number:03d}")].is_broken = True
    return cluster


def add_elsewhere(cluster: FakeCluster, namespace: str, name: str) -> None:
    key = cluster.put(name, {"spec": {"size": 1}})
    cluster.etcd[ObjectKey(namespace, name)] = cluster.etcd.pop(key)


async def run_on(cluster: FakeCluster) -> Outcome:
    assert cluster.definition is not None
    return await run(cluster.definition, cluster.ports, SETTINGS, cluster)


def left_behind(cluster: FakeCluster) -> set[str]:
    return {str(key) for key, one in cluster.etcd.items() if "v1alpha1" in str(one.raw)}


@pytest.mark.parametrize(
    "broken", [(0,), (29,), (3, 4), (7, 8), (0, 1, 2, 3), tuple(range(30)), (5, 12, 13, 28)]
)
def test_named_objects_are_passed_over_and_all_others_are_rewritten(
    broken: tuple[int, ...],
) -> None:
    cluster = a_cluster(*broken)
    outcome = play(run_on(cluster))
    names = {f"default/w{number:03d}" for number in broken}
    assert (outcome.reason, outcome.retries) == (Reason.UNDECODABLE, True)
    assert left_behind(cluster) == names
    assert next(iter(sorted(names))) in outcome.conditions[0].message
    assert f"{len(broken)} object" in outcome.conditions[0].message
    assert cluster.count("set_stored_versions") == 0


def test_an_object_that_nobody_names_is_the_one_after_another() -> None:
    cluster = a_cluster(5, is_named=False)
    add_elsewhere(cluster, "other", "x")
    outcome = play(run_on(cluster))
    assert outcome.reason == Reason.UNDECODABLE
    assert "the one after default/w004" in outcome.conditions[0].message
    # Of its namespace nobody knows what follows; the next one goes on.
    assert "other/x" not in left_behind(cluster)
    assert left_behind(cluster) == {f"default/w{number:03d}" for number in range(5, 30)}


def test_the_first_one_of_all_may_be_the_one() -> None:
    cluster = a_cluster(0, is_named=False)
    outcome = play(run_on(cluster))
    assert "the first one" in outcome.conditions[0].message


def test_mended_objects_end_it() -> None:
    async def story() -> tuple[Outcome, Outcome]:
        cluster = a_cluster(5)
        first = await run_on(cluster)
        cluster.etcd[ObjectKey("default", "w005")].is_broken = False
        return first, await run_on(cluster)

    first, second = play(story())
    assert first.reason == Reason.UNDECODABLE
    assert second.is_proved


def test_a_legacy_definition_is_pruned_around_them() -> None:
    cluster = FakeCluster(legacy_widgets())
    for number in range(9):
        cluster.put(f"w{number}", {"spec": {"size": 1, "junk": 1}}, version="v1")
    cluster.etcd[ObjectKey("default", "w4")].is_broken = True
    outcome = play(run_on(cluster))
    assert outcome.reason == Reason.UNDECODABLE
    pruned = {key.name for key, one in cluster.etcd.items() if "junk" not in str(one.raw)}
    assert pruned == {f"w{number}" for number in range(9)} - {"w4"}


def test_a_survey_names_them_and_looks_at_the_others() -> None:
    cluster = a_cluster(5, 6)
    assert cluster.definition is not None
    found = play(survey(cluster.definition, cluster, cluster.clock, Scope(page_size=8)))
    assert found.undecodable == ("default/w005", "default/w006")
    assert found.objects == 28


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("/example.com/widgets/default/a", ObjectKey("default", "a")),
        ("/example.com/gadgets/a", ObjectKey("", "a")),
        ("/example.com/gadgets/", None),
        ("/", None),
        ("/example.com/widgets/a/b/c", None),
    ],
)
def test_keys_of_storage(text: str, key: ObjectKey | None) -> None:
    assert key_of_storage_key(text) == key
