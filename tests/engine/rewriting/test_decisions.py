"""
The small decisions, as tables: retries, causes, pages, pace, words, checkpoints.
"""

import asyncio
from contextlib import aclosing
from dataclasses import replace

import pytest

from espalier.engine.coordination.checkpoint import Progress, read_progress, render_progress
from espalier.engine.flowcontrol import backoff as retrying
from espalier.engine.flowcontrol.calls import MAX_ATTEMPTS as MAX_CALLS
from espalier.engine.flowcontrol.calls import retry_while_unavailable, run_with_watchers
from espalier.engine.flowcontrol.pacer import TRY_AGAIN_AFTER_SECONDS, Pacer, work_through
from espalier.engine.listing.pages import MAX_RESTARTS, Listing, pages
from espalier.engine.policy.loss import Record
from espalier.engine.ports import Endpoint, MetadataPage, ObjectKey
from espalier.engine.ports.records import resource_of
from espalier.engine.rewriting.retries import (
    MAX_ATTEMPTS,
    Failed,
    FailureKind,
    Gone,
    ReadAgain,
    Wait,
    after_failure,
)
from espalier.engine.status import conditions, text
from espalier.engine.status.causes import cause_of, kind_of
from espalier.engine.status.tally import MAX_CAUSES, OTHER_CAUSES, Tally, describe_failures
from espalier.errors import (
    ClusterError,
    ExpiredTokenError,
    ForbiddenError,
    NotFoundError,
    RejectedError,
    TransientError,
)
from espalier.paths import JSON
from tests.fakes.clock import FakeClock
from tests.fakes.faults import busy, conflict, expired, rejected
from tests.fakes.widgets import WIDGETS, widgets

ENDPOINT = resource_of(widgets(), widgets().storage)
UNSERVED = NotFoundError(verb="patch", resource=WIDGETS, status=404, reason="NotFound")
UNREACHABLE = TransientError(
    verb="patch",
    resource=WIDGETS,
    status=500,
    reason="InternalError",
    detail='Internal error occurred: failed calling webhook "w.x": connection refused',
)
GONE = replace(UNSERVED, is_object=True)
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


@pytest.mark.parametrize(
    ("error", "cause", "kind"),
    [
        (
            rejected("", "a.b[k]: Invalid value: no", "a.b[l]: Invalid value: not at all"),
            "422 Invalid, a.b[k]: Invalid value: no; a.b[l]: Invalid value: not at all",
            "422 Invalid, a.b[*]: Invalid value",
        ),
        (
            rejected('admission webhook "w.example.com" denied the request: not so', status=400),
            '400 Invalid, denied by admission webhook "w.example.com": not so',
            '400 Invalid, denied by admission webhook "w.example.com"',
        ),
        (rejected("not good"), "422 Invalid: not good", "422 Invalid"),
        (
            TransientError(verb="get", resource=WIDGETS),
            "TransientError",
            "TransientError",
        ),
        (TransientError(verb="get", resource=WIDGETS, reason="timeout"), "timeout", "timeout"),
    ],
)
def test_causes_have_words_and_are_grouped_without_them(
    error: ClusterError, cause: str, kind: str
) -> None:
    assert (cause_of(error), kind_of(error)) == (cause, kind)


def test_of_a_group_the_first_words_are_told() -> None:
    tally = Tally()
    for number in range(3):
        tally.fail(ObjectKey("ns", f"o{number}"), f"denied: size is {number}", kind="denied")
    tally.fail(ObjectKey("ns", "o3"), "409 Conflict", kind="409 Conflict")
    assert describe_failures(tally.failures) == (
        "3 objects: denied: size is 0, and the like (ns/o0, ns/o1, ns/o2);"
        " 1 object: 409 Conflict (ns/o3)"
    )
    assert tally.failed_causes[ObjectKey("ns", "o2")] == "denied: size is 2"


def test_failures_are_bounded() -> None:
    tally = Tally()
    for number in range(200):
        tally.fail(ObjectKey("ns", f"o{number}"), f"cause {number % 40}")
    assert tally.failed == 200
    assert len(tally.failures) == MAX_CAUSES + 1
    assert OTHER_CAUSES in tally.failures
    assert "and 95 more" in describe_failures(tally.failures)


@pytest.mark.parametrize(
    ("attempt", "seconds"), [(1, 5.0), (2, 10.0), (5, 80.0), (9, 900.0), (10_000, 900.0)]
)
def test_pauses_between_runs_grow(attempt: int, seconds: float) -> None:
    assert retrying.run_pause_seconds(attempt) == seconds


class Pages:
    """
    A list of numbered pages, some of which fail.
    """

    def __init__(self, count: int, *failures: ClusterError) -> None:
        self.count = count
        self.failures = list(failures)
        self.asked: list[str | None] = []

    @property
    def listing(self) -> Listing[MetadataPage]:
        return Listing(fetch=self.fetch, resource=ENDPOINT, page_size=1)

    async def fetch(
        self,
        resource: Endpoint,
        *,
        page_size: int,
        continue_token: str | None,
        namespace: str = "",
    ) -> MetadataPage:
        assert (resource, page_size, namespace) == (ENDPOINT, 1, "")
        self.asked.append(continue_token)
        number = int(continue_token or 0)
        if number == 1 and self.failures:
            raise self.failures.pop(0)
        following = str(number + 1) if number + 1 < self.count else None
        return MetadataPage(
            objects=(), continue_token=following, remaining=None, resource_version=str(number)
        )


