"""
Stories of runs that leave something out: steps, namespaces, hours, objects of others.
"""

import pytest

from espalier.crd import Definition
from espalier.engine import Reason, RunOutcome, RunSettings, run
from espalier.engine.policy.windows import read_window
from espalier.engine.ports import ObjectKey
from espalier.paths import JSON
from tests.fakes.cluster import FakeCluster
from tests.fakes.faults import busy
from tests.fakes.widgets import legacy_widgets, widgets

SETTINGS = RunSettings(settle_seconds=1, page_size=3, max_in_flight=2)
ARGO: JSON = {"manager": "argocd-controller", "fieldsV1": {"f:spec": {"f:size": {}}}}


def asked(make: object = widgets, **labels: str) -> Definition:
    named = {f"espalier.dev/{name.replace('_', '-')}": value for name, value in labels.items()}
    assert callable(make)
    made = make(labels={"espalier.dev/mode": "enforce", **named})
    assert isinstance(made, Definition)
    return made


async def run_on(cluster: FakeCluster) -> RunOutcome:
    assert cluster.definition is not None
    return await run(cluster.definition, cluster.ports, SETTINGS, cluster)


def stored_versions(cluster: FakeCluster) -> tuple[str, ...]:
    assert cluster.definition is not None
    return cluster.definition.stored_versions


async def test_without_migrating_nothing_is_rewritten_and_validity_is_reported() -> None:
    cluster = FakeCluster(asked(migrate="false"))
    cluster.fill(3)
    outcome = await run_on(cluster)
    current, valid = outcome.conditions
    assert (current.status, current.reason) == ("False", "Partial")
    assert current.message == (
        "no object was rewritten. Restricted: label espalier.dev/migrate=false."
        " storedVersions stays as it is: v1alpha1, v1"
    )
    assert valid.status == "True"
    assert cluster.count("rewrite", "replace", "set_stored_versions", "annotate") == 0


async def test_a_server_prunes_in_spite_of_the_label_and_that_is_reported() -> None:
    cluster = FakeCluster(asked(prune="false", default="false"))
    cluster.fill(3)
    outcome = await run_on(cluster)
    assert outcome.is_proved
    assert outcome.conditions[0].message.endswith(
        "The API server prunes and defaults whatever is written, in spite of"
        " espalier.dev/prune=false and espalier.dev/default=false"
    )


def legacy_with_junk(**labels: str) -> FakeCluster:
    cluster = FakeCluster(asked(legacy_widgets, **labels))
    cluster.put("clean", {"spec": {"size": 1}}, version="v1")
    cluster.put("junk", {"spec": {"size": 1, "typo": 1}}, version="v1")
    return cluster


async def test_a_legacy_definition_without_pruning_keeps_unknown_fields_and_is_not_tended() -> None:
    cluster = legacy_with_junk(prune="false")
    outcome = await run_on(cluster)
    assert outcome.is_proved
    assert not outcome.watches_on
    assert cluster.raw("junk")["spec"] == {"size": 1, "typo": 1}
    assert cluster.archived == []
    assert {name for call, name in cluster.calls if call == "rewrite"} == {"clean", "junk"}


async def test_a_legacy_definition_without_migrating_is_pruned_and_not_written_otherwise() -> None:
    cluster = legacy_with_junk(migrate="false")
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.PARTIAL
    assert outcome.watches_on
    assert cluster.raw("junk")["spec"] == {"size": 1}
    assert cluster.count("rewrite") == 0
    assert {name for call, name in cluster.calls if call == "replace"} == {"junk"}
    assert outcome.conditions[0].message.startswith("no unknown fields are left in 2 objects")


def in_two_namespaces() -> FakeCluster:
    cluster = FakeCluster(widgets(annotations={"espalier.dev/namespaces": "other"}))
    cluster.fill(5)
    for name in ("w000", "w001"):
        stored = cluster.etcd.pop(ObjectKey("default", name))
        cluster.etcd[ObjectKey("other", name)] = stored
    return cluster


async def test_only_the_namespaces_asked_for_are_rewritten_and_nothing_is_trimmed() -> None:
    cluster = in_two_namespaces()
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.PARTIAL
    assert not outcome.is_proved
    moved = {str(key) for key, kept in cluster.etcd.items() if "v1a" not in str(kept.raw)}
    assert moved == {"other/w000", "other/w001"}
    assert stored_versions(cluster) == ("v1alpha1", "v1")
    assert outcome.conditions[0].message.startswith(
        "2 objects are in normal form at the storage version v1. Restricted: only in the"
        " namespaces other, annotation espalier.dev/namespaces. storedVersions stays"
    )


async def test_a_namespace_that_was_asked_for_and_holds_nothing_is_named() -> None:
    cluster = in_two_namespaces()
    cluster.change(annotations={"espalier.dev/namespaces": "other,tpyo"})
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.PARTIAL
    assert outcome.conditions[0].message.endswith(
        "The namespace has no such object, perhaps it is misspelt: tpyo"
    )


