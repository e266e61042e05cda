"""
The report that the operator keeps: what is written, when, and by whom.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

from espalier.engine.coordination.buckets import Buckets, bucket_of
from espalier.errors import ConflictError, ForbiddenError
from espalier.handlers.report_keeper import LOOK_SECONDS, ReportKeeper
from espalier.observe.recorder import Recorder
from tests.fakes.clock import settled
from tests.fakes.replicas import DURATION_SECONDS, Replica, Rivals
from tests.handlers.world import definition_of

NAMES = tuple(f"widgets.team-{number}.example.com" for number in range(8))


class FakeStore:
    """
    Keeps the parts, and notes each write.
    """

    def __init__(self) -> None:
        self.data: dict[str, str] = {}
        self.writes: list[tuple[float, tuple[str, ...]]] = []
        self.failures: list[Exception] = []

    async def write(
        self,
        parts: Mapping[str, str],
        *,
        kept: Collection[str],
        may_begin: Callable[[], bool],
    ) -> None:
        await asyncio.sleep(0)
        if self.failures:
            raise self.failures.pop(0)
        assert may_begin()
        for key in self.data.keys() - kept:
            del self.data[key]
        self.data.update(parts)
        self.writes.append((asyncio.get_running_loop().time(), tuple(sorted(parts))))

    def document(self, key: str = "bucket-0-of-1.json") -> Any:
        return json.loads(self.data[key])

    def names(self) -> list[str]:
        documents = map(json.loads, self.data.values())
        return [one["name"] for found in documents for one in found["definitions"]]


class KeeperUnderTest:
    def __init__(self, rivals: Rivals, store: FakeStore, replica: Replica) -> None:
        self.recorder = Recorder(rivals.clock)
        self.buckets: Buckets = replica.buckets
        self.keeper = ReportKeeper(
            self.recorder.snapshot,
            self.buckets,
            store,
            rivals.clock,
            count=rivals.count,
            with_messages=False,
        )
        self.replica = replica


@asynccontextmanager
async def running(
    rivals: Rivals, store: FakeStore, *, names: Collection[str] = NAMES[:1]
) -> AsyncIterator[KeeperUnderTest]:
    made = KeeperUnderTest(rivals, store, rivals.replica(f"replica {id(store)}"))
    for name in names:
        made.recorder.see(definition_of(name))
    tasks = [
        asyncio.create_task(made.buckets.contend(made.replica)),
        asyncio.create_task(made.keeper.run(lambda: True)),
    ]
    await settled()
    yield made
    await made.buckets.close()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_it_is_written_when_something_changes_and_once_a_minute_at_the_most() -> None:
    rivals, store = Rivals(1), FakeStore()
    async with running(rivals, store) as one:
        await rivals.clock.advance(3 * LOOK_SECONDS)
        assert len(store.writes) == 1
        await rivals.clock.advance(600)
        assert len(store.writes) == 1
        for step in range(120):
            one.recorder.see(definition_of(NAMES[0], generation=step + 2))
            await rivals.clock.advance(1)
        await rivals.clock.advance(120)

    times = [at for at, _ in store.writes]
    assert 2 <= len(times) - 1 <= 4
    assert min(b - a for a, b in pairwise(times)) >= 60
    assert store.document()["definitions"][0]["generation"] == 121


async def test_without_a_change_it_is_written_each_hour() -> None:
    rivals, store = Rivals(1), FakeStore()
    async with running(rivals, store):
        await rivals.clock.advance(2 * 3600 + 60)

    assert len(store.writes) == 3
    assert store.document()["takenAt"] > "2026-01-01T01:59:00Z"


async def test_replicas_write_what_is_theirs_and_together_all() -> None:
    rivals, store = Rivals(4), FakeStore()
    second = FakeStore()
    second.data = store.data
    async with running(rivals, store, names=NAMES), running(rivals, second, names=NAMES):
        await rivals.clock.advance(300)
    assert store.writes
    assert second.writes

    assert sorted(store.names()) == sorted(NAMES)
    for key, text in store.data.items():
        for one in json.loads(text)["definitions"]:
            bucket = bucket_of(one["name"], 4)
            assert key == f"bucket-{bucket.number}-of-4.json"


async def test_one_that_has_no_bucket_writes_nothing() -> None:
    rivals, store = Rivals(1), FakeStore()
    others = FakeStore()
    async with running(rivals, store), running(rivals, others):
        await rivals.clock.advance(300)

    assert (len(store.writes), others.writes) == (1, [])


async def test_one_that_is_paused_writes_nothing() -> None:
    rivals, store = Rivals(1), FakeStore()
    async with running(rivals, store) as one:
        await rivals.clock.advance(60)
        rivals.switch.is_on = True
        await rivals.clock.advance(20)
        before = list(store.writes)
        one.recorder.see(definition_of(NAMES[0], generation=7))
        await rivals.clock.advance(7200)
        assert store.writes == before

        rivals.switch.is_on = False
        await rivals.clock.advance(60)
        assert len(store.writes) == len(before) + 1


async def test_one_that_is_cut_off_writes_no_more_before_another_takes_over() -> None:
    rivals, first, second = Rivals(1), FakeStore(), FakeStore()
    async with running(rivals, first) as one, running(rivals, second):
        await rivals.clock.advance(60)
        one.replica.cut_off()
        for step in range(60):
            one.recorder.see(definition_of(NAMES[0], generation=step + 2))
            await rivals.clock.advance(1)
        ended = [at for at, _ in first.writes]
        await rivals.clock.advance(600)

    assert [at for at, _ in first.writes] == ended
    assert second.writes[0][0] > ended[-1]
    assert second.writes[0][0] > DURATION_SECONDS


async def test_a_failure_is_logged_once_and_tried_again_a_minute_later(
    caplog: Any,
) -> None:
    rivals, store = Rivals(1), FakeStore()
    forbidden = ForbiddenError(verb="create", resource="configmaps", status=403)
    store.failures = [forbidden, forbidden, ConflictError(verb="update", resource="configmaps")]
    async with running(rivals, store):
        await rivals.clock.advance(300)

    logged = [r.message for r in caplog.records if r.message == "Could not write the report."]
    assert len(logged) == 1
    assert [at for at, _ in store.writes] == [20 + 60 + 60 + LOOK_SECONDS]
