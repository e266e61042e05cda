"""
``espalier prune``, ``default`` and ``normalize``: results, differences, files that are written.
"""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from espalier.cli import main
from espalier.cli.input.files import read_documents
from espalier.cli.output.exit_codes import Exit
from tests.cli.golden import check_golden
from tests.cli.manifests import NOT_STRUCTURAL, OBJECTS, WIDGETS


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "crd.yaml").write_text(WIDGETS)
    (tmp_path / "other.yaml").write_text(NOT_STRUCTURAL)
    (tmp_path / "objects.yaml").write_text(OBJECTS)
    return tmp_path


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, arguments, input=stdin)


@pytest.mark.parametrize("command", ["prune", "default", "normalize"])
@pytest.mark.parametrize("profile", ["kep", "apiserver"])
@pytest.mark.parametrize("how", [["-o", "yaml"], ["-o", "json"], ["--diff"]], ids=" ".join)
@pytest.mark.usefixtures("folder")
def test_each_command_is_as_it_was_looked_at(command: str, profile: str, how: list[str]) -> None:
    result = run(command, "--crd", "crd.yaml", "--profile", profile, *how, "objects.yaml")

    check_golden(
        f"{command}.{profile}.{how[-1].lstrip('-')}.txt",
        f"{result.stdout}--- standard error\n{result.stderr}",
    )
    assert result.exit_code == (Exit.FINDINGS if how == ["--diff"] else Exit.CLEAN)


@pytest.mark.usefixtures("folder")
def test_what_is_left_alone_is_reported_and_may_fail() -> None:
    result = run("prune", "--crd", "crd.yaml", "--fail-on", "warning", "objects.yaml")

    assert "warning: Deployment d: no schema for it, so it stays as it is\n" in result.stderr
    assert "Widget other: no schema for it, so it stays as it is; its kind has only v1" in (
        result.stderr
    )
    assert result.exit_code == Exit.FINDINGS


def test_files_are_written_after_a_yes_and_lists_stay_lists(folder: Path) -> None:
    file = folder / "objects.yaml"
    file.chmod(0o640)
    link = folder / "link.yaml"
    link.symlink_to(file)

    result = run("prune", "--crd", "crd.yaml", "--in-place", "--yes", "link.yaml")

    assert result.stdout == ""
    assert result.exit_code == Exit.CLEAN
    text = file.read_text()
    assert link.is_symlink()
    assert "colour" not in text
    assert "kind: List" in text
    assert len(list(read_documents(str(file)))) == 3
    assert file.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in folder.iterdir()) == [
        "crd.yaml", "link.yaml", "objects.yaml", "other.yaml",
    ]  # fmt: skip


def test_nothing_is_written_without_a_yes(folder: Path) -> None:
    command = ["prune", "--crd", "crd.yaml", "--profile", "kep", "--in-place"]
    result = run(*command, "objects.yaml")

    assert (folder / "objects.yaml").read_text() == OBJECTS
    assert "1 file to write: objects.yaml\nespalier: cannot ask" in result.stderr
    assert result.stderr.endswith(
        "espalier: cannot ask for confirmation without a terminal; nothing was done; use --yes\n"
    )
    assert result.exit_code == Exit.INCOMPLETE


def test_only_the_lines_of_what_changes_are_written(folder: Path) -> None:
    text = (
        "# head\napiVersion: example.com/v1  # group\nkind:   'Widget'\nmetadata: {name: a}\n"
        'spec:\n    # about mode\n    mode: "fast"\n    colour: red\n---\n# nothing\n'
    )
    (folder / "commented.yaml").write_text(text)

    result = run("normalize", "--crd", "crd.yaml", "--in-place", "--yes", "commented.yaml")

    expected = text.replace("    colour: red\n", "    size: 3\n")
    assert (folder / "commented.yaml").read_text() == expected
    assert "1 file to write: commented.yaml\n" in result.stderr


