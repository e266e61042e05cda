"""
``espalier cleanup --data``: what the operator keeps goes last, and only with all the rest.
"""

import yaml

from espalier.cli.output.exit_codes import Exit
from espalier.cluster.transport.client import ApiRequest
from espalier.names import SCHEMA_VIOLATIONS
from espalier.paths import JSON
from tests.cli.clusters import NAME, NAMESPACE, Site, site
from tests.cli.commands.test_migrate import OBJECTS, QUICK, definition
from tests.cli.golden import check_golden
from tests.cli.manifests import WIDGETS, items_in

FIRST = yaml.safe_load(OBJECTS[0])["metadata"]["name"]
KEPT: dict[str, JSON] = {"app.kubernetes.io/managed-by": "espalier"}
OTHERS: dict[str, JSON] = {"team": "a"}
PATHS = {
    "Secret": f"/api/v1/namespaces/{NAMESPACE}/secrets",
    "ConfigMap": f"/api/v1/namespaces/{NAMESPACE}/configmaps",
    "Lease": f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases",
}


async def kept_by(cluster: Site) -> None:
    """
    Keep what an operator keeps, beside something of another owner.
    """
    await cluster.change({"metadata": {"labels": {"espalier.dev/mode": "enforce"}}})
    for kind, path in PATHS.items():
        version = "coordination.k8s.io/v1" if kind == "Lease" else "v1"
        for name, labels in (("ours", KEPT), ("theirs", OTHERS)):
            await cluster.stage.create(
                path,
                {
                    "apiVersion": version,
                    "kind": kind,
                    "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
                },
            )


async def names_in(cluster: Site) -> set[str]:
    """
    Name what is in the operator's namespace.
    """
    found = set()
    for kind, path in PATHS.items():
        call = ApiRequest(verb="list", resource=kind, method="GET", path=path, is_read=True)
        document = yaml.safe_load(await cluster.connected.client.send(call))
        found |= {f"{kind}/{item['metadata']['name']}" for item in document["items"]}
    return found


THEIRS = {f"{kind}/theirs" for kind in PATHS}
ALL = THEIRS | {f"{kind}/ours" for kind in PATHS}


async def test_data_is_listed_and_then_deleted_with_all_the_rest() -> None:
    async with site(WIDGETS) as cluster:
        await kept_by(cluster)
        listed = await cluster.run("cleanup", "--data", "--dry-run")
        before = await names_in(cluster)
        result = await cluster.run("cleanup", "--data", "--yes", "-o", "json")
        after = await names_in(cluster)
        labels = (await cluster.stage.definition(NAME)).labels
        again = await cluster.run("cleanup", "--data", "--yes")

    check_golden("cleanup.data.txt", listed.stdout)
    assert before == ALL
    assert after == THEIRS
    assert not [label for label in labels if label.startswith("espalier.dev/")]
    assert [item["kind"] for item in items_in(result.stdout)] == [
        "definition",
        "secret",
        "configmap",
        "lease",
    ]
    assert (result.exit_code, again.exit_code) == (Exit.CLEAN, Exit.CLEAN)
    assert again.stdout.strip() == "no label, annotation or condition of Espalier was found"


async def test_without_it_data_stays() -> None:
    async with site(WIDGETS) as cluster:
        await kept_by(cluster)
        result = await cluster.run("cleanup", "--yes")
        after = await names_in(cluster)

    assert after == ALL
    assert f"archives stay in namespace {NAMESPACE}" in result.stdout


async def test_nothing_of_it_is_deleted_while_something_else_could_not_be_removed() -> None:
    async with site(definition(), OBJECTS) as cluster:
        assert (await cluster.run("migrate", NAME, *QUICK)).exit_code == Exit.CLEAN
        note: dict[str, JSON] = {"metadata": {"annotations": {SCHEMA_VIOLATIONS: "{}"}}}
        await cluster.stage.change(f"/apis/example.com/v1/namespaces/default/widgets/{FIRST}", note)
        # Without the record, nothing may be written to objects.
        found = await cluster.stage.definition(NAME)
        await cluster.connected.checkpoints(NAMESPACE).forget(found)
        await kept_by(cluster)
        result = await cluster.run("cleanup", "--data", "--yes", "-o", "json")
        after = await names_in(cluster)

    assert after >= ALL
    assert result.exit_code != Exit.CLEAN
    removed = {item["kind"]: item["removed"] for item in items_in(result.stdout)}
    assert removed["object"] is False
    assert removed["secret"] is False


async def test_it_is_about_all_definitions() -> None:
    async with site(WIDGETS) as cluster:
        named = await cluster.run("cleanup", "--data", NAME)
        selected = await cluster.run("cleanup", "--data", "--selector", "a=b")

    for result in (named, selected):
        assert "--data deletes the data of all definitions: name none." in result.stderr
        assert result.exit_code == Exit.USAGE
