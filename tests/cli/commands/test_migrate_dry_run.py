"""
``espalier migrate --dry-run`` promises nothing that the run breaks.
"""

import pytest

from espalier.cli.output.exit_codes import Exit
from espalier.sandbox import Fault
from tests.cli.clusters import NAME, site
from tests.cli.commands.test_migrate import OBJECTS, QUICK, definition, versions
from tests.cli.manifests import document_in, items_in


async def test_an_object_that_the_server_refuses_stops_the_dry_run_and_the_run() -> None:
    async with site(definition(), OBJECTS) as cluster:
        await cluster.change({"spec": {"versions": versions("v1")}})
        fault = Fault(method="PATCH", path="/widgets/b$", status=422, reason="Invalid", times=None)
        cluster.sandbox.faults.add(fault)
        rehearsed = await cluster.run("migrate", NAME, "--dry-run", "-o", "json")
        migrated = await cluster.run("migrate", NAME, *QUICK, "-o", "json")

    (item,), (after,) = items_in(rehearsed.stdout), items_in(migrated.stdout)
    assert item["reason"] == after["reason"] == "Failed"
    assert [one["name"] for one in item["failed"]] == ["b"]
    assert item["failed"] == after["failed"]
    assert item["message"] == after["message"]
    assert item["storedVersions"] == ["v1alpha1", "v1"]
    assert "nothing would stop" not in rehearsed.output
    assert rehearsed.exit_code == Exit.FINDINGS
    assert migrated.exit_code == Exit.INCOMPLETE


async def test_a_namespace_of_the_operator_that_is_missing_is_reported() -> None:
    async with site(definition(), OBJECTS) as cluster:
        await cluster.change({"spec": {"versions": versions("v1")}})
        elsewhere = ("--operator-namespace", "missing")
        rehearsed = await cluster.run("migrate", NAME, "--dry-run", *elsewhere)
        migrated = await cluster.run("migrate", NAME, *QUICK, *elsewhere)

    assert "missing" in rehearsed.stdout
    assert "nothing would stop" not in rehearsed.output
    assert rehearsed.exit_code == Exit.FINDINGS
    assert migrated.exit_code == Exit.INCOMPLETE


async def test_what_stops_nothing_is_a_promise_that_the_run_keeps() -> None:
    async with site(definition(), OBJECTS) as cluster:
        await cluster.change({"spec": {"versions": versions("v1")}})
        rehearsed = await cluster.run("migrate", NAME, "--dry-run", "-o", "json")
        left = await cluster.stage.definition(NAME)
        migrated = await cluster.run("migrate", NAME, *QUICK)

    document = document_in(rehearsed.stdout)
    (item,) = items_in(rehearsed.stdout)
    assert str(document["summary"]).endswith("nothing would stop a migration")
    assert (item["proved"], item["dryRun"], item["reason"]) == (False, True, "")
    assert item["storedVersions"] == ["v1alpha1", "v1"]
    assert left.stored_versions == ("v1alpha1", "v1")
    assert rehearsed.exit_code == migrated.exit_code == Exit.CLEAN


@pytest.mark.parametrize("verb", ["PATCH"])
async def test_writes_that_cannot_be_tried_are_no_promise(verb: str) -> None:
    text = 'admission webhook "w.example.com" does not support dry run'
    async with site(definition(), OBJECTS) as cluster:
        await cluster.change({"spec": {"versions": versions("v1")}})
        fault = Fault(
            method=verb, path="/widgets/", status=400, reason="BadRequest", message=text, times=None
        )
        cluster.sandbox.faults.add(fault)
        rehearsed = await cluster.run("migrate", NAME, "--dry-run", "-o", "json")

    document = document_in(rehearsed.stdout)
    assert document["complete"] is False
    assert "whether the migration would stop is not known" in rehearsed.stdout
    assert rehearsed.exit_code == Exit.INCOMPLETE
