"""
When the supervisor tries a run again, and what it does until then.
"""

from dataclasses import replace

import pytest

from espalier.crd import Condition, Definition
from espalier.engine.runs.outcome import RunOutcome
from espalier.errors import EspalierError, TransientError
from espalier.handlers.supervisor import pause_seconds
from tests.fakes.clock import settled
from tests.handlers.supervised import (
    NAME,
    PROVED,
    TENDED,
    WIDGETS,
    SupervisorUnderTest,
    with_another_schema,
)
from tests.handlers.world import definition_of

STOPPED = RunOutcome(definition=WIDGETS)


FAILED = RunOutcome(definition=WIDGETS, retries=True)


async def test_a_failed_run_is_tried_again_after_growing_pauses(
    supervised: SupervisorUnderTest,
) -> None:
    await supervised.see(WIDGETS)
    await supervised.tell(TransientError(verb="list", resource="widgets", status=503))
    await supervised.clock.advance(4)
    assert supervised.work.log == ["run 1"]
    await supervised.clock.advance(1)
    assert supervised.work.log == ["run 1"] * 2

    await supervised.tell(FAILED)
    await supervised.clock.advance(9)
    assert supervised.work.log == ["run 1"] * 2
    await supervised.clock.advance(1)
    assert supervised.work.log == ["run 1"] * 3


async def test_what_fails_after_a_proof_is_tried_again_after_growing_pauses_too(
    supervised: SupervisorUnderTest,
) -> None:
    await supervised.see(WIDGETS)
    runs = 1
    for pause_before in (5, 10, 20):
        await supervised.tell(replace(PROVED, retries=True))
        await supervised.clock.advance(pause_before - 1)
        assert len(supervised.work.log) == runs
        await supervised.clock.advance(1)
        runs += 1
        assert len(supervised.work.log) == runs


@pytest.mark.parametrize(
    ("reason", "pauses"),
    [
        ("", [5, 10, 20, 40, 80, 900]),
        ("Failed", [5, 10, 20, 40, 80, 900]),
        ("Forbidden", [5, 10, 20, 40, 60, 60]),
        ("Pending", [5, 10, 15, 15, 15, 15]),
    ],
)
def test_what_a_person_or_another_process_ends_is_looked_for_more_often(
    reason: str, pauses: list[int]
) -> None:
    assert [pause_seconds(reason, attempt=n) for n in (1, 2, 3, 4, 5, 50)] == pauses


async def test_a_run_that_stopped_for_good_waits_for_another_definition(
    supervised: SupervisorUnderTest,
) -> None:
    await supervised.see(WIDGETS)
    await supervised.tell(STOPPED)
    await supervised.clock.advance(3600)

    assert supervised.work.log == ["run 1"]


async def test_another_try_reads_the_definition_anew(supervised: SupervisorUnderTest) -> None:
    await supervised.see(WIDGETS)
    await supervised.tell(FAILED)
    supervised.definitions.found[NAME] = replace(WIDGETS, resource_version="7")

    await supervised.clock.advance(10)

    assert supervised.work.log == ["run 1", "run 7"]


@pytest.mark.parametrize(
    "found",
    [None, replace(WIDGETS, uid="uid-2"), with_another_schema(WIDGETS), definition_of()],
    ids=["gone", "made anew", "another schema", "label off"],
)
async def test_another_try_on_what_is_another_definition_is_left_to_the_queue(
    supervised: SupervisorUnderTest, found: Definition | None
) -> None:
    await supervised.see(WIDGETS)
    await supervised.tell(FAILED)
    del supervised.definitions.found[NAME]
    if found is not None:
        supervised.definitions.found[NAME] = found

    await supervised.clock.advance(10)

    assert supervised.work.log == ["run 1"]
    assert supervised.nudged == [NAME]


SAID = Condition(type="c", status="False", reason="Failed", message="1 object")


HALF = RunOutcome(definition=WIDGETS, conditions=(SAID, SAID), watches_on=True, retries=True)


async def test_a_run_that_failed_is_tended_until_it_is_tried_again(
    supervised: SupervisorUnderTest,
) -> None:
    await supervised.see(WIDGETS)
    for attempt in (1, 2, 3):
        await supervised.tell(HALF)
        await supervised.clock.advance(pause_seconds("Failed", attempt=attempt) - 1)
        assert supervised.work.log[-1] == "tend 1"
        assert supervised.work.reported_before == (SAID,)
        await supervised.clock.advance(1)
        assert supervised.work.log[-2:] == ["tended", "run 1"]
    await supervised.tell(TENDED)
    await supervised.clock.advance(100_000)
    assert supervised.work.log[-1] == "tend 1"
    assert supervised.work.reported_before == ()


@pytest.mark.parametrize("failure", [None, TransientError(verb="list", resource="r")])
async def test_tending_that_ends_early_does_not_spare_the_pause(
    supervised: SupervisorUnderTest, failure: EspalierError | None
) -> None:
    await supervised.see(WIDGETS)
    await supervised.tell(HALF)
    supervised.work.tending.put_nowait(failure)
    await settled()
    assert supervised.work.log == ["run 1", "tend 1", "tended"]
    await supervised.clock.advance(pause_seconds("Failed", attempt=1) - 1)
    assert supervised.work.log[-1] == "tended"
    await supervised.clock.advance(1)
    assert supervised.work.log[-1] == "run 1"


async def test_the_label_off_ends_tending_after_a_failed_run_too(
    supervised: SupervisorUnderTest,
) -> None:
    await supervised.see(WIDGETS)
    await supervised.tell(HALF)

    await supervised.see(definition_of())

    assert supervised.work.log == ["run 1", "tend 1", "tended"]


async def test_a_run_that_wants_to_look_again_does_so_at_its_time(
    supervised: SupervisorUnderTest,
) -> None:
    await supervised.see(WIDGETS)
    await supervised.tell(RunOutcome(definition=WIDGETS, is_proved=True, again_seconds=3600))
    await supervised.clock.advance(3599)
    assert supervised.work.log == ["run 1"]
    await supervised.clock.advance(1)
    assert supervised.work.log == ["run 1", "run 1"]
    # That is no failure: pauses after one begin anew.
    await supervised.tell(FAILED)
    await supervised.clock.advance(pause_seconds("", attempt=2))
    assert supervised.work.log == ["run 1"] * 3
