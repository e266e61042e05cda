"""
``espalier migrate`` where the namespace for its leases and checkpoints is missing or going.
"""

import pytest

from espalier.cli.exits import Exit
from espalier.cluster.requests import Call
from tests.cli.clusters import NAME, Site, site, widget
from tests.cli.test_migrating import QUICK, definition, stored_version, versions


async def delete_namespace(cluster: Site, name: str) -> None:
    call = Call(
        verb="delete",
        resource=f"namespaces {name}",
        method="DELETE",
        path=f"/api/v1/namespaces/{name}",
    )
    await cluster.connected.client.send(call)


@pytest.mark.parametrize(
    ("is_made", "told"), [(False, "does not exist: create it"), (True, "is being deleted")]
)
async def test_without_its_namespace_nothing_is_done_and_it_is_named(
    *, is_made: bool, told: str
) -> None:
    async with site(definition(), [widget("a", "{size: 5}", "v1alpha1")]) as cluster:
        await cluster.change({"spec": {"versions": versions("v1")}})
        if is_made:
            await cluster.stage.ensure_namespace("tools")
            await delete_namespace(cluster, "tools")
        result = await cluster.run("migrate", NAME, *QUICK, "--operator-namespace", "tools")
        assert await stored_version(cluster, "a") == "example.com/v1alpha1"
        left = await cluster.stage.definition(NAME)

    assert "namespace tools" in result.stdout
    assert told in result.stdout
    assert result.exit_code == Exit.INCOMPLETE
    assert left.stored_versions == ("v1alpha1", "v1")
