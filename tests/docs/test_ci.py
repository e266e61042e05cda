"""
The README, the Makefile and ``.ci/run`` name the same commands.
"""

import os
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.docs.reading import README, ROOT
from tests.docs.test_reference import TARGETS
from tests.patience import PACE

FIRST_SCREEN_LINES = 45
CLOSING_LINE = "8947 passed in 150.00s (0:02:30)"
# Stands in for make: it records what it is called with, and prints what pytest prints last.
RECORDER = f"""\
#!/bin/sh
echo "$*" >> "$CALLS"
echo "{CLOSING_LINE}"
test "$*" != "$FAILING"
"""


class Run(NamedTuple):
    code: int
    output: str
    calls: list[str]


def run_ci(folder: Path, *, failing: str = "") -> Run:
    """
    Run ``.ci/run`` with a recorder in make's place.
    """
    recorder, calls = folder / "make", folder / "calls"
    recorder.write_text(RECORDER)
    recorder.chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    result = subprocess.run(
        [ROOT / ".ci" / "run"],
        env=os.environ | {"PATH": path, "CALLS": str(calls), "FAILING": failing},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=PACE.scaled(20),
    )
    return Run(result.returncode, result.stdout + result.stderr, calls.read_text().splitlines())


def test_ci_runs_all_tests_and_prints_what_they_print(tmp_path: Path) -> None:
    run = run_ci(tmp_path)

    assert run.calls == ["test", "e2e"]
    assert set(run.calls) <= set(TARGETS)
    assert run.output.splitlines().count(CLOSING_LINE) == len(run.calls)
    assert run.code == 0


@pytest.mark.parametrize("target", ["test", "e2e"])
def test_ci_runs_the_other_tests_too_if_some_fail(tmp_path: Path, target: str) -> None:
    run = run_ci(tmp_path, failing=target)

    assert run.calls == ["test", "e2e"]
    assert f"FAILED: make {target}" in run.output
    assert run.code == 1


@pytest.mark.parametrize("command", ["make demo", "make test"])
def test_the_first_screen_of_the_readme_shows(command: str) -> None:
    lines = README.read_text(encoding="utf-8").splitlines()[:FIRST_SCREEN_LINES]
    block = re.compile(rf"^```console\n\$ {command}$", re.MULTILINE)

    assert block.search("\n".join(lines))
    assert command.removeprefix("make ") in TARGETS


def test_e2e_looks_for_its_tests_wherever_they_are() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (folders,) = re.findall(r"^E2E := (.*)$", makefile, re.MULTILINE)
    marked = {
        path.relative_to(ROOT)
        for path in (ROOT / "tests").rglob("*.py")
        if re.search(r"mark\.e2e\b", path.read_text(encoding="utf-8"))
    }

    assert marked
    for path in marked:
        assert any(path.is_relative_to(folder) for folder in folders.split()), path
