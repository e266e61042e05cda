from dataclasses import replace

import pytest

from espalier.crd import Condition
from espalier.engine.runs.outcome import RunOutcome
from espalier.names import STORED_OBJECTS_CURRENT
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


async def test_a_definition_without_the_label_is_not_touched(
    supervised: SupervisorUnderTest,
) -> None:
    await supervised.see(definition_of())

    assert supervised.work.log == []
    assert supervised.definitions.applied == []


async def test_the_label_starts_the_work_once(supervised: SupervisorUnderTest) -> None:
    await supervised.see(WIDGETS)
    await supervised.see(replace(WIDGETS, resource_version="2"))

    assert supervised.work.log == ["run 1"]


async def test_a_finished_run_is_left_alone_until_its_key_changes(
    supervised: SupervisorUnderTest,
) -> None:
    await supervised.see(WIDGETS)
    await supervised.tell(PROVED)
    await supervised.see(replace(WIDGETS, resource_version="2"))
    await supervised.clock.advance(3600)
    assert supervised.work.log == ["run 1"]

    await supervised.see(with_another_schema(WIDGETS, "3"))

    assert supervised.work.log == ["run 1", "run 3"]


async def test_a_storage_version_that_moved_and_moved_back_unseen_starts_over(
    supervised: SupervisorUnderTest,
) -> None:
    await supervised.see(WIDGETS)
    await supervised.tell(PROVED)

    await supervised.see(replace(WIDGETS, resource_version="4", stored_versions=("v1", "v2")))

    assert supervised.work.log == ["run 1", "run 4"]


async def test_the_next_generation_with_the_same_key_is_affirmed(
    supervised: SupervisorUnderTest,
) -> None:
    condition = Condition(
        type=STORED_OBJECTS_CURRENT, status="True", reason="Verified", message="all of 5"
    )
    shown = replace(WIDGETS, conditions=(replace(condition, observed_generation=1),))
    await supervised.see(shown)
    await supervised.tell(PROVED)

    await supervised.see(replace(shown, generation=2))
    await supervised.clock.sleep(11)
    await settled()

    assert supervised.work.log == ["run 1"]
    ((_, conditions),) = supervised.definitions.applied
    assert [one.observed_generation for one in conditions] == [2]


async def test_a_generation_that_was_missed_starts_over(supervised: SupervisorUnderTest) -> None:
    await supervised.see(WIDGETS)
    await supervised.tell(PROVED)

    await supervised.see(replace(WIDGETS, generation=3, resource_version="4"))

    assert supervised.work.log == ["run 1", "run 4"]


async def test_another_key_ends_the_run_before_the_next_begins(
    supervised: SupervisorUnderTest,
) -> None:
    await supervised.see(WIDGETS)
    await supervised.see(with_another_schema(WIDGETS))

    assert supervised.work.log == ["run 1", "cancelled", "run 2"]


async def test_another_mode_starts_over(supervised: SupervisorUnderTest) -> None:
    await supervised.see(WIDGETS)
    await supervised.see(replace(WIDGETS, labels={"espalier.dev/mode": "observe"}))

    assert supervised.work.log == ["run 1", "cancelled", "run 1"]


async def test_the_label_off_ends_the_work_and_takes_the_conditions_away(
    supervised: SupervisorUnderTest,
) -> None:
    await supervised.see(WIDGETS)
    await supervised.see(definition_of(resource_version="2"))

    assert supervised.work.log == ["run 1", "cancelled"]
    assert supervised.definitions.applied == [("espalier", ())]

    await supervised.see(definition_of(resource_version="3"))
    assert supervised.definitions.applied == [("espalier", ())]


async def test_conditions_left_by_an_earlier_process_are_taken_away(
    supervised: SupervisorUnderTest,
) -> None:
    left = Condition(
        type="espalier.dev/StoredObjectsValid", status="Unknown", reason="NotChecked", message=""
    )

    await supervised.see(definition_of(conditions=(left,)))

    assert supervised.definitions.applied == [("espalier", ())]


async def test_the_label_back_on_begins_anew(supervised: SupervisorUnderTest) -> None:
    await supervised.see(WIDGETS)
    await supervised.see(definition_of())
    await supervised.see(WIDGETS)

    assert supervised.work.log == ["run 1", "cancelled", "run 1"]


async def test_a_deleted_definition_ends_the_work_and_nothing_is_written(
    supervised: SupervisorUnderTest,
) -> None:
    await supervised.see(WIDGETS)

    await supervised.supervisor.reconcile(NAME, None)

    assert supervised.work.log == ["run 1", "cancelled"]
    assert supervised.definitions.applied == []
    assert supervised.supervisor.names == ()


async def test_a_definition_made_anew_under_its_name_is_another_one(
    supervised: SupervisorUnderTest,
) -> None:
    await supervised.see(WIDGETS)
    await supervised.tell(PROVED)

    await supervised.see(replace(WIDGETS, uid="uid-2", resource_version="9"))

    assert supervised.work.log == ["run 1", "run 9"]


async def test_runs_wait_for_their_turn_and_tending_takes_none(
    supervised: SupervisorUnderTest,
) -> None:
    others = [definition_of(f"{n}.example.com", labels=WIDGETS.labels) for n in "abc"]
    for definition in others:
        await supervised.see(definition)
    assert supervised.work.running == 2

    supervised.work.told("a.example.com").put_nowait(TENDED)
    await settled()
    assert supervised.work.running == 2
    supervised.work.told("b.example.com").put_nowait(TENDED)
    await settled()

    assert supervised.work.running == 1
    assert supervised.work.log.count("tend 1") == 2


async def test_the_label_off_ends_tending_too(supervised: SupervisorUnderTest) -> None:
    await supervised.see(WIDGETS)
    await supervised.tell(TENDED)

    await supervised.see(definition_of())

    assert supervised.work.log == ["run 1", "tend 1", "tended"]


async def test_a_bug_stops_the_operator_and_is_kept(
    supervised: SupervisorUnderTest, caplog: pytest.LogCaptureFixture
) -> None:
    await supervised.see(WIDGETS)
    bug = ValueError("a bug")

    await supervised.tell(bug)

    assert supervised.stopped
    assert supervised.guard.failure is bug
    assert "A task died of an unexpected error; the operator stops." in caplog.messages


async def test_a_storage_version_that_moved_and_moved_back_is_seen_while_a_run_rests(
    supervised: SupervisorUnderTest,
) -> None:
    await supervised.see(WIDGETS)
    await supervised.tell(RunOutcome(definition=WIDGETS, is_proved=True, again_seconds=3600))
    await supervised.see(replace(WIDGETS, resource_version="2", stored_versions=("v0", "v1")))
    assert supervised.work.log == ["run 1", "run 2"]
