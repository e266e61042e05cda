"""
Stories of objects that failed, and of servers that are slow.
"""

from dataclasses import replace

import pytest

from espalier.engine import Reason, RunOutcome, RunSettings, run
from espalier.engine.coordination.checkpoint import read_checkpoint
from espalier.engine.flowcontrol import backoff as retrying
from espalier.engine.flowcontrol.pacer import (
    SLOW_SECONDS,
    Pacer,
)
from espalier.engine.ports import ObjectKey
from espalier.engine.ports.servers import NotSentError
from espalier.engine.rewriting.retries import (
    MAX_ATTEMPTS,
    Failed,
    FailureKind,
    Gone,
    ReadAgain,
    Unchanged,
    Wait,
    WriteResult,
    after_failure,
    retry_until_decided,
)
from espalier.errors import (
    ClusterError,
    ForbiddenError,
    NotFoundError,
    TransientError,
)
from espalier.paths import JSON
from tests.fakes.clock import FakeClock
from tests.fakes.cluster import FakeCluster
from tests.fakes.faults import busy, conflict, rejected
from tests.fakes.widgets import WIDGETS, legacy_widgets, widgets

SETTINGS = RunSettings(settle_seconds=1, page_size=4, max_in_flight=2)
A_PAGE = replace(SETTINGS, page_size=20)
"""Each further page would have a dry run of its own, which counts as a write."""


ONLY_FAILED = replace(SETTINGS, only_failed=True)


DENIED = rejected(
    'admission webhook "no.example.com" denied the request: not on a Tuesday', status=400
)


async def run_on(cluster: FakeCluster, settings: RunSettings = SETTINGS) -> RunOutcome:
    assert cluster.definition is not None
    return await run(cluster.definition, cluster.ports, settings, cluster)


def failing(*names: str) -> FakeCluster:
    cluster = FakeCluster(widgets())
    cluster.fill(10)
    for name in names:
        cluster.fail("rewrite", DENIED, name=name, times=99)
    return cluster


def stop_failing(cluster: FakeCluster) -> None:
    cluster.faults.clear()
    cluster.calls.clear()


def failed_keys(cluster: FakeCluster) -> tuple[ObjectKey, ...]:
    checkpoint = read_checkpoint(cluster.documents["crd-1"], widgets())
    assert checkpoint is not None
    progress = checkpoint.whole
    return progress.failed


async def test_what_failed_is_kept_by_name_and_tried_with_the_next_run() -> None:
    cluster = failing("w003", "w007")
    first = await run_on(cluster)
    assert first.reason == Reason.FAILED
    assert (
        '2 objects: 400 Invalid, denied by admission webhook "no.example.com"'
        in first.conditions[0].message
    )
    assert failed_keys(cluster) == (
        ObjectKey("default", "w003"),
        ObjectKey("default", "w007"),
    )
    assert cluster.count("set_stored_versions") == 0
    stop_failing(cluster)
    outcome = await run_on(cluster)
    assert failed_keys(cluster) == ()

    assert outcome.is_proved


@pytest.mark.parametrize("make", [widgets, legacy_widgets])
async def test_only_what_failed_is_tried_again_if_asked_for(make: object) -> None:
    cluster = failing("w003", "w007")
    assert callable(make)
    cluster.definition = make()
    await run_on(cluster)
    stop_failing(cluster)
    cluster.delete("w007")
    outcome = await run_on(cluster, ONLY_FAILED)
    assert failed_keys(cluster) == ()
    assert cluster.count("set_stored_versions") == 0
    rewritten = {name for call, name in cluster.calls if call == "rewrite"}
    assert outcome.reason == Reason.PARTIAL
    assert not outcome.is_proved
    assert rewritten == {"w003"}
    assert "only the objects that had failed; a whole run proves" in outcome.conditions[0].message


async def test_what_fails_again_is_reported_again() -> None:
    cluster = failing("w003", "w007")
    await run_on(cluster)
    cluster.faults = [fault for fault in cluster.faults if fault.name == "w003"]
    outcome = await run_on(cluster, ONLY_FAILED)
    assert failed_keys(cluster) == (ObjectKey("default", "w003"),)
    assert outcome.reason == Reason.FAILED
    assert "1 object of 2 could not be rewritten" in outcome.conditions[0].message


def test_pauses_differ_from_object_to_object_and_are_never_shorter() -> None:
    pauses = {retrying.jittered_seconds(2.0, f"default/w{number}") for number in range(100)}
    assert len(pauses) > 90
    assert min(pauses) >= 2.0
    assert max(pauses) <= 3.0


async def test_a_server_that_answers_ever_more_slowly_gets_fewer_calls_at_a_time() -> None:
    clock = FakeClock()
    pacer = Pacer(clock, max_in_flight=16)
    limits = []
    for seconds in (0.1, 0.3, SLOW_SECONDS + 1.0, SLOW_SECONDS + 1.0, 0.1):
        for _ in range(pacer.limit):
            async with pacer.turn() as turn:
                await clock.sleep(seconds)
                turn.succeeded(written=False)
        limits.append(pacer.limit)

    assert limits == [16, 16, 8, 4, 5]