async def walk(source: Pages) -> list[tuple[str, bool, int]]:
    return [
        (page.resource_version, listed.is_consistent, listed.restarts)
        async for page, listed in pages(source.listing, FakeClock())
    ]


@pytest.mark.parametrize(
    ("failures", "walked"),
    [
        ([], [("0", True, 0), ("1", True, 0), ("2", True, 0)]),
        ([busy(), busy()], [("0", True, 0), ("1", True, 0), ("2", True, 0)]),
        ([expired("2")], [("0", True, 0), ("2", False, 0)]),
        ([expired()], [("0", True, 0), ("0", True, 1), ("1", True, 1), ("2", True, 1)]),
    ],
)
async def test_pages(failures: list[ClusterError], walked: list[tuple[str, bool, int]]) -> None:
    assert await walk(Pages(3, *failures)) == walked


async def test_lists_that_expire_for_ever_end_with_the_error() -> None:
    source = Pages(3, *[expired("1")] * 100)
    with pytest.raises(ExpiredTokenError):
        await walk(source)
    assert source.asked.count(None) == MAX_RESTARTS + 1


async def test_a_server_that_stays_away_ends_a_list() -> None:
    with pytest.raises(TransientError):
        await walk(Pages(3, *[busy()] * 100))


@pytest.mark.parametrize(("ahead", "asked"), [(False, 1), (True, 2)])
async def test_the_next_page_is_listed_ahead_where_that_is_wanted(
    *, ahead: bool, asked: int
) -> None:
    source = Pages(3)
    async with aclosing(pages(source.listing, FakeClock(), ahead=ahead)) as listed:
        await anext(listed)
        await asyncio.sleep(0)
        assert len(source.asked) == asked


async def test_what_went_wrong_ahead_is_told_when_its_page_is_wanted() -> None:
    async with aclosing(pages(Pages(3, conflict()).listing, FakeClock(), ahead=True)) as listed:
        await anext(listed)
        await asyncio.sleep(0)
        with pytest.raises(ClusterError):
            await anext(listed)


async def test_a_list_that_nobody_wants_any_more_is_ended_with_its_request() -> None:
    ended: list[bool] = []

    class Slow(Pages):
        async def fetch(
            self,
            resource: Endpoint,
            *,
            page_size: int,
            continue_token: str | None,
            namespace: str = "",
        ) -> MetadataPage:
            if continue_token is not None:
                try:
                    await asyncio.sleep(1000)
                finally:
                    ended.append(True)
            return await super().fetch(
                resource,
                page_size=page_size,
                continue_token=continue_token,
                namespace=namespace,
            )

    listed = pages(Slow(3).listing, FakeClock(), ahead=True)
    async with aclosing(listed):
        async for _ in listed:
            await asyncio.sleep(0)
            break
    assert ended == [True]


async def test_patience_has_an_end() -> None:
    calls = []

    async def call() -> None:
        calls.append(1)
        raise busy()

    with pytest.raises(TransientError):
        await retry_while_unavailable(call, FakeClock())
    assert len(calls) == MAX_CALLS


async def test_the_pace_halves_once_for_one_overload_and_grows_back() -> None:
    pacer = Pacer(FakeClock(), max_in_flight=20)
    limits = [pacer.limit]
    for _ in range(5):
        pacer.struggled(busy())
    limits.append(pacer.limit)
    await asyncio.sleep(1)
    for _ in range(9):
        pacer.struggled(busy())
        await asyncio.sleep(1)
    limits.append(pacer.limit)
    for _ in range(500):
        pacer.succeeded(written=False)
    limits.append(pacer.limit)
    await asyncio.sleep(TRY_AGAIN_AFTER_SECONDS)
    for _ in range(500):
        pacer.succeeded(written=False)

    assert [*limits, pacer.limit] == [16, 8, 1, 15, 20]


async def test_a_server_that_takes_few_at_a_time_is_kept_busy_and_seldom_overrun() -> None:
    clock = FakeClock()
    pacer = Pacer(clock, max_in_flight=16)
    under_way = refused = 0

    async def write(_: int) -> None:
        nonlocal under_way, refused
        while True:
            async with pacer.turn():
                if under_way == 6:
                    refused += 1
                    pacer.struggled(busy(retry_after_seconds=1))
                    continue
                under_way += 1
                await clock.sleep(0.05)
                under_way -= 1
            pacer.succeeded(written=False)
            return

    await work_through(range(6000), write, workers=pacer.max_in_flight)
    took_seconds = clock.monotonic_seconds()
    # Without any refusal: 6000 in rounds of 6.
    assert took_seconds < 1.4 * 6000 / 6 * 0.05
    assert refused < 40


