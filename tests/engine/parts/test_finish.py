"""
The last step of a definition in parts: it begins only once each part is done.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from espalier.engine import Reason, RunOutcome
from espalier.engine.parts.finish import READS_AT_A_TIME
from espalier.engine.ports import ObjectKey
from espalier.paths import JSON
from tests.engine.parts.stories import (
    SETTINGS,
    a_cluster,
    filled,
    finish,
    old_objects,
    run_part,
    stored_versions,
)
from tests.fakes.faults import Killed
from tests.fakes.parts import PartsCluster
from tests.fakes.widgets import widgets


async def all_done(objects: int = 12) -> PartsCluster:
    cluster = a_cluster(objects)
    for number in range(3):
        assert (await run_part(cluster, number)).reason == Reason.PARTIAL
    cluster.calls.clear()
    return cluster


def is_refused(cluster: PartsCluster, outcome: RunOutcome) -> str:
    """
    See that nothing was written, and return the message.
    """
    assert outcome.reason == Reason.PARTS_UNFINISHED
    assert not outcome.is_proved
    assert cluster.count("rewrite", "set_stored_versions", "save") == 0
    assert stored_versions(cluster) == ("v1alpha1", "v1")
    return outcome.conditions[0].message


@pytest.mark.parametrize("missing", [1, 2])
async def test_a_part_that_has_not_run_is_named(missing: int) -> None:
    cluster = await all_done()
    del cluster.parts[missing]

    message = is_refused(cluster, await finish(cluster))

    assert message == (
        f"part {missing}/3 has not run. Run each of them:"
        " espalier migrate widgets.example.com --part NUMBER/3"
    )


async def test_without_the_first_part_the_number_of_parts_is_not_known() -> None:
    cluster = await all_done()
    del cluster.parts[0]

    assert "part 0 has not run" in is_refused(cluster, await finish(cluster))


def unfinished(part: dict[str, Any]) -> None:
    part["part"]["isDone"] = False


def of_another_division(part: dict[str, Any]) -> None:
    part["part"]["count"] = 8


def stale(part: dict[str, Any]) -> None:
    part["generation"] = 0


def foreign(part: dict[str, Any]) -> None:
    part["key"] = "another"


@pytest.mark.parametrize(
    ("act", "expected"),
    [
        (unfinished, "part 1/3 is not done"),
        (of_another_division, "part 1/3 ran as 1/8, of another division"),
        (stale, "part 1/3 ran for generation 0 of the definition, which is now 1"),
        (foreign, "part 1/3 ran for other steps or schemas"),
    ],
)
async def test_a_part_that_is_not_of_now_is_named(
    act: Callable[[dict[str, Any]], None], expected: str
) -> None:
    cluster = await all_done()
    act(cluster.parts[1])

    assert expected in is_refused(cluster, await finish(cluster))
    # And it is run as a whole.
    assert (await run_part(cluster, 1)).reason == Reason.PARTIAL
    assert (await finish(cluster)).is_proved


@pytest.mark.parametrize(
    "damaged", [{}, {"number": 1, "count": 1, "isDone": True, "objects": 0}, {"isDone": 1}]
)
async def test_a_damaged_document_of_a_part_is_never_taken_for_a_result(
    damaged: dict[str, Any],
) -> None:
    cluster = await all_done()
    cluster.parts[1]["part"] = damaged

    outcome = await finish(cluster)

    assert outcome.reason == Reason.RECORD_UNREADABLE
    assert stored_versions(cluster) == ("v1alpha1", "v1")


async def test_a_change_of_the_definition_makes_all_parts_stale() -> None:
    cluster = await all_done()
    assert cluster.definition is not None
    cluster.change(versions=cluster.definition.versions)

    message = is_refused(cluster, await finish(cluster))

    assert message.startswith("part 0/3 ran for generation 1 of the definition, which is now 2;")
    for number in range(3):
        assert (await run_part(cluster, number)).reason == Reason.PARTIAL
    assert (await finish(cluster)).is_proved


async def test_a_wrong_document_of_a_part_cannot_cause_a_trim_before_all_is_current() -> None:
    cluster = await all_done()
    for name in ("w001", "w007"):
        uid = cluster.etcd[ObjectKey("default", name)].uid
        cluster.put(name, {"spec": {"size": 1}}, uid=uid)
    seen: list[list[str]] = []

    def look(call: str, _: str) -> None:
        if call == "set_stored_versions":
            seen.append(old_objects(cluster))

    cluster.hooks.append(look)

    outcome = await finish(cluster)

    assert outcome.is_proved
    assert seen == [[]]


async def test_a_killed_last_step_is_continued_by_itself_or_by_a_whole_run() -> None:
    cluster = await all_done()

    def kill(call: str, _: str) -> None:
        if call == "rewrite" and cluster.count("rewrite") > 3:
            raise Killed

    cluster.hooks.append(kill)
    with pytest.raises(Killed):
        await finish(cluster)
    cluster.hooks.clear()
    assert stored_versions(cluster) == ("v1alpha1", "v1")

    assert (await finish(cluster, replace(SETTINGS, settle_seconds=1))).is_proved


class CountedReads(PartsCluster):
    """
    Keeps how many documents of parts were read at the same moment.
    """

    reading = most = 0

    async def load_part(self, number: int) -> dict[str, JSON] | None:
        self.reading += 1
        self.most = max(self.most, self.reading)
        await asyncio.sleep(0)
        found = await super().load_part(number)
        self.reading -= 1
        return found


async def test_what_is_kept_of_many_parts_is_read_a_few_at_a_time() -> None:
    cluster = filled(CountedReads(widgets()), 12)
    for number in range(40):
        assert (await run_part(cluster, number, count=40)).reason == Reason.PARTIAL
    assert cluster.most == 1

    assert (await finish(cluster)).is_proved

    assert cluster.most == READS_AT_A_TIME
