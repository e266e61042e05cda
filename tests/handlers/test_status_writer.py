import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from espalier.crd import Condition
from espalier.engine.status.conditions import NOT_CHECKED
from espalier.errors import (
    ClusterError,
    ConflictError,
    ForbiddenError,
    NotFoundError,
    RejectedError,
    TransientError,
)
from espalier.handlers.status_writer import StatusReporter
from espalier.handlers.tasks import Guard
from tests.fakes.clock import FakeClock, settled
from tests.handlers.world import FakeDefinitions, FakeEvents, definition_of

WIDGETS = definition_of()


class WriterUnderTest:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.definitions = FakeDefinitions()
        self.events = FakeEvents()
        self.guard = Guard(lambda: None)
        self.reporter = StatusReporter(
            self.definitions, self.events, self.clock, self.guard, progress_seconds=10
        )

    async def say(self, reason: str, message: str, status: str = "False") -> None:
        await self.reporter.report(WIDGETS, (current(reason, message, status),))
        await settled()

    @property
    def messages(self) -> list[str]:
        return [conditions[0].message for _, conditions in self.definitions.applied]


def current(reason: str, message: str, status: str = "False", *, at: str = "") -> Condition:
    return Condition(
        type="espalier.dev/StoredObjectsCurrent",
        status=status,
        reason=reason,
        message=message,
        last_transition_time=at,
    )


@pytest.fixture
async def world() -> AsyncIterator[WriterUnderTest]:
    made = WriterUnderTest()
    yield made
    await made.guard.close()
    assert made.guard.failure is None


async def test_both_conditions_are_always_applied_together(world: WriterUnderTest) -> None:
    await world.say("Rewriting", "0 of 5")

    ((manager, conditions),) = world.definitions.applied
    assert manager == "espalier"
    assert [(c.type, c.status, c.reason) for c in conditions] == [
        ("espalier.dev/StoredObjectsCurrent", "False", "Rewriting"),
        (NOT_CHECKED.type, "Unknown", "NotChecked"),
    ]


async def test_what_was_reported_of_validity_stays_until_something_else_is_reported(
    world: WriterUnderTest,
) -> None:
    valid = Condition(type=NOT_CHECKED.type, status="False", reason="Invalid", message="one of 5")
    await world.reporter.report(WIDGETS, (current("Verified", "all of 5", "True"), valid))
    await settled()
    await world.say("Rewriting", "0 of 7")

    (_, before), (_, after) = world.definitions.applied
    assert (after[1].status, after[1].reason, after[1].message) == ("False", "Invalid", "one of 5")
    assert after[1].last_transition_time == before[1].last_transition_time


async def test_progress_is_written_seldom_and_the_last_of_it_in_the_end(
    world: WriterUnderTest,
) -> None:
    for done in range(5):
        await world.say("Rewriting", f"{done} of 5")
    assert world.messages == ["0 of 5"]

    await world.clock.advance(10)

    assert world.messages == ["0 of 5", "4 of 5"]
    await world.clock.advance(60)
    assert world.messages == ["0 of 5", "4 of 5"]


async def test_a_change_of_state_is_written_at_once(world: WriterUnderTest) -> None:
    await world.say("Rewriting", "0 of 5")
    await world.say("Rewriting", "1 of 5")
    await world.say("Proved", "all of 5", status="True")

    assert world.messages == ["0 of 5", "all of 5"]


async def test_the_time_of_the_last_transition_moves_with_the_status_only(
    world: WriterUnderTest,
) -> None:
    await world.say("Pending", "waiting")
    await world.clock.advance(5)
    await world.say("Rewriting", "0 of 5")
    await world.clock.advance(5)
    await world.say("Proved", "all of 5", status="True")

    assert [conditions[0].last_transition_time for _, conditions in world.definitions.applied] == [
        "2026-01-01T00:00:00Z",
        "2026-01-01T00:00:00Z",
        "2026-01-01T00:00:10Z",
    ]


async def test_what_stands_there_already_is_not_written_again() -> None:
    world = WriterUnderTest()
    proved = current("Proved", "all of 5", "True", at="2025-01-01T00:00:00Z")
    standing = (replace(proved, observed_generation=1), NOT_CHECKED)

    await world.reporter.report(
        definition_of(conditions=standing), (current("Proved", "all of 5", "True"),)
    )
    await settled()

    assert world.definitions.applied == []
    assert world.events.posted == []


async def test_an_event_is_posted_for_each_change_of_state_and_never_for_progress(
    world: WriterUnderTest,
) -> None:
    await world.say("Rewriting", "0 of 5")
    await world.say("Rewriting", "1 of 5")
    await world.clock.advance(10)
    await world.say("WouldLoseData", "spec.old in 2 objects")
    await world.say("Proved", "all of 5", status="True")

    assert world.events.posted == [
        ("Normal", "Rewriting", "0 of 5"),
        ("Warning", "WouldLoseData", "spec.old in 2 objects"),
        ("Normal", "Proved", "all of 5"),
    ]


@pytest.mark.parametrize(
    "failure",
    [
        TransientError(verb="patch", resource="x", status=503),
        ForbiddenError(verb="patch", resource="x", status=403),
    ],
)
async def test_a_write_that_fails_is_tried_again_with_the_newest_message(
    world: WriterUnderTest, failure: ClusterError
) -> None:
    world.definitions.failures = [failure, failure]
    await world.say("Rewriting", "0 of 5")
    await world.say("Failed", "5 of 5 failed")
    assert world.messages == []

    await world.clock.advance(1)
    assert world.messages == []
    await world.clock.advance(2)

    assert world.messages == ["5 of 5 failed"]


