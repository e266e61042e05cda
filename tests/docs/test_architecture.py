"""
The ways through the code that the architecture page shows lead through what is there.
"""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
STEPS = [line.split("|")[1:-1] for line in PAGE.splitlines() if re.match(r"\| \d+\. ", line)]


def defined_in(files: list[Path]) -> set[str]:
    """
    Name the functions and classes of some files, methods with and without their class.
    """
    found = set()
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            match node:
                case ast.ClassDef(name=name, body=body):
                    found.add(name)
                    methods = (one for one in body if hasattr(one, "name"))
                    found.update(f"{name}.{method.name}" for method in methods)
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    found.add(name)
                case _:
                    continue
    return found


def test_both_ways_are_reported() -> None:
    assert len(STEPS) == 18 + 12


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step[0].strip())
def test_every_step_leads_through_what_is_there(step: list[str]) -> None:
    files: list[Path] = []
    for name in re.findall(r"`([\w/]+\.py)`", step[1]):
        below = ROOT / "operator" / "espalier" if "/" in name else files[-1].parent
        files.append(below / name)

    assert [str(file) for file in files if not file.is_file()] == []
    assert set(re.findall(r"`([\w.]+)`", step[2])) <= defined_in(files)
