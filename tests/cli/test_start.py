"""
What a command imports: nothing that it does not need, since users wait for each import.
"""

import subprocess
import sys
from pathlib import Path

import click
import pytest

from espalier.cli import _COMMANDS, main
from tests.cli.manifests import RULED, STRUCTURAL
from tests.patience import PACE

GOOD = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: good}\n"
CLUSTER = {"aiohttp", "asyncio", "kopf", "kubernetes", "ssl"}
RULES = {"cel_expr_python", "espalier.cel"}
VALUES = {"jsonschema_rs", "msgspec", "re2"}
FILES = {"yaml"}
SCREEN = {"rich"}
PROCESSES = {"multiprocessing", "concurrent.futures"}
ALL = CLUSTER | RULES | VALUES | FILES | SCREEN | PROCESSES | {"email", "importlib.metadata"}
REPORT = """
import sys
from espalier.cli import main
sys.argv[0] = "espalier"
try:
    main()
except SystemExit:
    pass
sys.stdout.flush()
print(*sys.modules, file=sys.stderr)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "crd.yaml").write_text(STRUCTURAL)
    (tmp_path / "ruled.yaml").write_text(RULED)
    (tmp_path / "good.yaml").write_text(GOOD)
    return tmp_path


def modules_of(folder: Path, *arguments: str, **environment: str) -> set[str]:
    """
    Return the modules that a command has imported when it ends.
    """
    ended = subprocess.run(  # noqa: S603 - the command line itself
        [sys.executable, "-c", REPORT, *arguments],
        cwd=folder,
        env={"PATH": "", **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=PACE.scaled(60),
    )
    return set(ended.stderr.splitlines()[-1].split())


@pytest.mark.parametrize(
    ("arguments", "unneeded", "most"),
    [
        (["version"], ALL, 150),
        (["--version"], ALL, 150),
        (["--help"], ALL, 150),
        (["completion", "bash"], ALL, 160),
        (["version", "-o", "json"], ALL - FILES, 160),
        (["check", "crd.yaml"], ALL - FILES - {"msgspec"}, 300),
        (["check", "-o", "json", "crd.yaml"], ALL - FILES - {"msgspec"}, 300),
        (["check", "-o", "sarif", "crd.yaml"], ALL - FILES - {"msgspec"}, 310),
        (["check", "ruled.yaml"], ALL - FILES - RULES - VALUES, 365),
        (["validate", "--crd", "crd.yaml", "good.yaml"], ALL - FILES - VALUES, 300),
        (["validate", "--crd", "ruled.yaml", "good.yaml"], ALL - FILES - VALUES - RULES, 360),
        (["prune", "--crd", "crd.yaml", "good.yaml"], ALL - FILES - VALUES, 300),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_command_imports_only_what_it_needs(
    folder: Path, arguments: list[str], unneeded: set[str], most: int
) -> None:
    found = modules_of(folder, *arguments)

    assert found & unneeded == set()
    assert len(found) <= most


HELPED = ["archive", "can-drop", "cleanup", "demo", "migrate", "operator", "plan", "restore"]
HELPED += ["status", "survey"]


@pytest.mark.parametrize("command", HELPED)
def test_help_for_a_command_imports_nothing_that_the_command_works_with(
    folder: Path, command: str
) -> None:
    found = modules_of(folder, command, "--help")

    assert found & ALL == set()
    assert len(found) <= 190


@pytest.mark.parametrize(
    "typed",
    ["espalier ", "espalier ch", "espalier check --up", "espalier plan --", "espalier archive "],
)
def test_completion_loads_no_schemas(folder: Path, typed: str) -> None:
    position = str(typed.count(" "))
    asked = {"COMP_WORDS": typed, "COMP_CWORD": position, "_ESPALIER_COMPLETE": "bash_complete"}

    found = modules_of(folder, **asked)

    assert found & ALL == set()
    assert len(found) <= 170


def test_the_list_of_commands_is_that_of_the_commands() -> None:
    context = click.Context(main)

    texts = {}
    for name in _COMMANDS:
        command = main.get_command(context, name)
        assert command is not None
        texts[name] = command.get_short_help_str(limit=200)

    assert texts == {name: text for name, (_, text) in _COMMANDS.items()}
