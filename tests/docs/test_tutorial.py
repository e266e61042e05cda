"""
What the tutorial shows is what happens.
"""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.reading import ROOT, Session, sessions
from tests.patience import PACE

SESSIONS = sessions(ROOT / "docs" / "tutorial" / "first-steps.md")


@pytest.mark.parametrize("shown", SESSIONS, ids=lambda shown: shown.command)
def test_a_command_gives_the_output_shown(shown: Session) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(shown.command)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=PACE.scaled(60),
    )

    # On a terminal, a reader sees both streams.
    assert done.stdout == shown.output


def test_the_tutorial_uses_every_example() -> None:
    pages = (ROOT / "docs" / "tutorial").glob("*.md")
    shown = [one.command for page in pages for one in sessions(page)]
    used = {word for command in shown for word in shlex.split(command)}
    examples = sorted((ROOT / "docs" / "examples").rglob("*.yaml"))

    assert [path for path in examples if str(path.relative_to(Path(ROOT))) not in used] == []
