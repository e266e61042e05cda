"""
A repository with a base branch and a change, as a runner of a review checks it out.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.cli.manifests import STRUCTURAL

BIN = Path(sys.executable).parent
"""Where the program is that the scripts call as `espalier`."""

WIDGETS = (
    STRUCTURAL
    + """\
              properties:
                size: {type: integer, minimum: 1}
"""
)
NARROWED = WIDGETS.replace("minimum: 1", "minimum: 1, maximum: 5")
WIDGET = """\
apiVersion: example.com/v1
kind: Widget
metadata: {name: a}
spec: {size: 9}
"""
_ENVIRONMENT = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.com",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.com",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
}


def environment(**more: str) -> dict[str, str]:
    """
    Return the environment of a job, in which `espalier` is the program under test.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT")}
    return kept | _ENVIRONMENT | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"} | more


def git(folder: Path, *arguments: str) -> None:
    """
    Run git in a folder.
    """
    command = ["git", *arguments]
    subprocess.run(command, cwd=folder, env=environment(), check=True, capture_output=True)


def checked_out(
    folder: Path, *, base: Mapping[str, str], change: Mapping[str, str], branch: str = "main"
) -> Path:
    """
    Make a repository with a base branch, and return a shallow clone of a change of it.
    """
    origin, clone = folder / "origin", folder / "checkout"
    origin.mkdir()
    git(origin, "init", "--quiet", f"--initial-branch={branch}")
    _commit(origin, base)
    git(origin, "checkout", "--quiet", "-b", "change")
    _commit(origin, change)
    url = origin.as_uri()
    git(folder, "clone", "--quiet", "--depth=1", "--branch=change", url, str(clone))
    return clone


def _commit(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message=a")
