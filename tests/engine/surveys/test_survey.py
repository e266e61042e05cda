"""
Surveys: what is found, what it is called, and that nothing is written.
"""

import asyncio
from dataclasses import replace

import pytest

from espalier.crd import Definition, Version
from espalier.engine import Scope, Survey, Surveyor, survey
from espalier.engine.policy.evidence import Evidence
from espalier.engine.ports import ObjectKey, StoredMetadata
from espalier.engine.status.path_counts import MAX_PATHS, Counter, general
from espalier.engine.status.text import MAX_PATH_CHARACTERS
from espalier.errors import NothingServedError
from espalier.paths import JSON
from tests.fakes.cluster import FakeCluster
from tests.fakes.faults import expired
from tests.fakes.widgets import V1_SCHEMA, V1ALPHA1_SCHEMA, legacy_widgets, widgets

WRITES = ("rewrite", "replace", "replace/status", "set_stored_versions", "save", "archive")


async def surveyed(cluster: FakeCluster, scope: Scope | None = None) -> Survey:
    assert cluster.definition is not None
    found = await survey(cluster.definition, cluster, cluster.clock, scope or Scope(page_size=3))
    assert cluster.count(*WRITES) == 0
    return found


def text(counts: object) -> str:
    return str(getattr(counts, "describe")())  # noqa: B009 - one short way to all counts


def narrowed() -> Definition:
    """
    Make a definition whose storage version lacks what an older version has.
    """
    old: dict[str, JSON] = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {"size": {"type": "integer"}, "shade": {"type": "string"}},
            }
        },
    }
    return widgets(
        versions=(
            Version(name="v1alpha1", served=True, storage=False, schema=old),
            Version(name="v1", served=True, storage=True, schema=V1_SCHEMA),
        )
    )


async def test_unknown_fields_of_a_legacy_definition_are_counted_by_path() -> None:
    cluster = FakeCluster(legacy_widgets())
    for number in range(7):
        ports: list[JSON] = [{"port": 1, "odd": "x"}, {"port": 2, "odd": "y"}]
        cluster.put(f"w{number}", {"spec": {"size": 1, "ports": ports}}, version="v1")
    cluster.put("w9", {"spec": {"size": 1, "typo": "secret"}}, version="v1")

    found = await surveyed(cluster)

    assert found.is_legacy
    assert found.objects == 8
    assert found.would_lose is None
    removed = found.normalising.removed
    assert removed.objects == 8
    assert [(path.path, path.objects) for path in removed.paths] == [
        ("spec.ports[*].odd", 7),
        ("spec.typo", 1),
    ]
    assert [str(key) for key in removed.paths[0].first] == [f"default/w{n}" for n in range(5)]
    assert found.normalising.pruned.paths == removed.paths
    assert "secret" not in text(removed)
    assert text(removed).endswith("spec.typo (1 object: default/w9)")


async def test_own_pruning_and_the_servers_are_distinguished() -> None:
    cluster = FakeCluster(legacy_widgets())
    cluster.put("mistyped", {"spec": {"size": {"was": "an object"}}}, version="v1")
    cluster.put("emptied", {"spec": {"typo": 1}}, version="v1")

    normalising = (await surveyed(cluster)).normalising

    assert [path.path for path in normalising.removed.paths] == ["spec.size.was", "spec.typo"]
    assert [path.path for path in normalising.pruned.paths] == ["spec.typo"]
    assert [path.path for path in normalising.mistyped.paths] == ["spec.size"]
    assert [path.path for path in normalising.emptied.paths] == ["spec"]


async def test_defaults_that_a_rewrite_would_fill_in_are_counted() -> None:
    cluster = FakeCluster(widgets())
    cluster.fill(4)
    found = await surveyed(cluster)
    assert [(p.path, p.objects) for p in found.normalising.filled.paths] == [("spec.color", 4)]
    assert found.normalising.removed.objects == 0


def test_nulls_that_would_be_dropped_are_counted() -> None:
    surveyor = Surveyor(widgets())
    metadata: dict[str, JSON] = {"name": "w", "namespace": "default"}
    surveyor.look_at({"metadata": metadata, "spec": {"size": None, "color": "red"}})
    assert [p.path for p in surveyor.survey().normalising.dropped.paths] == ["spec.size"]


async def test_violations_are_counted_by_path_and_kind_without_values() -> None:
    cluster = FakeCluster(legacy_widgets())
    cluster.put("good", {"spec": {"size": 1}}, version="v1")
    cluster.put("bad", {"spec": {"size": "hunter2"}}, version="v1")

    found = (await surveyed(cluster)).violations

    assert found.objects == 1
    assert found.first == (ObjectKey("default", "bad"),)
    (path,) = [p.path for p in found.paths]
    assert path == 'spec.size: Invalid value: must be of type integer: "string"'
    assert "hunter2" not in repr(found)


