"""
Stories of the settle time: nothing is trimmed while a server may still store another version.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest

from espalier.crd import Definition
from espalier.engine import Reason, RunOutcome, RunSettings, run
from espalier.engine.flowcontrol.sightings import Sightings
from tests.fakes.cluster import FakeCluster
from tests.fakes.faults import Killed, rejected
from tests.fakes.widgets import widgets

SETTINGS = RunSettings(settle_seconds=30, page_size=4, max_in_flight=4)


def a_cluster(objects: int = 1) -> FakeCluster:
    cluster = FakeCluster(widgets())
    cluster.fill(objects)
    return cluster


async def run_on(
    cluster: FakeCluster,
    settings: RunSettings = SETTINGS,
    sightings: Sightings | None = None,
) -> RunOutcome:
    assert cluster.definition is not None
    ports = replace(cluster.ports, sightings=sightings)
    return await run(cluster.definition, ports, settings, cluster)


def flip_and_flip_back(cluster: FakeCluster) -> None:
    """
    Move the storage version, have an object written at it, and move it back.
    """
    definition = cluster.definition
    assert definition is not None
    moved = tuple(replace(one, storage=not one.storage) for one in definition.versions)
    cluster.change(versions=moved, stored_versions=("v1", "v1alpha1"))
    cluster.touch("w000", {"apiVersion": "example.com/v1alpha1"})
    cluster.change(versions=definition.versions)


def noting_trims(cluster: FakeCluster, trims: list[float]) -> Callable[[str, str], None]:
    def note(call: str, _: str) -> None:
        if call == "set_stored_versions":
            trims.append(cluster.clock.monotonic_seconds())

    return note


async def test_an_unseen_flip_there_and_back_is_settled_though_the_key_is_the_old_one() -> None:
    cluster = a_cluster(3)
    assert (await run_on(cluster)).is_proved
    flip_and_flip_back(cluster)
    flipped_seconds = cluster.clock.monotonic_seconds()
    trims: list[float] = []
    cluster.hooks.append(noting_trims(cluster, trims))
    assert (await run_on(cluster)).is_proved
    (trimmed_seconds,) = trims
    assert trimmed_seconds - flipped_seconds >= 30


@pytest.mark.parametrize("call", ["load", "missing_verbs", "rewrite", "list_metadata"])
async def test_a_flip_there_and_back_between_two_looks_is_settled(call: str) -> None:
    cluster = a_cluster(3)
    trims: list[float] = []
    flips: list[float] = []

    def flip(called: str, _: str) -> None:
        if called == call and cluster.clock.monotonic_seconds() >= begin_seconds:
            cluster.hooks.remove(flip)
            flips.append(cluster.clock.monotonic_seconds())
            flip_and_flip_back(cluster)

    begin_seconds = 30.0 if call in ("rewrite", "list_metadata") else 0.0
    cluster.hooks += [flip, noting_trims(cluster, trims)]
    assert (await run_on(cluster)).is_proved
    flipped_seconds, (trimmed_seconds,) = flips[0], trims
    assert trimmed_seconds - flipped_seconds >= 30


async def test_a_flip_there_and_back_while_it_settles_makes_it_settle_anew() -> None:
    cluster = a_cluster(3)
    trims: list[float] = []
    flips: list[float] = []

    def flip(call: str, _: str) -> None:
        if call == "get_definition" and 28 < cluster.clock.monotonic_seconds() < 30:
            cluster.hooks.remove(flip)
            flips.append(cluster.clock.monotonic_seconds())
            flip_and_flip_back(cluster)

    cluster.hooks += [flip, noting_trims(cluster, trims)]
    outcome = await run_on(cluster, replace(SETTINGS, settle_seconds=29))
    assert outcome.is_proved
    flipped_seconds, (trimmed_seconds,) = flips[0], trims
    assert trimmed_seconds - flipped_seconds >= 29


@pytest.mark.parametrize("offset_seconds", [-3600.0, 0.0, 40.0, 86_400.0])
async def test_another_process_settles_anew_whatever_its_clock_says(offset_seconds: float) -> None:
    cluster = a_cluster(1)

    def stop(call: str, _: str) -> None:
        if call == "rewrite":
            raise Killed

    cluster.hooks.append(stop)
    with pytest.raises(Killed):
        await run_on(cluster)
    cluster.hooks.clear()
    cluster.clock.wall_offset_seconds = offset_seconds
    begun_seconds = cluster.clock.monotonic_seconds()
    assert (await run_on(cluster)).is_proved
    ended_seconds = cluster.clock.monotonic_seconds()
    assert 30 <= ended_seconds - begun_seconds < 31


async def test_a_wall_clock_that_is_set_in_mid_run_counts_for_nothing() -> None:
    cluster = a_cluster(1)

    def go_back(call: str, _: str) -> None:
        if call == "missing_verbs":
            cluster.clock.wall_offset_seconds = 3600

    cluster.hooks.append(go_back)
    assert (await run_on(cluster)).is_proved

    assert 30 <= cluster.clock.monotonic_seconds() < 31


async def test_a_definition_that_changes_in_each_verify_pass_is_never_trimmed() -> None:
    cluster = a_cluster(1)

    def rotate(call: str, _: str) -> None:
        if call == "rewrite" and cluster.clock.monotonic_seconds() >= 30:
            assert cluster.definition is not None
            cluster.change(generation=cluster.definition.generation + 1)

    cluster.hooks.append(rotate)
    outcome = await run_on(cluster)
    assert (outcome.reason, outcome.retries) == (Reason.PENDING, True)
    assert outcome.conditions[0].message == (
        "the definition changed during each of 5 verify passes; the run is tried again"
    )
    assert cluster.count("set_stored_versions") == 0
    assert _stored_versions(cluster.definition) == ("v1alpha1", "v1")


async def test_a_server_that_stores_an_older_version_behind_each_pass_is_named() -> None:
    cluster = a_cluster(3)

    def store_old(call: str, _: str) -> None:
        if call == "list_metadata":
            cluster.put("w001", {"spec": {"size": 1}})

    cluster.hooks.append(store_old)
    outcome = await run_on(cluster)
    assert (outcome.reason, outcome.retries) == (Reason.FAILED, True)
    assert outcome.conditions[0].message == (
        "5 verify passes in a row found objects out of form, the last one 1 object"
        " (default/w001): something keeps writing them so, such as an API server that still stores"
        " an older version, a GitOps tool, or clients of a version whose schema lacks a default of"
        " the storage version. storedVersions stays as it is; the run is tried again"
    )
    assert _stored_versions(cluster.definition) == ("v1alpha1", "v1")


async def test_a_failed_run_that_is_tried_again_settles_from_its_own_beginning() -> None:
    cluster = a_cluster(2)
    cluster.fail("rewrite", rejected(), name="w001", times=2)
    assert (await run_on(cluster)).reason == Reason.FAILED
    again_seconds = cluster.clock.monotonic_seconds()
    assert (await run_on(cluster)).is_proved

    assert 30 <= (cluster.clock.monotonic_seconds() - again_seconds) < 31


async def test_what_a_process_has_seen_unchanged_before_counts() -> None:
    cluster = a_cluster(3)
    assert cluster.definition is not None
    sightings = Sightings(cluster.clock)
    sightings.see(cluster.definition)
    await cluster.clock.advance(20)
    begun_seconds = cluster.clock.monotonic_seconds()

    assert (await run_on(cluster, sightings=sightings)).is_proved

    assert 10 <= cluster.clock.monotonic_seconds() - begun_seconds < 11


async def test_a_flip_there_and_back_that_was_not_seen_is_settled_all_the_same() -> None:
    cluster = a_cluster(3)
    assert cluster.definition is not None
    sightings = Sightings(cluster.clock)
    sightings.see(cluster.definition)
    await cluster.clock.advance(100)
    flip_and_flip_back(cluster)
    flipped_seconds = cluster.clock.monotonic_seconds()
    trims: list[float] = []
    cluster.hooks.append(noting_trims(cluster, trims))

    assert (await run_on(cluster, sightings=sightings)).is_proved

    (trimmed_seconds,) = trims
    assert trimmed_seconds - flipped_seconds >= 30


def _stored_versions(definition: Definition | None) -> tuple[str, ...]:
    assert definition is not None
    return definition.stored_versions
