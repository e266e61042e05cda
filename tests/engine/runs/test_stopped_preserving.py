"""
Definitions that preserved unknown fields: no managedFields show when they stopped.
"""

from dataclasses import replace

import pytest

from espalier import names
from espalier.engine import Reason
from espalier.paths import JSON
from tests.engine.runs.test_loss_guard import WITHOUT_COLOR, accept, run_on
from tests.fakes.cluster import FakeCluster
from tests.fakes.widgets import V1ALPHA1_SCHEMA

LONG_AGO = "2020-01-01T00:00:00Z"
PRESERVING = replace(
    WITHOUT_COLOR, preserve_unknown_fields=True, spec_written_at=LONG_AGO, created_at=LONG_AGO
)
OBSERVED = {names.MODE: "observe"}


async def seen_to_preserve() -> FakeCluster:
    """
    Make a cluster whose definition was seen to preserve unknown fields, and prunes now.
    """
    cluster = FakeCluster(replace(PRESERVING, labels=OBSERVED))
    cluster.put("a", {"spec": {"size": 1, "color": "blue"}}, version="v1", managed=None)
    assert (await run_on(cluster)).reason == Reason.OBSERVED
    cluster.change(preserve_unknown_fields=False, generation=2, labels=PRESERVING.labels)
    return cluster


async def test_what_was_seen_to_be_preserved_is_cleared_only_by_a_write_after_the_record() -> None:
    cluster = await seen_to_preserve()

    # It was created years after the last change that managedFields show.
    assert (await run_on(cluster)).reason == Reason.WOULD_LOSE_DATA
    assert cluster.raw("a")["spec"] == {"size": 1, "color": "blue"}

    # From then on, the record's own condition bounds the time.
    cluster.change(record_written_at="2026-01-01T00:00:00Z")
    key = cluster.put("b", {"spec": {"size": 1}}, version="v1", managed=None)
    cluster.etcd[key].created_at = "2026-01-01T00:02:00Z"
    await cluster.clock.sleep(600)
    outcome = await run_on(cluster)
    assert "1 object of 2 left alone" in outcome.conditions[0].message
    assert "default/a" in outcome.conditions[0].message

    await accept(cluster)
    assert (await run_on(cluster)).is_proved


@pytest.mark.parametrize("keeps_root", [False, True])
async def test_nor_where_the_root_of_the_schema_goes_on_to_preserve(*, keeps_root: bool) -> None:
    schema: dict[str, JSON] = {**V1ALPHA1_SCHEMA, "x-kubernetes-preserve-unknown-fields": True}
    narrow = schema if keeps_root else V1ALPHA1_SCHEMA
    version = replace(PRESERVING.versions[0], schema=narrow)
    cluster = FakeCluster(replace(PRESERVING, labels=OBSERVED, versions=(version,)))
    cluster.put("a", {"spec": {"size": 1, "color": "blue"}}, version="v1", managed=None)
    await run_on(cluster)
    cluster.change(preserve_unknown_fields=False, generation=2, labels=PRESERVING.labels)

    assert (await run_on(cluster)).reason == Reason.WOULD_LOSE_DATA
    assert cluster.raw("a")["spec"] == {"size": 1, "color": "blue"}


async def test_a_record_of_another_generation_gives_no_time() -> None:
    cluster = await seen_to_preserve()
    cluster.change(record_written_at="2019-01-01T00:00:00Z")

    assert (await run_on(cluster)).reason == Reason.WOULD_LOSE_DATA
    assert cluster.raw("a")["spec"] == {"size": 1, "color": "blue"}
