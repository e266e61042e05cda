"""
Commands that read several clusters: one table, and a reason for each that could not be read.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from espalier.cli.output.exit_codes import Exit
from tests.cli.clusters import NAME
from tests.cli.fleets import NOWHERE, fleet_of, never_answering
from tests.cli.manifests import document_in
from tests.patience import PACE

LIST = ("list", "apiextensions.k8s.io", "customresourcedefinitions")
# Enough for a cluster that answers, also on a slow machine.
TIMEOUT = f"{PACE.scaled(8):.0f}s"


@pytest.mark.parametrize(
    ("command", "kind"), [("status", "StatusList"), ("survey", "SurveyResult")]
)
async def test_what_can_be_read_is_shown_and_the_rest_is_named(command: str, kind: str) -> None:
    async with fleet_of("a", "b", "locked") as fleet, never_answering() as slow:
        fleet.add("down", {"server": NOWHERE})
        fleet.add("slow", {"server": slow})
        fleet.sandboxes["locked"].faults.deny(*LIST)
        more = ("--all-contexts", "--cluster-timeout", TIMEOUT)
        table = await fleet.run(command, *more)
        result = await fleet.run(command, *more, "-o", "json")

    assert table.exit_code == result.exit_code == Exit.INCOMPLETE
    rows = [line.split()[:2] for line in table.stdout.splitlines()]
    assert rows[:3] == [["CLUSTER", "DEFINITION"], ["a", NAME], ["b", NAME]]
    document: dict[str, Any] = document_in(result.stdout)
    assert (document["kind"], document["complete"]) == (kind, False)
    assert [item["cluster"] for item in document["items"]] == ["a", "b"]
    reasons = {one["cluster"]: one["message"] for one in document["problems"]}
    assert sorted(reasons) == ["down", "locked", "slow"]
    assert "ConnectionFailed" in reasons["down"]
    assert "forbidden" in reasons["locked"].lower()
    assert "no complete answer within" in reasons["slow"]
    for name in reasons:
        assert f"espalier: {name}: " in table.stderr


async def test_findings_name_their_cluster() -> None:
    async with fleet_of("a", "b") as fleet:
        text = await fleet.run("survey", "--contexts", "b,a", "-o", "junit")
        result = await fleet.run("status", "--contexts", "b,a", "-o", "markdown")

    assert result.exit_code == text.exit_code == Exit.CLEAN
    assert f'name="b: {NAME}"' in text.stdout
    assert f"| b | {NAME.replace('_', '')} |" in result.stdout


async def test_contexts_are_named_by_patterns_and_once_each() -> None:
    async with fleet_of("prod-1", "prod-2", "prod-*", "test") as fleet:
        star = await fleet.run("status", "--contexts", "prod-*", "-o", "json")
        some = await fleet.run(
            "status", "--contexts", "*-2", "--contexts", "prod-2, test", "-o", "json"
        )

    # A context of that very name is meant.
    assert [one["cluster"] for one in json.loads(star.stdout)["items"]] == ["prod-*"]
    assert [one["cluster"] for one in json.loads(some.stdout)["items"]] == ["prod-2", "test"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["status", "--contexts", "c"], "There is no context c; there are: a, b."),
        (["status", "--contexts", "a", "--context", "b"], "--contexts for several"),
        (["survey", "--contexts", "a", "--all-contexts"], "not both"),
        (["status", "--all-contexts", "--watch"], "--watch watches one cluster"),
        (["report", "x.json", "--all-contexts"], "one of both"),
        (["report", "x.json", "--from-configmap"], "one of both"),
        (["status", "--all-contexts", "--parallel", "0"], "1<=x<=64"),
        (["status", "--all-contexts", "--cluster-timeout", "soon"], "no duration"),
    ],
)
async def test_what_makes_no_sense_is_refused(arguments: list[str], says: str) -> None:
    async with fleet_of("a", "b") as fleet:
        result = await fleet.run(*arguments)

    assert result.exit_code == Exit.USAGE
    assert says in result.stderr


async def test_a_time_limit_of_0_is_none() -> None:
    async with fleet_of("a", "b") as fleet:
        result = await fleet.run("status", "--all-contexts", "--cluster-timeout", "0")

    assert result.exit_code == Exit.CLEAN, result.stderr


async def test_if_no_cluster_answers_nothing_was_read() -> None:
    async with fleet_of() as fleet:
        fleet.add("down", {"server": NOWHERE})
        codes = [
            (await fleet.run(command, "--all-contexts", "-o", "json")).exit_code
            for command in ("status", "survey", "report")
        ]

    assert codes == [Exit.UNREADABLE] * 3


@pytest.mark.parametrize("command", ["status", "survey"])
async def test_a_definition_is_missed_only_if_no_cluster_has_it(command: str) -> None:
    other = "gadgets.example.com"
    async with fleet_of("a") as fleet, fleet_of("b", manifest=OTHER) as second:
        fleet.add("b", second.servers["b"])
        found = await fleet.run(command, other, "--all-contexts", "-o", "json")
        missed = await fleet.run(command, "nothing.example.com", "--all-contexts")

    assert found.exit_code == Exit.CLEAN
    assert [one["cluster"] for one in json.loads(found.stdout)["items"]] == ["b"]
    assert missed.exit_code == Exit.UNREADABLE
    assert "exists in any of the clusters" in missed.stderr


OTHER = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com, labels: {espalier.dev/mode: observe}}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget, listKind: GadgetList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}
"""


async def test_reports_of_clusters_and_of_files_are_merged(tmp_path: Path) -> None:
    async with fleet_of("a", manifest=OTHER) as fleet, fleet_of("b", manifest=OTHER) as second:
        fleet.add("b", second.servers["b"])
        fleet.add("down", {"server": NOWHERE})
        for name in ("a", "b"):
            one = await fleet.run("report", "--context", name, "-o", "json")
            (tmp_path / f"{name}.json").write_text(one.stdout)
        asked = await fleet.run("report", "--all-contexts", "-o", "json")
        page = await fleet.run("report", "--contexts", "a,b")
    (tmp_path / "asked.json").write_text(asked.stdout)
    (tmp_path / "bad.json").write_text("{}")
    paths = {name: str(tmp_path / f"{name}.json") for name in ("a", "b", "asked", "bad", "none")}
    merged = await fleet.run("report", paths["a"], paths["b"], "-o", "json")
    again = await fleet.run("report", paths["asked"], "-o", "markdown")
    partly = await fleet.run("report", *paths.values(), "-o", "json")

    assert asked.exit_code == Exit.INCOMPLETE
    assert page.exit_code == merged.exit_code == Exit.CLEAN
    for result in (asked, merged):
        found = json.loads(result.stdout)["definitions"]
        assert [(one["cluster"], one["name"]) for one in found] == [
            ("a", "gadgets.example.com"),
            ("b", "gadgets.example.com"),
        ]
    assert [one["cluster"] for one in json.loads(asked.stdout)["clusters"]] == ["a", "b", "down"]
    assert page.stdout.count('<p class="cluster">a</p>') == 1
    # A merged report can be merged again, and still names the cluster that was down.
    assert again.exit_code == Exit.INCOMPLETE
    assert "| down |" in again.stdout
    assert partly.exit_code == Exit.INCOMPLETE
    assert partly.stderr.count("\n") == 2
    assert "not a report of Espalier" in partly.stderr
