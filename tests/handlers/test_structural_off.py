"""
An operator that leaves ``NonStructuralSchema`` to the API server.
"""

from tests.fakes.clock import settled
from tests.handlers.test_application import OperatorUnderTest
from tests.handlers.test_structural_condition import UNTYPED
from tests.handlers.world import definition_of


async def test_the_structural_condition_is_left_to_the_server_if_it_is_turned_off() -> None:
    world = OperatorUnderTest(keeps_structural=False)
    world.add(definition_of(versions=(UNTYPED,)))
    await world.espalier.start()

    await world.clock.advance(60)
    del world.definitions.found["widgets.example.com"]
    world.espalier.see("widgets.example.com", {})
    await settled()
    await world.espalier.stop()

    assert world.definitions.applied == []
    assert world.guard.failure is None