async def test_what_a_conversion_loses_is_found_in_pairs_of_reads() -> None:
    cluster = FakeCluster(narrowed())
    for number in range(7):
        cluster.put(f"w{number}", {"spec": {"size": number, "shade": "dark"}})
    cluster.put("w9", {"spec": {"size": 1}})

    (loss,) = (await surveyed(cluster)).conversions

    assert loss.version == "v1alpha1"
    assert loss.compared == 8
    assert [(p.path, p.objects) for p in loss.lost.paths] == [("spec.shade", 7)]
    assert loss.unsettled.objects == 0


async def test_an_object_written_between_both_reads_is_read_again() -> None:
    cluster = FakeCluster(narrowed())
    cluster.put("w0", {"spec": {"size": 0, "shade": "dark"}})
    cluster.put("w1", {"spec": {"size": 1}})
    lists = iter(["touched"])

    def touch(call: str, _: str) -> None:
        if call == "list_objects" and cluster.count("list_objects") == 2 and next(lists, None):
            cluster.touch("w0")

    cluster.hooks.append(touch)
    (loss,) = (await surveyed(cluster)).conversions

    assert loss.compared == 2
    assert [(p.path, p.objects) for p in loss.lost.paths] == [("spec.shade", 1)]
    assert cluster.count("get_object") == 2


async def test_an_object_that_never_keeps_still_is_named_and_not_guessed_at() -> None:
    cluster = FakeCluster(narrowed())
    cluster.put("w0", {"spec": {"size": 0, "shade": "dark"}})

    def touch(call: str, _: str) -> None:
        if call in ("list_objects", "get_object"):
            cluster.touch("w0")

    cluster.hooks.append(touch)
    (loss,) = (await surveyed(cluster)).conversions

    assert loss.compared == 0
    assert loss.unsettled.first == (ObjectKey("default", "w0"),)


async def test_objects_that_come_and_go_between_both_reads_disturb_no_other_pair() -> None:
    cluster = FakeCluster(narrowed())
    for name in ("b", "c", "d"):
        cluster.put(name, {"spec": {"shade": "dark"}})

    def change(call: str, _: str) -> None:
        if call == "list_objects" and cluster.count("list_objects") == 2:
            cluster.put("a", {"spec": {"shade": "dark"}})
            cluster.delete("c")

    cluster.hooks.append(change)
    (loss,) = (await surveyed(cluster, Scope(page_size=10))).conversions

    assert loss.compared == 2
    assert cluster.count("get_object") == 1


async def test_stored_versions_that_cannot_be_read_through_are_named() -> None:
    unserved = (
        Version(name="v1alpha1", served=False, storage=False, schema=V1ALPHA1_SCHEMA),
        Version(name="v1", served=True, storage=True, schema=V1_SCHEMA),
    )
    cluster = FakeCluster(widgets(versions=unserved, stored_versions=("v0", "v1alpha1", "v1")))
    found = await surveyed(cluster)
    assert found.conversions == ()
    assert found.unread_versions == ("v0", "v1alpha1")


async def test_an_unserved_storage_version_is_surveyed_through_another_one() -> None:
    versions = (
        Version(name="v1alpha1", served=True, storage=False, schema=V1ALPHA1_SCHEMA),
        Version(name="v1", served=False, storage=True, schema=V1_SCHEMA),
    )
    cluster = FakeCluster(widgets(versions=versions))
    cluster.fill(2)
    found = await surveyed(cluster)
    assert (found.version, found.candidate_version, found.objects) == ("v1alpha1", "v1", 2)
    assert found.conversions == ()


async def test_a_definition_that_serves_nothing_reports_it() -> None:
    versions = tuple(replace(version, served=False) for version in widgets().versions)
    with pytest.raises(NothingServedError, match="neither v1 nor another"):
        await surveyed(FakeCluster(widgets(versions=versions)))


async def test_a_candidate_reports_what_its_schema_would_do() -> None:
    cluster = FakeCluster(widgets(stored_versions=("v1",)))
    cluster.put("w0", {"spec": {"size": 5, "color": "red"}}, version="v1")
    stricter: dict[str, JSON] = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {"size": {"type": "integer", "maximum": 3}}}
        },
    }
    version = Version(name="v2", served=True, storage=True, schema=stricter)
    candidate = widgets(versions=(version,), stored_versions=())

    found = await surveyed(cluster, Scope(candidate=candidate))

    assert (found.version, found.candidate_version) == ("v1", "v2")
    assert [p.path for p in found.normalising.removed.paths] == ["spec.color"]
    (path,) = [p.path for p in found.violations.paths]
    assert path == "spec.size: Invalid value: should be less than or equal to 3"
    assert found.would_lose is None


async def test_what_only_the_history_names_is_reported() -> None:
    definition = widgets(stored_versions=("v1",), generation=2)
    cluster = FakeCluster(definition)
    cluster.put("w0", {"spec": {"size": 1}}, version="v1", managed=("size", "gone"))
    evidence = Evidence(definition, None, settle_seconds=0, now_seconds=0)

    async def would_lose(metadata: StoredMetadata) -> frozenset[str]:
        return evidence.judge(metadata).items

    found = (await surveyed(cluster, Scope(would_lose=would_lose))).would_lose

    assert found is not None
    assert [(one.path, one.objects) for one in found.paths] == [("v1.spec.gone", 1)]


