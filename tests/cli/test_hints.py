"""
A hint names only options that there are: those of the command that it names or comes from.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import espalier
from espalier.cli import _COMMANDS, main

PACKAGE = Path(espalier.__file__).parent
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]")
COMMAND = re.compile(r"\bespalier ([a-z][a-z-]+)")
# Options of other programs, which stand after their names.
FOREIGN = re.compile(r"\b(?:kubectl|kube-apiserver|etcdctl|kopf|helm)\b(?: (?!&&)[^ ;]+)*")
# Where a hint of one command only may stand, and the commands that print it.
PRINTED_BY = {
    "cli/operations/survey.py": ["survey", "plan", "migrate"],
    "cli/checks/namespaces.py": ["survey", "plan"],
    "cli/checks/rehearsal.py": ["migrate"],
    "cli/checks/live_update.py": ["plan"],
    "cli/checks/batch.py": ["check"],
    "cli/checks/change_policy.py": ["check"],
    "cli/checks/object.py": ["validate"],
    "cli/checks/version_drop.py": ["can-drop"],
    "cli/checks/transformation.py": ["prune", "default", "normalize"],
    "cli/checks/yaml_edits.py": ["prune", "default", "normalize"],
    "cli/commands/normalize.py": ["prune", "default", "normalize"],
}


def commands() -> Iterator[tuple[str, click.Command]]:
    context = click.Context(main)
    for name in _COMMANDS:
        command = main.get_command(context, name)
        assert command is not None
        yield name, command
        if isinstance(command, click.Group):
            for inner in command.commands.values():
                yield name, inner


def options_of() -> dict[str, set[str]]:
    """
    Return the options of each command, those of its subcommands included.
    """
    found: dict[str, set[str]] = {name: {"--help"} for name in _COMMANDS}
    for name, command in commands():
        for parameter in command.params:
            found[name].update(parameter.opts, parameter.secondary_opts)
    return found


OPTIONS = options_of()


def texts(module: Path) -> Iterator[str]:
    """
    Yield the texts in a module that a user may see: all but its docstrings, pieces joined.
    """
    tree = ast.parse(module.read_text(encoding="utf-8"))
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    within = {
        id(piece)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for piece in node.values
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                str(piece.value) if isinstance(piece, ast.Constant) else "X"
                for piece in node.values
            )
        elif isinstance(node, ast.Constant) and id(node) not in docstrings | within:
            yield str(node.value)


def hints() -> Iterator[tuple[str, str, str]]:
    """
    Yield module, text and option of each text that names options of Espalier.
    """
    for module in sorted(PACKAGE.rglob("*.py")):
        name = str(module.relative_to(PACKAGE))
        for text in texts(module):
            own = FOREIGN.sub("", text)
            for option in OPTION.findall(own):
                yield name, text, option


def printers_of(module: str, text: str) -> list[str]:
    """
    Return the commands of which one must have the options that a text names.
    """
    named = [name for name in COMMAND.findall(text) if name in OPTIONS]
    if named and module.startswith("cli/"):
        return named
    if module in PRINTED_BY:
        return PRINTED_BY[module]
    stem = Path(module).stem
    if not module.startswith(("cli/commands/", "cli/operations/")):
        return list(OPTIONS)
    # A module of commands may have several.
    defined = [name for name, (path, _) in _COMMANDS.items() if path.rpartition(".")[2] == stem]
    return defined or list(OPTIONS)


@pytest.mark.parametrize(
    ("module", "text", "option"),
    [pytest.param(*hint, id=f"{hint[0]} {hint[2]}") for hint in hints()],
)
def test_a_hint_names_an_option_that_there_is(module: str, text: str, option: str) -> None:
    printers = printers_of(module, text)

    assert any(option in OPTIONS[name] for name in printers), (text, printers)


def test_the_walk_finds_the_hints_that_are_known() -> None:
    found = {(module, option) for module, _, option in hints()}

    assert ("cli/output/terminal.py", "--yes") in found
    assert ("cli/checks/namespaces.py", "--allow-missing") in found
    assert ("cli/operations/plan.py", "--if-absent") in found
    assert ("engine/ports/archive.py", "--archive-max-bytes") in found
    assert "--allow-missing" not in OPTIONS["status"]
