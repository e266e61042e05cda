"""
``espalier report``: one document about all definitions, in three formats.
"""

import json

import pytest

from espalier.cli.output.exit_codes import Exit
from espalier.crd import Condition
from tests.cli.clusters import NAME, NAMESPACE, Site, site
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


async def keep(cluster: Site, *, taken_at: str, bucket: str = "bucket-0-of-1") -> None:
    """
    Write the report as the operator does.
    """
    found = json.loads((await cluster.run("report", "-o", "json")).stdout)
    found["definitions"][0]["survey"] = {"objects": 12_345}
    await cluster.connected.report(NAMESPACE).write(
        {f"{bucket}.json": json.dumps(found | {"takenAt": taken_at})},
        kept=(),
        may_begin=lambda: True,
    )


@pytest.mark.parametrize(
    ("taken_at", "says"),
    [
        ("now", "espalier: the report is 0.0 s old\n"),
        ("2026-01-02T03:04:05Z", "no operator has written it since"),
        ("2999-01-02T03:04:05Z", "in the future: compare the clocks"),
    ],
)
async def test_the_report_that_the_operator_keeps_is_read_with_its_age(
    taken_at: str, says: str
) -> None:
    async with site(WIDGETS) as cluster:
        await failed(cluster)
        now = cluster.connected.clock.utc_timestamp()
        await keep(cluster, taken_at=now if taken_at == "now" else taken_at)
        result = await cluster.run("report", "--from-configmap", "-o", "markdown")

    assert result.exit_code == Exit.CLEAN
    # As of the clock, the report may be some seconds old.
    assert says in result.stderr or taken_at == "now"
    assert "the report" in result.stderr
    assert f"| {NAME} |" in result.stdout.replace("\\", "")


async def test_without_the_operator_s_report_there_is_none() -> None:
    async with site(WIDGETS) as cluster:
        result = await cluster.run("report", "--from-configmap")

    assert (result.exit_code, result.stdout) == (Exit.UNREADABLE, "")
    assert "espalier-report" in result.stderr


async def test_a_part_that_is_missing_is_reported() -> None:
    async with site(WIDGETS) as cluster:
        await keep(cluster, taken_at="2026-01-02T03:04:05Z", bucket="bucket-1-of-3")
        result = await cluster.run("report", "--from-configmap", "-o", "json")

    assert result.exit_code == Exit.INCOMPLETE
    assert "2 parts of the report are missing" in result.stderr
    assert json.loads(result.stdout)["definitions"][0]["survey"]["objects"] == 12_345


async def test_a_report_that_somebody_else_wrote_is_refused() -> None:
    async with site(WIDGETS) as cluster:
        await cluster.connected.report(NAMESPACE).write(
            {"bucket-0-of-1.json": '{"definitions": [{"name": "x; rm -rf ~"}]}'},
            kept=(),
            may_begin=lambda: True,
        )
        result = await cluster.run("report", "--from-configmap")

    assert (result.exit_code, result.stdout) == (Exit.UNREADABLE, "")
    assert "not a report of Espalier" in result.stderr
