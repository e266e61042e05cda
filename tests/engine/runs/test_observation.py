"""
Stories of runs that only look, and of what they say.
"""

import pytest

from espalier.crd import Definition, Version
from espalier.engine import Reason, RunOutcome, RunSettings, run
from espalier.errors import ForbiddenError
from espalier.paths import JSON
from tests.fakes.cluster import FakeCluster
from tests.fakes.faults import busy, rejected
from tests.fakes.widgets import legacy_widgets, widgets

OBSERVE = {"espalier.dev/mode": "observe"}
SETTINGS = RunSettings(page_size=3)
READS = {
    "get_definition",
    "get_resource_version",
    "missing_verbs",
    "load",
    "list_objects",
    "get_object",
}


async def run_on(cluster: FakeCluster, settings: RunSettings = SETTINGS) -> RunOutcome:
    assert cluster.definition is not None
    return await run(cluster.definition, cluster.ports, settings, cluster)


def spoken(outcome: RunOutcome) -> tuple[str, str]:
    current, valid = outcome.conditions
    return current.message, valid.message


async def test_observing_reads_and_says_what_enforcing_would_do() -> None:
    cluster = FakeCluster(widgets(labels=OBSERVE))
    cluster.fill(7)

    outcome = await run_on(cluster)

    assert outcome.reason == Reason.OBSERVED
    assert not outcome.retries
    assert outcome.again_seconds == SETTINGS.resurvey_seconds
    assert {call for call, _ in cluster.calls} <= READS
    current, valid = spoken(outcome)
    assert current.startswith("nothing is written in mode observe. 7 stored objects, read at")
    assert "A rewrite would fill in defaults in 7 objects: spec.color" in current
    assert current.endswith("Enforcing would trim storedVersions (v1alpha1, v1) to v1")
    assert valid == "none of 7 stored objects violates the schema of version v1 (generation 1)"
    assert {words[0].reason for words in cluster.reports} == {"Observed"}


async def test_what_takes_long_to_read_is_read_less_often() -> None:
    cluster = FakeCluster(widgets(labels=OBSERVE))
    cluster.fill(7)
    settings = RunSettings(page_size=3, resurvey_seconds=60)
    refusals = iter([busy(retry_after_seconds=20)])

    def refuse(call: str, _: str) -> None:
        if call == "list_objects" and (error := next(refusals, None)):
            raise error

    cluster.hooks.append(refuse)
    outcome = await run_on(cluster, settings)

    # One percent of the time is read in.
    assert outcome.again_seconds == pytest.approx(20 * 99, rel=0.05)
    assert settings.resurvey_after(0.5) == 60
    assert RunSettings(reading_share=1, resurvey_seconds=60).resurvey_after(1e6) == 60


async def test_objects_that_violate_the_schema_are_counted_and_named_without_values() -> None:
    cluster = FakeCluster(legacy_widgets(labels=OBSERVE))
    cluster.put("good", {"spec": {"size": 1}}, version="v1")
    cluster.put("bad", {"spec": {"size": "hunter2", "typo": "hunter3"}}, version="v1")

    outcome = await run_on(cluster)

    current, valid = outcome.conditions
    assert (valid.status, valid.reason) == ("False", "Invalid")
    assert valid.message == (
        "1 object of 2 violate the schema of version v1 (generation 1):"
        ' spec.size: Invalid value: must be of type integer: "string" (1 object: default/bad)'
    )
    assert "Enforcing would remove unknown fields from 1 object: spec.typo" in current.message
    assert "hunter" not in repr(outcome.conditions)
    assert cluster.raw("bad")["spec"] == {"size": "hunter2", "typo": "hunter3"}


async def test_what_enforcing_would_stop_at_is_reported() -> None:
    bare = (Version(name="v1", served=True, storage=True, schema=None),)
    cluster = FakeCluster(legacy_widgets(labels=OBSERVE, versions=bare, stored_versions=("v1",)))
    cluster.put("w", {"spec": {"size": 1}}, version="v1")
    current, valid = spoken(await run_on(cluster))
    assert "Enforcing would stop with NoSchema: version v1 has no schema" in current
    assert "With preserveUnknownFields: false the server would prune 1 object: spec" in current
    assert valid.startswith("none of 1 stored object violates")


