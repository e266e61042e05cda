"""
``espalier migrate --part`` and ``--finish``: one definition in parts.
"""

from typing import Any

import pytest
from click.testing import CliRunner

from espalier.cli import main
from espalier.cli.output.exit_codes import Exit
from tests.cli.clusters import NAME, Site, site, widget
from tests.cli.commands.test_migrate import QUICK, definition, stored_version, versions
from tests.cli.manifests import items_in

NAMES = "abcdefgh"
OBJECTS = [widget(name, "{size: 5}", "v1alpha1") for name in NAMES]
DONE = f"espalier migrate {NAME} --finish"


async def stored_at(cluster: Site) -> set[str]:
    return {(await stored_version(cluster, name)).rpartition("/")[2] for name in NAMES}


def only(output: str) -> dict[str, Any]:
    (item,) = items_in(output)
    return item


async def test_parts_are_rewritten_one_by_one_and_then_proved_and_trimmed() -> None:
    async with site(definition(), OBJECTS) as cluster:
        await cluster.change({"spec": {"versions": versions("v1")}})
        parts = [
            await cluster.run("migrate", NAME, *QUICK, "--part", f"{number}/3", "-o", "json")
            for number in range(3)
        ]
        between = await cluster.stage.definition(NAME)
        assert await stored_at(cluster) == {"v1"}
        finished = await cluster.run("migrate", NAME, *QUICK, "--finish", "-o", "json")
        after = await cluster.stage.definition(NAME)

    assert [part.exit_code for part in parts] == [Exit.CLEAN] * 3
    items = [only(part.stdout) for part in parts]
    assert [(item["proved"], item["reason"]) for item in items] == [(False, "Partial")] * 3
    assert sum(item["objects"]["rewritten"] for item in items) == len(NAMES)
    assert all(DONE in item["message"] for item in items)
    assert between.stored_versions == ("v1alpha1", "v1")
    assert finished.exit_code == Exit.CLEAN
    assert only(finished.stdout)["proved"] is True
    assert only(finished.stdout)["objects"]["rewritten"] == 0
    assert after.stored_versions == ("v1",)


async def test_with_a_part_missing_nothing_is_proved_and_it_is_named() -> None:
    async with site(definition(), OBJECTS) as cluster:
        await cluster.change({"spec": {"versions": versions("v1")}})
        unbegun = await cluster.run("migrate", NAME, *QUICK, "--finish")
        for number in (0, 2):
            await cluster.run("migrate", NAME, *QUICK, "--part", f"{number}/3")
        refused = await cluster.run("migrate", NAME, *QUICK, "--finish")
        after = await cluster.stage.definition(NAME)

    assert unbegun.exit_code == refused.exit_code == Exit.INCOMPLETE
    assert "PartsUnfinished: part 0 has not run" in unbegun.stdout
    assert "PartsUnfinished: part 1/3 has not run. Run each of them:" in refused.stdout
    assert f"espalier migrate {NAME} --part NUMBER/3" in refused.stdout
    assert after.stored_versions == ("v1alpha1", "v1")


async def test_what_would_be_lost_ends_a_part_with_1_so_that_a_job_waits_for_a_person() -> None:
    async with site(definition(), OBJECTS) as cluster:
        await cluster.change({"spec": {"versions": versions("v1", size="gone")}})
        result = await cluster.run("migrate", NAME, *QUICK, "--part", "0/1")

    assert "WouldLoseData: " in result.stdout
    assert result.exit_code == Exit.FINDINGS


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--part", "8/8"], "give the number of the part, from 0 on"),
        (["--part", "2"], "give the number of the part, from 0 on"),
        (["--part", "0/1001"], "at most 1000: 0/8"),
        (["--part", "0/8", "--finish"], "give --part or --finish, not both"),
        (["--part", "0/8", "--again"], "change the annotation espalier.dev/rerun-at"),
        (["--finish", "--only-failed"], "--only-failed does not go with --finish"),
        (["--part", "0/8", "-n", "a"], "--namespace does not go with --part"),
        (["--part", "0/8", "--dry-run"], "--dry-run tries all objects"),
    ],
)
def test_what_cannot_be_meant_is_a_mistake_of_usage(arguments: list[str], message: str) -> None:
    command = ["migrate", NAME, "--yes", "--kubeconfig", "nowhere", *arguments]
    result = CliRunner().invoke(main, command)

    # Before a connection is tried.
    assert result.exit_code == Exit.USAGE
    assert message in " ".join(result.stderr.split())


async def test_parts_are_of_one_definition() -> None:
    async with site(definition(), OBJECTS) as cluster:
        await cluster.change({"metadata": {"labels": {"team": "web"}}})
        none = await cluster.run("migrate", "-l", "team=db", "--yes", "--part", "0/2")
        one = await cluster.run("migrate", "-l", "team=web", *QUICK, "--part", "0/2")

    assert none.exit_code == Exit.USAGE
    assert "--part and --finish work on one definition" in none.stderr
    assert one.exit_code == Exit.CLEAN


async def test_before_a_part_begins_it_is_named_and_asked_for() -> None:
    async with site(definition(), OBJECTS) as cluster:
        await cluster.change({"spec": {"versions": versions("v1")}})
        result = await cluster.run("migrate", NAME, "--part", "1/4")

    assert result.stderr.startswith(
        f"Stored objects of part 1/4 of these definitions will be rewritten: {NAME}\n"
    )
    assert result.exit_code == Exit.INCOMPLETE
