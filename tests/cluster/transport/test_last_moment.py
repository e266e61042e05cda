"""
A write that was decided upon is not sent any more when its process may have lost the right to it.
"""

import asyncio
import itertools

import pytest

from espalier.engine.ports import ObjectKey, WritePermit
from espalier.engine.ports.servers import NotSentError
from espalier.engine.status.conditions import NOT_CHECKED
from espalier.errors import TransientError
from tests.cluster.scripted import WIDGETS, Reply, Script, connected, definition

WRITTEN = Reply(body={"metadata": {"resourceVersion": "4"}})


def permit_while(*answers: bool) -> WritePermit:
    """
    Make a permit that holds at the first looks, as the answers say, and at no later one.
    """
    looks = itertools.chain(answers, itertools.repeat(False))
    return WritePermit(ObjectKey("ns", "a"), "u", "3", may_begin=lambda: next(looks))


async def test_an_object_is_not_written_when_its_permit_does_not_hold_any_more() -> None:
    script = Script(WRITTEN)
    async with connected(script) as cluster:
        # Asked when there is a connection, and once more when the request is sent.
        await cluster.objects.rewrite(WIDGETS, permit_while(True, True))
        for permit in (permit_while(), permit_while(True)):
            with pytest.raises(NotSentError, match="in doubt"):
                await cluster.objects.rewrite(WIDGETS, permit)
    assert [seen.method for seen in script.seen] == ["PATCH"]


async def test_what_is_not_sent_is_not_counted_as_a_request() -> None:
    script = Script(WRITTEN)
    async with connected(script) as cluster:
        await cluster.objects.rewrite(WIDGETS, permit_while(True, True))
        for permit in (permit_while(), permit_while(True)):
            with pytest.raises(NotSentError):
                await cluster.objects.rewrite(WIDGETS, permit)
        assert ("PATCH", "<error>") not in cluster.connection.figures.counts


async def test_what_is_not_sent_holds_no_connection() -> None:
    script = Script(WRITTEN, WRITTEN)
    async with connected(script) as cluster:
        for _ in range(200):
            for permit in (permit_while(), permit_while(True)):
                with pytest.raises(TransientError):
                    await cluster.objects.rewrite(WIDGETS, permit)
        await asyncio.wait_for(cluster.objects.rewrite(WIDGETS, permit_while(True, True)), 20)
    assert len(script.seen) == 1


async def test_conditions_stored_versions_and_checkpoints_are_asked_for_likewise() -> None:
    asked: list[str] = []

    def may_begin(crd: str) -> bool:
        asked.append(crd)
        return False

    # The checkpoint is read before it is written, which nothing forbids.
    script = Script(Reply(status=404, body={"details": {"name": "x"}, "reason": "NotFound"}))
    widgets = definition()
    async with connected(script) as cluster:
        definitions = cluster.definitions_while(may_begin)
        checkpoints = cluster.checkpoints("ns", may_begin=may_begin)
        for write in (
            definitions.apply_conditions(widgets, (NOT_CHECKED,), field_manager="x"),
            definitions.set_stored_versions(widgets, ("v1",)),
            checkpoints.save(widgets, {}),
        ):
            with pytest.raises(TransientError, match="in doubt"):
                await write
    assert asked == [widgets.name] * 3
    assert [seen.method for seen in script.seen] == ["GET"]
