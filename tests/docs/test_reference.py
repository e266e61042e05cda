"""
Nothing that a user meets is missing from the reference.
"""

from dataclasses import Field, fields
from pathlib import Path
from typing import Any

import click
import pytest

from espalier import names
from espalier.cli import main
from espalier.cli.output.exit_codes import Exit
from espalier.engine import Reason
from espalier.engine.policy.labels import PLACES
from espalier.handlers.settings import PREFIX as VARIABLE_PREFIX
from espalier.handlers.settings import Settings
from tests.docs.reading import README, ROOT, reference

REFERENCE = reference()
COMMANDS = main.list_commands(click.Context(main))
TARGETS = [
    line.partition(":")[0]
    for line in (ROOT / "Makefile").read_text(encoding="utf-8").splitlines()
    if ": " in line and " ## " in line
]


@pytest.mark.parametrize("reason", Reason, ids=str)
def test_every_reason_is_explained(reason: Reason) -> None:
    assert f"| `{reason}` |" in REFERENCE


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_explained(name: str) -> None:
    assert f"| `espalier {name}" in REFERENCE
    assert f"| `espalier {name}" in README.read_text(encoding="utf-8")


@pytest.mark.parametrize("code", Exit)
def test_every_exit_code_is_explained(code: Exit) -> None:
    assert f"| {code.value} | " in REFERENCE


@pytest.mark.parametrize("known", fields(Settings), ids=lambda known: known.name)
def test_every_setting_is_explained_with_its_default(known: Field[Any]) -> None:
    name, default = known.name, known.default
    flag = "--" + name.replace("_", "-")
    shown = f"{default:g}" if isinstance(default, float) else str(default).lower()

    assert f"| `{flag}` | `{VARIABLE_PREFIX}{name.upper()}` | {shown} |" in REFERENCE


@pytest.mark.parametrize("label", PLACES)
def test_every_label_is_explained(label: str) -> None:
    assert f"`{label}" in REFERENCE


def test_every_condition_is_explained() -> None:
    for type_ in (
        names.NON_STRUCTURAL_SCHEMA,
        names.STORED_OBJECTS_CURRENT,
        names.STORED_OBJECTS_VALID,
    ):
        assert f"## `{type_}`" in REFERENCE
    assert names.AGGREGATION_LABEL in REFERENCE


def test_every_decision_is_listed_and_fits_a_page() -> None:
    folder = ROOT / "docs" / "decisions"
    index = (folder / "README.md").read_text(encoding="utf-8")
    records = sorted(path for path in folder.glob("[0-9]*.md"))

    assert [path.name[:4] for path in records] == [f"{n:04d}" for n in range(1, len(records) + 1)]
    for path in records:
        assert f"({path.name})" in index
        text = path.read_text(encoding="utf-8")
        for part in ("Context", "Decision", "Example", "Consequences", "Turned down"):
            assert f"**{part}.**" in text, path.name
        assert text.count("\n") < 60


def test_every_target_of_the_makefile_is_in_its_help() -> None:
    assert {"help", "test", "demo", "demo-real", "e2e", "control-plane", "vectors"} <= set(TARGETS)
    phony = next(
        line
        for line in (ROOT / "Makefile").read_text(encoding="utf-8").splitlines()
        if line.startswith(".PHONY:")
    )
    assert set(phony.split()[1:]) == set(TARGETS)


def test_the_image_needs_no_shell() -> None:
    lines = Path(ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()

    assert 'ENTRYPOINT ["python", "-m", "espalier"]' in lines
    assert "USER 65532:65532" in lines
