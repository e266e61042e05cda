"""
What is found out before the operator begins.
"""

import pytest

from espalier.errors import ForbiddenError
from espalier.handlers.startup import FORBIDDEN_TRIES, preflight
from tests.cluster.scripted import ManualClock, Reply, Script, connected, status_of

FORBIDDEN = Reply(403, status_of(403, "Forbidden", "no role allows it"))
NONE = Reply(body={"metadata": {}, "items": []})


async def test_an_api_server_that_does_not_know_the_roles_yet_is_asked_again() -> None:
    clock = ManualClock()
    async with connected(Script(FORBIDDEN, FORBIDDEN, NONE), clock=clock) as cluster:
        await preflight(cluster)

    assert clock.slept_seconds == [1.0, 1.0]


async def test_a_refusal_that_lasts_ends_the_operator() -> None:
    script = Script(*[FORBIDDEN] * FORBIDDEN_TRIES)
    async with connected(script, clock=ManualClock()) as cluster:
        with pytest.raises(ForbiddenError, match="no role allows it"):
            await preflight(cluster)

    assert script.replies == type(script.replies)()
