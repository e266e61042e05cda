"""
What the tutorial shows is what happens.
"""

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from espalier.cli import main
from tests.docs.reading import ROOT, Session, sessions

SESSIONS = sessions(ROOT / "docs" / "tutorial" / "first-steps.md")


@pytest.mark.parametrize("shown", SESSIONS, ids=lambda shown: shown.command)
def test_a_command_gives_the_output_shown(shown: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)

    result = CliRunner().invoke(main, shlex.split(shown.command)[1:])

    assert result.stdout == shown.output


def test_the_tutorial_uses_every_example() -> None:
    pages = (ROOT / "docs" / "tutorial").glob("*.md")
    shown = [one.command for page in pages for one in sessions(page)]
    used = {word for command in shown for word in shlex.split(command)}
    examples = sorted((ROOT / "docs" / "examples").rglob("*.yaml"))

    assert [path for path in examples if str(path.relative_to(Path(ROOT))) not in used] == []
