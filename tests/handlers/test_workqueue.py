import asyncio
from itertools import pairwise

from espalier.handlers.workqueue import FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS, WorkQueue
from tests.fakes.clock import FakeClock, settled


async def test_a_name_put_in_often_is_handed_out_once() -> None:
    queue = WorkQueue(FakeClock())
    for name in ("a", "b", "a", "a"):
        queue.nudge(name)

    taken = [await queue.take(), await queue.take()]
    further = asyncio.create_task(queue.take())
    await settled()

    assert taken == ["a", "b"]
    assert not further.done()
    further.cancel()


async def test_a_name_put_in_while_it_is_worked_on_comes_again_only_afterwards() -> None:
    queue = WorkQueue(FakeClock())
    queue.nudge("a")
    await queue.take()
    queue.nudge("a")
    queue.nudge("a")
    again = asyncio.create_task(queue.take())
    await settled()
    assert not again.done()

    queue.done("a")

    assert await again == "a"
    queue.done("a")
    third = asyncio.create_task(queue.take())
    await settled()
    assert not third.done()
    third.cancel()


async def test_an_urgent_name_goes_to_the_head_though_it_waits_already() -> None:
    queue = WorkQueue(FakeClock())
    for name in ("a", "b", "c"):
        queue.nudge(name)

    queue.nudge("c", is_urgent=True)

    assert [await queue.take() for _ in range(3)] == ["c", "a", "b"]


async def test_what_became_urgent_while_it_was_worked_on_comes_again_before_the_others() -> None:
    queue = WorkQueue(FakeClock())
    queue.nudge("a")
    await queue.take()
    queue.nudge("b")
    queue.nudge("a", is_urgent=True)
    queue.nudge("a")

    queue.done("a")

    assert [await queue.take(), await queue.take()] == ["a", "b"]


async def test_a_failed_name_comes_back_after_growing_pauses_that_have_a_bound() -> None:
    clock = FakeClock()
    queue = WorkQueue(clock)
    queue.nudge("a")
    pauses = []
    for _ in range(12):
        assert await queue.take() == "a"
        pauses.append(queue.retry("a"))
        await clock.advance(pauses[-1])

    assert pauses[0] <= FIRST_PAUSE_SECONDS
    assert all(
        later > earlier or later >= 0.75 * LONGEST_PAUSE_SECONDS
        for earlier, later in pairwise(pauses)
    )
    assert max(pauses) <= LONGEST_PAUSE_SECONDS


async def test_a_success_makes_the_next_pause_short_again() -> None:
    clock = FakeClock()
    queue = WorkQueue(clock)
    queue.nudge("a")
    for _ in range(5):
        await queue.take()
        await clock.advance(queue.retry("a"))
    await queue.take()
    queue.done("a")
    queue.nudge("a")
    await queue.take()

    pause_seconds = queue.retry("a")

    assert pause_seconds <= FIRST_PAUSE_SECONDS
    await queue.close()


async def test_of_several_delays_the_earliest_counts() -> None:
    clock = FakeClock()
    queue = WorkQueue(clock)
    queue.nudge_later("a", after_seconds=30)
    queue.nudge_later("a", after_seconds=10)
    queue.nudge_later("a", after_seconds=20)
    taken = asyncio.create_task(queue.take())

    await clock.advance(9)
    assert not taken.done()
    await clock.advance(1)
    assert await taken == "a"
    queue.done("a")

    further = asyncio.create_task(queue.take())
    await clock.advance(60)
    assert not further.done()
    further.cancel()


async def test_closing_ends_the_timers() -> None:
    queue = WorkQueue(FakeClock())
    queue.nudge_later("a", after_seconds=30)
    before = asyncio.all_tasks()

    await queue.close()

    assert len(asyncio.all_tasks()) == len(before) - 1
