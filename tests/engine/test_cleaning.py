"""
Stories of managedFields that name versions which are gone.
"""

from dataclasses import replace

import pytest

from espalier.crd import Definition
from espalier.engine import Outcome, RunSettings, run
from espalier.engine.ports import ObjectKey
from espalier.errors import ForbiddenError
from espalier.paths import JSON
from tests.fakes.clock import play
from tests.fakes.cluster import FakeCluster, busy, conflict, widgets, written_by

SETTINGS = RunSettings(settle_seconds=1, page_size=3, max_in_flight=2)
SIZE: JSON = {"f:spec": {"f:size": {}}}
KEY = ObjectKey("default", "w000")


def unserved(**labels: str) -> Definition:
    """
    Make a definition whose older version is not served any more, though objects are stored at it.
    """
    alpha, v1 = widgets().versions
    named = {f"espalier.dev/{name.replace('_', '-')}": value for name, value in labels.items()}
    return widgets(
        versions=(replace(alpha, served=False), v1),
        labels={"espalier.dev/mode": "enforce", **named},
    )


def a_cluster(definition: Definition) -> FakeCluster:
    cluster = FakeCluster(definition)
    cluster.fill(2)
    for stored in cluster.etcd.values():
        stored.managed_fields = [
            written_by("old", SIZE, version="v1alpha1"),
            written_by("new", SIZE, version="v1"),
            written_by("ancient", SIZE, version="v0"),
            {**written_by("other", SIZE), "apiVersion": "other.example.com/v9"},
        ]
    return cluster


async def run_on(cluster: FakeCluster) -> Outcome:
    assert cluster.definition is not None
    return await run(cluster.definition, cluster.ports, SETTINGS, cluster)


def managers(cluster: FakeCluster) -> list[str]:
    found = []
    for entry in cluster.etcd[KEY].managed_fields:
        assert isinstance(entry, dict)
        found.append(str(entry["manager"]))
    return found


def test_entries_of_versions_that_are_not_served_go_after_the_trim() -> None:
    cluster = a_cluster(unserved())
    outcome = play(run_on(cluster))
    assert outcome.is_proved
    assert managers(cluster) == ["new", "other"]
    order = [call for call, _ in cluster.calls]
    assert order.index("set_stored_versions") < order.index("replace_managed_fields")


def test_entries_of_served_versions_stay() -> None:
    cluster = a_cluster(widgets())
    play(run_on(cluster))
    assert managers(cluster) == ["old", "new", "other"]


def test_a_label_keeps_them_all() -> None:
    cluster = a_cluster(unserved(managed_fields="keep"))
    play(run_on(cluster))
    assert len(managers(cluster)) == 4
    assert cluster.count("replace_managed_fields") == 0


def test_nothing_is_cleaned_before_a_proof() -> None:
    cluster = a_cluster(unserved(migrate="false"))
    play(run_on(cluster))
    assert cluster.count("replace_managed_fields") == 0


@pytest.mark.parametrize(
    "error", [conflict(), busy(), ForbiddenError(verb="patch", resource="x", status=403)]
)
def test_what_cannot_be_cleaned_stops_nothing_and_is_tried_with_the_next_run(
    error: Exception,
) -> None:
    async def story() -> FakeCluster:
        cluster = a_cluster(unserved())
        cluster.fail("replace_managed_fields", error, name="w000")
        assert (await run_on(cluster)).is_proved
        assert len(managers(cluster)) == 4
        assert (await run_on(cluster)).is_proved
        return cluster

    assert managers(play(story())) == ["new", "other"]
