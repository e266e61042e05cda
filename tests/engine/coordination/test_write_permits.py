"""
No write of a stored object can be built that does not pass the gate.
"""

import ast
import inspect
from pathlib import Path

import pytest

from espalier.cluster.resources.objects import HttpObjects
from espalier.engine.coordination import write_gate
from espalier.engine.ports import WritePermit
from espalier.engine.ports.objects import Objects

ROOT = Path(__file__).parents[3]
GATE = Path(write_gate.__file__)
MODULES = [path for path in (ROOT / "operator").rglob("*.py") if path != GATE]

WRITES = {"rewrite", "annotate", "replace_managed_fields", "replace"}
READS = {
    "list_metadata",
    "list_objects",
    "list_namespaces",
    "token_at",
    "place_of",
    "get_object",
    "try_rewrite",
    "watch_objects",
    "look_for_servers_behind",
}


def made(tree: ast.AST) -> list[int]:
    """
    Return the lines on which a permit is made, or made of another one.
    """
    lines = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        match node.func:
            case ast.Name(id="WritePermit") | ast.Attribute(attr="WritePermit"):
                lines.append(node.lineno)
            case ast.Attribute(attr="_replace" | "_make" | "__new__", value=value):
                if "permit" in ast.unparse(value).lower():
                    lines.append(node.lineno)
            case _:
                continue
    return lines


def test_only_the_gate_makes_permits() -> None:
    assert made(ast.parse(GATE.read_text(encoding="utf-8")))
    found = {
        str(path.relative_to(ROOT)): lines
        for path in MODULES
        if (lines := made(ast.parse(path.read_text(encoding="utf-8"))))
    }
    assert found == {}


@pytest.mark.parametrize(
    "source",
    [
        "WritePermit(key, uid, None)",
        "ports.WritePermit(*seen)",
        "permit._replace(resource_version=None)",
        "WritePermit._make(seen)",
    ],
)
def test_each_way_to_make_one_is_found(source: str) -> None:
    assert made(ast.parse(source)) == [1]


@pytest.mark.parametrize("objects", [Objects, HttpObjects])
def test_each_write_of_an_object_takes_a_permit(objects: type) -> None:
    methods = {
        name: inspect.signature(method).parameters
        for name, method in inspect.getmembers(objects, inspect.isfunction)
        if not name.startswith("_")
    }
    assert set(methods) == WRITES | READS
    for name in WRITES:
        assert methods[name]["permit"].annotation in (WritePermit, "WritePermit"), name
        assert methods[name]["permit"].default is inspect.Parameter.empty, name


def test_what_takes_none_is_a_read_or_a_dry_run() -> None:
    source = inspect.getsource(HttpObjects.try_rewrite)
    assert '"dryRun": "All"' in source
