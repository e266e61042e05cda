"""
What is left alone, what a consent covers, and records that cannot be trusted.
"""

from dataclasses import replace

import pytest

from espalier.crd import Version
from espalier.engine import Reason
from espalier.paths import JSON
from tests.engine.runs.test_loss_guard import (
    WITHOUT_COLOR,
    a_cluster,
    accept,
    consent,
    digest_in,
    run_on,
)
from tests.fakes.cluster import FakeCluster
from tests.fakes.widgets import V1_SCHEMA, V1ALPHA1_SCHEMA, widgets, written_by


async def test_what_would_lose_nothing_is_rewritten_and_the_rest_is_left_alone() -> None:
    cluster = FakeCluster(replace(WITHOUT_COLOR, generation=2))
    cluster.put("a", {"spec": {"size": 1, "color": "blue"}}, version="v1", managed=("color",))
    cluster.put("b", {"spec": {"size": 1, "odd": 1}}, version="v1", managed=("size",))

    outcome = await run_on(cluster)

    assert outcome.reason == Reason.WOULD_LOSE_DATA
    assert "1 object of 2 left alone" in outcome.conditions[0].message
    assert "default/a" in outcome.conditions[0].message
    assert cluster.raw("a")["spec"] == {"size": 1, "color": "blue"}
    assert cluster.raw("b")["spec"] == {"size": 1}
    assert outcome.totals is not None
    assert (outcome.totals.left_alone, outcome.totals.rewritten) == (1, 1)


async def test_plain_accept_consents_to_nothing_and_shows_the_line_to_copy() -> None:
    cluster = a_cluster(replace(WITHOUT_COLOR, generation=2))
    consent(cluster, "accept")

    outcome = await run_on(cluster)

    assert outcome.reason == Reason.WOULD_LOSE_DATA
    assert "espalier.dev/loss=accept consents to nothing" in outcome.conditions[0].message
    digest = digest_in(outcome)
    line = f"kubectl label crd {widgets().name} espalier.dev/loss={digest} --overwrite"
    assert line in outcome.conditions[0].message


async def test_consent_does_not_cover_what_another_generation_adds() -> None:
    cluster = a_cluster(replace(WITHOUT_COLOR, generation=2))
    await accept(cluster)
    cluster.put("c", {"spec": {"shape": "round"}}, version="v1", managed=("shape",))

    outcome = await run_on(cluster)

    assert outcome.reason == Reason.WOULD_LOSE_DATA
    assert cluster.raw("a")["spec"] == {"size": 1}
    assert cluster.raw("c")["spec"] == {"shape": "round"}


async def test_a_digest_of_something_else_consents_to_nothing() -> None:
    cluster = a_cluster(replace(WITHOUT_COLOR, generation=2))
    await run_on(cluster)
    consent(cluster, "0" * 16)

    assert (await run_on(cluster)).reason == Reason.WOULD_LOSE_DATA
    assert cluster.raw("a")["spec"] == {"size": 1, "color": "blue"}


async def test_a_field_that_a_served_version_shows_is_not_erased() -> None:
    # Set through the old version after managedFields stopped naming anything.
    old = Version(name="v1alpha1", served=True, storage=False, schema=V1_SCHEMA)
    new = Version(name="v1", served=True, storage=True, schema=V1ALPHA1_SCHEMA)
    cluster = FakeCluster(widgets(versions=(old, new), generation=2))
    cluster.put("a", {"spec": {"size": 1, "color": "blue"}}, managed=("size",))
    cluster.put("b", {"spec": {"size": 1}}, managed=("size",))

    outcome = await run_on(cluster)

    assert outcome.reason == Reason.WOULD_LOSE_DATA
    assert ".spec.color at v1alpha1 (1 object)" in outcome.conditions[0].message
    assert cluster.raw("a")["spec"] == {"size": 1, "color": "blue"}
    assert cluster.raw("b")["apiVersion"] == "example.com/v1"


async def test_another_operator_s_record_is_not_passed_over() -> None:
    cluster = a_cluster()
    assert (await run_on(cluster)).is_proved
    cluster.change(versions=WITHOUT_COLOR.versions)
    cluster.namespace = "default"
    cluster.documents.clear()

    outcome = await run_on(cluster)

    assert outcome.reason == Reason.OTHER_OPERATOR
    assert "espalier-system/checkpoint-widgets.example.com" in outcome.conditions[0].message
    assert cluster.raw("a")["spec"] == {"size": 1, "color": "blue"}