@pytest.mark.parametrize(
    ("size_bytes", "writes_per_second", "seconds"), [(1_000, 10.0, 10), (1_000_000, None, 100)]
)
async def test_writes_are_bounded_by_bytes_and_by_number(
    size_bytes: int, writes_per_second: float | None, seconds: float
) -> None:
    clock = FakeClock()
    pacer = Pacer(
        clock,
        max_in_flight=4,
        bytes_per_second=1_000_000,
        writes_per_second=writes_per_second,
    )
    pacer.sampled([size_bytes])

    async def write(_: int) -> None:
        async with pacer.turn():
            pacer.succeeded(written=True)

    await work_through(range(100), write, workers=pacer.max_in_flight)

    assert abs(clock.monotonic_seconds() - seconds) < 0.1 * seconds


async def test_writes_that_change_nothing_and_refused_ones_are_bounded_too() -> None:
    clock = FakeClock()
    pacer = Pacer(clock, max_in_flight=4, bytes_per_second=1, writes_per_second=10)

    async def write(number: int) -> None:
        async with pacer.turn():
            if number % 2:
                pacer.succeeded(written=False)

    await work_through(range(100), write, workers=pacer.max_in_flight)

    assert abs(clock.monotonic_seconds() - 10) < 1


async def test_the_first_writes_keep_to_the_rate_too() -> None:
    clock = FakeClock()
    pacer = Pacer(clock, max_in_flight=4, writes_per_second=2)
    begun = []

    async def write(_: int) -> None:
        async with pacer.turn():
            begun.append(clock.monotonic_seconds())
            await clock.sleep(10)
            pacer.succeeded(written=True)

    await work_through(range(4), write, workers=pacer.max_in_flight)

    assert [moment - begun[0] for moment in begun] == [0.0, 0.5, 1.0, 1.5]


async def test_never_more_turns_than_allowed() -> None:
    pacer = Pacer(FakeClock(), max_in_flight=3)
    busy_now, most = 0, 0

    async def act(_: int) -> None:
        nonlocal busy_now, most
        async with pacer.turn():
            busy_now += 1
            most = max(most, busy_now)
            await asyncio.sleep(1)
            busy_now -= 1

    await work_through(range(20), act, workers=8)

    assert most == 3


async def test_retry_after_holds_all_turns_back() -> None:
    clock = FakeClock()
    pacer = Pacer(clock, max_in_flight=3)
    pacer.struggled(busy(retry_after_seconds=9))

    async with pacer.turn():
        assert clock.monotonic_seconds() == 9


async def test_one_error_ends_all_workers_and_is_raised_as_it_is() -> None:
    done = []

    async def act(number: int) -> None:
        if number == 3:
            raise RejectedError(verb="patch", resource=WIDGETS)
        await asyncio.sleep(1)
        done.append(number)

    with pytest.raises(RejectedError):
        await work_through(range(10), act, workers=4)
    assert done == []


async def test_a_companion_that_fails_ends_the_work() -> None:
    cleaned = []

    async def work() -> None:
        try:
            await asyncio.sleep(100)
        finally:
            cleaned.append("work")

    async def companion() -> None:
        await asyncio.sleep(1)
        raise conflict()

    with pytest.raises(ClusterError):
        await run_with_watchers(work(), companion())
    assert cleaned == ["work"]


def test_messages_are_bounded() -> None:
    (said,) = conditions.not_current(conditions.Reason.FAILED, "x" * 100_000)
    assert len(said.message) == text.MAX_MESSAGE_LENGTH
    assert text.enumerated(map(str, range(8))) == "0, 1, 2, 3, 4 and 3 more"


@pytest.mark.parametrize(
    ("objects", "begin"),
    [(None, "all stored"), (0, "no objects"), (1, "the one"), (7, "all 7")],
)
def test_what_is_said_of_objects_in_form(objects: int | None, begin: str) -> None:
    (said,) = conditions.current(widgets(), objects=objects)
    assert said.message.startswith(begin)


PROGRESS = Progress(
    key="k",
    generation=3,
    phase="rewrite",
    token="4",  # noqa: S106 - of a list
    seen=5,
    proved_generation=2,
    proved_objects=9,
    record=Record(specified=frozenset({".a", ".b"}), dropped=frozenset({".c"})),
)


def test_a_checkpoint_reads_as_it_was_written() -> None:
    assert read_progress(render_progress(PROGRESS)) == PROGRESS


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"format": 2}, None),
        ({"key": 1}, None),
        ({"seen": True}, None),
        ({"token": None}, None),
    ],
)
def test_a_checkpoint_of_another_form_counts_as_none(
    change: dict[str, JSON], expected: None
) -> None:
    assert read_progress({**render_progress(PROGRESS), **change}) is expected


@pytest.mark.parametrize("record", [None, [], {}, {"specified": [1], "dropped": []}])
def test_a_record_of_another_form_counts_as_none(record: JSON) -> None:
    progress = read_progress({**render_progress(PROGRESS), "record": record})
    assert progress is not None
    assert progress.record is None
