"""
Stories of objects that violate their schema: the condition, and the annotation on the object.
"""

import json
from collections.abc import Callable

import pytest

from espalier.crd import Version
from espalier.engine import Reason, RunOutcome, RunSettings, ShownLoss, run
from espalier.engine.ports import ObjectKey
from espalier.errors import ClusterError, ConversionError, RejectedError
from espalier.names import SCHEMA_VIOLATIONS
from espalier.paths import JSON
from tests.fakes.cluster import FakeCluster
from tests.fakes.faults import busy, conflict, rejected
from tests.fakes.widgets import legacy_widgets, widgets, written_by

SETTINGS = RunSettings(settle_seconds=1, page_size=3, max_in_flight=2)


BAD = ObjectKey("default", "bad")


def a_cluster(**labels: str) -> FakeCluster:
    named = {f"espalier.dev/{name}": value for name, value in labels.items()}
    cluster = FakeCluster(legacy_widgets(labels={"espalier.dev/mode": "enforce", **named}))
    cluster.put("good", {"spec": {"size": 1}}, version="v1")
    cluster.put("bad", {"spec": {"size": "hunter2"}}, version="v1")
    return cluster


async def run_on(cluster: FakeCluster) -> RunOutcome:
    assert cluster.definition is not None
    return await run(cluster.definition, cluster.ports, SETTINGS, cluster)


def annotation(cluster: FakeCluster) -> str | None:
    text = cluster.etcd[BAD].annotations.get(SCHEMA_VIOLATIONS)
    return None if text is None else str(text)


async def test_an_invalid_object_is_annotated_once_and_the_condition_is_false() -> None:
    cluster = a_cluster()
    outcome = await run_on(cluster)
    assert outcome.is_proved
    assert (outcome.conditions[1].status, outcome.conditions[1].reason) == ("False", "Invalid")
    await run_on(cluster)
    assert [name for call, name in cluster.calls if call == "annotate"] == ["bad"]
    text = annotation(cluster)
    assert text is not None
    (violation,) = json.loads(text)["violations"]
    assert (violation["path"], violation["reason"]) == ("spec.size", "Invalid value")
    assert "hunter2" not in text


async def test_a_repaired_object_loses_its_annotation() -> None:
    cluster = a_cluster()
    await run_on(cluster)
    cluster.touch("bad", {"spec": {"size": 2}})
    outcome = await run_on(cluster)
    assert outcome.conditions[1].status == "True"
    assert annotation(cluster) is None
    assert cluster.count("annotate") == 2


@pytest.mark.parametrize("label", [{"annotate": "false"}, {"validate": "false"}])
async def test_a_label_leaves_annotations_out(label: dict[str, str]) -> None:
    cluster = a_cluster(**label)
    await run_on(cluster)
    assert cluster.count("annotate") == 0


STRICT: dict[str, JSON] = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "properties": {"size": {"maximum": 5, "type": "integer"}}}
    },
}


def pruned_by_the_server(**labels: str) -> FakeCluster:
    """
    Make a cluster with an invalid object of which a write would take something away.
    """
    version = Version(name="v1", served=True, storage=True, schema=STRICT)
    named = {f"espalier.dev/{name}": value for name, value in labels.items()}
    cluster = FakeCluster(
        widgets(
            versions=(version,),
            stored_versions=("v1",),
            generation=2,
            labels={"espalier.dev/mode": "enforce", **named},
        )
    )
    cluster.put("bad", {"spec": {"size": 9, "gone": 1}}, version="v1", managed=("size", "gone"))
    return cluster


@pytest.mark.parametrize("labels", [{}, {"migrate": "false"}])
async def test_no_annotation_is_written_where_a_write_might_lose_something(
    labels: dict[str, str],
) -> None:
    cluster = pruned_by_the_server(**labels)
    await run_on(cluster)
    assert cluster.count("annotate", "rewrite", "replace_managed_fields") == 0
    assert cluster.raw("bad")["spec"] == {"size": 9, "gone": 1}


async def test_an_annotation_is_written_once_the_loss_is_accepted() -> None:
    cluster = pruned_by_the_server(loss=ShownLoss(frozenset({"v1.spec.gone"})).digest)
    outcome = await run_on(cluster)
    assert outcome.is_proved
    assert annotation(cluster) is not None


async def test_no_annotation_is_written_by_a_schema_that_came_meanwhile() -> None:
    cluster = a_cluster()

    def change(call: str, _: str) -> None:
        if call == "list_objects" and cluster.count("set_stored_versions", "rewrite") >= 2:
            assert cluster.definition is not None
            cluster.change(versions=cluster.definition.versions, deleting=True)

    cluster.hooks.append(change)
    await run_on(cluster)
    assert cluster.count("annotate") == 0


async def test_a_failed_run_reports_what_is_invalid_all_the_same() -> None:
    cluster = a_cluster()
    cluster.fail("rewrite", rejected("spec.size: Invalid value: no"), name="bad", times=99)
    outcome = await run_on(cluster)
    assert (outcome.reason, outcome.retries) == (Reason.FAILED, True)
    assert (outcome.conditions[1].status, outcome.conditions[1].reason) == ("False", "Invalid")


async def test_an_object_that_is_being_deleted_is_left_alone() -> None:
    cluster = a_cluster()
    cluster.etcd[BAD].is_terminating = True
    outcome = await run_on(cluster)
    assert cluster.count("annotate") == 0
    assert outcome.conditions[1].status == "False"