async def test_what_would_be_lost_is_reported() -> None:
    cluster = FakeCluster(widgets(labels=OBSERVE, generation=2))
    cluster.put("w", {"spec": {"size": 1}}, managed=("size", "gone"))
    current, _ = spoken(await run_on(cluster))
    assert "Enforcing would stop with WouldLoseData, and leave 1 object alone" in current
    assert ".spec.gone at v1 (1 object)" in current


async def test_a_label_leaves_validation_out() -> None:
    cluster = FakeCluster(widgets(labels={**OBSERVE, "espalier.dev/validate": "false"}))
    _, valid = (await run_on(cluster)).conditions
    assert (valid.status, valid.reason) == ("Unknown", "NotAsked")


async def test_only_the_annotated_namespaces_are_looked_at() -> None:
    annotations = {"espalier.dev/namespaces": "other"}
    cluster = FakeCluster(widgets(labels=OBSERVE, annotations=annotations))
    cluster.fill(3)
    current, valid = spoken(await run_on(cluster))
    assert "in the namespaces other. 0 stored objects" in current
    assert "none of 0 stored objects in the namespaces other violates" in valid


async def test_a_missing_right_is_reported_with_the_command_that_grants_it() -> None:
    cluster = FakeCluster(widgets(labels=OBSERVE))
    cluster.missing = ("list widgets",)
    outcome = await run_on(cluster)
    assert (outcome.reason, outcome.retries) == (Reason.FORBIDDEN, True)
    assert "kubectl create clusterrole" in outcome.conditions[0].message


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (rejected(status=400), Reason.FAILED),
        (
            ForbiddenError(verb="list", resource="widgets.example.com", status=403),
            Reason.FORBIDDEN,
        ),
    ],
)
async def test_errors_end_a_survey_and_it_is_tried_again(error: Exception, reason: Reason) -> None:
    cluster = FakeCluster(widgets(labels=OBSERVE))
    cluster.fail("list_objects", error, times=99)
    outcome = await run_on(cluster)
    assert (outcome.reason, outcome.retries) == (reason, True)


async def test_a_definition_that_changes_under_a_survey_is_surveyed_anew() -> None:
    cluster = FakeCluster(widgets(labels=OBSERVE))
    cluster.fill(2)
    lists = iter([1])
    stricter: dict[str, JSON] = {"type": "object", "properties": {"spec": {"type": "object"}}}

    def change(call: str, _: str) -> None:
        if call == "list_objects" and next(lists, None):
            version = Version(name="v1", served=True, storage=True, schema=stricter)
            cluster.change(versions=(version,), stored_versions=("v1",))
            # Nobody looks at a definition more often than twice a second.
            cluster.fail("list_objects", rejected(status=400))

    cluster.hooks.append(change)
    first = await run_on(cluster)
    assert first.reason == Reason.FAILED

    assert "generation 2" in spoken(await run_on(cluster))[1]


def a_mistaken_definition() -> Definition:
    return widgets(labels={**OBSERVE, "espalier.dev/prune": "maybe"})


@pytest.mark.parametrize(
    ("definition", "reason"),
    [
        (a_mistaken_definition(), Reason.FAILED),
        (widgets(labels=OBSERVE, deleting=True), Reason.PENDING),
        (widgets(labels=OBSERVE, established=False), Reason.PENDING),
    ],
)
async def test_what_is_not_even_looked_at(definition: Definition, reason: Reason) -> None:
    cluster = FakeCluster(definition)
    assert (await run_on(cluster)).reason == reason
    assert cluster.count("list_objects") == 0


async def test_a_run_that_was_paused_by_observing_goes_on_where_it_was() -> None:
    cluster = FakeCluster(widgets())
    cluster.fill(9)

    def pause(call: str, name: str) -> None:
        if (call, name) == ("rewrite", "w004"):
            cluster.change(labels=OBSERVE)

    cluster.hooks.append(pause)
    # So that a checkpoint is due behind the first page.
    cluster.fail("rewrite", busy(retry_after_seconds=4), name="w001")
    paused = await run_on(cluster)
    assert paused.reason == Reason.OBSERVED
    cluster.hooks.clear()
    cluster.calls.clear()
    cluster.change(labels={"espalier.dev/mode": "enforce"})
    assert (await run_on(cluster)).is_proved
    rewritten = [name for call, name in cluster.calls if call == "rewrite"]
    # What comes after the last checkpoint, and then the verify pass.

    assert rewritten[:-9][0] >= "w003"
