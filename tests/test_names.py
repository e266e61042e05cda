"""
What users see of Espalier in a cluster stands in one list, and nowhere else.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from espalier import names

PRODUCT = Path(__file__).parent.parent / "operator" / "espalier"
MODULES = sorted(path for path in PRODUCT.rglob("*.py") if path.name != "names.py")
CONDITION_TYPES = (
    names.STORED_OBJECTS_CURRENT,
    names.STORED_OBJECTS_VALID,
    names.NON_STRUCTURAL_SCHEMA,
    names.ESTABLISHED,
    names.NAMES_ACCEPTED,
    names.STORAGE_MIGRATING,
)


def texts(source: str) -> Iterator[tuple[int, str]]:
    """
    Find the texts of a module that are neither docstrings nor help.
    """
    tree = ast.parse(source)
    spared = set()
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant() as docstring):
                spared.add(docstring)
            case ast.keyword(arg="help", value=ast.Constant() as shown):
                spared.add(shown)
            case _:
                continue
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in spared:
            yield node.lineno, node.value


def strays(source: str) -> list[tuple[int, str]]:
    """
    Find what belongs into the list: keys, types of conditions, managers of fields.
    """
    managers = (names.FIELD_MANAGER, names.STRUCTURAL_FIELD_MANAGER)
    assigned = {
        node.value.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Assign)
        and any("MANAGER" in ast.unparse(target) for target in node.targets)
    }
    return [
        (line, text)
        for line, text in texts(source)
        if "espalier.dev/" in text
        or text in CONDITION_TYPES
        or (text in managers and line in assigned)
    ]


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PRODUCT)))
def test_no_other_module_spells_a_name(module: Path) -> None:
    assert strays(module.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "line",
    [
        'KEY = "espalier.dev/mode"',
        'print(f"set espalier.dev/{step}=false")',
        'TYPE = "NonStructuralSchema"',
        'FIELD_MANAGER = "espalier"',
    ],
)
def test_a_name_that_is_spelt_elsewhere_is_found(line: str) -> None:
    assert strays(f'"""\nOn espalier.dev/mode.\n"""\n\n{line}\n')


def test_a_docstring_and_a_help_text_may_spell_names() -> None:
    assert (
        strays('"""\nOn espalier.dev/mode.\n"""\n\noption(help="label espalier.dev/mode")\n') == []
    )


def test_no_name_has_two_constants() -> None:
    values = [value for key, value in vars(names).items() if key.isupper() and type(value) is str]
    assert [value for value, times in Counter(values).items() if times > 1] == []
