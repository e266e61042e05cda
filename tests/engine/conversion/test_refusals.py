"""
Stories of a conversion webhook that answers, and will not convert some objects.
"""

import pytest

from espalier.engine import Reason, RunOutcome, RunSettings, Scope, run, survey
from espalier.engine.ports import ObjectKey
from espalier.errors import ConversionRefusedError
from tests.fakes.cluster import FakeCluster
from tests.fakes.widgets import WIDGETS, widgets

SETTINGS = RunSettings(settle_seconds=1, page_size=8, max_in_flight=2)
WORDS = "no v1 for such a size"


def a_cluster(*refused: int, count: int = 30, is_named: bool = True) -> FakeCluster:
    cluster = FakeCluster(widgets(conversion="Webhook"))
    cluster.fill(count)
    cluster.names_broken = is_named
    for number in refused:
        refuse(cluster, number)
    return cluster


def refuse(cluster: FakeCluster, number: int, words: str = WORDS) -> None:
    cluster.etcd[ObjectKey("default", f"w{number:03d}")].refusal = words


async def run_on(cluster: FakeCluster, settings: RunSettings = SETTINGS) -> RunOutcome:
    assert cluster.definition is not None
    return await run(cluster.definition, cluster.ports, settings, cluster)


def left_behind(cluster: FakeCluster) -> set[str]:
    return {str(key) for key, one in cluster.etcd.items() if "v1alpha1" in str(one.raw)}


@pytest.mark.parametrize("is_named", [True, False])
@pytest.mark.parametrize("refused", [(0,), (5,), (29,), (7, 8), (0, 1, 2, 3), (3, 15, 29)])
async def test_what_a_webhook_refuses_is_named_with_its_message_and_the_others_are_rewritten(
    refused: tuple[int, ...], *, is_named: bool
) -> None:
    cluster = a_cluster(*refused, is_named=is_named)
    outcome = await run_on(cluster)
    message = outcome.conditions[0].message
    assert (outcome.reason, outcome.retries) == (Reason.UNDECODABLE, True)
    assert left_behind(cluster) == {f"default/w{number:03d}" for number in refused}
    for number in refused:
        assert f"default/w{number:03d} (the conversion webhook refuses it: {WORDS})" in message
    assert cluster.count("set_stored_versions") == 0
    assert outcome.conditions[1].status == "Unknown"


@pytest.mark.parametrize("count", [11, 30])
async def test_a_webhook_that_refuses_all_counts_as_away(count: int) -> None:
    cluster = a_cluster(*range(count), count=count)
    outcome = await run_on(cluster)
    assert (outcome.reason, outcome.retries) == (Reason.WEBHOOK_UNAVAILABLE, True)
    assert cluster.count("rewrite", "annotate", "set_stored_versions") == 0
    assert len(left_behind(cluster)) == count


async def test_one_that_begins_to_refuse_all_in_mid_run_stops_it() -> None:
    cluster = a_cluster(count=300)

    def turn(call: str, _: str) -> None:
        if call == "rewrite" and cluster.count("rewrite") == 100:
            for number in range(300):
                refuse(cluster, number)

    cluster.hooks.append(turn)
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.WEBHOOK_UNAVAILABLE
    assert cluster.count("rewrite") < 120
    assert cluster.count("set_stored_versions") == 0


async def test_one_that_is_refused_only_when_it_is_written_fails_with_the_message() -> None:
    cluster = a_cluster()

    def turn(call: str, name: str) -> None:
        if (call, name) == ("rewrite", "w009"):
            refuse(cluster, 9)

    cluster.hooks.append(turn)
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.UNDECODABLE
    assert left_behind(cluster) == {"default/w009"}
    assert cluster.count("set_stored_versions") == 0


async def test_one_that_lists_still_show_from_a_cache_fails_with_the_message() -> None:
    cluster = a_cluster()
    error = ConversionRefusedError(
        verb="patch",
        resource=WIDGETS,
        status=500,
        reason="InternalServerError",
        detail=f"the conversion webhook refuses it: {WORDS}",
    )
    cluster.fail("rewrite", error, name="w009", times=99)
    outcome = await run_on(cluster)
    message = outcome.conditions[0].message
    assert (outcome.reason, outcome.retries) == (Reason.FAILED, True)
    assert f"the conversion webhook refuses it: {WORDS} (default/w009)" in message
    assert left_behind(cluster) == {"default/w009"}
    assert cluster.count("set_stored_versions") == 0


async def test_what_it_does_not_show_at_an_older_version_is_reported() -> None:
    cluster = FakeCluster(widgets(conversion="Webhook"))
    for number in range(12):
        cluster.put(f"w{number:03d}", {"spec": {"size": 1}}, version="v1")
    refuse(cluster, 3)
    outcome = await run_on(cluster)
    assert outcome.is_proved
    assert "could not be compared for default/w003 (the conversion" in outcome.conditions[0].message


async def test_a_survey_names_them_and_looks_at_the_others() -> None:
    cluster = a_cluster(5, 6)
    assert cluster.definition is not None
    found = await survey(cluster.definition, cluster, cluster.clock, Scope(page_size=8))
    assert found.undecodable == tuple(
        f"default/w00{number} (the conversion webhook refuses it: {WORDS})" for number in (5, 6)
    )
    assert found.objects == 28


async def test_once_it_converts_them_all_is_done() -> None:
    cluster = a_cluster(5)
    first = await run_on(cluster)
    refuse(cluster, 5, words="")
    second = await run_on(cluster)
    assert first.reason == Reason.UNDECODABLE
    assert second.is_proved
