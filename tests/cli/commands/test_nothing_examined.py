"""
No command is green where it looked at nothing.
"""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from espalier.cli import main
from espalier.cli.output.exit_codes import Exit
from tests.cli.clusters import NAME, site, widget
from tests.cli.manifests import STRUCTURAL, WIDGETS, document_in, items_in

GOOD = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: good}\n"
FOREIGN = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "crd.yaml").write_text(WIDGETS)
    (tmp_path / "empty.yaml").write_text("")
    (tmp_path / "good.yaml").write_text(GOOD)
    (tmp_path / "foreign.yaml").write_text(FOREIGN)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments])


async def test_a_namespace_is_read_as_kubectl_reads_it() -> None:
    async with site(WIDGETS, [widget("a")]) as cluster:
        result = await cluster.run("survey", NAME, "-n=default", "-o", "json")

    (item,) = items_in(result.stdout)
    assert item["objects"] == 1
    assert result.exit_code == Exit.CLEAN


@pytest.mark.parametrize("name", ["=", "a b", "-x", "A", "a/b", ""])
def test_what_is_no_name_of_a_namespace_is_refused(name: str) -> None:
    result = run("survey", "-n", name)

    assert "is no name of a namespace" in result.output
    assert result.exit_code == Exit.USAGE


async def test_a_namespace_that_does_not_exist_is_no_success(folder: Path) -> None:
    plan = ("plan", "-f", str(folder / "crd.yaml"))
    async with site(WIDGETS, [widget("a")]) as cluster:
        for command in (("survey", NAME), plan):
            failed = await cluster.run(*command, "-n", "defualt")
            allowed = await cluster.run(*command, "-n", "defualt", "--allow-missing")
            assert "defualt: there is no namespace defualt" in failed.stderr
            assert "nothing was examined" in failed.stdout
            assert failed.exit_code == Exit.UNREADABLE
            assert "there is no namespace defualt" in allowed.stdout
            assert allowed.exit_code == Exit.CLEAN


async def test_a_namespace_that_may_not_be_read_is_a_warning() -> None:
    async with site(WIDGETS, [widget("a")]) as cluster:
        cluster.sandbox.faults.deny("get", "", "namespaces")
        result = await cluster.run("survey", NAME, "-n", "default")

    assert "whether the namespace default exists is not known" in result.stdout
    assert result.exit_code == Exit.CLEAN


async def test_a_cluster_without_definitions_is_no_proof() -> None:
    async with site() as cluster:
        result = await cluster.run("survey")

    assert "nothing was examined" in result.stdout
    assert "nothing is lost" not in result.stdout


def test_a_definition_without_an_older_one_is_no_update(folder: Path) -> None:
    old = STRUCTURAL.replace("widgets", "gadgets").replace("Widget", "Gadget")
    (folder / "old.yaml").write_text(old)
    failed = run("check", "--update-of", "old.yaml", "crd.yaml")
    allowed = run("check", "--update-of", "old.yaml", "--allow-new", "crd.yaml")

    assert f"there is no older {NAME} to update" in failed.output
    assert failed.exit_code == Exit.UNREADABLE
    assert allowed.exit_code == Exit.CLEAN


def test_a_definition_without_an_older_one_is_annotated_where_it_begins(folder: Path) -> None:
    (folder / "empty.yaml").write_text(STRUCTURAL.replace(NAME, "a.b"))
    failed = run("check", "-o", "github", "--update-of", "empty.yaml", "crd.yaml")

    assert f"::error file=crd.yaml,line=1::there is no older {NAME}" in failed.stdout


def test_an_object_without_an_older_one_is_no_update(folder: Path) -> None:
    (folder / "other.yaml").write_text(GOOD.replace("good", "other"))
    command = ("validate", "--crd", "crd.yaml", "--update-of", "other.yaml", "good.yaml")
    failed, allowed = run(*command), run(*command, "--allow-unchecked")

    assert "there is no such object to update" in failed.output
    assert failed.exit_code == Exit.INCOMPLETE
    assert allowed.exit_code == Exit.CLEAN


@pytest.mark.parametrize("named", ["empty.yaml", "crd.yaml"])
def test_a_file_without_objects_is_not_valid(folder: Path, named: str) -> None:
    del folder
    failed = run("validate", "--crd", "crd.yaml", named, "good.yaml", "-o", "json")
    allowed = run("validate", "--crd", "crd.yaml", named, "good.yaml", "--allow-unchecked")

    document = document_in(failed.stdout)
    assert document["skipped"] == [
        {"source": named, "reason": "no object in it, so nothing of it was validated"}
    ]
    assert document["complete"] is False
    assert failed.exit_code == Exit.INCOMPLETE
    assert "1 source without an object" in allowed.stdout
    assert allowed.exit_code == Exit.CLEAN


def test_an_object_without_a_schema_is_skipped_in_junit(folder: Path) -> None:
    del folder
    result = run("validate", "--crd", "crd.yaml", "foreign.yaml", "good.yaml", "-o", "junit")

    (suites,) = re.findall(r"<testsuites [^>]*>", result.stdout)
    assert suites.endswith('tests="2" failures="0" errors="0" skipped="1">')


async def test_the_same_definition_twice_is_one(folder: Path) -> None:
    (folder / "again.yaml").write_text(WIDGETS)
    (folder / "other.yaml").write_text(WIDGETS.replace("minimum: 1", "minimum: 2"))
    once = run("validate", "--crd", "crd.yaml", "--crd", "again.yaml", "good.yaml")
    twice = run("validate", "--crd", "crd.yaml", "--crd", "other.yaml", "good.yaml")
    async with site(WIDGETS) as cluster:
        planned = await cluster.run("plan", "-f", "crd.yaml", "-f", "again.yaml")
        contrary = await cluster.run("plan", "-f", "crd.yaml", "-f", "other.yaml")

    assert once.exit_code == Exit.CLEAN, once.output
    assert f"{NAME} is already defined in crd.yaml" in twice.output
    assert twice.exit_code == Exit.UNREADABLE
    assert planned.stdout.startswith("DEFINITION") or "1 definition," in planned.stdout
    assert planned.exit_code == Exit.CLEAN
    assert "is already defined, otherwise, in crd.yaml" in contrary.stderr
    assert contrary.exit_code == Exit.UNREADABLE
