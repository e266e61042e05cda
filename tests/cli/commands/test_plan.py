"""
``espalier plan``: the API server's answer to the update comes first, then the objects.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from espalier.cli.output.exit_codes import Exit
from espalier.cli.output.formats import ALL
from tests import cases
from tests.cases import only_document
from tests.cli.clusters import NAME, Site, site, widget
from tests.cli.manifests import STRUCTURAL, WIDGETS, document_in, items_in

RULE_OF_NOTHING = WIDGETS.replace(
    "type: integer, minimum: 1, default: 3",
    'type: integer, x-kubernetes-validations: [{rule: "self.foo"}]',
)


def plans() -> list[Any]:
    found = []
    for case in sorted(cases.DEFAULT_FOLDER.iterdir()):
        listed = only_document(case / "expect.yaml").get("plans", [])
        assert isinstance(listed, list)
        for one in listed:
            assert isinstance(one, dict)
            found.append(pytest.param(case, one, id=f"{case.name}/{one['new']}"))
    return found


async def stage(cluster: Site, case: Path, one: dict[str, Any]) -> None:
    """
    Create the first definition and the objects, and make the further steps.
    """
    first, *further = [only_document(case / name) for name in one["steps"]]
    definition = await cluster.define(first)
    for text in yaml.safe_load_all((case / one["objects"]).read_text()):
        if text:
            path = f"/apis/{text['apiVersion']}/namespaces/default/{definition.plural}"
            await cluster.stage.create(path, text)
    for step in further:
        await cluster.change({"spec": step["spec"]}, definition.name)


@pytest.mark.parametrize(("case", "one"), plans())
async def test_a_plan_judges_the_update_as_the_server_does(case: Path, one: dict[str, Any]) -> None:
    async with site() as cluster:
        await stage(cluster, case, one)
        result = await cluster.run("plan", "-f", str(case / one["new"]), "-o", "json")

    document = document_in(result.stdout)
    refusals = [
        str(found["message"]).removeprefix("the API server refuses to update it: ")
        for found in document["findings"]  # type: ignore[union-attr]
        if isinstance(found, dict) and str(found["rule"]).startswith("update/")
    ]
    (item,) = items_in(result.stdout)
    assert len(refusals) == len(one["refused"])
    assert all(map(str.startswith, refusals, one["refused"])), refusals
    assert item["verdict"]["accepted"] is not bool(one["refused"])
    assert item["removed"]["objects"] == 0
    assert item["violations"]["objects"] == one.get("violations", 0)
    if "notJudged" in one:
        assert item["notJudged"] == one["notJudged"]
    assert result.exit_code == one["exit"]


@pytest.mark.parametrize("name", ALL)
async def test_each_format_has_the_servers_message(tmp_path: Path, name: str) -> None:
    file = tmp_path / "new.yaml"
    file.write_text(RULE_OF_NOTHING)
    async with site(WIDGETS, [widget("a")]) as cluster:
        result = await cluster.run("plan", "-f", str(file), "-o", name)

    assert "the API server refuses to update it" in result.stdout
    assert "compilation failed" in result.stdout
    assert "nothing would be lost" not in result.output
    assert result.exit_code == Exit.FINDINGS


async def test_a_definition_that_the_cluster_lacks_is_no_success(tmp_path: Path) -> None:
    file = tmp_path / "new.yaml"
    file.write_text(WIDGETS)
    async with site() as cluster:
        failed = await cluster.run("plan", "-f", str(file))
        passed = await cluster.run("plan", "-f", str(file), "--if-absent=ok")

    assert f"espalier: {NAME}: the cluster has no such definition" in failed.stderr
    assert "nothing would be lost" not in failed.output
    assert failed.exit_code == Exit.UNREADABLE
    assert "1 definition checked as new" in passed.stdout
    assert passed.exit_code == Exit.CLEAN


async def test_a_new_definition_is_checked_as_the_server_does(tmp_path: Path) -> None:
    file = tmp_path / "new.yaml"
    file.write_text(RULE_OF_NOTHING)
    async with site() as cluster:
        result = await cluster.run("plan", "-f", str(file), "--if-absent=ok", "-o", "json")

    (item,) = items_in(result.stdout)
    assert item["verdict"] == {"act": "create", "accepted": False, "reasons": 1}
    assert result.exit_code == Exit.FINDINGS


async def test_names_that_are_in_use_are_findings(tmp_path: Path) -> None:
    file = tmp_path / "new.yaml"
    other = STRUCTURAL.replace("widgets", "gadgets").replace("Widget}", "Widget, shortNames: [wd]}")
    file.write_text(other)
    async with site(WIDGETS) as cluster:
        result = await cluster.run("plan", "-f", str(file), "--if-absent=ok")

    assert 'KindConflict: "Widget" is already in use' in result.stdout
    assert 'ListKindConflict: "WidgetList" is already in use' in result.stdout
    assert "1 definition with names that are in use" in result.stdout
    assert result.exit_code == Exit.FINDINGS


async def test_a_definition_keeps_its_own_names(tmp_path: Path) -> None:
    file = tmp_path / "new.yaml"
    file.write_text(WIDGETS.replace("kind: Widget}", "kind: Widget, shortNames: [wd, widgets]}"))
    async with site(WIDGETS) as cluster:
        result = await cluster.run("plan", "-f", str(file))

    # As a kube-apiserver: a plural that was accepted cannot become a short name, too.
    assert 'ShortNamesConflict: "widgets" is already in use' in result.stdout
    assert result.exit_code == Exit.FINDINGS


async def test_a_dropped_stored_version_hides_no_object(tmp_path: Path) -> None:
    file = tmp_path / "new.yaml"
    file.write_text(WIDGETS.replace("name: v1\n", "name: v2\n").replace("mode:", "kind:"))
    async with site(WIDGETS, [widget("a", "{mode: fast}")]) as cluster:
        result = await cluster.run("plan", "-f", str(file))

    assert "missing from spec.versions" in result.stdout
    assert "spec.mode: field that is lost (1 object: default/a)" in result.stdout
    assert result.exit_code == Exit.FINDINGS


async def test_a_plan_names_the_rule_and_why_it_fails() -> None:
    case = cases.DEFAULT_FOLDER / "01-rule-on-absent-optional"
    one = {"steps": ["crd.yaml"], "objects": "object.yaml"}
    async with site() as cluster:
        await stage(cluster, case, one)
        result = await cluster.run("plan", "-f", str(case / "crd-new.yaml"), "-o", "json")

    (item,) = items_in(result.stdout)
    rule = "rule 1 of spec.stores[*]: \"self.vendor != 'acme' || size(self.zone) > 0\""
    assert {path["path"]: path["objects"] for path in item["unwritable"]["paths"]} == {
        f"spec.stores[*]: Invalid value: {rule}: no such key: vendor": 1,
        f"spec.stores[*]: Invalid value: {rule}: no such key: zone": 1,
    }
    assert result.exit_code == Exit.FINDINGS
