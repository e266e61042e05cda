"""
Stories of lists that a server does not go on with where an earlier run left them.
"""

import pytest

from espalier.engine import Reason, RunOutcome, RunSettings, run
from espalier.errors import EspalierError, TransientError
from tests.fakes.cluster import FakeCluster
from tests.fakes.faults import Killed, rejected
from tests.fakes.widgets import WIDGETS, widgets

SETTINGS = RunSettings(settle_seconds=1, page_size=4, max_in_flight=2)

DAMAGED = rejected("invalid continue token: continue key is not valid", status=400)
OF_THE_FUTURE = TransientError(
    verb="list",
    resource=WIDGETS,
    status=504,
    reason="Timeout",
    detail="Timeout: Too large resource version: 99999999, current: 223",
)


async def run_on(cluster: FakeCluster) -> RunOutcome:
    assert cluster.definition is not None
    return await run(cluster.definition, cluster.ports, SETTINGS, cluster)


async def killed_in_mid_rewrite(token: str) -> FakeCluster:
    """
    Let a run be killed after its second page, and put another token into its checkpoint.
    """
    cluster = FakeCluster(widgets())
    cluster.fill(20)

    def die(call: str, _: str) -> None:
        if call == "rewrite" and cluster.count("rewrite") == 9:
            raise Killed

    cluster.hooks.append(die)
    with pytest.raises(Killed):
        await run_on(cluster)
    cluster.hooks.clear()
    (document,) = cluster.documents.values()
    assert document["phase"] == "rewrite"
    document["token"] = token
    return cluster


@pytest.mark.parametrize("error", [DAMAGED, OF_THE_FUTURE])
async def test_a_token_that_the_server_does_not_take_begins_the_list_anew(
    error: EspalierError,
) -> None:
    cluster = await killed_in_mid_rewrite("bad")
    cluster.bad_tokens["bad"] = error
    outcome = await run_on(cluster)
    assert outcome.is_proved
    assert all("v1alpha1" not in str(stored.raw) for stored in cluster.etcd.values())


@pytest.mark.parametrize("error", [DAMAGED, OF_THE_FUTURE])
async def test_a_server_that_refuses_the_whole_list_is_not_asked_for_ever(
    error: EspalierError,
) -> None:
    cluster = await killed_in_mid_rewrite("bad")
    cluster.bad_tokens["bad"] = error

    def refuse(call: str, _: str) -> None:
        if call == "list_metadata" and cluster.count(call) > 1:
            cluster.fail("list_metadata", error, times=99)

    cluster.calls.clear()
    cluster.hooks.append(refuse)
    outcome = await run_on(cluster)
    assert (outcome.reason, outcome.retries) == (Reason.FAILED, True)
    assert cluster.count("list_metadata") < 25
    assert cluster.count("rewrite", "set_stored_versions") == 0
