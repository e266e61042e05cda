from dataclasses import replace

import pytest

from espalier.crd import Condition, Definition, Version
from espalier.errors import NotFoundError, TransientError
from espalier.handlers.structural_condition import StructuralKeeper
from tests.fakes.clock import FakeClock
from tests.handlers.world import FakeDefinitions, definition_of

UNTYPED = Version(
    name="v1",
    served=True,
    storage=True,
    schema={"type": "object", "properties": {"spec": {"description": "no type"}}},
)
MESSAGE = (
    "spec.versions[0].schema.openAPIV3Schema.properties[spec].type: Required value: "
    "must not be empty for specified object fields"
)


class KeeperUnderTest:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.definitions = FakeDefinitions()
        self.keeper = StructuralKeeper(self.definitions, self.clock, grace_seconds=30)


@pytest.fixture
def world() -> KeeperUnderTest:
    return KeeperUnderTest()


def non_structural(**changes: object) -> Definition:
    return definition_of(**{"versions": (UNTYPED,), **changes})  # type: ignore[arg-type]


def violations(message: str = MESSAGE) -> Condition:
    return Condition(
        type="NonStructuralSchema",
        status="True",
        reason="Violations",
        message=message,
        last_transition_time="2025-01-01T00:00:00Z",
    )


async def test_a_structural_definition_is_left_alone(world: KeeperUnderTest) -> None:
    assert await world.keeper.keep(definition_of()) is None
    assert world.definitions.applied == []


async def test_what_the_server_wrote_is_left_alone(world: KeeperUnderTest) -> None:
    definition = non_structural(conditions=(violations(),))

    assert await world.keeper.keep(definition) is None
    await world.clock.advance(60)
    assert await world.keeper.keep(definition) is None
    assert world.definitions.applied == []


async def test_another_unreadable_keyword_named_by_the_server_is_left_alone(
    world: KeeperUnderTest,
) -> None:
    unreadable = replace(
        UNTYPED, schema={"type": "object", "id": "x", "definitions": {"a": {"type": "string"}}}
    )
    named_otherwise = Condition(
        type="NonStructuralSchema",
        status="Unknown",
        reason="StructuralError",
        message="failed to check validation schema for version v1: another keyword",
    )
    definition = definition_of(versions=(unreadable,), conditions=(named_otherwise,))

    assert await world.keeper.keep(definition) is None
    await world.clock.advance(60)
    assert await world.keeper.keep(definition) is None
    assert world.definitions.applied == []


async def test_the_server_has_its_time_before_the_condition_is_written(
    world: KeeperUnderTest,
) -> None:
    definition = non_structural()

    assert await world.keeper.keep(definition) == 30
    await world.clock.advance(10)
    assert await world.keeper.keep(definition) == 20
    await world.clock.advance(20)
    assert await world.keeper.keep(definition) is None

    written = replace(violations(), last_transition_time="2026-01-01T00:00:30Z")
    assert world.definitions.applied == [("espalier-structural", (written,))]


async def test_a_generation_is_written_once_whatever_the_server_does_then(
    world: KeeperUnderTest,
) -> None:
    definition = non_structural()
    await world.keeper.keep(definition)
    await world.clock.advance(30)
    await world.keeper.keep(definition)
    await world.keeper.keep(replace(definition, conditions=(violations(),)))

    others = replace(definition, conditions=(violations("the server's own words"),))
    await world.keeper.keep(others)
    await world.clock.advance(60)

    assert await world.keeper.keep(others) is None
    assert len(world.definitions.applied) == 1


async def test_the_time_begins_anew_with_each_generation_and_each_definition(
    world: KeeperUnderTest,
) -> None:
    await world.keeper.keep(non_structural())
    await world.clock.advance(29)

    assert await world.keeper.keep(non_structural(generation=2)) == 30
    await world.clock.advance(29)
    assert await world.keeper.keep(non_structural(generation=2, uid="uid-2")) == 30
    assert world.definitions.applied == []


async def test_the_own_condition_goes_when_the_schema_has_become_structural(
    world: KeeperUnderTest,
) -> None:
    definition = definition_of(conditions=(violations(),))

    assert await world.keeper.keep(definition) == 30
    await world.clock.advance(30)
    assert await world.keeper.keep(definition) is None

    assert world.definitions.applied == [("espalier-structural", ())]


async def test_the_transition_time_stays_while_the_status_does(world: KeeperUnderTest) -> None:
    definition = non_structural(conditions=(violations("an older text"),))
    await world.keeper.keep(definition)
    await world.clock.advance(30)
    await world.keeper.keep(definition)

    assert world.definitions.applied == [("espalier-structural", (violations(),))]


async def test_a_definition_that_went_meanwhile_is_no_failure(world: KeeperUnderTest) -> None:
    world.definitions.failures = [NotFoundError(verb="patch", resource="x", status=404)]
    await world.keeper.keep(non_structural())
    await world.clock.advance(30)

    assert await world.keeper.keep(non_structural()) is None


async def test_a_write_that_could_not_be_made_is_made_the_next_time(world: KeeperUnderTest) -> None:
    world.definitions.failures = [TransientError(verb="patch", resource="x", status=503)]
    await world.keeper.keep(non_structural())
    await world.clock.advance(30)
    with pytest.raises(TransientError):
        await world.keeper.keep(non_structural())

    await world.keeper.keep(non_structural())

    assert len(world.definitions.applied) == 1
