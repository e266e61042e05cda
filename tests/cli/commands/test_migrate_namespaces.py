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
from tests.cluster.scripted import Reply, Script, connected
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


async def test_who_is_at_work_in_another_namespace_is_given_way_to() -> None:
    async with site(definition(), [widget("a", "{size: 5}", "v1alpha1")]) as cluster:
        changed = await cluster.change({"spec": {"versions": versions("v1")}})
        await cluster.stage.ensure_namespace("tools")
        elsewhere = cluster.connected.leases("tools", "somebody-else")
        await elsewhere.acquire(changed)
        refused = await cluster.run("migrate", NAME, *QUICK)
        assert await stored_version(cluster, "a") == "example.com/v1alpha1"
        named = await cluster.run("migrate", NAME, *QUICK, "--dry-run")
        await elsewhere.release(changed)
        done = await cluster.run("migrate", NAME, *QUICK)

    assert "somebody-else holds the lease of this CRD in the namespace tools" in refused.stdout
    assert refused.exit_code == Exit.INCOMPLETE
    assert named.exit_code == done.exit_code == Exit.CLEAN


async def test_who_may_not_look_into_other_namespaces_works_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with site(definition(), [widget("a", "{size: 5}", "v1alpha1")]) as cluster:
        changed = await cluster.change({"spec": {"versions": versions("v1")}})
        await cluster.stage.ensure_namespace("tools")
        await cluster.connected.leases("tools", "somebody-else").acquire(changed)
        cluster.sandbox.faults.deny("list", "coordination.k8s.io", "leases")
        result = await cluster.run("migrate", NAME, *QUICK)

    assert result.exit_code == Exit.CLEAN
    assert "could not be looked for" in caplog.text


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
    script = Script(
        Reply(404), Reply(201, own), Reply(200, {"items": [own, other]}), Reply(200, own)
    )
    async with connected(script) as cluster:
        leases = cluster.leases_anywhere("ns")
        expected = pytest.raises(LeaseLostError, match="tools") if is_held else nullcontext()
        with expected:
            await leases.acquire(crd_definition())
