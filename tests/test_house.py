"""
The house rules that no linter keeps.
"""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAX_MODULE_LINES = 400
MAX_FUNCTION_LINES = 50
MAX_FOLDER_MODULES = 15
MODULES = sorted((ROOT / "operator").rglob("*.py"))
_TEXTS = ".py .sh .md .toml .yaml .yml .json .lock .mod .sum .tpl .txt"
TEXT_SUFFIXES = {*_TEXTS.split(), ""}
FOLDERS = ("operator", "tests", "manifests", "charts", "docs", ".ci", "ci")
# Homes and work folders of a machine, and the hosts of package mirrors.
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:root|work|home/\w+|Users/\w+)/|\bopt/wheels\b")


def texts() -> Iterator[Path]:
    # In a worktree of git, .git is a file that names the main checkout.
    yield from (path for path in ROOT.iterdir() if path.is_file() and path.name != ".git")
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path


def test_the_source_root_does_not_shadow_the_standard_library() -> None:
    assert MODULES
    assert not (ROOT / "operator" / "__init__.py").exists()


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_and_no_function_is_too_long(module: Path) -> None:
    source = module.read_text(encoding="utf-8")

    long = [
        f"{node.name}: {node.end_lineno - node.lineno + 1} lines"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and node.end_lineno is not None
        and node.end_lineno - node.lineno + 1 > MAX_FUNCTION_LINES
    ]

    assert long == []
    assert source.count("\n") <= MAX_MODULE_LINES


@pytest.mark.parametrize(
    "folder", ["cli", "cluster", "crd", "engine", "fakes", "handlers", "observe"]
)
def test_no_file_of_tests_is_too_long(folder: str) -> None:
    lines = {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8").count("\n")
        for path in (ROOT / "tests" / folder).rglob("*.py")
    }

    assert lines
    assert {path: count for path, count in lines.items() if count > MAX_MODULE_LINES} == {}


def test_no_class_name_stands_twice() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for module in MODULES:
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(module.relative_to(ROOT)))

    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_no_folder_but_the_sandbox_is_a_hall() -> None:
    modules = Counter(
        module.parent
        for module in MODULES
        if module.name != "__init__.py" and module.parent.name != "sandbox"
    )

    assert modules
    assert max(modules.values()) <= MAX_FOLDER_MODULES, modules.most_common(1)


def test_no_path_of_a_machine_stands_in_a_file() -> None:
    found = []
    for path in texts():
        if path.suffix in TEXT_SUFFIXES:
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if MACHINE_PATH.search(line):
                    found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}")

    assert found == []


def test_what_ci_runs_can_be_run() -> None:
    run = ROOT / ".ci" / "run"

    assert run.stat().st_mode & 0o111
    assert run.read_text(encoding="utf-8").startswith("#!/usr/bin/env bash\n")
