"""
Stories of managedFields that name versions which are gone.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest

from espalier.crd import Definition
from espalier.engine import RunOutcome, RunSettings, run
from espalier.engine.ports import ObjectKey
from espalier.engine.rewriting.retries import MAX_ATTEMPTS
from espalier.errors import ClusterError, ConversionError, ForbiddenError
from espalier.names import FIELD_MANAGER
from espalier.paths import JSON
from tests.fakes.cluster import FakeCluster
from tests.fakes.faults import busy, conflict, failed_test
from tests.fakes.widgets import widgets, written_by

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


async def run_on(cluster: FakeCluster) -> RunOutcome:
    assert cluster.definition is not None
    return await run(cluster.definition, cluster.ports, SETTINGS, cluster)


def managers(cluster: FakeCluster) -> list[str]:
    """
    Return the managers of the object, without Espalier, which fills in the default.
    """
    found = []
    for entry in cluster.etcd[KEY].managed_fields:
        assert isinstance(entry, dict)
        found.append(str(entry["manager"]))
    return [name for name in found if name != FIELD_MANAGER]


async def test_entries_of_versions_that_are_not_served_go_after_the_trim() -> None:
    cluster = a_cluster(unserved())
    outcome = await run_on(cluster)
    assert outcome.is_proved
    assert managers(cluster) == ["new", "other"]
    order = [call for call, _ in cluster.calls]
    assert order.index("set_stored_versions") < order.index("replace_managed_fields")


async def test_entries_of_served_versions_stay() -> None:
    cluster = a_cluster(widgets())
    await run_on(cluster)
    assert managers(cluster) == ["old", "new", "other"]


async def test_a_label_keeps_them_all() -> None:
    cluster = a_cluster(unserved(managed_fields="keep"))
    await run_on(cluster)
    assert len(managers(cluster)) == 4
    assert cluster.count("replace_managed_fields") == 0


async def test_nothing_is_cleaned_before_a_proof() -> None:
    cluster = a_cluster(unserved(migrate="false"))
    await run_on(cluster)
    assert cluster.count("replace_managed_fields") == 0


FORBIDDEN = ForbiddenError(verb="patch", resource="x", status=403, reason="Forbidden")


async def test_what_cannot_be_cleaned_stops_nothing_and_is_tried_with_the_next_run() -> None:
    cluster = a_cluster(unserved())
    cluster.fail("replace_managed_fields", FORBIDDEN, name="w000")
    outcome = await run_on(cluster)
    assert outcome.is_proved
    assert outcome.conditions[0].message.endswith(
        "Cleaned the managedFields of 1 object of versions that are not served any more;"
        " could not clean 1 object: 403 Forbidden (default/w000)"
    )
    assert len(managers(cluster)) == 4
    outcome = await run_on(cluster)
    assert outcome.conditions[0].message.endswith(
        "Cleaned the managedFields of 1 object of versions that are not served any more"
    )
    assert "managedFields" not in (await run_on(cluster)).conditions[0].message

    assert managers(cluster) == ["new", "other"]


@pytest.mark.parametrize("error", [conflict(), failed_test(), busy(), busy(retry_after_seconds=3)])
async def test_what_cannot_be_cleaned_for_now_is_tried_again_at_once(error: ClusterError) -> None:
    cluster = a_cluster(unserved())
    cluster.fail("replace_managed_fields", error, name="w000", times=3)
    outcome = await run_on(cluster)
    assert outcome.is_proved
    assert "Cleaned the managedFields of 2 objects" in outcome.conditions[0].message
    assert managers(cluster) == ["new", "other"]


async def test_an_answer_that_never_came_is_found_done() -> None:
    cluster = a_cluster(unserved())
    cluster.fail_after("replace_managed_fields", busy(), name="w000")
    assert (await run_on(cluster)).is_proved
    assert managers(cluster) == ["new", "other"]
    assert cluster.count("replace_managed_fields") == 3


def on_first_cleaning(cluster: FakeCluster, act: Callable[[], None]) -> None:
    def look(call: str, name: str) -> None:
        is_first = cluster.calls.count(("replace_managed_fields", "w000")) == 1
        if (call, name) == ("replace_managed_fields", "w000") and is_first:
            act()

    cluster.hooks.append(look)


async def test_what_is_written_meanwhile_is_kept() -> None:
    cluster = a_cluster(unserved())

    def write() -> None:
        cluster.touch("w000")
        cluster.etcd[KEY].managed_fields.append(written_by("newer", SIZE))

    on_first_cleaning(cluster, write)
    await run_on(cluster)
    assert managers(cluster) == ["new", "other", "newer"]


async def test_what_a_gitops_controller_takes_over_meanwhile_is_left_alone() -> None:
    cluster = a_cluster(unserved(skip_owned="true"))

    def write() -> None:
        cluster.touch("w000")
        cluster.etcd[KEY].managed_fields.append(written_by("argocd-controller", SIZE))

    on_first_cleaning(cluster, write)
    await run_on(cluster)
    assert len(managers(cluster)) == 5


async def test_an_object_that_is_written_all_the_time_is_given_up() -> None:
    cluster = a_cluster(unserved())
    cluster.fail("replace_managed_fields", failed_test(), name="w000", times=999)
    outcome = await run_on(cluster)
    assert outcome.is_proved
    assert "could not clean 1 object" in outcome.conditions[0].message
    assert cluster.count("replace_managed_fields") == 1 + MAX_ATTEMPTS


async def test_a_server_that_cleans_nothing_is_not_asked_for_ever() -> None:
    cluster = a_cluster(unserved())
    cluster.fill(40)
    for stored in cluster.etcd.values():
        stored.managed_fields = [written_by("ancient", SIZE, version="v0")]
    cluster.definition = unserved(loss="accept")
    cluster.fail("replace_managed_fields", busy(), times=9999)
    outcome = await run_on(cluster)
    assert outcome.is_proved
    assert "Could not clean 10 objects: 429 " in outcome.conditions[0].message
    assert outcome.conditions[0].message.endswith(
        "; managedFields of versions that are not served any more stay: too many objects in a row"
        " got no answer"
    )


AWAY = ConversionError(verb="get", resource="x", status=500, detail="conversion webhook")


def cleans(cluster: FakeCluster, act: Callable[[], None]) -> None:
    """
    Do something once the versions are trimmed: only cleaning and validating are left then.
    """

    def look(call: str, _: str) -> None:
        if call == "list_metadata" and cluster.count("set_stored_versions"):
            act()

    cluster.hooks.append(look)


@pytest.mark.parametrize("call", ["get_object", "replace_managed_fields"])
async def test_nothing_is_cleaned_while_the_conversion_webhook_is_away(call: str) -> None:
    cluster = a_cluster(replace(unserved(), conversion="Webhook"))

    def go_away() -> None:
        for each in {call, "get_object"}:
            cluster.fail(each, AWAY, times=999)

    cleans(cluster, go_away)
    outcome = await run_on(cluster)
    assert len(managers(cluster)) == 4
    assert cluster.count("replace_managed_fields") <= 2
    assert (outcome.is_proved, outcome.retries) == (True, True)
    assert outcome.conditions[0].status == "True"
    assert (outcome.conditions[1].status, outcome.conditions[1].reason) == ("Unknown", "NotChecked")
    assert "conversion webhook did not answer" in outcome.conditions[1].message


async def test_nothing_is_cleaned_where_admission_changes_objects_by_now() -> None:
    cluster = a_cluster(unserved())

    def mutate(obj: dict[str, JSON]) -> None:
        obj["status"] = {"ready": True}

    def begin() -> None:
        cluster.admission = mutate

    cleans(cluster, begin)
    outcome = await run_on(cluster)
    assert cluster.count("replace_managed_fields") == 0
    assert outcome.conditions[0].status == "True"
    assert (
        "managedFields of versions that are not served any more stay: a rewrite of default/w000"
        " that changes nothing would be changed by admission at status"
    ) in outcome.conditions[0].message
