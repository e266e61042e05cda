"""
Stories of objects that the server itself cannot read: the others go on, and nothing is trimmed.
"""

from dataclasses import replace

import pytest

from espalier.engine import Reason, RunOutcome, RunSettings, Scope, run, survey
from espalier.engine.listing.undecodable import key_of_storage_key
from espalier.engine.ports import ObjectKey
from espalier.paths import JSON
from tests.fakes.cluster import FakeCluster
from tests.fakes.faults import Killed
from tests.fakes.widgets import legacy_widgets, widgets, written_by

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


async def run_on(cluster: FakeCluster, settings: RunSettings = SETTINGS) -> RunOutcome:
    assert cluster.definition is not None
    return await run(cluster.definition, cluster.ports, settings, cluster)


def left_behind(cluster: FakeCluster) -> set[str]:
    return {str(key) for key, one in cluster.etcd.items() if "v1alpha1" in str(one.raw)}


@pytest.mark.parametrize(
    "broken", [(0,), (29,), (3, 4), (7, 8), (0, 1, 2, 3), tuple(range(30)), (5, 12, 13, 28)]
)
async def test_named_objects_are_passed_over_and_all_others_are_rewritten(
    broken: tuple[int, ...],
) -> None:
    cluster = a_cluster(*broken)
    outcome = await run_on(cluster)
    names = {f"default/w{number:03d}" for number in broken}
    assert (outcome.reason, outcome.retries) == (Reason.UNDECODABLE, True)
    assert left_behind(cluster) == names
    assert next(iter(sorted(names))) in outcome.conditions[0].message
    assert f"{len(broken)} object" in outcome.conditions[0].message
    assert cluster.count("set_stored_versions") == 0


def break_one(cluster: FakeCluster, namespace: str, name: str) -> None:
    cluster.etcd[ObjectKey(namespace, name)].is_broken = True


@pytest.mark.parametrize(
    "broken", [(5,), (0,), (29,), (0, 1, 2), (3, 4, 20), (9, 10, 11), (7, 19, 29), tuple(range(30))]
)
async def test_objects_that_are_not_named_are_found_and_all_others_are_rewritten(
    broken: tuple[int, ...],
) -> None:
    cluster = a_cluster(*broken, is_named=False)
    add_elsewhere(cluster, "other", "x")
    outcome = await run_on(cluster)
    assert (outcome.reason, cluster.count("set_stored_versions")) == (Reason.UNDECODABLE, 0)
    assert left_behind(cluster) == {f"default/w{number:03d}" for number in broken}
    # Of such as are next to each other only the last one can be told.
    last = next(number for number in broken if number + 1 not in broken)
    assert f"default/w{last:03d}" in outcome.conditions[0].message


NAMESPACES = ("a", "a-b", "b", "c", "d.e")


@pytest.mark.parametrize(
    "broken",
    [
        {"a/first"},
        {"b/first"},
        {"b/first", "c/first"},
        {"a-b/first", "a/first", "d.e/first"},
        {f"{namespace}/first" for namespace in NAMESPACES},
        {"b/first", "b/second", "c/first"},
        {"b/second", "c/first"},
        {"d.e/second"},
    ],
)
@pytest.mark.parametrize("page_size", [1, 4, 500])
async def test_the_first_one_of_any_namespace_may_be_the_one(
    broken: set[str], page_size: int
) -> None:
    cluster = a_cluster(count=0, is_named=False)
    for namespace in NAMESPACES:
        for name in ("first", "second", "third"):
            add_elsewhere(cluster, namespace, name)
    for key in broken:
        break_one(cluster, *key.split("/"))
    outcome = await run_on(cluster, replace(SETTINGS, page_size=page_size))
    assert outcome.reason == Reason.UNDECODABLE
    assert left_behind(cluster) == broken
    for key in broken - {"b/first"} if "b/second" in broken else broken:
        assert key in outcome.conditions[0].message


@pytest.mark.parametrize("broken", [(0,), (5,), (29,), (0, 5, 6), (3, 17)])
async def test_those_without_namespaces_are_found_too(broken: tuple[int, ...]) -> None:
    cluster = FakeCluster(widgets(namespaced=False))
    cluster.names_broken = False
    for number in range(30):
        add_elsewhere(cluster, "", f"w{number:03d}")
    for number in broken:
        break_one(cluster, "", f"w{number:03d}")
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.UNDECODABLE
    assert left_behind(cluster) == {f"w{number:03d}" for number in broken}


async def test_those_of_the_namespaces_that_a_run_is_restricted_to() -> None:
    definition = widgets(annotations={"espalier.dev/namespaces": "default"})
    cluster = FakeCluster(definition)
    cluster.names_broken = False
    cluster.fill(9)
    break_one(cluster, "default", "w000")
    break_one(cluster, "default", "w005")
    await run_on(cluster)
    assert left_behind(cluster) == {"default/w000", "default/w005"}


