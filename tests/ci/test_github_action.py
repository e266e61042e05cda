"""
The steps of the GitHub action, run as GitHub runs them: from its file, in a checkout of a change.
"""

import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.ci.releases import release, wheel
from tests.ci.repositories import NARROWED, WIDGET, WIDGETS, checked_out, environment
from tests.cli.manifests import NOT_STRUCTURAL
from tests.docs.reading import ROOT, blocks
from tests.patience import PACE

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
INSTALL, *REVIEWS, RESULT = STEPS
PAGE = ROOT / "docs" / "how-to" / "github-action.md"
CRD = "config/crd/widgets.yaml"
BAD_WIDGET = WIDGET.replace("9", "0")
_EXPRESSION = re.compile(r"\$\{\{ ([\w.-]+) \}\}")
_CONDITION = re.compile(r"\$\{\{ inputs\.([\w-]+) != '' \}\}")


@dataclass
class Job:
    """
    One job of a runner: the outputs of its steps, its files, and what it printed.
    """

    folder: Path
    inputs: Mapping[str, str]
    temporary: Path
    outputs: dict[str, str] = field(default_factory=dict)
    printed: str = ""

    def run(self, step: Mapping[str, Any]) -> int:
        """
        Run a step if its condition holds, and return its exit code.
        """
        condition = _CONDITION.fullmatch(step.get("if", ""))
        if condition and not self.inputs[condition[1]]:
            return 0
        done = subprocess.run(
            [step["shell"], "-c", step["run"]],
            cwd=self.folder,
            env=environment(**self._files(), **self._environment_of(step)),
            capture_output=True,
            text=True,
            check=False,
            timeout=PACE.scaled(60),
        )
        self.printed += done.stdout + done.stderr
        if "id" in step and self.file("output").exists():
            lines = self.file("output").read_text(encoding="utf-8").splitlines()
            values = dict(line.split("=", 1) for line in lines)
            self.outputs |= {f"steps.{step['id']}.outputs.{key}": values[key] for key in values}
            self.file("output").unlink()
        return done.returncode

    def file(self, name: str) -> Path:
        """
        Return one of the files by which steps speak to the runner.
        """
        return self.temporary / name

    @property
    def annotations(self) -> list[str]:
        """
        What GitHub takes for annotations: outside the parts in which commands are stopped.
        """
        text = re.sub(
            r"^::stop-commands::(\w+)\n.*?^::\1::\n",
            "",
            self.printed,
            flags=re.MULTILINE | re.DOTALL,
        )
        return [line for line in text.splitlines() if line.startswith("::")]

    def _files(self) -> dict[str, str]:
        return {
            "RUNNER_TEMP": str(self.temporary),
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_PATH": str(self.file("path")),
            "GITHUB_OUTPUT": str(self.file("output")),
            "GITHUB_STEP_SUMMARY": str(self.file("summary")),
        }

    def _environment_of(self, step: Mapping[str, Any]) -> dict[str, str]:
        known = {f"inputs.{key}": value for key, value in self.inputs.items()} | self.outputs
        return {
            key: _EXPRESSION.sub(lambda found: known.get(found[1], ""), value)
            for key, value in step["env"].items()
        }


def job(folder: Path, checkout: Path, **inputs: str) -> Job:
    defaults = {
        key: "" if "${{" in (default := one.get("default", "")) else default
        for key, one in ACTION["inputs"].items()
    }
    given = {key.replace("_", "-"): value for key, value in inputs.items()}
    temporary = folder / "temporary"
    temporary.mkdir(exist_ok=True)
    return Job(checkout, defaults | given, temporary)


def review(
    folder: Path, checkout: Path, *steps: str, definitions: str = "config/crd/", **inputs: str
) -> tuple[Job, int]:
    done = job(folder, checkout, definitions=definitions, **inputs)
    chosen = [step for step in REVIEWS if not steps or step["id"] in steps]
    assert [done.run(step) for step in chosen] == [0] * len(chosen), done.printed
    return done, done.run(RESULT)