async def test_a_server_that_asks_for_patience_gets_it(world: WriterUnderTest) -> None:
    world.definitions.failures = [
        TransientError(verb="patch", resource="x", status=429, retry_after_seconds=20)
    ]
    await world.say("Rewriting", "0 of 5")

    await world.clock.advance(19)
    assert world.messages == []
    await world.clock.advance(1)
    assert world.messages == ["0 of 5"]


@pytest.mark.parametrize(
    "failure",
    [
        NotFoundError(verb="patch", resource="x", status=404),
        ConflictError(verb="patch", resource="x", status=409),
    ],
)
async def test_a_definition_that_is_gone_or_another_one_gets_no_more_conditions(
    world: WriterUnderTest, failure: ClusterError
) -> None:
    world.definitions.failures = [failure]

    await world.say("Rewriting", "0 of 5")
    await world.say("Failed", "5 of 5 failed")
    await world.clock.advance(60)

    assert world.messages == []


async def test_a_conflict_of_writers_is_no_end(world: WriterUnderTest) -> None:
    world.definitions.found[WIDGETS.name] = WIDGETS
    world.definitions.failures = [ConflictError(verb="patch", resource="x", status=409)]
    await world.say("Rewriting", "0 of 5")

    await world.clock.advance(1)

    assert world.messages == ["0 of 5"]


async def test_conditions_that_the_server_refuses_do_not_silence_the_next_ones(
    world: WriterUnderTest,
) -> None:
    world.definitions.failures = [RejectedError(verb="patch", resource="x", status=422)]

    await world.say("Rewriting", "0 of 5")
    await world.say("Failed", "5 of 5 failed")

    assert world.messages == ["5 of 5 failed"]


async def test_conditions_are_taken_away_only_after_the_write_under_way(
    world: WriterUnderTest,
) -> None:
    world.definitions.gate.clear()
    await world.say("Rewriting", "0 of 5")
    withdrawal = asyncio.create_task(world.reporter.withdraw(WIDGETS))
    await settled()
    assert not withdrawal.done()

    world.definitions.gate.set()
    await withdrawal

    assert [len(conditions) for _, conditions in world.definitions.applied] == [2, 0]
    assert world.definitions.applied[-1][0] == "espalier"


async def test_a_withdrawal_does_not_wait_for_a_pause_to_end(world: WriterUnderTest) -> None:
    world.definitions.failures = [
        TransientError(verb="patch", resource="x", status=429, retry_after_seconds=600)
    ]
    await world.say("Rewriting", "0 of 5")

    await world.reporter.withdraw(WIDGETS)

    assert world.definitions.applied == [("espalier", ())]


async def test_after_a_withdrawal_a_new_run_may_speak_again(world: WriterUnderTest) -> None:
    await world.say("Rewriting", "0 of 5")
    await world.reporter.withdraw(WIDGETS)

    await world.say("Rewriting", "0 of 5")

    assert [len(conditions) for _, conditions in world.definitions.applied] == [2, 0, 2]


async def test_closing_writes_what_is_still_unwritten(world: WriterUnderTest) -> None:
    await world.say("Rewriting", "0 of 5")
    await world.say("Rewriting", "4 of 5")

    await world.reporter.close(patience_seconds=1)

    assert world.messages == ["0 of 5", "4 of 5"]


def generations(world: WriterUnderTest) -> list[dict[str, int]]:
    return [
        {c.type: c.observed_generation for c in found} for _, found in world.definitions.applied
    ]


async def test_a_condition_carries_the_generation_that_it_is_about(world: WriterUnderTest) -> None:
    current_type, valid_type = "espalier.dev/StoredObjectsCurrent", NOT_CHECKED.type
    valid = Condition(type=valid_type, status="True", reason="Valid", message="none of 5")
    verified = current("Verified", "all of 5", "True")
    first, second = definition_of(generation=1), definition_of(generation=2)
    await world.reporter.report(first, (verified, valid))
    await settled()
    # The same text of another generation is something else to say.
    await world.reporter.report(second, (verified,))
    await settled()
    await world.clock.sleep(11)
    await settled()

    assert generations(world) == [
        {current_type: 1, valid_type: 1},
        # Validity was not looked at again.
        {current_type: 2, valid_type: 1},
    ]


async def test_a_generation_that_changes_nothing_is_affirmed(world: WriterUnderTest) -> None:
    first, second = definition_of(generation=1), definition_of(generation=2)
    await world.reporter.report(first, (current("Verified", "all of 5", "True"),))
    await settled()
    await world.reporter.affirm(second)
    await world.clock.sleep(11)
    await settled()
    # Work that goes on under the definition that it began with does not take it back.
    await world.reporter.report(first, (current("Verified", "all of 6", "True"),))
    await world.clock.sleep(11)
    await settled()

    current_type = "espalier.dev/StoredObjectsCurrent"
    assert [found[current_type] for found in generations(world)] == [1, 2, 2]


async def test_a_generation_that_was_missed_is_not_affirmed(world: WriterUnderTest) -> None:
    first, third = definition_of(generation=1), definition_of(generation=3)
    await world.reporter.report(first, (current("Verified", "all of 5", "True"),))
    await settled()
    await world.reporter.affirm(third)
    await world.clock.sleep(11)
    await settled()

    assert [max(found.values()) for found in generations(world)] == [1]
