"""
A consent is to what was shown, once: the label that holds it may stay on the definition for years.
"""

from dataclasses import replace

import pytest

from espalier.engine import Reason
from espalier.paths import JSON
from tests.engine.runs.test_loss_guard import (
    WITH_COLOR,
    WITHOUT_COLOR,
    a_cluster,
    accept,
    consent,
    digest_in,
    run_on,
)
from tests.fakes.cluster import FakeCluster

GREEN: dict[str, JSON] = {"size": 2, "color": "green"}


def paint(cluster: FakeCluster) -> None:
    """
    Have somebody set the field that was dropped before.
    """
    cluster.put("a", {"spec": GREEN}, version="v1", managed=("size", "color"))


async def is_left_alone(cluster: FakeCluster) -> str:
    """
    See that the new value is kept; return the digest that is shown now.
    """
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.WOULD_LOSE_DATA
    assert cluster.raw("a")["spec"] == GREEN
    return digest_in(outcome)


async def spent() -> FakeCluster:
    """
    Make a cluster that was proved by consent, with the label still on the definition.
    """
    cluster = a_cluster()
    assert (await run_on(cluster)).is_proved
    cluster.change(versions=WITHOUT_COLOR.versions)
    await accept(cluster)
    assert (await run_on(cluster)).is_proved
    return cluster


async def test_a_consent_that_was_spent_erases_nothing_that_comes_later() -> None:
    cluster = await spent()

    cluster.change(versions=WITH_COLOR.versions)
    paint(cluster)
    assert (await run_on(cluster)).is_proved
    cluster.change(versions=WITHOUT_COLOR.versions)
    digest = await is_left_alone(cluster)

    consent(cluster, digest)
    assert (await run_on(cluster)).is_proved
    assert cluster.raw("a")["spec"] == {"size": 2}


async def test_nor_does_it_where_no_run_saw_the_field_come_back() -> None:
    cluster = await spent()

    cluster.change(versions=WITH_COLOR.versions)
    paint(cluster)
    cluster.change(versions=WITHOUT_COLOR.versions)

    await is_left_alone(cluster)


@pytest.mark.parametrize("is_seen", [True, False])
async def test_a_consent_ends_before_it_is_spent_once_the_field_is_specified_again(
    *, is_seen: bool
) -> None:
    cluster = a_cluster(replace(WITHOUT_COLOR, generation=2))
    await accept(cluster)
    broken = cluster.put("broken", {"spec": {"size": 1}}, version="v1")
    cluster.etcd[broken].is_broken = True
    assert (await run_on(cluster)).reason == Reason.UNDECODABLE
    assert cluster.raw("a")["spec"] == {"size": 1}

    cluster.change(versions=WITH_COLOR.versions)
    paint(cluster)
    if is_seen:
        await run_on(cluster)
    cluster.change(versions=WITHOUT_COLOR.versions)

    await is_left_alone(cluster)


async def test_a_consent_lasts_through_generations_that_do_not_concern_it() -> None:
    cluster = a_cluster(replace(WITHOUT_COLOR, generation=2))
    digest = digest_in(await run_on(cluster))

    # Somebody renews the certificates of a webhook.
    cluster.change(generation=3)
    consent(cluster, digest)

    assert (await run_on(cluster)).is_proved
    assert cluster.raw("a")["spec"] == {"size": 1}
