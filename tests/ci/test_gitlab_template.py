"""
The script of the template for GitLab, run as a runner runs it: its lines, one after another.
"""

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from junitparser import Error, Failure, JUnitXml

from tests.ci.repositories import NARROWED, WIDGET, WIDGETS, checked_out, environment
from tests.cli.manifests import NOT_STRUCTURAL
from tests.docs.reading import ROOT, blocks
from tests.patience import PACE

PATH = ROOT / "ci" / "gitlab" / "espalier.gitlab-ci.yml"
JOB: dict[str, Any] = yaml.safe_load(PATH.read_text(encoding="utf-8"))["espalier"]
PAGE = ROOT / "docs" / "how-to" / "gitlab.md"
BASH = shutil.which("bash") or "bash"
CRD = "config/crd/widgets.yaml"


def run(checkout: Path, **variables: str) -> tuple[int, str]:
    """
    Run the script without the lines that install, and return its exit code and its output.
    """
    work = checkout.parent / "work"
    work.mkdir(exist_ok=True)
    lines = ["set -eo pipefail", f"work={shlex.quote(str(work))}", *JOB["script"]]
    done = subprocess.run(
        [BASH, "-c", "\n".join(lines)],
        cwd=checkout,
        env=environment(**(JOB["variables"] | variables)),
        capture_output=True,
        text=True,
        check=False,
        timeout=PACE.scaled(60),
    )
    return done.returncode, done.stdout + done.stderr


def reports(checkout: Path) -> dict[str, list[str]]:
    """
    Return the kinds of failures in each report that the job declares.
    """
    found = {}
    for path in checkout.glob(JOB["artifacts"]["reports"]["junit"]):
        cases = [case for suite in JUnitXml.fromfile(str(path)) for case in suite]
        results = [one for case in cases for one in case.result]
        found[path.stem] = [one.type for one in results if isinstance(one, Failure | Error)]
    return found


def test_what_is_clean_passes(tmp_path: Path) -> None:
    checkout = checked_out(tmp_path, base={CRD: WIDGETS}, change={"a.yaml": WIDGET})
    target = {"CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main"}
    code, output = run(checkout, ESPALIER_OBJECTS="a.yaml", **target)

    assert code == 0, output
    assert reports(checkout) == {"check": [], "update": [], "validate": []}


def test_a_merge_request_that_narrows_a_schema_fails(tmp_path: Path) -> None:
    checkout = checked_out(tmp_path, base={CRD: WIDGETS}, change={CRD: NARROWED})
    code, output = run(checkout, CI_MERGE_REQUEST_TARGET_BRANCH_NAME="main")

    assert code == 1, output
    assert reports(checkout) == {"check": [], "update": ["change/bound-narrowed"]}
    assert f"{CRD}:20:51: error" in output


def test_on_the_default_branch_nothing_is_compared(tmp_path: Path) -> None:
    change = {CRD: NOT_STRUCTURAL, "a.yaml": WIDGET}
    checkout = checked_out(tmp_path, base={CRD: WIDGETS}, change=change)
    code, _ = run(checkout, ESPALIER_OBJECTS="a.yaml")

    assert code == 4
    assert reports(checkout)["check"] == ["structural/type"] * 2
    assert set(reports(checkout)) == {"check", "validate"}


def test_the_first_definition_of_a_repository_is_compared_with_nothing(tmp_path: Path) -> None:
    checkout = checked_out(tmp_path, base={"README": "a"}, change={CRD: WIDGETS})
    code, output = run(checkout, CI_MERGE_REQUEST_TARGET_BRANCH_NAME="main")

    assert code == 0, output
    assert reports(checkout) == {"check": []}


@pytest.mark.parametrize("lines", [JOB["before_script"], JOB["script"]], ids=["before", "script"])
def test_the_script_uses_variables_that_are_declared(lines: list[str]) -> None:
    used = set(re.findall(r"\$\{?(ESPALIER_\w+)", "\n".join(lines)))

    assert used
    assert used <= set(JOB["variables"])


def test_everything_is_installed_by_its_hash() -> None:
    installs = [line for line in JOB["before_script"] if " install " in line]

    assert len(installs) == 2
    assert all("--require-hashes --only-binary=:all:" in line for line in installs)


def test_the_page_sets_variables_that_are_declared() -> None:
    (shown,) = [yaml.safe_load(block) for block in blocks(PAGE, "yaml")]

    assert set(shown["espalier"]["variables"]) <= set(JOB["variables"])
    listed = re.findall(r"^\| `(\w+)` \|", PAGE.read_text("utf-8"), re.MULTILINE)
    assert listed == list(JOB["variables"])
