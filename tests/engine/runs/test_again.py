"""
Stories of objects that are proved, and are rewritten and proved once more.
"""

from dataclasses import replace

import pytest

from espalier.engine.policy.labels import read_policy
from tests.engine.runs.pruned import SETTINGS, a_cluster, run_on
from tests.fakes.widgets import widgets

RERUN_AT = "espalier.dev/rerun-at"


async def test_a_run_again_writes_and_proves_all_objects() -> None:
    cluster = a_cluster()
    assert (await run_on(cluster)).is_proved
    cluster.calls.clear()

    outcome = await run_on(cluster, replace(SETTINGS, again=True))

    assert outcome.is_proved
    assert cluster.count("rewrite") == 20
    cluster.calls.clear()
    assert (await run_on(cluster)).is_proved
    assert cluster.count("rewrite") == 0


async def test_each_new_time_has_the_objects_written_once() -> None:
    cluster = a_cluster()
    written = []
    for time in ("", "2027-01-31T12:00:00Z", "2027-01-31T12:00:00Z", "2027-02-01T12:00:00Z"):
        cluster.change(annotations={RERUN_AT: time} if time else {})
        cluster.calls.clear()
        assert (await run_on(cluster)).is_proved
        written.append(cluster.count("rewrite"))

    assert written == [20, 20, 0, 20]


@pytest.mark.parametrize("time", ["now", "2027-01-31", "2027-13-31T12:00:00Z", "x" * 10_000])
def test_another_text_than_a_time_is_a_mistake(time: str) -> None:
    policy = read_policy(widgets(annotations={RERUN_AT: time}))

    assert policy.mistakes == (
        f"the annotation {RERUN_AT} must be a time in UTC, like 2027-01-31T12:00:00Z",
    )
