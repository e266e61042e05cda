"""
Stories of fields that somebody puts back.
"""

import asyncio
from collections.abc import Sequence

import pytest

from espalier.crd import Condition, Definition
from espalier.engine.ports.progress import PassProgress
from espalier.paths import JSON
from tests.engine.controller.pruned import PrunedCluster
from tests.fakes.widgets import written_by


class Listener:
    """
    Keeps what one operator has said last.
    """

    def __init__(self) -> None:
        self.said: tuple[Condition, ...] = ()

    async def report(
        self,
        definition: Definition,
        conditions: Sequence[Condition],
        progress: PassProgress | None = None,
    ) -> None:
        assert definition.name
        assert progress is None
        self.said = tuple(conditions)


async def contest(
    world: PrunedCluster, name: str, *managers: str, fields: JSON = None, seconds: float = 4
) -> None:
    """
    Have somebody put a field back until the object is left alone.
    """
    key = world.cluster.put(name, {"spec": {"size": 1}}, version="v1", managed=None)
    world.cluster.etcd[key].managed_fields = [
        written_by("kubectl", {"f:spec": {"f:size": {}}}),
        *(written_by(manager, fields or {"f:stray": {"f:a": {}}}) for manager in managers),
    ]
    for _ in range(8):
        world.cluster.touch(name, {"stray": {"a": 1}})
        await world.clock.sleep(seconds)
    assert not world.is_clean(name)


async def test_those_who_put_fields_back_are_named(caplog: pytest.LogCaptureFixture) -> None:
    world = PrunedCluster()
    async with world.tended():
        await contest(world, "w0", "argocd-controller", "a\n\x1b" + "b" * 1000)
    message = world.said.message
    named = "argocd-controller, a\\n\\x1b" + "b" * 125
    assert message == (
        "1 object cannot be kept in form: default/w0"
        f" (removed fields keep coming back, put back by {named})"
    )
    (record,) = [r for r in caplog.records if "keep coming back" in r.getMessage()]
    assert vars(record)["managers"] == named
    assert vars(record)["object"] == "default/w0"


async def test_two_operators_report_the_same_of_an_object_that_is_fought_for() -> None:
    world = PrunedCluster()
    listeners = [Listener(), Listener()]
    tasks = [
        world.tending(f"operator {number}", reporter=listener)
        for number, listener in enumerate(listeners)
    ]
    await world.clock.sleep(3)
    await contest(world, "w0", "trebuchet", seconds=10)
    one, two = listeners
    assert "put back by trebuchet" in one.said[0].message
    assert one.said == two.said
    await world.clock.sleep(3 * 3600)
    assert world.is_clean("w0")
    assert one.said[0].status == two.said[0].status == "True"
    for task in tasks:
        assert not task.done()
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert world.unguarded == []


async def test_edits_in_a_row_are_no_fight() -> None:
    world = PrunedCluster()
    async with world.tended():
        world.cluster.put("w0", {"spec": {"size": 1}}, version="v1")
        for _ in range(2):
            for number in range(5):
                world.cluster.touch("w0", {"stray": number})
                await asyncio.sleep(0)
            await world.clock.sleep(20)
            assert world.is_clean("w0")
        assert world.cluster.reports == []


async def test_a_manager_of_other_fields_is_not_named() -> None:
    world = PrunedCluster()
    async with world.tended():
        await contest(world, "w0", "another", fields={"f:spec": {"f:color": {}}})

    assert "(removed fields keep coming back)" in world.said.message
