"""
Stories of definitions that convert by webhook, and of other migrations of the same objects.
"""

from dataclasses import replace

import pytest

from espalier.crd import Condition, Definition, Version
from espalier.engine import Reason, RunOutcome, RunSettings, run
from espalier.errors import ConversionError
from espalier.paths import JSON
from tests.fakes.cluster import FakeCluster
from tests.fakes.widgets import WIDGETS, widgets

SETTINGS = RunSettings(settle_seconds=1, page_size=3, max_in_flight=2)


def by_webhook(**changes: object) -> Definition:
    return widgets(**({"conversion": "Webhook"} | changes))


def unavailable(verb: str = "get") -> ConversionError:
    return ConversionError(
        verb=verb, resource=WIDGETS, status=500, reason="InternalError", detail="conversion webhook"
    )


def go_away_at(cluster: FakeCluster, call: str, name: str = "") -> None:
    """
    Have no object converted any more from a call on.
    """

    def go_away(entered: str, of: str) -> None:
        if entered == call and of == (name or of) and not cluster.faults:
            for each in ("list_metadata", "list_objects", "get_object", "rewrite"):
                cluster.fail(each, unavailable(), times=10**6)

    cluster.hooks.append(go_away)


async def run_on(cluster: FakeCluster) -> RunOutcome:
    assert cluster.definition is not None
    return await run(cluster.definition, cluster.ports, SETTINGS, cluster)


async def test_a_webhook_is_asked_before_each_page_and_then_objects_are_rewritten() -> None:
    cluster = FakeCluster(by_webhook())
    cluster.fill(7)
    outcome = await run_on(cluster)
    assert outcome.is_proved
    firsts = {name for call, name in cluster.calls if call == "get_object"}
    assert {"w000", "w003", "w006"} <= firsts


@pytest.mark.parametrize(
    ("call", "rewritten"),
    [("list_metadata", 0), ("list_objects", 0), ("get_object", 0), ("rewrite", 0)],
)
async def test_while_the_webhook_is_away_nothing_is_written(call: str, rewritten: int) -> None:
    cluster = FakeCluster(by_webhook())
    cluster.fill(4)
    go_away_at(cluster, call)
    outcome = await run_on(cluster)
    assert (outcome.reason, outcome.retries) == (Reason.WEBHOOK_UNAVAILABLE, True)
    assert sum("v1alpha1" not in str(one.raw) for one in cluster.etcd.values()) == rewritten
    assert cluster.definition is not None
    assert cluster.definition.stored_versions == ("v1alpha1", "v1")


async def test_a_webhook_that_goes_away_in_mid_run_stops_it_at_once() -> None:
    cluster = FakeCluster(by_webhook())
    cluster.fill(9)
    go_away_at(cluster, "rewrite", "w004")
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.WEBHOOK_UNAVAILABLE
    assert cluster.count("rewrite") <= 6


RENAMED: dict[str, JSON] = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": {"width": {"type": "integer"}}}},
}


def renaming(conversion: str) -> Definition:
    old = widgets().versions[0]
    return widgets(
        conversion=conversion,
        versions=(old, Version(name="v1", served=True, storage=True, schema=RENAMED)),
    )


@pytest.mark.parametrize(
    ("conversion", "reason"), [("Webhook", "Verified"), ("None", "WouldLoseData")]
)
async def test_what_a_webhook_renames_is_reported_and_stops_nothing(
    conversion: str, reason: str
) -> None:
    cluster = FakeCluster(renaming(conversion))
    cluster.fill(2)
    for stored in cluster.etcd.values():
        stored.managed_fields = [
            {"apiVersion": "example.com/v1alpha1", "fieldsV1": {"f:spec": {"f:size": {}}}},
            {"apiVersion": "example.com/v0", "fieldsV1": {"f:spec": {"f:ancient": {}}}},
        ]
    outcome = await run_on(cluster)
    assert outcome.reason == reason
    if conversion == "Webhook":
        assert "showed what the storage version did not" in outcome.conditions[0].message
        assert "spec.size (2 objects: default/w000" in outcome.conditions[0].message


async def test_what_no_version_specifies_is_lost_by_a_webhook_too() -> None:
    cluster = FakeCluster(replace(by_webhook(), generation=2))
    cluster.put("w", {"spec": {"size": 1}})
    (stored,) = cluster.etcd.values()
    stored.managed_fields = [
        {"apiVersion": "example.com/v1alpha1", "fieldsV1": {"f:spec": {"f:gone": {}}}}
    ]
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.WOULD_LOSE_DATA
    assert ".spec.gone at v1alpha1 (1 object)" in outcome.conditions[0].message


async def test_a_field_that_left_all_versions_since_the_proof_is_lost() -> None:
    cluster = FakeCluster(by_webhook())
    cluster.fill(2)
    assert (await run_on(cluster)).is_proved
    assert cluster.definition is not None
    bare: dict[str, JSON] = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}},
    }
    versions = tuple(
        replace(version, schema=bare) if version.storage else version
        for version in cluster.definition.versions
    )
    cluster.change(versions=versions)
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.WOULD_LOSE_DATA
    assert ".spec.color at v1 (2 objects)" in outcome.conditions[0].message


async def test_the_servers_own_migration_is_waited_for() -> None:
    cluster = FakeCluster(widgets())
    cluster.fill(2)
    cluster.migrations = ("widgets-migration",)
    waiting = await run_on(cluster)
    assert cluster.count("rewrite") == 0
    cluster.migrations = ()
    done = await run_on(cluster)
    assert (waiting.reason, waiting.retries) == (Reason.OTHER_MIGRATION, True)
    assert "widgets-migration" in waiting.conditions[0].message
    assert done.is_proved


async def test_a_migration_that_begins_in_mid_run_stops_it() -> None:
    cluster = FakeCluster(widgets())
    cluster.fill(9)
    running = Condition(type="StorageMigrating", status="True", reason="x", message="")

    def begin(call: str, name: str) -> None:
        if (call, name) == ("rewrite", "w002"):
            cluster.change(conditions=(running,))

    cluster.hooks.append(begin)
    outcome = await run_on(cluster)
    assert (outcome.reason, outcome.retries) == (Reason.OTHER_MIGRATION, True)
    assert cluster.count("set_stored_versions") == 0


async def test_stored_versions_that_another_migration_trimmed_are_the_new_truth() -> None:
    cluster = FakeCluster(widgets())
    cluster.fill(3)
    passes = iter([1])

    def trim(call: str, _: str) -> None:
        rewritten = cluster.count("rewrite")
        if call == "list_metadata" and rewritten == 3 and next(passes, None):
            cluster.change(stored_versions=("v1",))

    cluster.hooks.append(trim)
    outcome, trims = await run_on(cluster), cluster.count("set_stored_versions")
    assert outcome.is_proved
    assert trims == 0
