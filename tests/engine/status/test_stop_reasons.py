"""
What is said when a run ends before its time.
"""

import logging

import pytest

from espalier.engine import Reason, RunOutcome, RunSettings, run
from espalier.engine.status.stop_reasons import why_stopped
from espalier.errors import (
    EspalierError,
    ForbiddenError,
    LeaseLostError,
    NamespaceGoneError,
    NotFoundError,
    RejectedError,
    TransientError,
)
from tests.fakes.cluster import FakeCluster
from tests.fakes.widgets import WIDGETS, widgets

SETTINGS = RunSettings(settle_seconds=30, page_size=4, max_in_flight=4)
OBJECT = f"{WIDGETS} default/w001"
LEASE = "leases.coordination.k8s.io tools/espalier-lease"
CHECKPOINT = "configmaps tools/espalier-checkpoint"


def gone(status: int = 404, resource: str = LEASE) -> NamespaceGoneError:
    return NamespaceGoneError(
        verb="create", resource=resource, status=status, reason="NotFound", namespace="tools"
    )


@pytest.mark.parametrize(
    ("error", "reason", "told", "not_told"),
    [
        (
            ForbiddenError(verb="list", resource=WIDGETS, status=403, reason="Forbidden"),
            Reason.FORBIDDEN,
            "may not list widgets.example.com",
            "tried again",
        ),
        (
            ForbiddenError(verb="update", resource=OBJECT, status=403, reason="Forbidden"),
            Reason.FORBIDDEN,
            "may not update widgets.example.com",
            "tried again",
        ),
        (
            ForbiddenError(
                verb="create",
                resource=CHECKPOINT,
                status=403,
                reason="Forbidden",
                detail='configmaps "x" is forbidden: exceeded quota: few, requested: count=1',
            ),
            Reason.FORBIDDEN,
            f'create {CHECKPOINT}: 403 Forbidden: configmaps "x" is forbidden: exceeded quota',
            "clusterrole",
        ),
        (
            ForbiddenError(verb="list", resource=WIDGETS, status=401, reason="Unauthorized"),
            Reason.FORBIDDEN,
            "does not accept the credentials of this process (list widgets.example.com: 401",
            "clusterrole",
        ),
        (
            NotFoundError(verb="list", resource=WIDGETS, status=404, reason="NotFound"),
            Reason.PENDING,
            "widgets.example.com is not served yet",
            "tried again",
        ),
        (
            NotFoundError(verb="create", resource=CHECKPOINT, status=404, reason="NotFound"),
            Reason.FAILED,
            f"create {CHECKPOINT}: 404 NotFound; the run is tried again",
            "served",
        ),
        (gone(), Reason.FAILED, "namespace tools, where", "is being deleted"),
        (gone(), Reason.FAILED, "does not exist: create it", "is being deleted"),
        (gone(403), Reason.FAILED, "is being deleted: create it anew", "does not exist"),
        (
            LeaseLostError(WIDGETS, "somebody"),
            Reason.PENDING,
            "somebody holds the lease of this CRD; this run waits for it",
            "tried again",
        ),
        (
            RejectedError(verb="list", resource=WIDGETS, status=400, detail="what the server says"),
            Reason.FAILED,
            "what the server says; the run is tried again",
            "clusterrole",
        ),
    ],
)
def test_what_is_reported_for_an_error(
    error: EspalierError, reason: Reason, told: str, not_told: str
) -> None:
    found, message = why_stopped(widgets(), error)
    assert found == reason
    assert told in message
    assert not_told not in message


async def run_on(cluster: FakeCluster) -> RunOutcome:
    assert cluster.definition is not None
    return await run(cluster.definition, cluster.ports, SETTINGS, cluster)


def a_cluster() -> FakeCluster:
    cluster = FakeCluster(widgets())
    cluster.fill(10)
    return cluster


@pytest.mark.parametrize("call", ["acquire", "save"])
async def test_without_its_namespace_a_run_does_not_begin_and_says_what_to_do(call: str) -> None:
    cluster = a_cluster()
    cluster.fail(call, gone(), times=99)
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.FAILED
    assert "namespace tools" in outcome.conditions[0].message
    assert outcome.retries
    assert cluster.count("rewrite") == 0


@pytest.mark.parametrize("call", ["acquire", "save"])
async def test_a_namespace_deleted_in_the_middle_stops_the_run_and_nothing_is_trimmed(
    call: str,
) -> None:
    cluster = a_cluster()

    def delete(name: str, _: str) -> None:
        if name == "rewrite":
            cluster.fail(call, gone(403), times=99)
            cluster.hooks.clear()

    cluster.hooks.append(delete)
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.FAILED
    assert "namespace tools" in outcome.conditions[0].message
    assert cluster.count("set_stored_versions") == 0


async def test_a_lease_that_cannot_be_renewed_is_reported_with_the_cause(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster = a_cluster()
    full = TransientError(
        verb="patch", resource=LEASE, status=500, detail="etcdserver: mvcc: database space exceeded"
    )

    def fill_up(name: str, _: str) -> None:
        if name == "rewrite":
            cluster.fail("acquire", full, times=99)
            cluster.hooks.clear()

    cluster.hooks.append(fill_up)
    with caplog.at_level(logging.INFO):
        outcome = await run_on(cluster)
    message = outcome.conditions[0].message
    assert "could not be renewed in time" in message
    assert "database space exceeded" in message
    assert "The run ended with its lease." in caplog.text
    assert cluster.count("set_stored_versions") == 0


async def test_who_took_the_lease_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    cluster = a_cluster()

    def take(name: str, _: str) -> None:
        if name == "rewrite":
            cluster.fail("acquire", LeaseLostError(WIDGETS, "somebody"), times=99)
            cluster.hooks.clear()

    cluster.hooks.append(take)
    with caplog.at_level(logging.INFO):
        assert (await run_on(cluster)).reason == Reason.PENDING
    (logged,) = [one for one in caplog.records if one.message == "The run ended with its lease."]
    assert vars(logged)["holder"] == "somebody"
