"""
``espalier migrate`` where the namespace for its leases and checkpoints is missing, going or wrong.
"""

from contextlib import nullcontext

import pytest

from espalier.cli.output.exit_codes import Exit
from espalier.cluster.transport.client import ApiRequest
from espalier.errors import LeaseLostError
from tests.cli.clusters import NAME, Site, site, widget
from tests.cli.commands.test_migrate import QUICK, definition, stored_version, versions
from tests.cluster.scripted import Reply, Script, connected, status_of
from tests.cluster.scripted import definition as crd_definition


async def delete_namespace(cluster: Site, name: str) -> None:
    call = ApiRequest(
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


async def test_a_command_gives_way_to_an_operator_in_another_namespace() -> None:
    elsewhere = ("--operator-namespace", "tools")
    async with site(definition(), [widget("a", "{size: 5}", "v1alpha1")]) as cluster:
        changed = await cluster.change({"spec": {"versions": versions("v1")}})
        await cluster.stage.ensure_namespace("tools")
        operator = cluster.connected.leases("espalier-system", "somebody-else")
        await operator.acquire(changed)
        refused = await cluster.run("migrate", NAME, *QUICK, *elsewhere)
        assert await stored_version(cluster, "a") == "example.com/v1alpha1"
        named = await cluster.run("migrate", NAME, *QUICK, "--dry-run")
        await operator.release(changed)
        done = await cluster.run("migrate", NAME, *QUICK, *elsewhere)

    assert (
        "somebody-else holds the lease of this CRD in the namespace espalier-system"
        in refused.stdout
    )
    assert refused.exit_code == Exit.INCOMPLETE
    # As the run itself would, unless it waited.
    assert "the migration would stop with Pending" in named.stdout
    assert "somebody-else" in named.stdout
    assert named.exit_code == Exit.FINDINGS
    assert done.exit_code == Exit.CLEAN


async def test_a_lease_that_a_tenant_made_in_its_namespace_blocks_nothing() -> None:
    async with site(definition(), [widget("a", "{size: 5}", "v1alpha1")]) as cluster:
        changed = await cluster.change({"spec": {"versions": versions("v1")}})
        await cluster.stage.ensure_namespace("tenant")
        await cluster.connected.leases("tenant", "a-tenant").acquire(changed)
        migrated = await cluster.run("migrate", NAME, *QUICK)
        restored = await cluster.run("restore", NAME)

    assert migrated.exit_code == Exit.CLEAN
    # Nothing is archived, which is a finding.
    assert restored.exit_code == Exit.FINDINGS
    assert "a-tenant" not in migrated.stdout + restored.stdout


async def test_a_namespace_that_may_not_be_looked_into_is_passed_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    refused = Reply(403, status_of(403, "Forbidden"))
    own = {"metadata": {"resourceVersion": "1", "namespace": "ns"}, "spec": {}}
    script = Script(Reply(404), Reply(201, own), refused, Reply(200, own))
    async with connected(script) as cluster:
        leases = cluster.leases_among("ns", homes=lambda _: ("ns", "tools"))
        for _ in range(2):
            await leases.acquire(crd_definition())

    assert "could not be checked" in caplog.text
    assert [seen.method for seen in script.seen] == ["GET", "POST", "GET", "PATCH"]


@pytest.mark.parametrize(
    ("renewed", "is_held"),
    [
        ("2026-01-02T03:04:05.000000Z", True),
        ("2026-01-02T03:03:05.000000Z", True),
        ("2026-01-02T03:05:05.000000Z", True),
        ("2026-01-02T03:02:05.000000Z", False),
        ("2026-01-02T04:04:05.000000Z", False),
        ("soon", False),
        (None, False),
    ],
)
async def test_a_lease_elsewhere_counts_while_it_is_renewed(
    *, renewed: str | None, is_held: bool
) -> None:
    spec = {"holderIdentity": "other", "leaseDurationSeconds": 15, "renewTime": renewed}
    own = {"metadata": {"resourceVersion": "1", "namespace": "ns"}, "spec": {}}
    other = {"metadata": {"resourceVersion": "1", "namespace": "tools"}, "spec": spec}
    script = Script(Reply(404), Reply(201, own), Reply(200, other), Reply(200, own))
    async with connected(script) as cluster:
        leases = cluster.leases_among("ns", homes=lambda _: ("tools",))
        expected = pytest.raises(LeaseLostError, match="tools") if is_held else nullcontext()
        with expected:
            await leases.acquire(crd_definition())
