"""
Stories of what is looked at before the first write: dry runs, conversion webhooks, sizes.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest

from espalier.crd import Definition
from espalier.engine import Reason, RunOutcome, RunSettings, run
from espalier.engine.flowcontrol.pacer import Pacer
from espalier.engine.ports import ObjectKey
from espalier.errors import (
    ClusterError,
    ConflictError,
    ConversionError,
    ForbiddenError,
    RejectedError,
    TransientError,
)
from espalier.paths import JSON
from tests.fakes.clock import FakeClock
from tests.fakes.cluster import FakeCluster
from tests.fakes.faults import busy, conflict, rejected
from tests.fakes.widgets import WIDGETS, legacy_widgets, widgets

SETTINGS = RunSettings(settle_seconds=1, page_size=4, max_in_flight=2)
NO_DRY_RUNS = RejectedError(
    verb="patch",
    resource=WIDGETS,
    status=400,
    reason="BadRequest",
    detail='admission webhook "once.example.com" does not support dry run',
)
AWAY = ConversionError(verb="get", resource=WIDGETS, status=500, detail="conversion webhook")


def denied(code: int = 403) -> ClusterError:
    kind = ForbiddenError if code == 403 else RejectedError
    return kind(
        verb="patch",
        resource=WIDGETS,
        status=code,
        reason="Denied",
        detail='admission webhook "no.example.com" denied the request: no',
    )


def a_cluster(objects: int = 10, definition: Definition | None = None) -> FakeCluster:
    cluster = FakeCluster(definition or widgets())
    cluster.fill(objects)
    return cluster


async def run_on(cluster: FakeCluster, settings: RunSettings = SETTINGS) -> RunOutcome:
    assert cluster.definition is not None
    return await run(cluster.definition, cluster.ports, settings, cluster)


def turn_green(obj: dict[str, JSON]) -> None:
    spec = obj["spec"]
    assert isinstance(spec, dict)
    spec["color"] = "green"


def tried(cluster: FakeCluster) -> list[str]:
    return [name for call, name in cluster.calls if call == "try_rewrite"]


def restricted(cluster: FakeCluster, namespaces: str) -> None:
    cluster.change(annotations={"espalier.dev/namespaces": namespaces})


async def test_a_first_page_without_objects_is_no_sample() -> None:
    cluster = a_cluster()
    restricted(cluster, "empty,default")
    cluster.admission = turn_green
    assert (await run_on(cluster)).reason == Reason.ADMISSION_MUTATES
    assert cluster.count("rewrite") == 0


async def test_a_first_page_of_objects_that_are_left_alone_is_no_sample() -> None:
    cluster = a_cluster(0, widgets(labels={**widgets().labels, "espalier.dev/skip-owned": "true"}))
    for number in range(4):
        cluster.put(f"a{number}", {"spec": {"size": 1}}, owner="kustomize-controller")
    cluster.put("b", {"spec": {"size": 1}})
    cluster.admission = turn_green
    assert (await run_on(cluster)).reason == Reason.ADMISSION_MUTATES
    assert tried(cluster) == ["b"]
    assert cluster.count("rewrite") == 0


@pytest.mark.parametrize("error", [busy(), conflict(), busy(retry_after_seconds=3)])
async def test_a_dry_run_that_fails_for_now_is_made_again(error: ClusterError) -> None:
    cluster = a_cluster()
    cluster.admission = turn_green
    cluster.fail("try_rewrite", error, times=3)
    assert (await run_on(cluster)).reason == Reason.ADMISSION_MUTATES
    assert cluster.count("rewrite") == 0


async def test_a_dry_run_that_meets_a_conflict_reads_again() -> None:
    cluster = a_cluster(1)

    def touch(call: str, name: str) -> None:
        if call == "try_rewrite" and cluster.count("try_rewrite") == 1:
            cluster.touch(name)

    cluster.hooks.append(touch)
    assert (await run_on(cluster)).is_proved
    assert len(tried(cluster)) >= 2


async def test_a_dry_run_by_which_the_conversion_webhook_is_away_stops_the_run() -> None:
    cluster = a_cluster()
    cluster.fail("try_rewrite", AWAY.replaced(), times=99)

    def go_away(call: str, _: str) -> None:
        if call == "try_rewrite":
            for each in ("list_metadata", "list_objects", "get_object"):
                cluster.fail(each, AWAY.replaced(), times=10**6)

    cluster.hooks.append(go_away)
    assert (await run_on(cluster)).reason == Reason.WEBHOOK_UNAVAILABLE
    assert len(tried(cluster)) == 1
    assert cluster.count("rewrite") == 0


async def test_a_server_that_answers_no_dry_run_for_long_is_not_written_to() -> None:
    cluster = a_cluster()
    cluster.fail("try_rewrite", busy(), times=9999)
    outcome = await run_on(cluster)
    assert (outcome.reason, outcome.retries) == (Reason.FAILED, True)
    assert outcome.conditions[0].message == (
        "no dry run of a rewrite was answered: 3 objects: 429 TooManyRequests (default/w000,"
        " default/w002, default/w003); nothing is written until one is"
    )
    assert cluster.count("rewrite") == 0


async def test_an_admission_webhook_that_cannot_be_reached_is_waited_for() -> None:
    cluster = a_cluster()
    words = 'failed calling webhook "gone.example.com": connection refused'
    error = TransientError(
        verb="patch", resource=WIDGETS, status=500, reason="InternalError", detail=words
    )
    cluster.fail("try_rewrite", error, times=9999)
    outcome = await run_on(cluster)
    assert (outcome.reason, outcome.retries) == (Reason.WEBHOOK_UNAVAILABLE, True)
    assert "gone.example.com" in outcome.conditions[0].message
    assert cluster.count("rewrite") == 0


@pytest.mark.parametrize("code", [400, 403, 422])
async def test_denied_dry_runs_are_reported_and_others_are_tried(code: int) -> None:
    cluster = a_cluster()
    for name in ("w000", "w002", "w003"):
        cluster.fail("try_rewrite", denied(code), name=name, times=99)
    outcome = await run_on(cluster)
    assert outcome.is_proved
    message = outcome.conditions[0].message
    assert (
        f'Dry runs failed: 3 objects: {code} Denied, denied by admission webhook "no.example.com"'
        in message
    )
    assert "default/w002" in message
    assert "w001" in tried(cluster)


async def test_where_the_first_page_is_denied_the_next_one_is_sampled_too() -> None:
    cluster = a_cluster()
    for number in range(4):
        cluster.fail("try_rewrite", denied(), name=f"w00{number}", times=99)
        cluster.fail("rewrite", denied(), name=f"w00{number}", times=99)
    cluster.admission = turn_green
    assert (await run_on(cluster)).reason == Reason.ADMISSION_MUTATES
    assert {f"w00{number}" for number in range(4, 8)} & set(tried(cluster))
    assert all(one.raw["spec"] != {"color": "green"} for one in cluster.etcd.values())


async def test_a_page_is_not_tried_without_end() -> None:
    cluster = a_cluster(100)
    cluster.fail("try_rewrite", denied(), times=9999)
    outcome = await run_on(cluster, replace(SETTINGS, page_size=100))
    assert outcome.is_proved
    # Two passes.
    assert len(tried(cluster)) == 2 * 9


async def test_admission_that_takes_no_dry_runs_is_reported_as_unknown() -> None:
    cluster = a_cluster()
    cluster.fail("try_rewrite", NO_DRY_RUNS, times=9999)
    outcome = await run_on(cluster)
    assert outcome.is_proved
    assert outcome.conditions[0].message.endswith(
        "Admission could not be sampled, so what it changes is not known: admission webhook"
        ' "once.example.com" does not support dry runs'
    )


async def test_what_takes_no_dry_runs_is_reported_when_the_run_fails_too() -> None:
    cluster = a_cluster()
    cluster.fail("try_rewrite", NO_DRY_RUNS, times=9999)
    cluster.fail("rewrite", rejected("spec.size: Required value"), name="w003", times=99)
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.FAILED
    assert "Admission could not be sampled" in outcome.conditions[0].message


async def test_one_object_that_takes_no_dry_run_hides_nothing() -> None:
    cluster = a_cluster()
    cluster.fail("try_rewrite", NO_DRY_RUNS, name="w000", times=99)
    cluster.admission = turn_green
    assert (await run_on(cluster)).reason == Reason.ADMISSION_MUTATES
    assert cluster.count("rewrite") == 0


async def test_objects_that_are_gone_say_nothing() -> None:
    cluster = a_cluster(4)

    def take(call: str, name: str) -> None:
        if call == "get_object" and name in ("w000", "w002", "w003"):
            cluster.etcd.pop(ObjectKey("default", name), None)

    cluster.hooks.append(take)
    cluster.admission = turn_green
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.ADMISSION_MUTATES
    assert "default/w001" in outcome.conditions[0].message


def by_webhook() -> Definition:
    return widgets(conversion="Webhook")


@pytest.mark.parametrize("broken", [False, True])
async def test_the_webhook_is_asked_by_another_object_where_the_first_cannot_be_read(
    *, broken: bool
) -> None:
    cluster = a_cluster(4, by_webhook())
    asked: list[str] = []

    def look(call: str, name: str) -> None:
        if call == "rewrite":
            asked.append("")
        if call == "get_object" and not asked:
            if name == "w000":
                if broken:
                    raise rejected("not JSON", status=0)
                cluster.etcd.pop(ObjectKey("default", name), None)
            else:
                raise AWAY.replaced()

    cluster.hooks.append(look)
    assert (await run_on(cluster)).reason == Reason.WEBHOOK_UNAVAILABLE
    assert cluster.count("rewrite") == 0


async def test_each_page_is_measured_by_one_read_at_the_most() -> None:
    cluster = a_cluster(40)
    await run_on(cluster)
    # Of the first page three are tried as a dry run.
    for_one_pass = 3 + 9
    assert cluster.count("get_object") == 2 * for_one_pass


async def test_large_objects_behind_small_ones_are_charged_as_large() -> None:
    cluster = a_cluster(40)
    for key, stored in cluster.etcd.items():
        if key.name >= "w008":
            stored.annotations["large"] = "x" * 1_000_000
    settings = replace(SETTINGS, bytes_per_second=1_000_000.0)
    await run_on(cluster, settings)

    assert cluster.clock.monotonic_seconds() >= 32


def test_sizes_are_forgotten_slowly() -> None:
    pacer = Pacer(FakeClock(), max_in_flight=1)

    def figure(*sizes_bytes: int) -> float:
        pacer.sampled(sizes_bytes)
        return pacer.object_bytes

    assert figure(1000, 3000) == 3000
    assert figure(100_000) == 100_000
    assert 50_000 < figure(1000) < 100_000
    assert figure() > 50_000
    for _ in range(50):
        figure(1000)
    assert 1000 <= figure(1000) < 1100


LEGACY = pytest.param(legacy_widgets, id="legacy")


@pytest.mark.parametrize("make", [pytest.param(widgets, id="pruned"), LEGACY])
async def test_what_failed_is_sampled_before_it_is_tried_again(
    make: Callable[[], Definition],
) -> None:
    cluster = a_cluster(6, make())
    cluster.fail("rewrite", denied(), name="w003", times=99)
    assert (await run_on(cluster)).reason == Reason.FAILED
    cluster.faults.clear()
    cluster.calls.clear()
    cluster.admission = turn_green
    outcome = await run_on(cluster, replace(SETTINGS, only_failed=True))
    assert cluster.count("rewrite", "replace") == 0

    assert outcome.reason == Reason.ADMISSION_MUTATES


async def test_the_webhook_is_asked_before_what_failed_is_tried_again() -> None:
    cluster = a_cluster(6, by_webhook())
    cluster.fail("rewrite", denied(), name="w003", times=99)
    assert (await run_on(cluster)).reason == Reason.FAILED
    cluster.faults.clear()
    cluster.calls.clear()
    cluster.fail("get_object", AWAY.replaced(), times=99)
    outcome = await run_on(cluster, replace(SETTINGS, only_failed=True))
    assert cluster.count("rewrite") == 0

    assert outcome.reason == Reason.WEBHOOK_UNAVAILABLE


@pytest.mark.parametrize("make", [pytest.param(widgets, id="pruned"), LEGACY])
async def test_what_failed_and_is_owned_by_now_is_left_alone(
    make: Callable[[], Definition],
) -> None:
    skips = {**make().labels, "espalier.dev/skip-owned": "true"}
    cluster = a_cluster(6, replace(make(), labels=skips))
    cluster.fail("rewrite", denied(), name="w003", times=99)
    assert (await run_on(cluster)).reason == Reason.FAILED
    cluster.faults.clear()
    cluster.calls.clear()
    cluster.etcd[ObjectKey("default", "w003")].managed_fields = [
        {"manager": "argocd-controller", "apiVersion": "example.com/v1"}
    ]
    outcome = await run_on(cluster, replace(SETTINGS, only_failed=True))
    assert cluster.count("rewrite", "replace") == 0
    assert outcome.reason == Reason.PARTIAL
    assert "1 object that a GitOps controller manages left alone" in outcome.conditions[0].message


@pytest.mark.parametrize("make", [pytest.param(widgets, id="pruned"), LEGACY])
@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (TransientError(verb="get", resource=WIDGETS, status=503, reason="Away"), "503 Away"),
        (ForbiddenError(verb="get", resource=WIDGETS, status=403, reason="No"), "403 No"),
        (RejectedError(verb="get", resource=WIDGETS, reason="MalformedAnswer"), "MalformedAnswer"),
    ],
)
async def test_one_object_that_cannot_be_read_keeps_no_other_from_another_try(
    make: Callable[[], Definition], error: ClusterError, cause: str
) -> None:
    cluster = a_cluster(6, make())
    for name in ("w001", "w003", "w005"):
        cluster.fail("rewrite", denied(), name=name, times=99)
    assert (await run_on(cluster)).reason == Reason.FAILED
    cluster.faults.clear()
    cluster.calls.clear()
    cluster.fail("get_object", error, name="w001", times=999)
    outcome = await run_on(cluster, replace(SETTINGS, only_failed=True))
    assert {name for call, name in cluster.calls if call == "rewrite"} == {"w003", "w005"}
    assert outcome.reason == Reason.FAILED
    assert f"1 object of 3 could not be rewritten: 1 object: {cause}" in (
        outcome.conditions[0].message
    )


async def test_a_conflict_of_what_is_tried_again_is_no_failure() -> None:
    assert isinstance(conflict(), ConflictError)

    cluster = a_cluster(6)
    cluster.fail("rewrite", denied(), name="w003", times=99)
    await run_on(cluster)
    cluster.faults.clear()
    cluster.fail("rewrite", conflict(), name="w003", times=2)

    assert (await run_on(cluster, replace(SETTINGS, only_failed=True))).reason == Reason.PARTIAL