async def test_a_refused_annotation_is_reported_and_stops_nothing() -> None:
    cluster = a_cluster()
    cluster.fail("annotate", rejected("spec.size: Invalid value: no"), times=9)
    outcome = await run_on(cluster)
    assert outcome.is_proved
    assert outcome.conditions[1].message.endswith(
        "Annotations could not be written: 1 object: 422 Invalid, spec.size: Invalid value: no"
        " (default/bad)"
    )


@pytest.mark.parametrize("error", [conflict(), busy(), busy(retry_after_seconds=3)])
async def test_an_annotation_that_cannot_be_written_for_now_is_tried_again(
    error: ClusterError,
) -> None:
    cluster = a_cluster()
    cluster.fail("annotate", error, times=3)
    outcome = await run_on(cluster)
    assert "could not be written" not in outcome.conditions[1].message
    assert annotation(cluster) is not None


async def test_a_server_that_takes_no_annotation_is_not_asked_for_ever() -> None:
    cluster = a_cluster()
    for number in range(40):
        cluster.put(f"bad{number:02d}", {"spec": {"size": "x"}}, version="v1")
    cluster.fail("annotate", busy(), times=9999)
    outcome = await run_on(cluster)
    assert (outcome.reason, outcome.retries) == (Reason.CURRENT, False)
    assert "Annotations could not be written: 10 objects: 429 " in outcome.conditions[1].message
    assert outcome.conditions[1].message.endswith(
        "No further annotation is written: too many objects in a row got no answer"
    )


async def test_an_object_written_meanwhile_is_judged_anew() -> None:
    cluster = a_cluster()

    def mend(call: str, name: str) -> None:
        if call == "annotate" and cluster.count("annotate") == 1:
            cluster.touch(name, {"spec": {"size": 2}})

    cluster.hooks.append(mend)
    outcome = await run_on(cluster)
    assert annotation(cluster) is None
    assert cluster.count("annotate") == 1
    # Of the survey, which it was part of as it was then.
    assert "1 object of 2 violate" in outcome.conditions[1].message


async def test_an_object_taken_over_by_a_gitops_controller_meanwhile_is_left_alone() -> None:
    cluster = a_cluster(**{"skip-owned": "true"})

    def take(call: str, name: str) -> None:
        if call == "annotate" and cluster.count("annotate") == 1:
            cluster.etcd[BAD].managed_fields = [written_by("argocd-controller", {})]
            cluster.touch(name)

    cluster.hooks.append(take)
    await run_on(cluster)
    assert annotation(cluster) is None
    assert cluster.count("annotate") == 1


AWAY = ConversionError(verb="get", resource="x", status=500, detail="conversion webhook")


def proved_then_invalid(**labels: str) -> FakeCluster:
    """
    Make a cluster that was proved and trimmed; then an object becomes invalid.
    """
    version = Version(name="v1", served=True, storage=True, schema=STRICT)
    named = {f"espalier.dev/{name}": value for name, value in labels.items()}
    return FakeCluster(
        widgets(
            versions=(version,),
            stored_versions=("v1",),
            conversion="Webhook",
            labels={"espalier.dev/mode": "enforce", **named},
        )
    )


async def resurveyed(cluster: FakeCluster, prepare: Callable[[], None]) -> RunOutcome:
    cluster.put("bad", {"spec": {"size": 1}}, version="v1")
    assert (await run_on(cluster)).is_proved
    cluster.touch("bad", {"spec": {"size": 9}})
    cluster.calls.clear()
    prepare()
    return await run_on(cluster)


@pytest.mark.parametrize("call", ["get_object", "try_rewrite", "annotate"])
async def test_a_later_survey_writes_nothing_while_the_conversion_webhook_is_away(
    call: str,
) -> None:
    cluster = proved_then_invalid()
    outcome = await resurveyed(cluster, lambda: cluster.fail(call, AWAY, times=999))
    assert annotation(cluster) is None
    assert cluster.count("annotate") == (call == "annotate")
    assert (outcome.is_proved, outcome.retries) == (True, True)
    assert (outcome.conditions[0].status, outcome.reason) == ("True", Reason.CURRENT)
    assert (outcome.conditions[1].status, outcome.conditions[1].reason) == ("Unknown", "NotChecked")


async def test_a_later_survey_writes_nothing_through_admission_that_came_meanwhile() -> None:
    def mutate(obj: dict[str, JSON]) -> None:
        obj["spec"] = {"size": 0}

    cluster = proved_then_invalid()

    def begin() -> None:
        cluster.admission = mutate

    outcome = await resurveyed(cluster, begin)
    assert cluster.count("annotate") == 0
    assert (outcome.reason, outcome.retries) == (Reason.CURRENT, False)
    assert (outcome.conditions[1].status, outcome.conditions[1].reason) == ("False", "Invalid")
    assert outcome.conditions[1].message.endswith(
        "No annotation is written: a rewrite of default/bad that changes nothing would be changed"
        " by admission at spec.size"
    )


async def test_a_later_survey_says_what_admission_did_not_report() -> None:
    refusal = RejectedError(
        verb="patch",
        resource="x",
        status=400,
        detail='admission webhook "once.example.com" does not support dry run',
    )

    cluster = proved_then_invalid()
    outcome = await resurveyed(cluster, lambda: cluster.fail("try_rewrite", refusal, times=9))
    assert annotation(cluster) is not None

    assert "Admission could not be sampled" in outcome.conditions[1].message
