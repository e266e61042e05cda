"""
``espalier cleanup``: when the record of a definition stays, and how it is given up.
"""

from espalier.cli.output.exit_codes import Exit
from espalier.engine import Reason
from espalier.engine.status.conditions import not_current
from espalier.names import FIELD_MANAGER, RECORD
from tests.cli.clusters import NAME, Site, site
from tests.cli.commands.test_migrate import OBJECTS, QUICK, definition


async def record_of(cluster: Site) -> object:
    return (await cluster.stage.definition(NAME)).condition(RECORD)


async def test_a_record_is_given_up_by_name_and_nothing_else_is_removed() -> None:
    async with site(definition(), OBJECTS) as cluster:
        assert (await cluster.run("migrate", NAME, *QUICK)).exit_code == Exit.CLEAN
        unnamed = await cluster.run("cleanup", "--record", "--yes")
        kept = await record_of(cluster)
        given_up = await cluster.run("cleanup", "--record", NAME, "--yes")
        gone = await record_of(cluster)
        again = await cluster.run("cleanup", "--record", NAME, "--yes")

    assert unnamed.exit_code == Exit.USAGE
    assert kept is not None
    assert given_up.exit_code == Exit.CLEAN
    assert gone is None
    assert again.exit_code == Exit.CLEAN


async def test_the_record_stays_while_objects_would_lose_something() -> None:
    async with site(definition(), OBJECTS) as cluster:
        assert (await cluster.run("migrate", NAME, *QUICK)).exit_code == Exit.CLEAN
        found = await cluster.stage.definition(NAME)
        await cluster.connected.definitions.apply_conditions(
            found, not_current(Reason.WOULD_LOSE_DATA, "x"), field_manager=FIELD_MANAGER
        )
        await cluster.run("cleanup", NAME, "--yes")
        kept = await record_of(cluster)
        await cluster.run("cleanup", NAME, "--yes")
        gone = await record_of(cluster)

    assert kept is not None
    assert gone is None
