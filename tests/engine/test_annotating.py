"""
Stories of objects that violate their schema: the condition, and the annotation on the object.
"""

import json

import pytest

from espalier.crd import Version
from espalier.engine import Outcome, Reason, RunSettings, run
from espalier.engine.annotating import ANNOTATION, MAX_ANNOTATION_BYTES, render_violations
from espalier.engine.ports import ObjectKey
from espalier.findings import ErrorType, FieldError
from espalier.paths import JSON
from tests.fakes.clock import play
from tests.fakes.cluster import FakeCluster, conflict, legacy_widgets, rejected, widgets

SETTINGS = RunSettings(settle_seconds=1, page_size=3, max_in_flight=2)
BAD = ObjectKey("default", "bad")


def a_cluster(**labels: str) -> FakeCluster:
    named = {f"espalier.dev/{name}": value for name, value in labels.items()}
    cluster = FakeCluster(legacy_widgets(labels={"espalier.dev/mode": "enforce", **named}))
    cluster.put("good", {"spec": {"size": 1}}, version="v1")
    cluster.put("bad", {"spec": {"size": "hunter2"}}, version="v1")
    return cluster


async def run_on(cluster: FakeCluster) -> Outcome:
    assert cluster.definition is not None
    return await run(cluster.definition, cluster.ports, SETTINGS, cluster)


def annotation(cluster: FakeCluster) -> str | None:
    text = cluster.etcd[BAD].annotations.get(ANNOTATION)
    return None if text is None else str(text)


def test_an_invalid_object_is_annotated_once_and_the_condition_is_false() -> None:
    async def story() -> FakeCluster:
        cluster = a_cluster()
        outcome = await run_on(cluster)
        assert outcome.is_proved
        assert (outcome.conditions[1].status, outcome.conditions[1].reason) == ("False", "Invalid")
        await run_on(cluster)
        return cluster

    cluster = play(story())
    assert [name for call, name in cluster.calls if call == "annotate"] == ["bad"]
    text = annotation(cluster)
    assert text is not None
    (violation,) = json.loads(text)["violations"]
    assert (violation["path"], violation["reason"]) == ("spec.size", "Invalid value")
    assert "hunter2" not in text


def test_a_mended_object_loses_its_annotation() -> None:
    async def story() -> FakeCluster:
        cluster = a_cluster()
        await run_on(cluster)
        cluster.touch("bad", {"spec": {"size": 2}})
        outcome = await run_on(cluster)
        assert outcome.conditions[1].status == "True"
        return cluster

    cluster = play(story())
    assert annotation(cluster) is None
    assert cluster.count("annotate") == 2


@pytest.mark.parametrize("label", [{"annotate": "false"}, {"validate": "false"}])
def test_a_label_leaves_annotations_out(label: dict[str, str]) -> None:
    cluster = a_cluster(**label)
    play(run_on(cluster))
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
            labels={"espalier.dev/mode": "enforce", **named},
        )
    )
    cluster.put("bad", {"spec": {"size": 9, "gone": 1}}, version="v1", managed=("size", "gone"))
    return cluster


@pytest.mark.parametrize("labels", [{}, {"migrate": "false"}])
def test_no_annotation_is_written_where_a_write_might_lose_something(
    labels: dict[str, str],
) -> None:
    cluster = pruned_by_the_server(**labels)
    play(run_on(cluster))
    assert cluster.count("annotate", "rewrite", "replace_managed_fields") == 0
    assert cluster.raw("bad")["spec"] == {"size": 9, "gone": 1}


def test_an_annotation_is_written_once_the_loss_is_accepted() -> None:
    cluster = pruned_by_the_server(loss="accept")
    outcome = play(run_on(cluster))
    assert outcome.is_proved
    assert annotation(cluster) is not None


def test_no_annotation_is_written_by_a_schema_that_came_meanwhile() -> None:
    cluster = a_cluster()

    def change(call: str, _: str) -> None:
        if call == "list_objects" and cluster.count("set_stored_versions", "rewrite") >= 2:
            assert cluster.definition is not None
            cluster.change(versions=cluster.definition.versions, deleting=True)

    cluster.hooks.append(change)
    play(run_on(cluster))
    assert cluster.count("annotate") == 0


def test_a_failed_run_tells_what_is_invalid_all_the_same() -> None:
    cluster = a_cluster()
    cluster.fail("rewrite", rejected("spec.size: Invalid value: no"), name="bad", times=99)
    outcome = play(run_on(cluster))
    assert (outcome.reason, outcome.retries) == (Reason.FAILED, True)
    assert (outcome.conditions[1].status, outcome.conditions[1].reason) == ("False", "Invalid")


def test_an_object_that_is_being_deleted_is_left_alone() -> None:
    cluster = a_cluster()
    cluster.etcd[BAD].is_terminating = True
    outcome = play(run_on(cluster))
    assert cluster.count("annotate") == 0
    assert outcome.conditions[1].status == "False"


def test_a_refused_annotation_is_told_and_stops_nothing() -> None:
    cluster = a_cluster()
    cluster.fail("annotate", rejected("spec.size: Invalid value: no"), times=9)
    outcome = play(run_on(cluster))
    assert outcome.is_proved
    assert outcome.conditions[1].message.endswith(
        "The annotation of 1 object could not be written: 422 Invalid, spec.size: Invalid value:"
        " no (1 object: default/bad)"
    )


def test_an_object_written_meanwhile_is_left_for_the_next_survey() -> None:
    cluster = a_cluster()
    cluster.fail("annotate", conflict())
    outcome = play(run_on(cluster))
    assert "could not be written" not in outcome.conditions[1].message
    assert annotation(cluster) is None


def test_an_annotation_is_bounded_and_stays_json() -> None:
    many = [
        FieldError(type=ErrorType.REQUIRED, path=("spec", f"field-{number}"), detail="x" * 50)
        for number in range(1000)
    ]
    text = render_violations(many)
    assert text is not None
    assert len(text.encode()) <= MAX_ANNOTATION_BYTES
    document = json.loads(text)
    assert len(document["violations"]) + document["more"] == 1000
    assert render_violations([]) is None


def test_one_violation_too_long_for_the_annotation_is_counted() -> None:
    long = FieldError(type=ErrorType.REQUIRED, path=("spec", "x" * 9000))
    assert render_violations([long]) == '{"violations":[],"more":1}'
