"""
Stories of runs on nothing but what failed: never a success that nobody has shown.
"""

from dataclasses import replace

import pytest

from espalier.engine import Reason, RunOutcome, RunSettings, run
from espalier.engine.coordination.checkpoint import Progress, read_checkpoint
from espalier.engine.ports import ObjectKey
from espalier.engine.status.tally import MAX_FAILED
from espalier.paths import JSON
from tests.fakes.cluster import FakeCluster
from tests.fakes.faults import Killed, rejected
from tests.fakes.widgets import widgets

SETTINGS = RunSettings(settle_seconds=1, page_size=4, max_in_flight=2)
ONLY_FAILED = replace(SETTINGS, only_failed=True)
IN_OTHER = {"espalier.dev/namespaces": "other"}


async def run_on(cluster: FakeCluster, settings: RunSettings = SETTINGS) -> RunOutcome:
    assert cluster.definition is not None
    return await run(cluster.definition, cluster.ports, settings, cluster)


def failing(*names: str, objects: int = 10) -> FakeCluster:
    cluster = FakeCluster(widgets())
    cluster.fill(objects)
    for name in names:
        cluster.fail("rewrite", rejected(), name=name, times=99)
    return cluster


def stop_failing(cluster: FakeCluster) -> None:
    cluster.faults.clear()
    cluster.hooks.clear()
    cluster.calls.clear()


def progress_of(cluster: FakeCluster) -> Progress:
    checkpoint = read_checkpoint(cluster.documents["crd-1"], widgets())
    assert checkpoint is not None
    return checkpoint.whole


def rewritten(cluster: FakeCluster) -> set[str]:
    return {name for call, name in cluster.calls if call == "rewrite"}


def says(outcome: RunOutcome, text: str) -> None:
    """
    See that nothing was a success.
    """
    assert outcome.reason == Reason.FAILED
    assert not outcome.is_proved
    assert text in outcome.conditions[0].message


def kill_in(cluster: FakeCluster, call: str, *, after_rewrites: int) -> None:
    def kill(called: str, _: str) -> None:
        if called == call and cluster.count("rewrite") >= after_rewrites:
            raise Killed

    cluster.hooks.append(kill)


def move_to_other(cluster: FakeCluster, *names: str) -> None:
    for name in names:
        cluster.etcd[ObjectKey("other", name)] = cluster.etcd.pop(ObjectKey("default", name))


async def test_what_failed_beside_an_object_that_cannot_be_read_is_kept() -> None:
    cluster = failing("w003", "w007")
    cluster.etcd[ObjectKey("default", "w005")].is_broken = True
    assert (await run_on(cluster)).reason == Reason.UNDECODABLE
    stop_failing(cluster)
    outcome = await run_on(cluster, ONLY_FAILED)
    assert rewritten(cluster) == {"w003", "w007"}

    assert outcome.reason == Reason.PARTIAL


async def test_what_failed_is_kept_when_the_process_is_killed_in_the_verify_pass() -> None:
    cluster = failing("w003", "w007")
    kill_in(cluster, "list_metadata", after_rewrites=12)
    with pytest.raises(Killed):
        await run_on(cluster)
    stop_failing(cluster)
    outcome = await run_on(cluster, ONLY_FAILED)
    assert rewritten(cluster) == {"w003", "w007"}

    assert outcome.reason == Reason.PARTIAL


async def test_a_pass_that_was_killed_has_not_seen_all_that_fails() -> None:
    cluster = failing("w001", "w009")
    kill_in(cluster, "rewrite", after_rewrites=6)
    with pytest.raises(Killed):
        await run_on(cluster, replace(SETTINGS, writes_per_second=0.5))
    stop_failing(cluster)
    says(await run_on(cluster, ONLY_FAILED), "did not get through all objects")
    assert rewritten(cluster) == set()
    # What failed before the kill is not forgotten by the run that goes on behind it.
    cluster.fail("rewrite", rejected(), name="w009", times=99)
    cluster.fail("rewrite", rejected(), name="w001", times=99)
    kill_in(cluster, "list_metadata", after_rewrites=10)
    with pytest.raises(Killed):
        await run_on(cluster)
    assert {key.name for key in progress_of(cluster).failed} == {"w001", "w009"}
    assert progress_of(cluster).failed_total == 2


async def test_more_failures_than_are_kept_by_name_are_no_success() -> None:
    objects = MAX_FAILED + 5

    cluster = failing(objects=objects)
    cluster.fail("rewrite", rejected(), times=2 * objects)
    settings = replace(SETTINGS, page_size=500)
    assert (await run_on(cluster, settings)).reason == Reason.FAILED
    progress = progress_of(cluster)
    assert (len(progress.failed), progress.failed_total) == (MAX_FAILED, objects)
    stop_failing(cluster)
    outcome = await run_on(cluster, replace(settings, only_failed=True))
    assert len(rewritten(cluster)) == MAX_FAILED
    says(outcome, "5 more objects had failed than are kept by name")
    says(await run_on(cluster, replace(settings, only_failed=True)), "5 more objects")
    assert (await run_on(cluster, settings)).is_proved
    assert progress_of(cluster).failed_total == 0


async def test_without_a_run_before_there_is_nothing_to_try_again() -> None:
    cluster = failing()
    says(await run_on(cluster, ONLY_FAILED), "no run before this one has noted what failed")
    assert cluster.count("list_metadata", "rewrite", "save") == 0


async def test_where_nothing_had_failed_there_is_nothing_to_try_again() -> None:
    cluster = failing("w003")
    await run_on(cluster)
    stop_failing(cluster)
    assert (await run_on(cluster, ONLY_FAILED)).reason == Reason.PARTIAL
    says(await run_on(cluster, ONLY_FAILED), "no object had failed in the last run")


