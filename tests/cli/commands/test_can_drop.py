"""
``espalier can-drop``: yes or no, and why.
"""

import pytest

from espalier.cli.output.exit_codes import Exit
from espalier.cli.output.formats import ALL
from tests.cli.clusters import NAME, site
from tests.cli.commands.test_migrate import OBJECTS, QUICK, definition, versions
from tests.cli.golden import check_golden
from tests.cli.manifests import document_in, items_in


@pytest.mark.parametrize("name", ALL)
async def test_each_format_is_as_it_was_looked_at(name: str) -> None:
    async with site(definition(), OBJECTS) as cluster:
        await cluster.change({"spec": {"versions": versions("v1")}})
        result = await cluster.run("can-drop", "v1alpha1", NAME, "-o", name)

    check_golden(f"can-drop.{name}.txt", result.stdout)
    assert result.exit_code == Exit.FINDINGS


async def test_a_version_is_stored_then_named_by_managed_fields_and_then_free() -> None:
    served = versions("v1")
    unserved = [{**one, "served": one["name"] == "v1"} for one in served]
    async with site(definition(), OBJECTS) as cluster:
        await cluster.change({"spec": {"versions": served}})
        stored = await cluster.run("can-drop", "v1alpha1", NAME, "-o", "json")
        await cluster.run("migrate", NAME, *QUICK)
        managed = await cluster.run("can-drop", "v1alpha1", NAME, "-o", "json")
        await cluster.change({"spec": {"versions": unserved}})
        await cluster.run("migrate", NAME, *QUICK)
        free = await cluster.run("can-drop", "v1alpha1", NAME, "-o", "json")
        before = len(cluster.sandbox.log)
        await cluster.run("can-drop", "v1alpha1", NAME)
        calls = {request.method for request in cluster.sandbox.log[before:]}

    rules = [one["rule"] for one in document_in(stored.stdout)["findings"]]  # type: ignore[union-attr,index,call-overload]
    assert rules == ["drop/refused", "drop/served", "drop/managed-fields"]
    assert "missing from spec.versions" in stored.stdout
    assert stored.exit_code == Exit.FINDINGS
    (item,) = items_in(managed.stdout)
    assert item["canDrop"] is False
    assert set(item["managers"].values()) == {2}
    assert managed.exit_code == Exit.FINDINGS
    (item,) = items_in(free.stdout)
    assert item["canDrop"] is True
    assert item["managers"] == {}
    assert free.exit_code == Exit.CLEAN
    assert calls == {"GET"}


async def test_the_storage_version_cannot_be_dropped() -> None:
    async with site(definition(), OBJECTS) as cluster:
        await cluster.change({"spec": {"versions": versions("v1")}})
        result = await cluster.run("can-drop", "v1", NAME)

    assert "must have exactly one version" in result.stdout
    assert "fix: make another version the storage version" in result.stdout
    assert "no, v1 cannot be dropped" in result.stdout
    assert result.exit_code == Exit.FINDINGS


async def test_what_is_not_there_is_one_line() -> None:
    async with site(definition()) as cluster:
        version = await cluster.run("can-drop", "v7", NAME)
        absent = await cluster.run("can-drop", "v1", "none.example.com")
        missing = await cluster.run("can-drop", NAME)
        swapped = await cluster.run("can-drop", NAME, "v1")

    assert version.stderr == f"espalier: {NAME}: no version v7; there are v1alpha1, v1\n"
    assert absent.stderr == "espalier: none.example.com: the definition does not exist\n"
    assert version.exit_code == absent.exit_code == Exit.UNREADABLE
    assert "whether v1 can be dropped is not known" in absent.stdout
    assert missing.exit_code == swapped.exit_code == Exit.USAGE
    assert f"VERSION comes first: espalier can-drop v1 {NAME}" in swapped.output
