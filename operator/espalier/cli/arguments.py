"""
Habits of kubectl's users, as the arguments that they mean.
"""

import re
from collections.abc import Sequence

# Options of kubectl that may stand before the command; each has a value.
_GLOBAL = frozenset(
    {
        "--as",
        "--as-group",
        "--as-uid",
        "--context",
        "--kubeconfig",
        "--request-timeout",
        "-n",
        "--namespace",
    }
)
_SHORT_WITH_VALUE = re.compile(r"-([a-zA-Z])=(.*)", re.DOTALL)
FILE_COMMANDS = frozenset({"check", "validate", "prune", "default", "normalize"})
"""The commands that work on files."""

_GROUPS = frozenset({"archive"})


def as_meant(arguments: Sequence[str]) -> list[str]:
    """
    Return the arguments in the form that the commands read.

    ``help COMMAND`` asks for the command's help. Options for the cluster may stand before the
    command. ``-o=json`` is ``-o json``, and ``-f FILE`` names a file.
    """
    end = arguments.index("--") if "--" in arguments else len(arguments)
    given, rest = _separated(arguments[:end]), list(arguments[end:])
    if given[:1] == ["help"]:
        return [*given[1:], "--help", *rest]
    given = _command_first(given)
    command = given[0] if given else ""
    if command in _GROUPS:
        given = [command, *_command_first(given[1:])]
    if command in FILE_COMMANDS:
        given = _without_file_option(given)
    return [*given, *rest]


def _command_first(arguments: Sequence[str]) -> list[str]:
    leading = _leading(arguments)
    return [*arguments[leading:], *arguments[:leading]]


def _separated(arguments: Sequence[str]) -> list[str]:
    separated: list[str] = []
    for text in arguments:
        match = _SHORT_WITH_VALUE.fullmatch(text)
        separated += [text] if match is None else [f"-{match[1]}", match[2]]
    return separated


def _leading(arguments: Sequence[str]) -> int:
    position = 0
    while position < len(arguments):
        name, has_value, _ = arguments[position].partition("=")
        if name not in _GLOBAL:
            break
        position += 1 if has_value else 2
    return position if position < len(arguments) else 0


def _without_file_option(arguments: Sequence[str]) -> list[str]:
    kept: list[str] = []
    for text in arguments:
        name, has_value, value = text.partition("=")
        if name in ("-f", "--filename"):
            kept += [value] if has_value else []
        else:
            kept.append(text)
    return kept
