"""
``espalier cleanup``: what is Espalier's goes, what is others' stays, and all of it is shown first.
"""

import yaml

from espalier.cli.output.exit_codes import Exit
from espalier.crd import Condition
from espalier.names import SCHEMA_VIOLATIONS
from tests.cli.clusters import NAME, Site, site, widget
from tests.cli.golden import check_golden
from tests.cli.manifests import WIDGETS, items_in


async def traced(cluster: Site) -> None:
    """
    Leave behind what the operator does, and what others do.
    """
    labels = {"espalier.dev/mode": "enforce", "team": "a"}
    annotations = {"espalier.dev/window": "22:00-06:00", "note": "b"}
    definition = await cluster.change({"metadata": {"labels": labels, "annotations": annotations}})
    for manager, type_ in (("espalier", "espalier.dev/StoredObjectsCurrent"), ("other", "Other")):
        condition = Condition(
            type=type_,
            status="False",
            reason="Failed",
            message="",
            last_transition_time="2026-01-02T03:04:05Z",
        )
        await cluster.connected.definitions.apply_conditions(
            definition, [condition], field_manager=manager
        )
    noted = yaml.safe_load(widget("noted"))
    noted["metadata"]["annotations"] = {SCHEMA_VIOLATIONS: "{}", "note": "c"}
    await cluster.create(noted)
    await cluster.create(yaml.safe_load(widget("plain")))


async def test_a_dry_run_shows_all_and_writes_nothing() -> None:
    async with site(WIDGETS) as cluster:
        await traced(cluster)
        before = len(cluster.sandbox.log)
        result = await cluster.run("cleanup", "--dry-run")
        methods = {request.method for request in cluster.sandbox.log[before:]}

    check_golden("cleanup.dry-run.txt", result.stdout)
    assert methods == {"GET"}
    assert result.exit_code == Exit.CLEAN


async def test_what_is_ours_goes_and_what_is_others_stays() -> None:
    async with site(WIDGETS) as cluster:
        await traced(cluster)
        result = await cluster.run("cleanup", "--yes", "-o", "json")
        after = await cluster.stage.definition(NAME)
        data = await cluster.stage.store.read("/registry/example.com/widgets/default/noted")
        again = await cluster.run("cleanup", "--yes")

    assert result.exit_code == Exit.CLEAN
    assert len(items_in(result.stdout)) == 4
    assert all(item["removed"] for item in items_in(result.stdout))
    assert dict(after.labels) == {"team": "a"}
    assert after.annotations["note"] == "b"
    assert not [name for name in after.annotations if name.startswith("espalier.dev/")]
    types = {condition.type for condition in after.conditions}
    assert "Other" in types
    assert not [type_ for type_ in types if type_.startswith("espalier.dev/")]
    assert data is not None
    assert b"note" in data
    assert SCHEMA_VIOLATIONS.encode() not in data
    assert again.stdout.startswith("no label, annotation or condition of Espalier was found; ")


async def test_nothing_goes_without_a_yes() -> None:
    async with site(WIDGETS) as cluster:
        await traced(cluster)
        result = await cluster.run("cleanup")
        after = await cluster.stage.definition(NAME)

    assert f"definition {NAME}: labels espalier.dev/mode\n" in result.stderr
    assert f"object {NAME} default/noted: annotations {SCHEMA_VIOLATIONS}\n" in result.stderr
    assert result.exit_code == Exit.INCOMPLETE
    assert "espalier.dev/mode" in after.labels


async def test_a_structural_condition_is_ours_only_if_we_wrote_it() -> None:
    condition = Condition(
        type="NonStructuralSchema",
        status="True",
        reason="Violations",
        message="",
        last_transition_time="2026-01-02T03:04:05Z",
    )
    found = {}
    for manager in ("kube-apiserver", "espalier-structural"):
        async with site(WIDGETS, structural_delay_seconds=None) as cluster:
            definition = await cluster.stage.definition(NAME)
            await cluster.connected.definitions.apply_conditions(
                definition, [condition], field_manager=manager
            )
            result = await cluster.run("cleanup", "--dry-run", "-o", "json")
            found[manager] = [item["names"] for item in items_in(result.stdout)]

    assert found == {"kube-apiserver": [], "espalier-structural": [["NonStructuralSchema"]]}
