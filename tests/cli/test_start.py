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
# The numbers below are of Python 3.11. The standard library of 3.14 is divided into more modules.
MORE = 8 if sys.version_info >= (3, 14) else 0
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


# Nothing listens there.
NOBODY = """
apiVersion: v1
kind: Config
current-context: a
contexts: [{name: a, context: {cluster: a, user: a}}]
clusters: [{name: a, cluster: {server: "http://127.0.0.1:9"}}]
users: [{name: a, user: {token: t}}]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "crd.yaml").write_text(STRUCTURAL)
    (tmp_path / "ruled.yaml").write_text(RULED)
    (tmp_path / "good.yaml").write_text(GOOD)
    return tmp_path


IN_POD = """
from pathlib import Path
from espalier.cluster.auth.connection import is_in_cluster
is_in_cluster.__kwdefaults__["folder"] = Path(".")
"""


def modules_of(folder: Path, *arguments: str, before: str = "", **environment: str) -> set[str]:
    """
    Return the modules that a command has imported when it ends.
    """
    ended = subprocess.run(  # noqa: S603 - the command line itself
        [sys.executable, "-c", before + REPORT, *arguments],
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
        (["version"], ALL, 135),
        (["--version"], ALL, 115),
        (["--help"], ALL, 125),
        (["completion", "bash"], ALL, 160),
        (["version", "-o", "json"], ALL - FILES, 160),
        (["check", "crd.yaml"], ALL - {"msgspec"}, 270),
        (["check", "-o", "json", "crd.yaml"], ALL - {"msgspec"}, 272),
        (["check", "-o", "sarif", "crd.yaml"], ALL - {"msgspec"}, 273),
        (["check", "ruled.yaml"], ALL - RULES - VALUES, 348),
        (["validate", "--crd", "crd.yaml", "good.yaml"], ALL - VALUES, 244),
        (["validate", "--crd", "ruled.yaml", "good.yaml"], ALL - VALUES - RULES, 316),
        (["prune", "--crd", "crd.yaml", "good.yaml"], ALL - FILES - VALUES, 272),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_command_imports_only_what_it_needs(
    folder: Path, arguments: list[str], unneeded: set[str], most: int
) -> None:
    found = modules_of(folder, *arguments)

    assert found & unneeded == set()
    assert len(found) <= most + MORE


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


def test_an_operator_in_a_pod_does_without_the_client_kubernetes(folder: Path) -> None:
    (folder / "token").write_text("t")

    # It ends when it finds no certificate of the authority.
    found = modules_of(folder, "operator", before=IN_POD, KUBERNETES_SERVICE_HOST="127.0.0.1")

    assert {"kopf", "espalier.handlers.startup"} <= found
    assert "kubernetes" not in found


def test_with_a_kubeconfig_the_client_can_still_be_loaded(folder: Path) -> None:
    (folder / "kubeconfig").write_text(NOBODY)

    found = modules_of(folder, "operator", KUBECONFIG="kubeconfig", HOME=str(folder))

    assert {"kopf", "kubernetes.config"} <= found


def test_the_list_of_commands_is_that_of_the_commands() -> None:
    context = click.Context(main)

    texts = {}
    for name in _COMMANDS:
        command = main.get_command(context, name)
        assert command is not None
        texts[name] = command.get_short_help_str(limit=200)

    assert texts == {name: text for name, (_, text) in _COMMANDS.items()}