def test_comments_are_lost_only_with_a_notice(folder: Path) -> None:
    text = "apiVersion: &v example.com/v1\nkind: Widget\nmetadata: {name: a, labels: {v: *v}}\n"
    merged = "spec:\n  open: &x {a: 1}\n  <<: *x\n"
    (folder / "anchors.yaml").write_text(text + merged)

    result = run("prune", "--crd", "crd.yaml", "--in-place", "--yes", "anchors.yaml")

    assert "YAML comments and layout will be lost in anchors.yaml\n" in result.stderr
    (document,) = read_documents(str(folder / "anchors.yaml"))
    assert isinstance(document.value, dict)
    assert document.value["spec"] == {"open": {"a": 1}}


def test_a_file_that_is_right_is_not_touched(folder: Path) -> None:
    text = "# kept\napiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\n"
    (folder / "right.yaml").write_text(text)

    result = run("normalize", "--crd", "crd.yaml", "--in-place", "--yes", "right.yaml")

    assert (folder / "right.yaml").read_text() == text
    assert result.stderr == "no file changes\n"
    assert result.exit_code == Exit.CLEAN


def test_json_stays_json(folder: Path) -> None:
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "x": 1}
    listed = {"apiVersion": "example.com/v1", "kind": "WidgetList", "items": [{"metadata": {}}]}
    file = folder / "widget.json"
    file.write_text(json.dumps(widget))

    run("prune", "--crd", "crd.yaml", "--in-place", "--yes", "widget.json")
    result = run("prune", "--crd", "crd.yaml", "-o", "json", "-", stdin=json.dumps(listed))

    assert json.loads(file.read_text()) == {k: v for k, v in widget.items() if k != "x"}
    assert json.loads(result.stdout) == listed


@pytest.mark.usefixtures("folder")
def test_what_cannot_be_decoded_stays_and_fails() -> None:
    text = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: 7}\n"

    result = run("normalize", "--crd", "crd.yaml", "--profile", "apiserver", "-", stdin=text)

    assert "-:1:1: error: Widget without a name: " in result.stderr
    assert "name: 7" in result.stdout
    assert result.exit_code == Exit.FINDINGS


def test_a_schema_that_is_not_structural_prunes_nothing(folder: Path) -> None:
    (folder / "bad.yaml").write_text(NOT_STRUCTURAL)

    result = run("prune", "--crd", "bad.yaml", "objects.yaml")

    assert "not structural (2 findings): see espalier check" in result.stderr
    assert "colour: red" in result.stdout
    assert result.exit_code == Exit.FINDINGS


UNREADABLE = [
    (["--crd", "no.yaml", "objects.yaml"], "no.yaml: cannot be read"),
    (["--crd", "objects.yaml", "objects.yaml"], "objects.yaml: no CustomResourceDefinition in it"),
    (["--crd", "crd.yaml", "no.yaml"], "no.yaml: cannot be read"),
    (
        ["--crd", "crd.yaml", "--crd", "other.yaml", "objects.yaml"],
        "other.yaml:1: widgets.example.com is already defined in crd.yaml:1",
    ),
]


@pytest.mark.parametrize(("arguments", "line"), UNREADABLE, ids=lambda value: str(value)[:40])
@pytest.mark.usefixtures("folder")
def test_what_cannot_be_read_is_one_line_and_no_result(arguments: list[str], line: str) -> None:
    result = run("prune", *arguments, "-q")

    assert result.stderr.startswith(f"espalier: {line}")
    assert result.stdout == ""
    assert result.exit_code == Exit.UNREADABLE


@pytest.mark.parametrize(
    "arguments",
    [
        ["--crd", "-", "-"],
        ["--crd", "crd.yaml", "--in-place", "-"],
        ["--crd", "crd.yaml", "--in-place", "--diff", "objects.yaml"],
        ["objects.yaml"],
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("folder")
def test_senseless_command_lines_are_usage_errors(arguments: list[str]) -> None:
    assert run("prune", *arguments).exit_code == Exit.USAGE


@pytest.mark.parametrize("command", ["prune", "default", "normalize"])
def test_what_api_servers_do_is_done_if_no_profile_is_named(command: str) -> None:
    named = run(command, "--crd", "crd.yaml", "--profile", "apiserver", "objects.yaml")

    assert run(command, "--crd", "crd.yaml", "objects.yaml").output == named.output
