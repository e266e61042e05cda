"""
Stories of what fails after a proof: it takes nothing back of what was proved.
"""

import pytest

from espalier.engine import Reason, RunOutcome, RunSettings, run
from espalier.errors import ClusterError, ConversionError, ForbiddenError, TransientError
from tests.fakes.cluster import FakeCluster
from tests.fakes.faults import rejected
from tests.fakes.widgets import WIDGETS, widgets

SETTINGS = RunSettings(settle_seconds=1, page_size=4, max_in_flight=2)


async def run_on(cluster: FakeCluster) -> RunOutcome:
    assert cluster.definition is not None
    return await run(cluster.definition, cluster.ports, SETTINGS, cluster)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ForbiddenError(verb="list", resource=WIDGETS, status=403), "may not list"),
        (TransientError(verb="list", resource=WIDGETS, status=503, reason="Away"), "503 Away"),
        (ConversionError(verb="list", resource=WIDGETS, status=500), "conversion webhook"),
    ],
)
async def test_what_was_proved_stays_so_when_validating_fails(
    error: ClusterError, words: str
) -> None:
    cluster = FakeCluster(widgets())
    cluster.fill(3)
    cluster.fail("list_objects", error, times=999)

    def refuse_single_objects(call: str, _: str) -> None:
        # Otherwise a webhook would count as one that refuses some objects only.
        if call == "set_stored_versions":
            cluster.fail("get_object", error, times=999)

    cluster.hooks.append(refuse_single_objects)
    outcome = await run_on(cluster)
    assert (outcome.is_proved, outcome.retries) == (True, True)
    assert (outcome.conditions[1].status, outcome.conditions[1].reason) == (
        "Unknown",
        "NotChecked",
    )
    assert words in outcome.conditions[1].message
    cluster.reports.clear()
    await run_on(cluster)
    assert (outcome.conditions[0].status, outcome.reason) == ("True", Reason.CURRENT)
    assert {conditions[0].status for conditions in cluster.reports} == {"True"}


async def test_what_failed_is_reported_though_validating_fails_too() -> None:
    cluster = FakeCluster(widgets())
    cluster.fill(3)
    cluster.fail("rewrite", rejected("spec.size: Required value"), name="w001", times=99)
    cluster.fail("list_objects", TransientError(verb="list", resource=WIDGETS), times=999)
    outcome = await run_on(cluster)
    assert outcome.reason == Reason.FAILED
    assert "1 object of 3 could not be rewritten" in outcome.conditions[0].message
    assert outcome.conditions[1].reason == "NotChecked"


async def test_a_definition_that_changes_meanwhile_starts_the_run_over_all_the_same() -> None:
    cluster = FakeCluster(widgets())
    cluster.fill(3)

    def change(call: str, _: str) -> None:
        if call == "list_objects" and cluster.definition is not None:
            cluster.change(versions=cluster.definition.versions, deleting=True)

    cluster.hooks.append(change)
    outcome = await run_on(cluster)
    assert not outcome.is_proved or outcome.conditions[1].reason != "NotChecked"