async def test_only_the_namespaces_asked_for_are_surveyed() -> None:
    cluster = FakeCluster(widgets())
    cluster.fill(3)
    other = ObjectKey("other", "w0")
    cluster.etcd[other] = cluster.etcd[ObjectKey("default", "w000")]
    found = await surveyed(cluster, Scope(namespaces=("other", "other", "none"), page_size=1))
    assert found.objects == 1
    assert found.normalising.filled.first == (other,)


async def test_an_expired_token_is_gone_on_from() -> None:
    cluster = FakeCluster(narrowed())
    cluster.fill(6)
    pages = iter([1])

    def expire(call: str, _: str) -> None:
        if call == "list_objects" and cluster.count("list_objects") == 4 and next(pages, None):
            cluster.fail("list_objects", expired("default/w002"))

    cluster.hooks.append(expire)
    assert (await surveyed(cluster)).objects == 6


async def test_a_handful_of_a_page_s_objects_are_in_memory_at_a_time() -> None:
    class Watched(dict[str, JSON]):
        alive = 0
        most = 0

        def __init__(self, *args: object) -> None:
            super().__init__(*args)
            Watched.alive += 1
            Watched.most = max(Watched.most, Watched.alive)

        def __del__(self) -> None:
            Watched.alive -= 1

    class Page(list[dict[str, JSON]]):
        def __iter__(self):  # type: ignore[no-untyped-def]  # noqa: ANN204 - a test's own page
            return (Watched(self[index]) for index in range(len(self)))

    class Lazy(FakeCluster):
        async def list_objects(self, *args, **kwargs):  # type: ignore[no-untyped-def]  # noqa: ANN002, ANN003, ANN202 - handed on
            page = await super().list_objects(*args, **kwargs)
            return replace(page, objects=Page(page.objects))

    cluster = Lazy(narrowed())
    cluster.fill(20)
    found = await surveyed(cluster, Scope(page_size=20))
    assert found.objects == 20
    # The one at hand and the next one; in a comparison the same of the other version.
    assert Watched.most <= 6


def test_malformed_metadata_is_counted_and_not_fatal() -> None:
    surveyor = Surveyor(widgets())
    surveyor.look_at({"metadata": {"name": "w", "labels": {"a": 1}}, "spec": {}})
    assert surveyor.survey().normalising.malformed.objects == 1


def test_counts_stay_small_whatever_objects_are_called() -> None:
    counter = Counter()
    for number in range(MAX_PATHS + 10):
        counter.add(ObjectKey("", f"o{number}"), [f"spec.k{number}"])
    counter.add(ObjectKey("", "none"), [])
    counts = counter.counts()
    assert counts.objects == MAX_PATHS + 10
    assert len(counts.paths) == MAX_PATHS
    assert counts.is_cut
    assert len(counts.first) == 5
    assert counts.describe().endswith("more, at least")


def test_paths_are_general_and_bounded() -> None:
    assert general(("spec", "a", 3, "b", 0)) == "spec.a[*].b[*]"
    assert general(()) == "<nil>"
    assert len(general(("spec", *["x" * 10_000] * 9))) == MAX_PATH_CHARACTERS


def with_a_rule(rule: str) -> Definition:
    ruled: dict[str, JSON] = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {"size": {"type": "integer"}},
                "x-kubernetes-validations": [{"rule": rule, "message": "no"}],
            }
        },
    }
    version = Version(name="v1", served=True, storage=True, schema=ruled)
    return widgets(versions=(version,), stored_versions=("v1",))


async def test_rules_of_the_schema_are_evaluated() -> None:
    cluster = FakeCluster(with_a_rule("self.size < 5"))
    cluster.put("small", {"spec": {"size": 1}}, version="v1")
    cluster.put("large", {"spec": {"size": 9}}, version="v1")
    found = await surveyed(cluster)
    assert found.violations.first == (ObjectKey("default", "large"),)
    assert found.unchecked.objects == 0
    # What was wrong before is forgiven by an update.
    assert found.unwritable.objects == 0


async def test_objects_that_cannot_be_updated_are_distinguished_from_those_that_can() -> None:
    root: dict[str, JSON] = {
        "type": "object",
        "required": ["spec"],
        "properties": {
            "spec": {"type": "object", "properties": {"size": {"type": "integer", "maximum": 5}}}
        },
    }
    version = Version(name="v1", served=True, storage=True, schema=root)
    cluster = FakeCluster(widgets(versions=(version,), stored_versions=("v1",)))
    cluster.put("large", {"spec": {"size": 9}}, version="v1")
    cluster.put("bare", {}, version="v1", managed=())
    found = await surveyed(cluster)
    assert found.violations.objects == 2
    assert found.unwritable.first == (ObjectKey("default", "bare"),)
    assert [path.path for path in found.unwritable.paths] == ["spec: Required value"]


async def test_others_get_their_turn_between_two_objects_of_a_page() -> None:
    cluster = FakeCluster(widgets())
    cluster.fill(50)
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    await surveyed(cluster, Scope(page_size=50))
    task.cancel()

    assert turns >= 50