async def test_a_rewrite_that_is_resumed_right_before_one_gets_past_it() -> None:
    cluster = a_cluster(8, is_named=False)
    add_elsewhere(cluster, "other", "x")
    lists = iter([1])

    def die(call: str, _: str) -> None:
        # The first page of the rewrite is done, and the checkpoint has its token.
        if call == "rewrite" and cluster.count("rewrite") == 9 and next(lists, None):
            raise Killed

    cluster.etcd[ObjectKey("default", "w008")].is_broken = False
    cluster.hooks.append(die)
    with pytest.raises(Killed):
        await run_on(cluster)
    cluster.etcd[ObjectKey("default", "w008")].is_broken = True
    await run_on(cluster)
    assert left_behind(cluster) == {"default/w008"}


async def test_what_may_have_been_passed_over_is_reported() -> None:
    cluster = FakeCluster(widgets())
    cluster.names_broken = False
    for name in ("a1", "a2", "b1", "b2"):
        cluster.put(name, {"spec": {"size": 1}})
    break_one(cluster, "default", "a1")
    break_one(cluster, "default", "b1")
    outcome = await run_on(cluster)
    assert "default/b2" not in left_behind(cluster)
    if "default/a2" in left_behind(cluster):
        assert "any others from the first one up to it" in outcome.conditions[0].message


async def test_a_list_that_cannot_be_continued_reports_how_far_it_came() -> None:
    class Strange(FakeCluster):
        def place_of(self, token: str) -> str | None:
            return None if token else ""

    cluster = Strange(widgets())
    cluster.names_broken = False
    cluster.fill(9)
    break_one(cluster, "default", "w004")
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.UNDECODABLE
    assert "whatever comes behind" in outcome.conditions[0].message
    assert cluster.count("set_stored_versions") == 0


async def test_objects_that_cannot_be_read_are_not_reported_as_valid() -> None:
    cluster = a_cluster(5, 12, 13)
    outcome = await run_on(cluster)
    (_, valid) = outcome.conditions
    assert (valid.type, valid.status) == ("espalier.dev/StoredObjectsValid", "Unknown")
    assert "cannot read default/w005, default/w012, default/w013" in valid.message
    assert "none of 27 stored objects is seen to violate" in valid.message


async def test_repaired_objects_end_it() -> None:
    cluster = a_cluster(5)
    first = await run_on(cluster)
    cluster.etcd[ObjectKey("default", "w005")].is_broken = False
    second = await run_on(cluster)
    assert first.reason == Reason.UNDECODABLE
    assert second.is_proved


async def test_a_legacy_definition_is_pruned_around_them() -> None:
    cluster = FakeCluster(legacy_widgets())
    for number in range(9):
        cluster.put(f"w{number}", {"spec": {"size": 1, "junk": 1}}, version="v1")
    cluster.etcd[ObjectKey("default", "w4")].is_broken = True
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.UNDECODABLE
    pruned = {key.name for key, one in cluster.etcd.items() if "junk" not in str(one.raw)}
    assert pruned == {f"w{number}" for number in range(9)} - {"w4"}


async def test_a_survey_names_them_and_looks_at_the_others() -> None:
    cluster = a_cluster(5, 6)
    assert cluster.definition is not None
    found = await survey(cluster.definition, cluster, cluster.clock, Scope(page_size=8))
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


@pytest.mark.parametrize("rewrites", [1, 16, 29])
async def test_what_is_repaired_after_the_proof_is_looked_at_before_it_is_written(
    rewrites: int,
) -> None:
    cluster = a_cluster(20)
    cluster.change(generation=2)
    key = ObjectKey("default", "w020")
    note: JSON = {"size": 20, "note": "keep me"}
    cluster.etcd[key].raw["spec"] = note
    cluster.etcd[key].managed_fields = [
        written_by("kubectl", {"f:spec": {"f:note": {}}}, version="v1alpha1")
    ]

    def repair(call: str, _: str) -> None:
        # At the last one the rewrite is past it, and the verify pass comes upon it.
        if call == "rewrite" and cluster.count("rewrite") == rewrites:
            cluster.etcd[key].is_broken = False

    cluster.hooks.append(repair)
    outcome = await run_on(cluster)
    assert not cluster.etcd[key].is_broken
    assert outcome.reason == Reason.WOULD_LOSE_DATA
    assert ".spec.note at v1 (1 object)" in outcome.conditions[0].message
    assert cluster.etcd[key].raw["spec"] == note
    assert cluster.count("set_stored_versions") == 0


async def test_what_is_repaired_after_the_proof_and_loses_nothing_is_rewritten() -> None:
    cluster = a_cluster(20)

    def repair(call: str, _: str) -> None:
        if call == "rewrite":
            cluster.etcd[ObjectKey("default", "w020")].is_broken = False

    cluster.hooks.append(repair)
    assert (await run_on(cluster)).is_proved
    assert left_behind(cluster) == set()