async def test_what_is_proved_already_stays_proved() -> None:
    cluster = failing()
    assert (await run_on(cluster)).is_proved

    assert (await run_on(cluster, ONLY_FAILED)).is_proved


async def test_what_failed_in_a_run_for_another_schema_is_neither_tried_nor_forgotten() -> None:
    cluster = failing("w003")
    await run_on(cluster)
    before = cluster.documents["crd-1"]
    stop_failing(cluster)
    assert cluster.definition is not None
    v1alpha1, v1 = cluster.definition.versions
    cluster.change(versions=(v1alpha1, replace(v1, has_status=False)))
    says(await run_on(cluster, ONLY_FAILED), "no run before this one has noted what failed")
    assert cluster.documents["crd-1"] == before


async def test_of_what_failed_in_a_whole_run_some_namespaces_can_be_tried_again_alone() -> None:
    cluster = failing("w000", "w001", "w003")
    move_to_other(cluster, "w000", "w001")
    await run_on(cluster)
    stop_failing(cluster)
    cluster.fail("rewrite", rejected(), name="w001", times=99)
    cluster.change(annotations=IN_OTHER)
    assert (await run_on(cluster, ONLY_FAILED)).reason == Reason.FAILED
    assert rewritten(cluster) == {"w000", "w001"}
    left = {str(key) for key in progress_of(cluster).failed}
    assert left == {"other/w001", "default/w003"}
    stop_failing(cluster)
    assert (await run_on(cluster, ONLY_FAILED)).reason == Reason.PARTIAL
    says(await run_on(cluster, ONLY_FAILED), "in the last run in the namespaces other;")
    cluster.change(annotations={})
    stop_failing(cluster)
    assert (await run_on(cluster, ONLY_FAILED)).reason == Reason.PARTIAL
    assert rewritten(cluster) == {"w003"}


async def test_a_run_that_has_nothing_to_try_again_reads_and_writes_no_object() -> None:
    cluster = failing("w003")
    await run_on(cluster)
    stop_failing(cluster)
    await run_on(cluster, ONLY_FAILED)
    cluster.calls.clear()
    says(await run_on(cluster, ONLY_FAILED), "no object had failed in the last run")
    assert cluster.count("list_metadata", "list_objects", "annotate", "rewrite") == 0


async def test_a_restricted_run_leaves_the_proof_alone() -> None:
    cluster = failing()
    move_to_other(cluster, "w000", "w001")
    assert (await run_on(cluster)).is_proved
    cluster.change(annotations=IN_OTHER)
    assert (await run_on(cluster)).reason == Reason.PARTIAL
    cluster.change(annotations={})
    stop_failing(cluster)
    assert (await run_on(cluster)).is_proved
    assert rewritten(cluster) == set()


async def test_a_restricted_run_leaves_alone_how_far_a_whole_one_came() -> None:
    cluster = failing("w003", objects=20)
    move_to_other(cluster, "w018", "w019")
    kill_in(cluster, "list_metadata", after_rewrites=12)
    with pytest.raises(Killed):
        await run_on(cluster, replace(SETTINGS, writes_per_second=1))
    before = progress_of(cluster)
    assert before.token
    cluster.hooks.clear()
    cluster.change(annotations=IN_OTHER)
    assert (await run_on(cluster)).reason == Reason.PARTIAL
    assert progress_of(cluster) == before


async def test_what_failed_in_a_restricted_run_is_tried_again_by_another_such_run() -> None:
    cluster = failing("w000", "w003")
    move_to_other(cluster, "w000", "w001")
    cluster.change(annotations=IN_OTHER)
    assert (await run_on(cluster)).reason == Reason.FAILED
    stop_failing(cluster)
    assert (await run_on(cluster, ONLY_FAILED)).reason == Reason.PARTIAL
    assert rewritten(cluster) == {"w000"}
    cluster.change(annotations={})
    says(await run_on(cluster, ONLY_FAILED), "no run before this one has noted what failed")


async def test_a_schema_under_which_a_restricted_run_wrote_is_remembered_by_whole_ones() -> None:
    cluster = failing()
    assert (await run_on(cluster)).is_proved
    cluster.change(annotations=IN_OTHER)
    v1alpha1, v1 = widgets().versions
    wider: dict[str, JSON] = {
        "type": "object",
        "properties": {"spec": {"type": "object"}, "extra": {"type": "string"}},
    }
    cluster.change(versions=(v1alpha1, replace(v1, schema=wider)))
    await run_on(cluster)
    checkpoint = read_checkpoint(cluster.documents["crd-1"], widgets())
    assert checkpoint is not None
    assert any("extra" in path for path in checkpoint.record.specified["v1"])


@pytest.mark.parametrize("damage", [None, 1, {}, {"key": 1}, {"restricted": {}}])
async def test_a_record_of_restricted_runs_of_another_form_stops(damage: JSON) -> None:
    cluster = failing()
    cluster.change(annotations=IN_OTHER)
    await run_on(cluster)
    cluster.documents["crd-1"] = {**cluster.documents["crd-1"], "restricted": damage}
    is_odd = damage is not None
    expected = Reason.RECORD_UNREADABLE if is_odd else Reason.PARTIAL
    assert (await run_on(cluster)).reason == expected


async def test_a_document_of_an_earlier_version_names_all_that_failed() -> None:
    cluster = failing("w003")
    await run_on(cluster)
    document = cluster.documents["crd-1"]
    for later in ("failedTotal", "restricted", "before", "shown", "accepted"):
        del document[later]
    document |= {"format": 1, "record": {"specified": [".spec"], "dropped": []}}
    assert progress_of(cluster).failed_total == 1
