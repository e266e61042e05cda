"""
``espalier check`` on more than one file: changes, patterns, clusters, several processes.
"""

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from espalier.cli import main
from espalier.cli.checks import batch as judging
from espalier.cli.output.exit_codes import Exit
from espalier.sandbox import Fault
from tests.cli.clusters import NAME, site
from tests.cli.manifests import NOT_STRUCTURAL, STRUCTURAL, WIDGETS, document_in, items_in


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["check", *arguments])


def test_an_update_is_judged_as_one(folder: Path) -> None:
    (folder / "old").mkdir()
    (folder / "old" / "crd.yaml").write_text(STRUCTURAL)
    (folder / "new.yaml").write_text(STRUCTURAL.replace("scope: Namespaced", "scope: Cluster"))

    fresh, update = check("new.yaml"), check("new.yaml", "--update-of", "old")

    assert fresh.exit_code == Exit.CLEAN
    assert update.exit_code == Exit.FINDINGS
    assert (
        "new.yaml:7:3: error: widgets.example.com: the API server refuses to update it: spec.scope:"
        ' Invalid value: "Cluster": field is immutable\n'
    ) in update.stdout


def test_what_replaces_nothing_is_new(folder: Path) -> None:
    (folder / "old.yaml").write_text(STRUCTURAL)
    (folder / "new.yaml").write_text(STRUCTURAL.replace("widget", "gadget"))

    (item,) = items_in(check("new.yaml", "--update-of", "old.yaml", "-o", "json").stdout)

    assert item["verdict"]["act"] == "create"


def test_an_old_file_that_cannot_be_read_is_reported(folder: Path) -> None:
    (folder / "new.yaml").write_text(STRUCTURAL)

    result = check("new.yaml", "--update-of", "old.yaml")

    assert result.stderr == "espalier: old.yaml: cannot be read: No such file or directory\n"
    assert result.exit_code == Exit.UNREADABLE


def test_patterns_stand_for_what_they_match(folder: Path) -> None:
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "crd.yaml").write_text(STRUCTURAL)
    (folder / "a" / "b" / "note.txt").write_text("x")
    (folder / "odd[1].yaml").write_text(STRUCTURAL)

    deep = items_in(check("a/**/*.yaml", "-o", "json").stdout)
    odd = items_in(check("odd[1].yaml", "-o", "json").stdout)
    none = check("a/*.json")

    assert [item["source"] for item in deep] == ["a/b/crd.yaml"]
    assert [item["source"] for item in odd] == ["odd[1].yaml"]
    assert none.stderr == "espalier: a/*.json: the pattern matches no file\n"
    assert none.exit_code == Exit.UNREADABLE


def test_a_template_is_distinguished_from_a_broken_file(folder: Path) -> None:
    (folder / "crd.yaml").write_text("{{- if .Values.crds }}\nkind: X\n")

    assert check("crd.yaml").stderr.endswith("; is it a template? render it first\n")


def test_several_processes_report_what_one_reports(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        text = NOT_STRUCTURAL if number % 2 else STRUCTURAL
        (folder / f"{number}.yaml").write_text(text.replace("widget", f"w{number}-"))
    (folder / "6.yaml").write_text("a: b: c\n")

    alone = check(".", "-o", "json")
    monkeypatch.setattr(judging, "_LEAST_BYTES", 0)
    together = check(".", "-o", "json")

    assert document_in(together.stdout) == document_in(alone.stdout)
    assert together.exit_code == alone.exit_code == Exit.UNREADABLE


async def test_a_cluster_is_checked_by_name_or_whole() -> None:
    gadgets = yaml.safe_load(WIDGETS.replace("widget", "gadget").replace("Widget", "Gadget"))
    async with site(WIDGETS) as cluster:
        await cluster.define(gadgets)
        whole = await cluster.run("check", "--cluster", "-o", "json")
        named = await cluster.run("check", "--cluster", NAME, "-o", "json")
        missing = await cluster.run("check", "--cluster", "none.example.com")

    assert [item["name"] for item in items_in(whole.stdout)] == ["gadgets.example.com", NAME]
    (item,) = items_in(named.stdout)
    assert (item["source"], item["verdict"]) == (
        "",
        {"act": "update", "accepted": True, "reasons": 0},
    )
    assert missing.exit_code == Exit.UNREADABLE


async def test_a_cluster_has_no_old_files() -> None:
    async with site() as cluster:
        result = await cluster.run("check", "--cluster", "--update-of", "x")

    assert result.exit_code == Exit.USAGE


async def test_a_definition_that_goes_meanwhile_is_no_error() -> None:
    gadgets = yaml.safe_load(WIDGETS.replace("widget", "gadget").replace("Widget", "Gadget"))
    async with site(WIDGETS) as cluster:
        await cluster.define(gadgets)
        fault = Fault(method="GET", path="/gadgets.example.com$", status=404, reason="NotFound")
        cluster.sandbox.faults.add(fault)
        result = await cluster.run("check", "--cluster", "-o", "json")

    assert [item["name"] for item in items_in(result.stdout)] == [NAME]
    assert result.exit_code == Exit.CLEAN
