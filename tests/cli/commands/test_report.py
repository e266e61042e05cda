"""
``espalier report``: one document about all definitions, in three formats.
"""

import json

import pytest

from espalier.cli.output.exit_codes import Exit
from espalier.crd import Condition
from tests.cli.clusters import NAME, Site, site
from tests.cli.manifests import WIDGETS

MESSAGE = "1 object: it is rejected (team-a/build)"


async def failed(cluster: Site) -> None:
    definition = await cluster.change({"metadata": {"labels": {"espalier.dev/mode": "enforce"}}})
    condition = Condition(
        type="espalier.dev/StoredObjectsCurrent",
        status="False",
        reason="Failed",
        message=MESSAGE,
        last_transition_time="2026-01-02T03:04:05Z",
    )
    await cluster.connected.definitions.apply_conditions(
        definition, [condition], field_manager="espalier"
    )


async def test_json_has_what_status_has() -> None:
    async with site(WIDGETS) as cluster:
        await failed(cluster)
        result = await cluster.run("report", "-o", "json")
        status = await cluster.run("status", "-o", "json")

    assert result.exit_code == Exit.CLEAN
    document = json.loads(result.stdout)
    (reported,) = document["definitions"]
    (listed,) = json.loads(status.stdout)["items"]
    assert document["apiVersion"] == "report.espalier.dev/v1alpha1"
    for key in ("name", "mode", "structural", "storage", "storedVersions", "generation"):
        assert reported[key] == listed[key]
    (condition,) = reported["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "Failed")


@pytest.mark.parametrize("output", ["html", "markdown", "json"])
async def test_names_of_objects_are_in_it_on_request_only(output: str) -> None:
    async with site(WIDGETS) as cluster:
        await failed(cluster)
        bare = await cluster.run("report", "-o", output)
        whole = await cluster.run("report", "-o", output, "--messages")

    assert NAME in bare.stdout.replace("<wbr>", "")
    assert "Failed" in bare.stdout
    assert "team-a/build" not in bare.stdout
    assert "team-a/build" in whole.stdout


async def test_html_is_one_file_that_asks_for_nothing() -> None:
    async with site(WIDGETS) as cluster:
        await failed(cluster)
        result = await cluster.run("report")

    assert result.stdout.startswith("<!doctype html>")
    assert "<style>" in result.stdout
    assert "<link" not in result.stdout
    assert "http" not in result.stdout
    assert "espalier survey" in result.stdout


async def test_markdown_has_the_command_and_no_markup_of_others() -> None:
    async with site(WIDGETS) as cluster:
        await failed(cluster)
        result = await cluster.run("report", "-o", "markdown")

    assert f"    espalier survey {NAME} -o wide\n" in result.stdout
    assert f"| {NAME} | waits for you | Failed | T1, one version | v1 |  |" in result.stdout
