"""
Stories of runs that are told something else while they are at work, and of clocks that are set.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from espalier.crd import Definition, Version
from espalier.engine import Reason, RunOutcome, RunSettings, keep_pruned, run
from espalier.engine.ports import ObjectKey
from espalier.errors import ForbiddenError
from espalier.paths import JSON
from espalier.schema.values import copy_json
from tests.fakes.cluster import FakeCluster
from tests.fakes.faults import busy
from tests.fakes.widgets import ENFORCE, legacy_widgets, widgets

SETTINGS = RunSettings(settle_seconds=1, page_size=4, max_in_flight=1)
WRITES = ("rewrite", "replace", "replace/status", "annotate", "archive", "set_stored_versions")
DAY_SECONDS = 24 * 3600.0


async def run_on(cluster: FakeCluster, settings: RunSettings = SETTINGS) -> RunOutcome:
    assert cluster.definition is not None
    return await run(cluster.definition, cluster.ports, settings, cluster)


def slow_cluster(
    make: Callable[..., Definition] = widgets, objects: int = 12, **changes: object
) -> FakeCluster:
    """
    Make a cluster whose server wants a pause of 0.4 s before each object is rewritten.
    """
    cluster = FakeCluster(make(**changes))
    for number in range(objects):
        name = f"w{number:03d}"
        cluster.put(name, {"spec": {"size": number, "junk": 1}})
        call = "rewrite" if make is widgets else "replace"
        cluster.fail(call, busy(retry_after_seconds=0.4), name=name)
    return cluster


def once(cluster: FakeCluster, call: str, name: str, change: Callable[[], None]) -> None:
    """
    Have somebody change something at the first such call.
    """
    calls = iter([1])

    def look(seen: str, at: str) -> None:
        if (seen, at) == (call, name) and next(calls, None):
            change()

    cluster.hooks.append(look)


def times_of(cluster: FakeCluster, calls: tuple[str, ...]) -> list[float]:
    """
    Take note of when these calls are made.
    """
    times: list[float] = []

    def look(call: str, _: str) -> None:
        if call in calls:
            times.append(cluster.clock.monotonic_seconds())

    cluster.hooks.append(look)
    return times


def with_field(definition: Definition, name: str) -> tuple[Version, ...]:
    """
    Have the storage version specify one more field of the spec.
    """
    *others, storage = definition.versions
    schema = copy_json(storage.schema)
    properties: Any = schema
    for step in ("properties", "spec", "properties"):
        properties = properties[step]
    properties[name] = {"type": "string"}
    assert isinstance(schema, dict)
    return (*others, replace(storage, schema=schema))


def current(cluster: FakeCluster) -> set[str]:
    return {str(key) for key, kept in cluster.etcd.items() if "v1alpha1" not in str(kept.raw)}


def stored_versions(cluster: FakeCluster) -> tuple[str, ...]:
    assert cluster.definition is not None
    return cluster.definition.stored_versions


@pytest.mark.parametrize(
    "labels", [{}, {"espalier.dev/mode": "observe"}], ids=["label off", "observe"]
)
@pytest.mark.parametrize("make", [widgets, legacy_widgets])
async def test_a_run_that_no_event_stops_stops_by_itself_within_a_second(
    make: Callable[..., Definition], labels: Mapping[str, str]
) -> None:
    cluster = slow_cluster(make)
    call = "rewrite" if make is widgets else "replace"
    told: list[float] = []

    def unlabel() -> None:
        told.append(cluster.clock.monotonic_seconds())
        cluster.change(labels=labels)

    once(cluster, call, "w005", unlabel)
    written = times_of(cluster, WRITES)

    outcome = await run_on(cluster)

    assert outcome.reason == (Reason.OBSERVED if labels else "")
    assert written[-1] <= told[0] + 1.0
    assert 5 <= sum("junk" not in str(kept.raw) for kept in cluster.etcd.values()) < 12
    assert cluster.holder == ""


async def test_to_look_costs_little_as_long_as_nothing_changes() -> None:
    cluster = slow_cluster(objects=60)
    settings = RunSettings(settle_seconds=60, page_size=500, max_in_flight=1)
    assert (await run_on(cluster, settings)).is_proved
    seconds = cluster.clock.monotonic_seconds()
    assert seconds >= 60
    # Twice a second; a whole definition is only read at the joints of a run.
    assert cluster.count("get_resource_version") <= 2 * seconds
    assert cluster.count("get_definition") <= 12


async def test_idle_tending_hardly_reads_and_stops_within_a_second_while_it_writes() -> None:
    cluster = slow_cluster(legacy_widgets, objects=0, labels=ENFORCE)
    assert cluster.definition is not None
    tending = asyncio.create_task(keep_pruned(cluster.definition, cluster.ports, SETTINGS, cluster))
    await cluster.clock.sleep(1800)
    assert cluster.count("get_definition", "get_resource_version") <= 200

    told: list[float] = []

    def unlabel() -> None:
        told.append(cluster.clock.monotonic_seconds())
        cluster.change(labels={})

    once(cluster, "replace", "w003", unlabel)
    written = times_of(cluster, WRITES)
    for number in range(12):
        name = f"w{number:03d}"
        cluster.fail("replace", busy(retry_after_seconds=0.4), name=name)
        cluster.put(name, {"spec": {"size": 1, "junk": 1}}, version="v1")
    await tending

    assert 0 < sum("junk" not in str(kept.raw) for kept in cluster.etcd.values()) < 12
    assert written[-1] <= told[0] + 1.0
    assert cluster.holder == ""


def in_namespaces(text: str | None) -> Mapping[str, str]:
    return {} if text is None else {"espalier.dev/namespaces": text}


def spread_cluster(text: str | None) -> FakeCluster:
    """
    Make one with twelve objects, every second one in the namespace ``other``.
    """
    cluster = slow_cluster(annotations=in_namespaces(text))
    for key in [*cluster.etcd][1::2]:
        cluster.etcd[ObjectKey("other", key.name)] = cluster.etcd.pop(key)
    return cluster


async def test_namespaces_changed_in_mid_run_are_worked_on_and_the_former_ones_are_left() -> None:
    cluster = spread_cluster("default")
    once(cluster, "rewrite", "w004", lambda: cluster.change(annotations=in_namespaces("other")))

    outcome = await run_on(cluster)

    assert outcome.reason == Reason.PARTIAL
    assert "only in the namespaces other," in outcome.conditions[0].message
    others = {f"other/w{number:03d}" for number in range(1, 12, 2)}
    assert others < current(cluster)
    assert "default/w010" not in current(cluster)
    assert stored_versions(cluster) == ("v1alpha1", "v1")


@pytest.mark.parametrize(("before", "after"), [("other", None), (None, "other")])
async def test_a_restriction_that_comes_or_goes_in_mid_run_decides_on_the_trim(
    before: str | None, after: str | None
) -> None:
    cluster = spread_cluster(before)
    once(cluster, "rewrite", "w003", lambda: cluster.change(annotations=in_namespaces(after)))

    outcome = await run_on(cluster)

    assert outcome.is_proved is (after is None)
    assert stored_versions(cluster) == (("v1",) if after is None else ("v1alpha1", "v1"))
    if after is None:
        assert len(current(cluster)) == 12


def in_window(text: str | None) -> Mapping[str, str]:
    return {} if text is None else {"espalier.dev/window": text}


@pytest.mark.parametrize("before", [None, "00:00-06:00"])
async def test_a_window_that_is_closed_by_another_annotation_stops_a_run_within_a_second(
    before: str | None,
) -> None:
    cluster = slow_cluster(annotations=in_window(before))
    told: list[float] = []

    def close() -> None:
        told.append(cluster.clock.monotonic_seconds())
        cluster.change(annotations=in_window("22:00-23:00"))

    once(cluster, "rewrite", "w005", close)
    written = times_of(cluster, WRITES)

    outcome = await run_on(cluster)

    assert outcome.reason == Reason.OUTSIDE_WINDOW
    assert "22:00-23:00 UTC" in outcome.conditions[0].message
    assert written[-1] <= told[0] + 1.0
    assert len(current(cluster)) < 12
    assert cluster.holder == ""

    # What was proved or done stays, and taking the annotation off has the rest done at once.
    done = current(cluster)
    cluster.change(annotations={})
    assert (await run_on(cluster)).is_proved
    assert done < current(cluster)


async def test_a_window_that_is_made_longer_in_mid_run_is_heeded() -> None:
    cluster = slow_cluster(annotations=in_window("00:00-00:01"), objects=200)
    once(
        cluster,
        "rewrite",
        "w005",
        lambda: cluster.change(annotations=in_window("00:00-06:00")),
    )
    assert (await run_on(cluster)).is_proved
    assert cluster.clock.monotonic_seconds() > 60


async def until_proved(cluster: FakeCluster) -> None:
    """
    Run again and again, at the times that each run asks for, as the operator does.
    """
    for _ in range(1000):
        outcome = await run_on(cluster)
        if outcome.is_proved:
            return
        assert outcome.again_seconds is not None
        await cluster.clock.sleep(outcome.again_seconds)
    raise AssertionError("it was never proved")


async def setting(cluster: FakeCluster, *, after_seconds: float, by_seconds: float) -> None:
    await cluster.clock.sleep(after_seconds)
    cluster.clock.wall_offset_seconds += by_seconds


async def beside(work: Awaitable[None], other: Awaitable[None]) -> None:
    await asyncio.gather(work, other)


@pytest.mark.parametrize(
    ("by_seconds", "earliest", "latest"),
    [
        # From midnight, the window would come after six hours.
        (0.0, 6 * 3600.0, 6 * 3600.0 + 60),
        (5.5 * 3600, 3600.0, 3600.0 + 660),
        (-3 * 3600.0, 9 * 3600.0, 9 * 3600.0 + 60),
        # Past it: the next day's.
        (8 * 3600.0, DAY_SECONDS - 2 * 3600, DAY_SECONDS - 2 * 3600 + 60),
    ],
    ids=["left alone", "set forward into it", "set back", "set forward beyond it"],
)
async def test_a_clock_that_is_set_while_a_window_is_waited_for_is_followed(
    by_seconds: float, earliest: float, latest: float
) -> None:
    cluster = slow_cluster(annotations=in_window("06:00-07:00"), objects=3)
    written = times_of(cluster, ("rewrite",))
    await beside(until_proved(cluster), setting(cluster, after_seconds=3600, by_seconds=by_seconds))

    assert earliest <= written[0] <= latest


@pytest.mark.parametrize("by_seconds", [8 * 3600.0, -2 * 3600.0], ids=["forward", "back"])
async def test_a_clock_that_is_set_out_of_the_window_stops_a_run_within_half_a_minute(
    by_seconds: float,
) -> None:
    cluster = slow_cluster(annotations=in_window("00:00-01:00"), objects=300)
    written = times_of(cluster, WRITES)
    outcome, _ = await asyncio.gather(
        run_on(cluster), setting(cluster, after_seconds=20, by_seconds=by_seconds)
    )
    assert outcome.reason == Reason.OUTSIDE_WINDOW
    assert 20 <= written[-1] <= 50.5
    assert outcome.again_seconds is not None


async def test_a_clock_that_is_set_within_the_window_disturbs_nothing() -> None:
    cluster = slow_cluster(annotations=in_window("00:00-06:00"), objects=100)
    outcome, _ = await asyncio.gather(
        run_on(cluster), setting(cluster, after_seconds=20, by_seconds=3 * 3600)
    )
    assert outcome.is_proved
    assert cluster.count("acquire") < 30


async def test_who_may_not_look_for_the_servers_migrations_reports_it_and_goes_on() -> None:
    cluster = slow_cluster(objects=2)
    cluster.fail(
        "other_migrations",
        ForbiddenError(verb="list", resource="storageversionmigrations", status=403),
    )
    outcome = await run_on(cluster)
    assert outcome.is_proved
    assert outcome.conditions[0].message.endswith(
        ". Whether the server itself migrates these objects could not be looked for: the operator"
        " may not list storageversionmigrations"
    )


async def test_a_schema_that_came_and_went_between_two_looks_is_not_passed_over() -> None:
    cluster = slow_cluster(stored_versions=("v1",))
    assert cluster.definition is not None
    narrow, wide = cluster.definition.versions, with_field(cluster.definition, "shape")

    def widen_and_narrow() -> None:
        # A to B to A: an object is written in between, and its field is hidden again.
        cluster.change(versions=wide)
        content: JSON = {"size": 9, "shape": "round", "color": "blue"}
        cluster.put("w009", {"spec": content}, version="v1", managed=("size", "shape", "color"))
        cluster.change(versions=narrow)

    once(cluster, "rewrite", "w002", widen_and_narrow)

    outcome = await run_on(cluster)

    assert outcome.reason == Reason.WOULD_LOSE_DATA
    assert cluster.raw("w009")["spec"] == {"size": 9, "shape": "round", "color": "blue"}


async def test_a_generation_of_the_same_schemas_is_passed_over() -> None:
    cluster = slow_cluster()

    once(cluster, "rewrite", "w002", lambda: cluster.change(generation=2))

    assert (await run_on(cluster)).is_proved
    assert cluster.count("release") == 1
