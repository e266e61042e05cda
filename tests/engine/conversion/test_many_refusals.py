"""
Stories of many objects that a conversion webhook refuses: they are passed over, and the webhook
counts as away only if it converts no other object either.
"""

from dataclasses import replace

import pytest

from espalier.engine import Reason, RunOutcome, RunSettings, run
from espalier.engine.ports import ObjectKey
from espalier.errors import ConversionError
from tests.fakes.cluster import FakeCluster
from tests.fakes.widgets import WIDGETS, widgets, written_by

SETTINGS = RunSettings(settle_seconds=1, page_size=8, max_in_flight=2)
WORDS = "no v1 for such a size"
AWAY = "dial tcp 10.0.0.1:443: connect: connection refused"


def a_cluster(count: int = 40, **changes: object) -> FakeCluster:
    cluster = FakeCluster(widgets(**({"conversion": "Webhook"} | changes)))
    cluster.fill(count)
    return cluster


def refuse(
    cluster: FakeCluster, *numbers: int, words: str = WORDS, is_silent: bool = False
) -> None:
    for number in numbers:
        stored = cluster.etcd[ObjectKey("default", f"w{number:03d}")]
        stored.refusal, stored.is_silent = words, is_silent


def add_elsewhere(cluster: FakeCluster, namespace: str, count: int) -> None:
    for number in range(count):
        key = cluster.put(f"x{number:03d}", {"spec": {"size": number}})
        cluster.etcd[ObjectKey(namespace, key.name)] = cluster.etcd.pop(key)


async def run_on(cluster: FakeCluster, settings: RunSettings = SETTINGS) -> RunOutcome:
    assert cluster.definition is not None
    return await run(cluster.definition, cluster.ports, settings, cluster)


def left_behind(cluster: FakeCluster) -> set[str]:
    return {str(key) for key, one in cluster.etcd.items() if "v1alpha1" in str(one.raw)}


def names(*numbers: int) -> set[str]:
    return {f"default/w{number:03d}" for number in numbers}


@pytest.mark.parametrize("is_silent", [False, True])
@pytest.mark.parametrize("page_size", [1, 8, 500])
@pytest.mark.parametrize(
    "refused", [range(10), range(30), range(30, 40), range(5, 35), range(12), range(37)]
)
async def test_ten_refusals_in_a_row_keep_no_other_object_back(
    refused: range, page_size: int, *, is_silent: bool
) -> None:
    cluster = a_cluster()
    refuse(cluster, *refused, is_silent=is_silent)
    outcome = await run_on(cluster, replace(SETTINGS, page_size=page_size))
    message = outcome.conditions[0].message
    assert (outcome.reason, outcome.retries) == (Reason.UNDECODABLE, True)
    assert left_behind(cluster) == names(*refused)
    assert f"cannot read {len(refused)} objects: default/w{refused[0]:03d}" in message
    assert WORDS in message
    assert cluster.count("set_stored_versions") == 0


async def test_all_objects_of_one_namespace_keep_none_of_another_back() -> None:
    cluster = a_cluster(300)
    refuse(cluster, *range(300))
    add_elsewhere(cluster, "other", 20)
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.UNDECODABLE
    assert left_behind(cluster) == names(*range(300))


@pytest.mark.parametrize("is_silent", [False, True])
async def test_objects_whose_older_version_is_not_served_are_passed_over_too(
    *, is_silent: bool
) -> None:
    old, new = widgets().versions
    cluster = a_cluster(versions=(replace(old, served=False), new))
    refuse(cluster, *range(12), is_silent=is_silent)
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.UNDECODABLE
    assert left_behind(cluster) == names(*range(12))


@pytest.mark.parametrize("is_silent", [False, True])
@pytest.mark.parametrize("count", [12, 2000])
async def test_a_webhook_that_converts_nothing_ends_the_run_after_a_few_questions(
    count: int, *, is_silent: bool
) -> None:
    cluster = a_cluster(count)
    for number in range(20):
        add_elsewhere(cluster, f"n{number:02d}", 3)
    for stored in cluster.etcd.values():
        stored.refusal, stored.is_silent = AWAY, is_silent
    outcome = await run_on(cluster, replace(SETTINGS, page_size=500))
    assert outcome.reason == Reason.WEBHOOK_UNAVAILABLE
    assert AWAY in outcome.conditions[0].message
    assert cluster.count("rewrite", "annotate", "set_stored_versions") == 0
    assert cluster.count("get_object", "list_metadata", "list_objects") < 400


@pytest.mark.parametrize("is_silent", [False, True])
@pytest.mark.parametrize("count", [1, 12])
@pytest.mark.parametrize("stored_versions", [("v1",), ("v1alpha1", "v1")])
async def test_objects_that_cannot_be_shown_at_an_older_version_need_not_be(
    stored_versions: tuple[str, ...], count: int, *, is_silent: bool
) -> None:
    # What cannot be shown at v1alpha1 is not stored at it.
    cluster = a_cluster(0, stored_versions=stored_versions)
    for number in range(12):
        cluster.put(f"w{number:03d}", {"spec": {"size": 1}}, version="v1")
    refuse(cluster, *range(count), is_silent=is_silent)
    outcome = await run_on(cluster)
    assert outcome.is_proved, outcome.conditions[0]
    assert cluster.definition is not None
    assert cluster.definition.stored_versions == ("v1",)


@pytest.mark.parametrize("is_silent", [False, True])
async def test_one_that_would_lose_its_managed_fields_is_passed_over(*, is_silent: bool) -> None:
    # A server removes all managedFields if it cannot convert the object to an entry's version.
    cluster = a_cluster(0)
    for number in range(12):
        key = cluster.put(f"w{number:03d}", {"spec": {"size": 1}}, version="v1")
        cluster.etcd[key].managed_fields = [
            written_by("old-client", {"f:spec": {"f:size": {}}}, version="v1alpha1")
        ]
    refuse(cluster, 3, 7, is_silent=is_silent)
    outcome = await run_on(cluster)
    message = outcome.conditions[0].message
    assert (outcome.reason, outcome.retries) == (Reason.FAILED, True)
    assert "2 objects of 12 could not be rewritten" in message
    assert "managedFields name version v1alpha1" in message
    assert {"w003", "w007"}.isdisjoint({name for call, name in cluster.calls if call == "rewrite"})
    assert cluster.count("rewrite") == 20


async def test_a_webhook_that_is_away_writes_nothing_that_has_such_managed_fields() -> None:
    cluster = a_cluster(0)
    for number in range(12):
        key = cluster.put(f"w{number:03d}", {"spec": {"size": 1}}, version="v1")
        cluster.etcd[key].managed_fields = [
            written_by("old-client", {"f:spec": {"f:size": {}}}, version="v1alpha1")
        ]
    refuse(cluster, *range(12), words=AWAY, is_silent=True)
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.WEBHOOK_UNAVAILABLE
    assert cluster.count("rewrite", "set_stored_versions") == 0


@pytest.mark.parametrize("call", ["rewrite", "try_rewrite"])
async def test_one_without_an_answer_when_it_is_written_keeps_no_other_back(call: str) -> None:
    cluster = a_cluster()
    error = ConversionError(
        verb="patch", resource=WIDGETS, status=500, reason="InternalError", detail=AWAY
    )
    cluster.fail(call, error, name="w000", times=99)
    outcome = await run_on(cluster)
    if call == "rewrite":
        assert outcome.reason == Reason.FAILED
        assert AWAY in outcome.conditions[0].message
        assert left_behind(cluster) == names(0)
    else:
        assert outcome.is_proved
