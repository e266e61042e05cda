"""
What ``espalier migrate`` tells of the objects, in each format.
"""

import pytest

from espalier.cli.output.exit_codes import Exit
from espalier.cli.output.formats import ALL
from espalier.sandbox import Fault
from tests.cli.clusters import NAME, site, widget
from tests.cli.commands.test_migrate import QUICK, definition, versions
from tests.cli.golden import check_golden
from tests.cli.manifests import items_in

OBJECTS = [widget(name, "{size: 5}", "v1alpha1") for name in "abc"]
DENIED = Fault(
    method="PATCH",
    path="/widgets/b$",
    status=400,
    reason="BadRequest",
    message='admission webhook "w.example.com" denied the request: team label is missing',
    times=None,
)


@pytest.mark.parametrize("name", ALL)
async def test_each_format_shows_what_became_of_the_objects(name: str) -> None:
    async with site(definition(), OBJECTS) as cluster:
        await cluster.change({"spec": {"versions": versions("v1")}})
        cluster.sandbox.faults.add(DENIED)
        result = await cluster.run("migrate", NAME, *QUICK, "-o", name)

    check_golden(f"migrate.failed.{name}.txt", result.stdout)
    # What a webhook makes of an object may hold its values.
    assert "team label is missing" not in result.stdout + result.stderr
    assert result.exit_code == Exit.INCOMPLETE


async def test_the_server_s_own_texts_are_shown_to_who_asks_for_them(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with site(definition(), OBJECTS) as cluster:
        await cluster.change({"spec": {"versions": versions("v1")}})
        cluster.sandbox.faults.add(DENIED)
        result = await cluster.run("migrate", NAME, *QUICK, "-v")

    logged = "\n".join(getattr(record, "text", "") for record in caplog.records)
    assert "team label is missing" in result.stderr + logged
    assert "team label is missing" not in result.stdout


async def test_programs_get_the_counts_and_the_causes() -> None:
    async with site(definition(), OBJECTS) as cluster:
        await cluster.change({"spec": {"versions": versions("v1")}})
        cluster.sandbox.faults.add(DENIED)
        result = await cluster.run("migrate", NAME, *QUICK, "-o", "json")

    (item,) = items_in(result.stdout)
    assert item["objects"] == {
        "rewritten": 2,
        "unchanged": 0,
        "gone": 0,
        "conflict": 0,
        "rejected": 1,
        "unanswered": 0,
        "skipped": 0,
    }
    assert item["failed"] == [
        {
            "namespace": "default",
            "name": "b",
            "cause": '400 BadRequest, denied by admission webhook "w.example.com"',
        }
    ]
