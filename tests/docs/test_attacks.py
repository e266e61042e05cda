"""
Each attack of the list has a test, and the test exists.
"""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "docs" / "reference" / "attacks.md"
ATTACKS = 30

_ROW = re.compile(r"\| (\d+) \| ([^|]+) \| ([^|]+) \|")
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def rows() -> list[tuple[str, ...]]:
    return [match.groups() for match in map(_ROW.fullmatch, lines()) if match]


def lines() -> list[str]:
    return TABLE.read_text(encoding="utf-8").splitlines()


def functions_of(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in tree.body if isinstance(node, kinds)}


def test_each_attack_has_a_test() -> None:
    assert [int(row[0]) for row in rows()] == [*range(1, ATTACKS + 1)]
    assert all(_TEST.search(row[2]) for row in rows())


def test_each_of_these_tests_exists() -> None:
    named = [(ROOT / path, name) for row in rows() for path, name in _TEST.findall(row[2])]
    missing = [
        f"{path.relative_to(ROOT)}::{name}"
        for path, name in named
        if not path.is_file() or name not in functions_of(path)
    ]
    assert missing == []


def test_nothing_else_stands_among_the_tests() -> None:
    for row in rows():
        assert _TEST.sub("", row[2]).strip(" ,") == "", row[0]