@pytest.mark.parametrize("damage", ["gone", "newer", "odd", "older"])
async def test_a_record_that_cannot_be_trusted_stops(damage: str) -> None:
    cluster = a_cluster()
    assert (await run_on(cluster)).is_proved
    older = dict(cluster.documents["crd-1"])
    cluster.change(versions=widgets().versions)
    await run_on(cluster)
    document = cluster.documents["crd-1"]
    if damage == "gone":
        cluster.documents.clear()
    elif damage == "older":
        cluster.documents["crd-1"] = older
        await run_on(cluster)
        cluster.documents["crd-1"] = {**older, "before": ""}
    else:
        change: dict[str, JSON] = {"format": 9} if damage == "newer" else {"seen": ""}
        cluster.documents["crd-1"] = {**document, **change}
    cluster.change(versions=WITHOUT_COLOR.versions)

    outcome = await run_on(cluster)

    assert outcome.reason == Reason.RECORD_UNREADABLE
    assert cluster.raw("a")["spec"] == {"size": 1, "color": "blue"}


async def test_what_each_version_specified_is_known_when_both_have_dropped_it() -> None:
    alpha = Version(name="v1alpha1", served=True, storage=False, schema=V1_SCHEMA)
    v1 = Version(name="v1", served=True, storage=True, schema=V1_SCHEMA)
    bare = replace(v1, schema=V1ALPHA1_SCHEMA)
    cluster = FakeCluster(widgets(versions=(alpha, v1), stored_versions=("v1",)))
    cluster.put("a", {"spec": {"size": 1, "color": "blue"}}, version="v1", managed=("size",))
    assert (await run_on(cluster)).is_proved
    cluster.change(versions=(alpha, bare))
    assert (await run_on(cluster)).reason == Reason.WOULD_LOSE_DATA

    cluster.change(versions=(replace(alpha, schema=V1ALPHA1_SCHEMA), bare))
    assert (await run_on(cluster)).reason == Reason.WOULD_LOSE_DATA
    assert cluster.raw("a")["spec"] == {"size": 1, "color": "blue"}


async def test_where_a_webhook_converts_the_storage_version_s_own_schema_counts() -> None:
    alpha = Version(name="v1alpha1", served=True, storage=False, schema=V1_SCHEMA)
    v1 = Version(name="v1", served=True, storage=True, schema=V1_SCHEMA)
    cluster = FakeCluster(
        widgets(versions=(alpha, v1), stored_versions=("v1",), conversion="Webhook")
    )
    cluster.put("a", {"spec": {"size": 1, "color": "blue"}}, version="v1", managed=("size",))
    assert (await run_on(cluster)).is_proved

    cluster.change(versions=(alpha, replace(v1, schema=V1ALPHA1_SCHEMA)))

    assert (await run_on(cluster)).reason == Reason.WOULD_LOSE_DATA
    assert cluster.raw("a")["spec"] == {"size": 1, "color": "blue"}


@pytest.mark.parametrize("has_default", [False, True])
async def test_where_a_webhook_converts_what_another_version_has_set_must_be_shown_at_it(
    *, has_default: bool
) -> None:
    # Nothing was recorded, and the version that managedFields name still specifies the field.
    color: JSON = {"type": "string", "default": "red"} if has_default else {"type": "string"}
    spec: JSON = {"type": "object", "properties": {"size": {"type": "integer"}, "color": color}}
    both: dict[str, JSON] = {"type": "object", "properties": {"spec": spec}}
    alpha = Version(name="v1alpha1", served=True, storage=False, schema=both)
    v1 = Version(name="v1", served=True, storage=True, schema=V1ALPHA1_SCHEMA)
    cluster = FakeCluster(
        widgets(versions=(alpha, v1), stored_versions=("v1",), conversion="Webhook", generation=2)
    )
    blue: JSON = {"size": 1, "color": "blue"}
    key = cluster.put("a", {"spec": blue}, version="v1")
    fields: JSON = {"f:spec": {"f:color": {}}}
    cluster.etcd[key].managed_fields = [written_by("helm", fields, version="v1alpha1")]
    cluster.put("b", {"spec": {"size": 1}}, version="v1", managed=("size",))

    outcome = await run_on(cluster)

    assert outcome.reason == Reason.WOULD_LOSE_DATA
    assert "not shown any more, though it may be stored: .spec.color at v1alpha1" in (
        outcome.conditions[0].message
    )
    assert cluster.raw("a")["spec"] == {"size": 1, "color": "blue"}


