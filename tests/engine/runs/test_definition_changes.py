"""
Stories of definitions that change while a run is at work.
"""

from dataclasses import replace

import pytest

from espalier.engine import Reason, RunOutcome
from espalier.paths import JSON
from tests.engine.runs.pruned import a_cluster, all_are_current, run_on, stored_versions
from tests.fakes.cluster import FakeCluster
from tests.fakes.faults import conflict
from tests.fakes.widgets import widgets


@pytest.mark.parametrize(
    ("call", "page"),
    [(call, n) for call in ("rewrite", "get_definition") for n in (1, 2, 3)]
    # The third one is for managedFields, after the proof.
    + [("list_metadata", 1), ("list_metadata", 2)]
    + [("rewrite", 5), ("rewrite", 8), ("set_stored_versions", 1), ("save", 1), ("save", 3)],
)
async def test_a_schema_changed_at_any_time_is_the_one_that_is_proved(call: str, page: int) -> None:
    cluster = a_cluster(4)
    alpha, v1 = widgets().versions
    blue: dict[str, JSON] = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "size": {"type": "integer"},
                    "color": {"type": "string", "default": "red"},
                    "shape": {"type": "string", "default": "round"},
                },
            },
            "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
        },
    }
    seen = iter(range(1, 1000))

    def change(name: str, _: str) -> None:
        if name == call and next(seen) == page:
            cluster.change(versions=(alpha, replace(v1, schema=blue)))

    cluster.hooks.append(change)
    assert (await run_on(cluster)).is_proved
    shapes = [stored.raw["spec"] for stored in cluster.etcd.values()]
    assert all(isinstance(spec, dict) and spec["shape"] == "round" for spec in shapes)


async def test_a_storage_version_flipped_back_before_the_trim_is_not_trimmed_away() -> None:
    cluster = a_cluster(2)
    alpha, v1 = widgets().versions

    def flip(call: str, _: str) -> None:
        if call == "set_stored_versions":
            cluster.change(
                versions=(replace(alpha, storage=True), replace(v1, storage=False)),
                labels={**widgets().labels, "espalier.dev/loss": "accept"},
            )
            cluster.hooks.clear()

    cluster.hooks.append(flip)
    assert (await run_on(cluster)).is_proved
    assert stored_versions(cluster) == ("v1alpha1",)
    assert {s.raw["apiVersion"] for s in cluster.etcd.values()} == {"example.com/v1alpha1"}


async def test_stored_versions_that_change_during_the_verify_pass_start_it_over() -> None:
    cluster = a_cluster(2)

    def add_name(call: str, _: str) -> None:
        if call == "get_definition" and cluster.count("rewrite") == 4:
            cluster.change(stored_versions=("v1alpha1", "v1beta1", "v1"))
            cluster.hooks.clear()

    cluster.hooks.append(add_name)
    outcome = await run_on(cluster)
    assert not outcome.is_proved
    assert stored_versions(cluster) == ("v1alpha1", "v1beta1", "v1")


async def test_a_condition_written_meanwhile_only_delays_the_trim() -> None:
    cluster = a_cluster(1)
    cluster.fail("set_stored_versions", conflict())
    assert (await run_on(cluster)).is_proved
    assert cluster.count("set_stored_versions") == 2


async def test_the_label_taken_off_in_the_middle_ends_the_run() -> None:
    cluster = a_cluster()

    def off(call: str, name: str) -> None:
        if (call, name) == ("rewrite", "w005"):
            cluster.change(labels={})

    cluster.hooks.append(off)
    outcome = await run_on(cluster)
    assert outcome.conditions == ()
    assert not outcome.is_proved
    assert stored_versions(cluster) == ("v1alpha1", "v1")


async def test_a_definition_that_is_gone_ends_the_run() -> None:
    cluster = a_cluster()

    def remove(call: str, name: str) -> None:
        if (call, name) == ("rewrite", "w005"):
            cluster.definition = None

    cluster.hooks.append(remove)
    assert await run_on(cluster) == RunOutcome(definition=None)


def changed_in_mid_run(**changes: object) -> FakeCluster:
    """
    Make a cluster whose definition changes when half of the objects are rewritten.
    """
    cluster = a_cluster()

    def change(call: str, name: str) -> None:
        if (call, name) == ("rewrite", "w005"):
            cluster.hooks.clear()
            cluster.change(**changes)

    cluster.hooks.append(change)
    return cluster


async def test_a_definition_that_is_being_deleted_in_mid_run_is_left_alone() -> None:
    cluster = changed_in_mid_run(deleting=True)
    outcome = await run_on(cluster)
    assert (outcome.reason, outcome.retries) == (Reason.PENDING, True)
    assert "is being deleted" in outcome.conditions[0].message
    assert cluster.count("rewrite") <= 8
    assert stored_versions(cluster) == ("v1alpha1", "v1")


async def test_a_definition_deleted_and_created_anew_in_mid_run_is_another_one() -> None:
    cluster = changed_in_mid_run(uid="crd-2")
    assert await run_on(cluster) == RunOutcome(definition=None)
    assert cluster.count("set_stored_versions") == 0


async def test_a_definition_that_is_not_structural_any_more_in_mid_run_stops_it() -> None:
    alpha, v1 = widgets().versions
    # A property without a type.
    loose: dict[str, JSON] = {"type": "object", "properties": {"spec": {"type": "object"}, "x": {}}}
    cluster = changed_in_mid_run(versions=(alpha, replace(v1, schema=loose)))
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.NON_STRUCTURAL
    assert not outcome.is_proved
    assert cluster.count("rewrite") <= 8
    assert stored_versions(cluster) == ("v1alpha1", "v1")


async def test_a_storage_version_moved_there_and_back_in_the_verify_pass_is_not_trimmed() -> None:
    cluster = a_cluster(8)
    assert cluster.definition is not None
    versions = cluster.definition.versions
    moved = tuple(replace(version, storage=not version.storage) for version in versions)

    def flip_flop(call: str, name: str) -> None:
        if (call, name) == ("rewrite", "w007") and cluster.clock.monotonic_seconds() >= 30:
            cluster.hooks.clear()
            cluster.change(versions=moved)
            cluster.touch("w000", {"apiVersion": "example.com/v1alpha1"})
            cluster.change(versions=versions)

    cluster.hooks.append(flip_flop)
    outcome = await run_on(cluster)

    assert outcome.is_proved
    assert all_are_current(cluster)


async def test_a_new_generation_during_the_verify_pass_is_settled_anew() -> None:
    cluster = a_cluster(1)

    def rotate(call: str, _: str) -> None:
        if call == "rewrite" and cluster.clock.monotonic_seconds() >= 30:
            cluster.hooks.clear()
            assert cluster.definition is not None
            cluster.change(generation=cluster.definition.generation + 1)

    cluster.hooks.append(rotate)
    assert (await run_on(cluster)).is_proved

    assert cluster.clock.monotonic_seconds() >= 60.0


async def test_a_new_generation_in_mid_run_with_the_same_purpose_is_the_one_reported() -> None:
    cluster = a_cluster()
    rotations = iter([1])

    def rotate(call: str, name: str) -> None:
        if (call, name) == ("rewrite", "w005") and next(rotations, None):
            assert cluster.definition is not None
            cluster.change(generation=cluster.definition.generation + 1)

    cluster.hooks.append(rotate)
    outcome = await run_on(cluster)
    assert outcome.is_proved
    assert "for generation 2; storedVersions: v1" in outcome.conditions[0].message
    assert cluster.count("acquire") <= 20
