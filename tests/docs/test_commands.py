"""
The page of all commands is what the program says, and what is shown for builds works.
"""

import shlex
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from espalier.cli import main
from espalier.cli.output.exit_codes import Exit
from tests.cli.manifests import STRUCTURAL, WIDGETS
from tests.docs.commands import PAGE, page
from tests.docs.reading import ROOT, blocks

CI = ROOT / "docs" / "how-to" / "cli-in-ci.md"
WIDGET = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\n"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in {
        "config/crd/widgets.yaml": WIDGETS,
        "config/samples/widget.yaml": WIDGET,
        "released/config/crd/widgets.yaml": STRUCTURAL,
    }.items():
        file = tmp_path / "work" / name if name.startswith("config") else tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


def test_the_page_is_what_the_program_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run make docs"


@pytest.mark.usefixtures("repository")
def test_every_command_shown_for_builds_works() -> None:
    workflow = yaml.safe_load(blocks(CI, "yaml")[0])
    lines = [step["run"] for step in workflow["jobs"]["crds"]["steps"] if "run" in step]
    lines += blocks(CI, "sh")[0].splitlines()
    commands = [line for line in lines if line.startswith("espalier ")]

    assert len(commands) == 3
    for command in commands:
        result = CliRunner().invoke(main, shlex.split(command)[1:])
        assert result.exit_code == Exit.CLEAN, result.output


@pytest.mark.usefixtures("repository")
def test_hooks_run_as_they_are_configured() -> None:
    hooks = {
        one["id"]: one for one in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    }
    (configured,) = yaml.safe_load(blocks(CI, "yaml")[1])["repos"]

    for use in configured["hooks"]:
        entry = shlex.split(hooks[use["id"]]["entry"])
        files = ["config/samples/widget.yaml", "config/crd/widgets.yaml"]
        result = CliRunner().invoke(main, [*entry[1:], *use["args"], *files])
        assert result.exit_code == Exit.CLEAN, result.output
    assert set(hooks) == {use["id"] for use in configured["hooks"]}


@pytest.mark.usefixtures("repository")
def test_the_policy_of_changes_works_as_it_is_shown() -> None:
    Path("changes.yaml").write_text(blocks(CI, "yaml")[2], encoding="utf-8")
    (command,) = blocks(CI, "sh")[-1].splitlines()

    result = CliRunner().invoke(main, shlex.split(command)[1:])

    assert "--change-policy changes.yaml" in command
    assert result.exit_code == Exit.CLEAN, result.output
