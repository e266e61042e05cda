"""
Stories of servers that cannot write any object, and of single objects that nobody can.
"""

import pytest

from espalier.engine import Reason, RunOutcome, RunSettings, run
from espalier.engine.rewriting.outages import MAX_OUTAGE
from espalier.errors import ClusterError, TransientError
from tests.fakes.cluster import FakeCluster
from tests.fakes.faults import busy, rejected
from tests.fakes.widgets import WIDGETS, legacy_widgets, widgets

SETTINGS = RunSettings(settle_seconds=1, page_size=50, max_in_flight=4)
UNREACHABLE = TransientError(
    verb="patch",
    resource=WIDGETS,
    status=500,
    reason="InternalError",
    detail='Internal error occurred: failed calling webhook "w.example.com": failed to call'
    ' webhook: Post "https://w.ns.svc:443/?timeout=10s": dial tcp 10.0.0.1:443: connect: refused',
)
FULL = TransientError(
    verb="patch",
    resource=WIDGETS,
    status=500,
    reason="InternalServerError",
    detail="etcdserver: mvcc: database space exceeded",
)


async def run_on(cluster: FakeCluster) -> RunOutcome:
    assert cluster.definition is not None
    return await run(cluster.definition, cluster.ports, SETTINGS, cluster)


def a_cluster(objects: int = 200) -> FakeCluster:
    cluster = FakeCluster(widgets())
    cluster.fill(objects)
    return cluster


@pytest.mark.parametrize(
    ("error", "reason", "words"),
    [
        (
            UNREACHABLE,
            Reason.WEBHOOK_UNAVAILABLE,
            (
                "since an admission webhook does not answer: 500 InternalError, failed calling"
                ' webhook "w.example.com": failed to call webhook: Post'
            ),
        ),
        (
            FULL,
            Reason.FAILED,
            "500 InternalServerError: etcdserver: mvcc: database space exceeded",
        ),
    ],
)
async def test_a_server_that_can_write_nothing_ends_the_run_within_minutes(
    error: ClusterError, reason: Reason, words: str
) -> None:
    cluster = a_cluster()
    cluster.fail("rewrite", error, times=10**6)
    outcome = await run_on(cluster)
    took_seconds = cluster.clock.monotonic_seconds()
    assert outcome.reason == reason
    assert outcome.retries
    assert words in outcome.conditions[0].message
    assert f"{MAX_OUTAGE} objects in a row" in outcome.conditions[0].message
    assert took_seconds < 400
    assert cluster.count("set_stored_versions") == 0


async def test_the_next_run_goes_on_when_the_webhook_answers_again() -> None:
    cluster = a_cluster(60)
    cluster.fail("rewrite", UNREACHABLE, times=10**6)
    assert not (await run_on(cluster)).is_proved
    cluster.faults.clear()

    assert (await run_on(cluster)).is_proved


async def test_objects_that_are_refused_never_end_a_pass() -> None:
    cluster = a_cluster(60)
    for number in range(50):
        cluster.fail("rewrite", rejected("spec: Required value"), name=f"w{number:03}", times=99)
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.FAILED
    assert "50 objects of 60 could not be rewritten" in outcome.conditions[0].message


async def test_objects_without_an_answer_never_keep_the_others_from_it() -> None:
    cluster = a_cluster(200)
    for number in range(0, 200, 5):
        cluster.fail("rewrite", UNREACHABLE, name=f"w{number:03}", times=10**6)
    outcome = await run_on(cluster)
    assert "40 objects of 200 could not be rewritten" in outcome.conditions[0].message
    moved = [one for one in cluster.etcd.values() if one.raw["apiVersion"] == "example.com/v1"]
    assert len(moved) == 160


@pytest.mark.parametrize("make", [widgets, legacy_widgets])
async def test_a_server_that_is_away_for_a_minute_ends_nothing(make: object) -> None:
    cluster = a_cluster(40)
    assert callable(make)
    cluster.definition = make()
    cluster.fail("rewrite", busy(), times=60)
    assert (await run_on(cluster)).is_proved