def test_what_is_clean_passes_without_annotations(tmp_path: Path) -> None:
    checkout = checked_out(tmp_path, base={CRD: WIDGETS}, change={"a.yaml": WIDGET})
    done, code = review(tmp_path, checkout, base="main", objects="a.yaml")

    assert (code, done.annotations) == (0, [])
    assert [done.outputs[f"steps.{step['id']}.outputs.code"] for step in REVIEWS] == ["0"] * 3
    assert "no findings" in done.file("summary").read_text(encoding="utf-8")


def test_a_schema_that_is_not_structural_is_annotated_once(tmp_path: Path) -> None:
    checkout = checked_out(tmp_path, base={CRD: NOT_STRUCTURAL}, change={})
    done, code = review(tmp_path, checkout, base="main")

    assert code == 1
    start = f"::error file={CRD},line="
    assert [line.split("title=structural/")[0] for line in done.annotations] == [
        f"{start}17,col=13,",
        f"{start}19,col=17,",
    ]
    assert "structural/type" in done.file("summary").read_text(encoding="utf-8")


def test_a_change_is_annotated_against_the_base_branch(tmp_path: Path) -> None:
    checkout = checked_out(tmp_path, base={CRD: WIDGETS}, change={CRD: NARROWED})
    done, code = review(tmp_path, checkout, base="main")

    assert done.outputs["steps.check.outputs.code"] == "0"
    assert done.outputs["steps.update.outputs.code"] == "1"
    assert code == 1
    (annotation,) = done.annotations
    assert "title=change/bound-narrowed::" in annotation
    assert f"file={CRD},line=20" in annotation


def test_a_policy_allows_the_change(tmp_path: Path) -> None:
    policy = {"policy.yaml": "changes: {bound-narrowed: allowed}\n"}
    checkout = checked_out(tmp_path, base={CRD: WIDGETS}, change={CRD: NARROWED} | policy)
    _, code = review(tmp_path, checkout, "update", base="main", change_policy="policy.yaml")

    assert code == 0


def test_without_a_base_branch_nothing_is_compared(tmp_path: Path) -> None:
    checkout = checked_out(tmp_path, base={CRD: WIDGETS}, change={CRD: NARROWED})
    done, code = review(tmp_path, checkout)

    assert (code, "steps.update.outputs.code" in done.outputs) == (0, False)


def test_the_first_definition_of_a_repository_is_compared_with_nothing(tmp_path: Path) -> None:
    checkout = checked_out(tmp_path, base={"README": "a"}, change={CRD: WIDGETS})
    done, code = review(tmp_path, checkout, base="main")

    assert (code, done.annotations) == (0, [])
    assert "nothing is compared" in done.printed


def test_a_base_branch_that_cannot_be_fetched_fails(tmp_path: Path) -> None:
    checkout = checked_out(tmp_path, base={CRD: WIDGETS}, change={})
    done, code = review(tmp_path, checkout, "update", base="gone")

    assert code == 3
    assert any("could not be fetched" in line for line in done.annotations)


def test_an_object_that_is_not_valid_is_annotated(tmp_path: Path) -> None:
    change = {"objects/a.yaml": BAD_WIDGET}
    checkout = checked_out(tmp_path, base={CRD: WIDGETS}, change=change)
    done, code = review(tmp_path, checkout, "validate", objects="\nobjects/\n\n")

    assert code == 1
    (annotation,) = done.annotations
    assert annotation.startswith("::error file=objects/a.yaml,line=4,col=8,title=validate/minimum")


def test_objects_without_a_schema_pass_only_if_that_is_allowed(tmp_path: Path) -> None:
    other = {"objects/b.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n"}
    checkout = checked_out(tmp_path, base={CRD: WIDGETS}, change=other)
    (tmp_path / "one").mkdir()
    _, refused = review(tmp_path / "one", checkout, "validate", objects="objects")
    (tmp_path / "two").mkdir()
    _, allowed = review(
        tmp_path / "two", checkout, "validate", objects="objects", allow_unchecked="true"
    )

    assert (refused, allowed) == (4, 0)