async def test_a_restricted_run_proves_nothing_for_one_that_is_not() -> None:
    cluster = in_two_namespaces()
    await run_on(cluster)
    cluster.change(annotations={})
    outcome = await run_on(cluster)
    assert all("v1alpha1" not in str(kept.raw) for kept in cluster.etcd.values())

    assert outcome.is_proved


@pytest.mark.parametrize("make", [widgets, legacy_widgets])
async def test_objects_of_a_gitops_controller_are_left_alone_and_nothing_is_trimmed(
    make: object,
) -> None:
    cluster = FakeCluster(asked(make, skip_owned="true"))
    cluster.put("theirs", {"spec": {"size": 1, "typo": 1}})
    cluster.put("ours", {"spec": {"size": 1, "typo": 1}})
    for name, managers in (("theirs", [ARGO]), ("ours", [])):
        stored = cluster.etcd[ObjectKey("default", name)]
        stored.managed_fields += managers
        # What managedFields do not name would stop a run of the other kind.
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.PARTIAL
    assert cluster.raw("theirs")["spec"] == {"size": 1, "typo": 1}
    assert "typo" not in str(cluster.raw("ours"))
    assert "1 object that a GitOps controller manages left alone (default/theirs)" in (
        outcome.conditions[0].message
    )
    written = {name for call, name in cluster.calls if call in ("rewrite", "replace", "annotate")}
    assert written == {"ours"}


async def test_what_a_skipped_object_would_lose_stops_nothing() -> None:
    cluster = FakeCluster(asked(skip_owned="true"))
    cluster.put("ours", {"spec": {"size": 1}})
    cluster.put("theirs", {"spec": {"size": 1}}, managed=("size", "gone"), owner="helm-controller")
    assert (await run_on(cluster)).reason == Reason.PARTIAL
    assert "v1alpha1" not in str(cluster.raw("ours"))


async def test_where_no_object_is_skipped_the_run_is_a_proof() -> None:
    cluster = FakeCluster(asked(skip_owned="true"))
    cluster.fill(2)
    assert (await run_on(cluster)).is_proved
    assert stored_versions(cluster) == ("v1",)


def windowed(text: str, objects: int = 6) -> FakeCluster:
    cluster = FakeCluster(widgets(annotations={"espalier.dev/window": text}))
    cluster.fill(objects)
    return cluster


async def test_outside_the_window_nothing_is_written() -> None:
    # The clock of the tests begins at midnight.
    cluster = windowed("22:00-23:00")
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.OUTSIDE_WINDOW
    assert outcome.again_seconds == 600
    assert "22:00-23:00 UTC" in outcome.conditions[0].message
    assert cluster.count("rewrite", "acquire") == 0


async def test_inside_the_window_all_is_done() -> None:
    cluster = windowed("22:00-06:00")
    assert (await run_on(cluster)).is_proved


async def test_a_run_stops_when_the_window_closes_and_goes_on_when_it_opens() -> None:
    cluster = windowed("23:59-00:01")
    slow: list[float] = []

    def wait(call: str, _: str) -> None:
        if call == "rewrite":
            slow.append(cluster.clock.monotonic_seconds())

    cluster.hooks.append(wait)
    # Of each object's rewriting the server wants a pause of 30 s.
    for number in range(6):
        cluster.fail("rewrite", busy(retry_after_seconds=30), name=f"w{number:03d}", times=1)
    first = await run_on(cluster)
    assert first.reason == Reason.OUTSIDE_WINDOW
    assert cluster.holder == ""
    done = sum("v1alpha1" not in str(kept.raw) for kept in cluster.etcd.values())
    assert done < 6
    assert max(slow) < 60

    while not (outcome := await run_on(cluster)).is_proved:
        assert outcome.again_seconds is not None
        await cluster.clock.sleep(outcome.again_seconds)

    assert cluster.clock.monotonic_seconds() >= (24 * 60 - 1) * 60


@pytest.mark.parametrize(
    ("text", "at", "opens", "closes"),
    [
        ("22:00-06:00", "21:59", 60, 0),
        ("22:00-06:00", "22:00", 0, 8 * 3600),
        ("22:00-06:00", "05:59", 0, 60),
        ("22:00-06:00", "06:00", 16 * 3600, 0),
        ("08:00-09:00", "08:30", 0, 1800),
        ("08:00-09:00", "09:00", 23 * 3600, 0),
        ("00:00-23:59", "00:00", 0, 23 * 3600 + 59 * 60),
    ],
)
def test_windows(text: str, at: str, opens: float, closes: float) -> None:
    window = read_window(text)
    assert window is not None
    hours, _, minutes = at.partition(":")
    now = int(hours) * 3600 + int(minutes) * 60
    assert window.opens_in_seconds(now) == opens
    assert window.closes_in_seconds(now) == closes
    assert str(window) == text


@pytest.mark.parametrize("text", ["", "22-06", "22:00", "25:00-06:00", "1:00-2:00", "22:00_06:00"])
def test_what_is_no_window(text: str) -> None:
    assert read_window(text) is None
