"""
The life of a version, T1 to T4; and every kind of error at every step of a run.
"""

from dataclasses import replace

import pytest

from espalier.crd import Version
from espalier.engine import RunOutcome, RunSettings, run
from espalier.errors import (
    ClusterError,
    ConflictError,
    ConversionError,
    EspalierError,
    ExpiredTokenError,
    ForbiddenError,
    NotFoundError,
    RejectedError,
    TransientError,
    UndecodableError,
)
from espalier.paths import JSON
from tests.fakes.cluster import FakeCluster
from tests.fakes.widgets import V1_SCHEMA, V1ALPHA1_SCHEMA, WIDGETS, legacy_widgets, widgets

SETTINGS = RunSettings(settle_seconds=1, page_size=4, max_in_flight=2)
OLD = Version(name="v1alpha1", served=True, storage=True, schema=V1ALPHA1_SCHEMA)
NEW = Version(name="v1", served=True, storage=True, schema=V1_SCHEMA, has_status=True)


async def run_on(cluster: FakeCluster) -> RunOutcome:
    assert cluster.definition is not None
    return await run(cluster.definition, cluster.ports, SETTINGS, cluster)


def stored(cluster: FakeCluster) -> tuple[set[str], tuple[str, ...]]:
    """
    Tell at which versions objects are stored, and which ones the definition names.
    """
    assert cluster.definition is not None
    versions = {str(one.raw["apiVersion"]).partition("/")[2] for one in cluster.etcd.values()}
    return versions, cluster.definition.stored_versions


def managed_at(cluster: FakeCluster) -> set[str]:
    return {
        str(entry["apiVersion"])
        for one in cluster.etcd.values()
        for entry in one.managed_fields
        if isinstance(entry, dict)
    }


async def test_a_version_lives_from_t1_to_t4() -> None:
    # T1: there is v1alpha1 alone.
    cluster = FakeCluster(widgets(versions=(OLD,), stored_versions=("v1alpha1",)))
    cluster.fill(10)
    for one in cluster.etcd.values():
        for entry in one.managed_fields:
            assert isinstance(entry, dict)
            entry["apiVersion"] = "example.com/v1alpha1"
    assert (await run_on(cluster)).is_proved
    assert stored(cluster) == ({"v1alpha1"}, ("v1alpha1",))

    # T2: v1 comes and is what is stored from now on.
    cluster.change(versions=(replace(OLD, storage=False), NEW), stored_versions=("v1alpha1", "v1"))
    assert (await run_on(cluster)).is_proved
    assert stored(cluster) == ({"v1"}, ("v1",))
    assert managed_at(cluster) == {"example.com/v1alpha1"}

    # T3: v1alpha1 is not served any more.
    cluster.change(versions=(replace(OLD, storage=False, served=False), NEW))
    assert (await run_on(cluster)).is_proved
    assert managed_at(cluster) == set()

    # T4: v1alpha1 is gone, and nothing is missed.
    cluster.change(versions=(NEW,))
    cluster.calls.clear()
    assert (await run_on(cluster)).is_proved
    assert stored(cluster) == ({"v1"}, ("v1",))
    assert cluster.count("set_stored_versions", "annotate", "replace_managed_fields") == 0


STEPS = (
    "get_definition",
    "missing_verbs",
    "acquire",
    "load",
    "save",
    "other_migrations",
    "look_for_servers_behind",
    "list_metadata",
    "get_object",
    "try_rewrite",
    "rewrite",
    "set_stored_versions",
    "list_objects",
    "replace_managed_fields",
)
KINDS: tuple[tuple[type[ClusterError], int], ...] = (
    (TransientError, 503),
    (ConversionError, 500),
    (ConflictError, 409),
    (NotFoundError, 404),
    (ExpiredTokenError, 410),
    (ForbiddenError, 403),
    (UndecodableError, 500),
    (RejectedError, 400),
    (RejectedError, 422),
)


def error_of(kind: type[ClusterError], status: int) -> ClusterError:
    return kind(verb="patch", resource=WIDGETS, status=status, reason=kind.__name__)


def a_cluster() -> FakeCluster:
    cluster = FakeCluster(widgets(versions=(replace(OLD, storage=False, served=False), NEW)))
    cluster.fill(10)
    return cluster


def nothing_was_trimmed_too_early(cluster: FakeCluster) -> None:
    versions, named = stored(cluster)
    assert named in {("v1alpha1", "v1"), ("v1",)}
    assert named != ("v1",) or versions == {"v1"}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(("kind", "status"), KINDS)
@pytest.mark.parametrize("times", [1, 3, 10_000])
async def test_no_error_at_any_step_trims_too_early_or_ends_the_trying(
    step: str, kind: type[ClusterError], status: int, times: int
) -> None:
    cluster = a_cluster()
    cluster.fail(step, error_of(kind, status), times=times)
    outcome = RunOutcome(definition=cluster.definition, retries=True)
    for _ in range(6):
        try:
            outcome = await run_on(cluster)
        except EspalierError:
            # The supervisor tries again whatever ends a run.
            outcome = RunOutcome(definition=cluster.definition, retries=True)
        nothing_was_trimmed_too_early(cluster)
        assert cluster.holder == ""
        if outcome.is_proved or outcome.definition is None:
            break
        assert outcome.retries
        assert not cluster.reports or cluster.reports[-1][0].status == "False"
        if times > len(STEPS):
            cluster.faults.clear()
    if outcome.definition is not None:
        assert outcome.is_proved
        assert stored(cluster) == ({"v1"}, ("v1",))


JUNK: dict[str, JSON] = {
    "spec": {"size": 1, "junk": {"a": 1}},
    "status": {"ready": True, "old": "x"},
}


def nothing_went_without_an_archive(cluster: FakeCluster) -> None:
    archived = {entry.key for entry in cluster.archived}
    for key, one in cluster.etcd.items():
        assert key in archived or one.raw["spec"] == JUNK["spec"]
        assert key in archived or one.raw["status"] == JUNK["status"]


@pytest.mark.parametrize(
    "step",
    ["archive", "list_objects", "get_object", "replace", "replace/status", "rewrite", "annotate"],
)
@pytest.mark.parametrize(("kind", "status"), KINDS)
@pytest.mark.parametrize("times", [1, 10_000])
@pytest.mark.parametrize("after_effect", [False, True])
async def test_no_error_at_any_step_prunes_what_is_not_in_the_archive(
    step: str, kind: type[ClusterError], status: int, times: int, *, after_effect: bool
) -> None:
    cluster = FakeCluster(legacy_widgets())
    for number in range(5):
        cluster.put(f"w{number}", JUNK, version="v1")
    fail = cluster.fail_after if after_effect else cluster.fail
    fail(step, error_of(kind, status), times=times)
    outcome = RunOutcome(definition=cluster.definition, retries=True)
    for _ in range(6):
        try:
            outcome = await run_on(cluster)
        except EspalierError:
            outcome = RunOutcome(definition=cluster.definition, retries=True)
        nothing_went_without_an_archive(cluster)
        if outcome.is_proved:
            break
        if times > len(STEPS):
            cluster.faults.clear()
    assert outcome.is_proved
    assert {str(one.raw["spec"]) for one in cluster.etcd.values()} == {str({"size": 1})}
    assert {str(one.raw["status"]) for one in cluster.etcd.values()} == {str({"ready": True})}