async def test_where_a_webhook_converts_and_a_version_is_not_served_nothing_is_known() -> None:
    alpha = Version(name="v1alpha1", served=False, storage=False, schema=V1_SCHEMA)
    v1 = Version(name="v1", served=True, storage=True, schema=V1ALPHA1_SCHEMA)
    cluster = FakeCluster(
        widgets(versions=(alpha, v1), stored_versions=("v1",), conversion="Webhook", generation=2)
    )
    key = cluster.put("a", {"spec": {"size": 1}}, version="v1")
    fields: JSON = {"f:spec": {"f:size": {}}}
    cluster.etcd[key].managed_fields = [written_by("helm", fields, version="v1alpha1")]

    outcome = await run_on(cluster)

    assert outcome.reason == Reason.WOULD_LOSE_DATA
    assert "a version that is not served: v1alpha1" in outcome.conditions[0].message


async def test_an_object_that_is_older_than_the_definition_is_not_taken_for_known() -> None:
    # Somebody took the finalizer off a definition that was being deleted, and created it anew.
    again = replace(WITHOUT_COLOR, created_at="2026-02-01T00:00:00Z")
    cluster = a_cluster(again)
    cluster.put("bare", {"spec": {"size": 1, "color": "blue"}}, version="v1", managed=None)
    cluster.put("known", {"spec": {"size": 1}}, version="v1", managed=("size",))

    outcome = await run_on(cluster)

    assert outcome.reason == Reason.WOULD_LOSE_DATA
    assert "3 objects of 4 left alone" in outcome.conditions[0].message
    assert cluster.raw("a")["spec"] == cluster.raw("bare")["spec"] == {"size": 1, "color": "blue"}

    # Once all objects were proved, the record is about all of them.
    await accept(cluster)
    assert (await run_on(cluster)).is_proved
    cluster.change(versions=(replace(again.versions[0], schema=V1_SCHEMA),))
    assert (await run_on(cluster)).is_proved


async def test_nor_do_they_after_a_proof() -> None:
    old = Version(name="v1alpha1", served=True, storage=True, schema=V1_SCHEMA)
    new = Version(name="v1", served=True, storage=False, schema=V1ALPHA1_SCHEMA)
    cluster = FakeCluster(widgets(versions=(old, new), stored_versions=("v1alpha1",)))
    cluster.put("a", {"spec": {"size": 1, "color": "blue"}}, managed=("size",))
    assert (await run_on(cluster)).is_proved

    # It was the storage version once, whatever the list says now.
    flipped = (replace(old, storage=False), replace(new, storage=True))
    cluster.change(versions=flipped, stored_versions=("v1",))

    assert (await run_on(cluster)).reason == Reason.WOULD_LOSE_DATA
    assert cluster.raw("a")["spec"] == {"size": 1, "color": "blue"}


async def test_stored_versions_that_somebody_trimmed_by_hand_prove_nothing() -> None:
    old = Version(name="v1alpha1", served=True, storage=False, schema=V1_SCHEMA)
    new = Version(name="v1", served=True, storage=True, schema=V1ALPHA1_SCHEMA)
    cluster = FakeCluster(widgets(versions=(old, new), stored_versions=("v1",), generation=2))
    cluster.put("a", {"spec": {"size": 1, "color": "blue"}}, managed=("size",))
    cluster.put("b", {"spec": {"size": 1}}, version="v1", managed=("size",))

    outcome = await run_on(cluster)

    assert outcome.reason == Reason.WOULD_LOSE_DATA
    assert ".spec.color at v1alpha1 (1 object)" in outcome.conditions[0].message
    assert cluster.raw("a")["spec"] == {"size": 1, "color": "blue"}
    assert cluster.raw("b")["apiVersion"] == "example.com/v1"
