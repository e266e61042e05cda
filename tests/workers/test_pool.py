"""
The pool of worker processes, with real processes.
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from espalier.crd import Version
from espalier.engine.ports import NotComputed
from espalier.engine.surveys.examination import examination_of
from espalier.paths import JSON
from espalier.workers.pool import WorkerPool
from tests.fakes.widgets import widgets
from tests.patience import PACE
from tests.workers.computations import Task, item

ROOT = Path(__file__).parent.parent.parent
OVERDUE = NotComputed("it takes longer than 0.2 s")


@pytest.fixture
async def pool() -> AsyncIterator[WorkerPool]:
    pool = WorkerPool(processes=2, deadline_seconds=0.2)
    yield pool
    pool.close()


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(PACE.scaled(30.0)):
        while not is_so():  # noqa: ASYNC110 - of another process
            await asyncio.sleep(0.01)


def is_running(process_id: int) -> bool:
    try:
        state = Path(f"/proc/{process_id}/stat").read_text(encoding="utf-8").rpartition(")")[2]
    except FileNotFoundError:
        return False
    # One that is dead stays a zombie where nothing is there that waits for it.
    return state.split()[0] != "Z"


async def test_results_come_in_the_order_of_the_items(pool: WorkerPool) -> None:
    items = [item(str(number), pool.pack([number])) for number in range(20)]

    assert await pool.compute(Task("echo"), items) == [[number] for number in range(20)]


async def test_no_process_is_started_before_there_is_work(pool: WorkerPool) -> None:
    assert pool.process_ids == []

    await pool.compute(Task("echo"), [])

    assert pool.process_ids == []


async def test_what_takes_too_long_is_given_up_and_the_others_are_not(pool: WorkerPool) -> None:
    late, result = await asyncio.gather(
        pool.compute(Task("spin"), [item("late")]),
        pool.compute(Task("echo"), [item(str(number)) for number in range(5)]),
    )

    assert late == [OVERDUE]
    assert result == [[]] * 5


async def test_what_was_given_up_is_not_tried_again(pool: WorkerPool) -> None:
    await pool.compute(Task("spin"), [item("late")])
    known = pool.process_ids

    assert await pool.compute(Task("spin"), [item("late")]) == [OVERDUE]

    # No worker was asked: one that is would be another process afterwards.
    assert pool.process_ids == known


async def test_what_was_given_up_is_tried_with_another_schema(pool: WorkerPool) -> None:
    await pool.compute(Task("spin"), [item("late")])

    assert await pool.compute(Task("echo"), [item("late")]) == [[]]


async def test_what_takes_too_much_memory_is_given_up(pool: WorkerPool) -> None:
    huge = item("huge", str(2**40).encode())

    assert await pool.compute(Task("allocate"), [huge]) == [
        NotComputed("it needs more than 160 MiB of memory")
    ]


async def test_a_worker_that_dies_costs_one_item(pool: WorkerPool) -> None:
    (found,) = await pool.compute(Task("die"), [item("a")])

    assert found == NotComputed("its worker ended")
    assert await pool.compute(Task("echo"), [item("b")]) == [[]]


async def test_an_item_may_be_nested_as_deeply_as_a_server_takes_it(pool: WorkerPool) -> None:
    deep: list[JSON] = []
    for _ in range(9_900):
        deep = [deep]

    assert await pool.compute(Task("depth"), [item("deep", pool.pack(deep))]) == [9_900]


async def test_what_a_computation_prints_harms_nothing(pool: WorkerPool) -> None:
    assert await pool.compute(Task("shout"), [item("a", b'"text"')]) == ["text"]


async def test_a_worker_takes_over_nothing_from_its_parent(pool: WorkerPool) -> None:
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        (found,) = await pool.compute(Task("surroundings"), [item("a")])
    finally:
        signal.signal(signal.SIGTERM, before)

    assert isinstance(found, dict)
    assert found.pop("process") in pool.process_ids
    # The port imports asyncio; the rest of the operator is not there.
    assert found == {"threads": 1, "modules": ["asyncio"], "handlers": []}


async def test_workers_without_work_end() -> None:
    pool = WorkerPool(idle_seconds=0.05)
    await pool.compute(Task("echo"), [item("a")])
    (process_id,) = pool.process_ids

    await until(lambda: pool.process_ids == [])

    assert not is_running(process_id)


async def test_a_worker_whose_caller_is_cancelled_ends() -> None:
    slow = WorkerPool(deadline_seconds=1000.0)
    computing = asyncio.create_task(slow.compute(Task("spin"), [item("a"), item("b"), item("c")]))
    await until(lambda: len(slow.process_ids) == 2)
    process_ids = slow.process_ids

    computing.cancel()
    await asyncio.gather(computing, return_exceptions=True)

    assert not any(map(is_running, process_ids))
    # Nothing is held, so the next item has its turn.
    assert await slow.compute(Task("echo"), [item("d")]) == [[]]
    slow.close()


async def test_a_definition_with_slow_objects_does_not_hold_up_another_one() -> None:
    pool = WorkerPool(processes=1, deadline_seconds=0.2)
    order: list[str] = []

    async def compute(task: Task, name: str) -> None:
        await pool.compute(task, [item(name)])
        order.append(name)

    async with asyncio.TaskGroup() as group:
        for number in range(4):
            group.create_task(compute(Task("spin"), f"slow {number}"))
        for number in range(4):
            group.create_task(compute(Task("echo"), f"quick {number}"))

    pool.close()
    assert order.index("quick 3") < order.index("slow 3")
    assert order.index("quick 0") < order.index("slow 1")


PARENT = """
import asyncio
from espalier.workers.pool import WorkerPool
from tests.workers.computations import Task, item

async def main():
    pool = WorkerPool(processes=2, deadline_seconds=1.0)
    await pool.compute(Task("echo"), [item("a")])
    spinning = asyncio.create_task(pool.compute(Task("spin"), [item("b"), item("c")]))
    while len(pool.process_ids) < 2:
        await asyncio.sleep(0.01)
    print(*pool.process_ids, flush=True)
    await spinning

asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_no_worker_outlives_the_process_of_its_pool(number: signal.Signals) -> None:
    with subprocess.Popen(  # noqa: ASYNC220, S603 - it is to block, and runs the text above
        [sys.executable, "-c", PARENT],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'operator'}"},
    ) as parent:
        assert parent.stdout is not None
        process_ids = [int(one) for one in parent.stdout.readline().split()]
        assert len(process_ids) == 2
        parent.send_signal(number)

    await until(lambda: not any(map(is_running, process_ids)))


async def test_the_loop_goes_on_while_an_object_takes_minutes(pool: WorkerPool) -> None:
    items: JSON = {"type": "integer", "not": {"enum": [5]}}
    spec: JSON = {"type": "object", "properties": {"sizes": {"type": "array", "items": items}}}
    schema: dict[str, JSON] = {"type": "object", "properties": {"spec": spec}}
    version = Version(name="v1", served=True, storage=True, schema=schema)
    examination = examination_of(widgets(versions=(version,), stored_versions=("v1",)))
    obj: dict[str, JSON] = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"sizes": [1] * 600_000},
    }
    examining = asyncio.create_task(
        pool.compute(examination, [item("a", pool.pack(obj)), item("b", pool.pack(obj))])
    )
    ticks = 0
    while not examining.done():
        ticks += 1
        await asyncio.sleep(0)

    assert examining.result() == [OVERDUE, OVERDUE]
    assert ticks > 1000
    assert await pool.compute(examination, [item("a")]) == [OVERDUE]