async def test_a_server_that_has_always_been_slow_is_not_held_to_be_overloaded() -> None:
    clock = FakeClock()
    pacer = Pacer(clock, max_in_flight=16)
    for _ in range(3 * pacer.limit):
        async with pacer.turn() as turn:
            await clock.sleep(SLOW_SECONDS * 0.9)
            turn.succeeded(written=False)

    assert pacer.limit == 16


async def test_the_most_writes_a_second_are_kept_to_by_a_whole_run() -> None:
    # 20 objects in each of two passes at two a second, and the pause that the server asked for.
    cluster = FakeCluster(widgets())
    cluster.fill(20)
    cluster.fail("rewrite", busy(retry_after_seconds=2))
    await run_on(cluster, replace(A_PAGE, writes_per_second=2, settle_seconds=0))

    assert 20 <= cluster.clock.monotonic_seconds() <= 26


async def test_both_writes_of_an_object_count() -> None:
    async def seconds_for(obj: dict[str, JSON]) -> float:
        cluster = FakeCluster(legacy_widgets())
        begun_seconds = cluster.clock.monotonic_seconds()
        for number in range(20):
            cluster.put(f"w{number:03d}", obj, version="v1")
        await run_on(cluster, replace(A_PAGE, writes_per_second=1, settle_seconds=0))
        return cluster.clock.monotonic_seconds() - begun_seconds

    one = await seconds_for({"spec": {"size": 1, "junk": 1}})
    both = await seconds_for({"spec": {"size": 1, "junk": 1}, "status": {"ready": True, "junk": 1}})
    # Two passes of 20, of which the first takes twice as many writes; and three dry runs for each.
    assert abs(one - 46) <= 1
    assert abs(both - 66) <= 1


UNSERVED = NotFoundError(verb="patch", resource=WIDGETS, status=404, reason="NotFound")


UNREACHABLE = TransientError(
    verb="patch",
    resource=WIDGETS,
    status=500,
    reason="InternalError",
    detail='Internal error occurred: failed calling webhook "w.x": connection refused',
)


GONE = UNSERVED.replaced(is_object=True)


FORBIDDEN = ForbiddenError(verb="patch", resource=WIDGETS, status=403, reason="Forbidden")


OTHER_UID = rejected("metadata.uid: Invalid value: field is immutable")


REQUIRED = "422 Invalid, spec.x: Required value"


@pytest.mark.parametrize(
    ("error", "attempt", "decision"),
    [
        (GONE, 1, Gone()),
        (GONE, MAX_ATTEMPTS, Gone()),
        # Not the object is gone, but its resource is not served: nothing is known of the object.
        (UNSERVED, 1, Wait(0.5)),
        (UNSERVED, MAX_ATTEMPTS, Failed("404 NotFound", "404 NotFound", FailureKind.UNANSWERED)),
        (conflict(), 1, ReadAgain()),
        (conflict(), MAX_ATTEMPTS, Failed("409 Conflict", "409 Conflict", FailureKind.CONFLICT)),
        (OTHER_UID, 1, ReadAgain()),
        (
            OTHER_UID,
            MAX_ATTEMPTS,
            Failed(
                "422 Invalid, metadata.uid: Invalid value: field is immutable",
                "422 Invalid, metadata.uid: Invalid value",
            ),
        ),
        (rejected("spec.x: Required value"), 1, Failed(REQUIRED, REQUIRED)),
        (FORBIDDEN, 1, Failed("403 Forbidden", "403 Forbidden", FailureKind.FORBIDDEN)),
        (busy(), 1, Wait(0.5)),
        (busy(), 3, Wait(2.0)),
        (busy(retry_after_seconds=7), 1, Wait(7)),
        (busy(retry_after_seconds=7000), 1, Wait(30)),
        (
            busy(),
            MAX_ATTEMPTS,
            Failed("429 TooManyRequests", "429 TooManyRequests", FailureKind.UNANSWERED),
        ),
        (
            UNREACHABLE,
            MAX_ATTEMPTS,
            Failed(
                '500 InternalError, failed calling webhook "w.x": connection refused',
                '500 InternalError, failed calling webhook "w.x"',
                FailureKind.UNREACHED,
            ),
        ),
    ],
)
def test_what_follows_a_failed_write(error: ClusterError, attempt: int, decision: object) -> None:
    assert after_failure(error, attempt=attempt) == decision


async def test_writes_that_were_not_sent_do_not_slow_down_the_others() -> None:
    clock = FakeClock()
    pacer = Pacer(clock, max_in_flight=16)
    what = FailingOnce(NotSentError(verb="patch", resource=WIDGETS))
    fate = await retry_until_decided(what, clock, pacer)
    assert (fate, pacer.limit) == (Unchanged(), 16)
    await retry_until_decided(FailingOnce(busy()), clock, pacer)
    assert pacer.limit < 16


class FailingOnce:
    """
    An attempt that fails, and then succeeds.
    """

    key = ObjectKey("default", "w001")

    def __init__(self, error: ClusterError) -> None:
        self._errors = [error]

    async def attempt(self) -> WriteResult:
        if self._errors:
            raise self._errors.pop()
        return Unchanged()

    def note(self, error: ClusterError, *, reads_again: bool) -> None:
        assert not reads_again
        assert isinstance(error, TransientError)