@pytest.mark.parametrize("name", ["$(touch hacked)", "`touch hacked`", "';touch hacked;'", "-x"])
def test_names_of_files_and_branches_are_no_code(tmp_path: Path, name: str) -> None:
    path = f"{name}/widgets.yaml"
    branch = "$(touch${IFS}hacked)"
    checkout = checked_out(tmp_path, base={path: WIDGETS}, change={path: NARROWED}, branch=branch)
    done, code = review(tmp_path, checkout, "update", definitions=name, base=branch)

    assert code == 1
    assert len(done.annotations) == 1
    assert not list(tmp_path.rglob("hacked"))


def test_names_of_files_are_no_commands_to_github(tmp_path: Path) -> None:
    hostile = "config/crd/a\n::add-mask::x.yaml"
    checkout = checked_out(tmp_path, base={}, change={hostile: "a: [\n", CRD: WIDGETS})
    done, code = review(tmp_path, checkout, "check")

    assert code == 3
    (annotation,) = done.annotations
    assert annotation.startswith("::error file=config/crd/a%0A%3A%3Aadd-mask%3A%3Ax.yaml,line=2::")


def test_what_is_installed_by_default_is_pinned() -> None:
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()

    assert any(line.startswith("click==") for line in lines)
    assert any(line.strip().startswith("--hash=sha256:") for line in lines)


def test_the_page_shows_inputs_that_exist() -> None:
    (workflow,) = [yaml.safe_load(block) for block in blocks(PAGE, "yaml")]
    *_, used = workflow["jobs"]["crds"]["steps"]
    required = {name for name, one in ACTION["inputs"].items() if one.get("required")}

    assert required <= set(used["with"]) <= set(ACTION["inputs"])
    assert re.findall(r"^\| `([\w-]+)` \|", PAGE.read_text("utf-8"), re.MULTILINE) == [
        *ACTION["inputs"]
    ]


def test_no_script_contains_an_expression() -> None:
    assert [step["run"] for step in STEPS if "${{" in step["run"]] == []
    assert {step["shell"] for step in STEPS} == {"bash"}
    assert all(one["description"] for one in ACTION["inputs"].values())
    used = set(re.findall(r"inputs\.([\w-]+)", yaml.safe_dump(STEPS)))
    assert used == set(ACTION["inputs"])


def install(folder: Path, *, version: str, digest: str, **inputs: str) -> tuple[Job, int]:
    wheels = folder / "wheels" / f"v{version}"
    needed = wheel(wheels, "click", "8.2.0", {"click.py": b""})
    lock = folder / "requirements.lock"
    lock.write_text(f"click==8.2.0 --hash=sha256:{needed}\n", encoding="utf-8")
    releases = (folder / "wheels").as_uri()
    given = {"requirements": str(lock), "python": sys.executable, "releases": releases} | inputs
    done = job(folder, folder, version=version, sha256=digest, **given)
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)}
    return done, done.run(INSTALL | {"env": INSTALL["env"] | offline})


def test_a_release_is_installed_by_its_hash_only(tmp_path: Path) -> None:
    digest = release(tmp_path / "wheels" / "v0.1.0", "0.1.0")
    refused, code = install(tmp_path, version="0.1.0", digest="0" * 64)

    assert code != 0
    assert "DO NOT MATCH THE HASHES" in refused.printed
    assert not refused.file("path").exists()

    done, code = install(tmp_path, version="0.1.0", digest=digest)

    assert code == 0, done.printed
    added = Path(done.file("path").read_text(encoding="utf-8").strip())
    command = [str(added / "python"), "-c", "import espalier; print(espalier.__version__)"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    assert shown.stdout == "0.1.0\n"


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"version": "0.1.0 --index-url=x"}, "the input version must be a release"),
        ({"version": "latest"}, "the input version must be a release"),
        ({"digest": "abc"}, "64 hexadecimal digits"),
        ({"releases": "http://example.com"}, "begins with https:// or file://"),
        ({"requirements": "gone.lock"}, "there is no file of requirements"),
        ({"python": "false"}, "Python 3.11 or newer is needed"),
    ],
)
def test_wrong_inputs_are_refused(tmp_path: Path, inputs: dict[str, str], message: str) -> None:
    done, code = install(tmp_path, **({"version": "0.1.0", "digest": "0" * 64} | inputs))

    assert code == 2
    (annotation,) = done.annotations
    assert message in annotation
