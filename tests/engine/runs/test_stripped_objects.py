"""
API servers before 1.37 remove an object's managedFields if another version does not specify a field
of it. So a rewrite that fills in a default takes the evidence that was judged before it.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest

from espalier.engine import Reason
from espalier.engine.ports.servers import ServersSeen
from espalier.paths import JSON
from tests.engine.runs.pruned import SETTINGS, a_cluster, all_are_current, run_on, stored_versions
from tests.fakes.cluster import FakeCluster
from tests.fakes.widgets import widgets, written_by

BOTH = ("v1alpha1", "v1")


@pytest.fixture
def cluster() -> FakeCluster:
    # Nothing is recorded of what the schemas were before.
    made = a_cluster(10, widgets(generation=2))
    for key in made.etcd:
        written_by_an_old_client(made, key.name)
    made.strips_managed_fields = True
    return made


def written_by_an_old_client(cluster: FakeCluster, name: str) -> None:
    key = cluster.put(name, {"spec": {"size": int(name[1:])}})
    fields: JSON = {"f:spec": {"f:size": {}}}
    cluster.etcd[key].managed_fields = [written_by("old-client", fields, version="v1alpha1")]


def have_no_managed_fields(cluster: FakeCluster) -> bool:
    return not any(stored.managed_fields for stored in cluster.etcd.values())


def before_verifying(cluster: FakeCluster, act: Callable[[], object]) -> None:
    def hook(call: str, _: str) -> None:
        if call == "list_metadata" and cluster.count("rewrite") >= len(cluster.etcd):
            cluster.hooks.remove(hook)
            act()

    cluster.hooks.append(hook)


@pytest.mark.parametrize("settle_seconds", [0, 30])
async def test_what_a_run_has_stripped_itself_does_not_hold_it(
    cluster: FakeCluster, settle_seconds: int
) -> None:
    outcome = await run_on(cluster, replace(SETTINGS, settle_seconds=settle_seconds))
    assert outcome.is_proved
    assert all_are_current(cluster)
    assert have_no_managed_fields(cluster)
    assert stored_versions(cluster) == ("v1",)


async def test_an_object_that_had_none_before_is_left_alone(cluster: FakeCluster) -> None:
    cluster.etcd[next(iter(cluster.etcd))].managed_fields = []
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.WOULD_LOSE_DATA
    assert stored_versions(cluster) == BOTH


@pytest.mark.parametrize("uid", ["", "another"])
async def test_before_the_settle_time_no_other_state_inherits(
    cluster: FakeCluster, uid: str
) -> None:
    before_verifying(
        cluster,
        lambda: cluster.put("w001", {"spec": {"size": 1}}, managed=None, uid=uid),
    )
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.WOULD_LOSE_DATA
    assert "default/w001" in outcome.conditions[0].message
    assert stored_versions(cluster) == BOTH


async def test_after_the_settle_time_later_states_inherit(cluster: FakeCluster) -> None:
    before_verifying(
        cluster,
        lambda: cluster.put("w001", {"spec": {"size": 1}}, version="v1", managed=None),
    )
    outcome = await run_on(cluster, replace(SETTINGS, settle_seconds=0))
    assert outcome.is_proved
    assert all_are_current(cluster)


async def test_nothing_inherits_if_a_server_turns_out_to_be_behind(cluster: FakeCluster) -> None:
    def overtaken() -> None:
        cluster.put("w001", {"spec": {"size": 1}}, managed=None)
        cluster.servers.append(ServersSeen(behind=1, caught_up=1))

    before_verifying(cluster, overtaken)
    outcome = await run_on(cluster, replace(SETTINGS, settle_seconds=0))
    assert outcome.reason == Reason.WOULD_LOSE_DATA
    assert stored_versions(cluster) == BOTH
