"""
``espalier survey`` and ``espalier plan`` against a server: counts, paths, names, no values.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from espalier.cli.output.exit_codes import Exit
from espalier.cli.output.formats import ALL
from tests.cli.clusters import NAME, site, widget
from tests.cli.golden import check_golden
from tests.cli.manifests import NOT_STRUCTURAL, WIDGETS, items_in

OBJECTS = [
    widget("a", "{mode: secret, size: 5}"),
    widget("b", "{mode: secret, size: 12}"),
    widget("c", "{size: 5, open: {x: 1}}"),
]
# Without mode and open, with another bound and a default.
CANDIDATE = (
    WIDGETS.partition("                mode:")[0].replace(
        "minimum: 1, default: 3", "minimum: 6, default: 9"
    )
    + "                shape: {type: string, default: round}\n"
)


@pytest.fixture
def candidate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "new.yaml").write_text(CANDIDATE)
    return "new.yaml"


@pytest.mark.parametrize("name", ALL)
async def test_each_format_of_a_plan_is_as_it_was_looked_at(candidate: str, name: str) -> None:
    async with site(WIDGETS, OBJECTS) as cluster:
        result = await cluster.run("plan", "-f", candidate, "-o", name)

    check_golden(f"plan.{name}.txt", result.stdout)
    assert result.exit_code == Exit.FINDINGS
    assert "secret" not in result.output


async def test_a_plan_is_of_the_published_shape_and_writes_nothing(candidate: str) -> None:
    async with site(WIDGETS, OBJECTS) as cluster:
        before = len(cluster.sandbox.log)
        result = await cluster.run("plan", "-f", candidate, "-o", "json")
        calls = {request.method for request in cluster.sandbox.log[before:]}

    (item,) = items_in(result.stdout)
    assert {path["path"]: path["objects"] for path in item["removed"]["paths"]} == {
        "spec.mode": 2,
        "spec.open": 1,
    }
    assert [path["path"] for path in item["filled"]["paths"]] == ["spec.shape"]
    assert item["violations"]["objects"] == 2
    assert calls == {"GET"}


async def test_what_is_so_today_is_no_news(tmp_path: Path) -> None:
    file = tmp_path / "same.yaml"
    file.write_text(WIDGETS)
    async with site(WIDGETS, OBJECTS) as cluster:
        await cluster.change(minimum(10))
        invalid = await cluster.run("survey", NAME)
        file.write_text(WIDGETS.replace("minimum: 1, default: 3", "minimum: 10, default: 12"))
        result = await cluster.run("plan", "-f", str(file))

    assert invalid.exit_code == Exit.FINDINGS
    assert "nothing would be lost, and nothing would become invalid" in result.stdout
    assert result.exit_code == Exit.CLEAN


async def test_a_survey_of_objects_in_order_is_clean() -> None:
    async with site(WIDGETS, OBJECTS) as cluster:
        result = await cluster.run("survey")

    check_golden("survey.clean.txt", result.stdout)
    assert result.exit_code == Exit.CLEAN


@pytest.mark.parametrize("name", ALL)
async def test_a_survey_reports_what_is_wrong(name: str) -> None:
    async with site(WIDGETS, OBJECTS) as cluster:
        await cluster.change(minimum(10))
        result = await cluster.run("survey", NAME, "-o", name)

    check_golden(f"survey.{name}.txt", result.stdout)
    assert result.exit_code == Exit.FINDINGS


async def test_a_survey_may_be_of_one_namespace() -> None:
    async with site(WIDGETS, OBJECTS) as cluster:
        result = await cluster.run("survey", NAME, "-n", "kube-system", "-o", "json")

    (item,) = items_in(result.stdout)
    assert item["objects"] == 0


async def test_one_definition_that_cannot_be_read_hides_no_other() -> None:
    async with site(WIDGETS, OBJECTS) as cluster:
        result = await cluster.run("survey", "none.example.com", NAME)

    assert "espalier: none.example.com: the definition does not exist" in result.stderr
    assert "1 definition, 3 stored objects" in result.stdout
    assert result.exit_code == Exit.UNREADABLE


async def test_a_candidate_that_is_none_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text("kind: Pod\n")
    bad = tmp_path / "bad.yaml"
    bad.write_text(NOT_STRUCTURAL.replace("group: example.com", "group: [a]"))
    async with site(WIDGETS) as cluster:
        none = await cluster.run("plan", "-f", str(file))
        malformed = await cluster.run("plan", "-f", str(bad))

    assert none.stderr == f"espalier: {file}: no CustomResourceDefinition in it\n"
    assert malformed.stderr == f"espalier: {bad}:6: spec.group: must be a string\n"
    assert none.exit_code == malformed.exit_code == Exit.UNREADABLE


async def test_one_namespace_and_all_are_a_contradiction() -> None:
    async with site(WIDGETS) as cluster:
        assert (await cluster.run("survey", "-A", "-n", "x")).exit_code == Exit.USAGE


def minimum(number: int) -> dict[str, Any]:
    manifest = yaml.safe_load(
        WIDGETS.replace("minimum: 1, default: 3", f"minimum: {number}, default: 12")
    )
    return {"spec": {"versions": manifest["spec"]["versions"]}}


SLOW = """
                sizes: {type: array, items: {type: integer, not: {enum: [5]}}}
"""


async def test_an_object_that_takes_too_long_is_named_in_each_format() -> None:
    slow = widget("slow", f"{{mode: plain, size: 5, sizes: [{','.join('1' * 100_000)}]}}")
    arguments = ("survey", NAME, "--object-deadline-seconds", "0.2", "-o")
    async with site(WIDGETS.rstrip() + SLOW, [*OBJECTS, slow]) as cluster:
        results = {name: await cluster.run(*arguments, name) for name in ALL}

    assert {name: result.exit_code for name, result in results.items()} == dict.fromkeys(
        ALL, Exit.INCOMPLETE
    )
    for name, result in results.items():
        text = " ".join(result.output.split())
        assert "it takes longer than 0.2 s" in text, name
        assert "slow" in text, name
    assert json.loads(results["json"].stdout)["complete"] is False
