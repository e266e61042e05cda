"""
Writes ``docs/reference/cli.md`` from ``--help``: ``python -m tests.docs.commands``.
"""

from collections.abc import Iterator

import click

from espalier.cli import main
from tests.docs.reading import ROOT

PAGE = ROOT / "docs" / "reference" / "cli.md"
_WIDTH = 96
_HEAD = """\
# All commands

What `--help` says. This page is written by `make docs`; a test holds it to the program. See also
[what they have in common](command-line.md), [in continuous integration](../how-to/cli-in-ci.md).
"""


def page() -> str:
    """
    Make the page.
    """
    parts = [_HEAD]
    root = click.Context(main, info_name="espalier", **main.context_settings)
    for name, command, context in _commands(main, root):
        context.terminal_width = context.max_content_width = _WIDTH
        text = command.get_help(context)
        parts.append(f"## `{name}`\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


def _commands(
    group: click.Group, above: click.Context
) -> Iterator[tuple[str, click.Command, click.Context]]:
    yield above.command_path, group, above
    for name in group.list_commands(above):
        command = group.get_command(above, name)
        assert command is not None
        context = click.Context(command, parent=above, info_name=name)
        if isinstance(command, click.Group):
            yield from _commands(command, context)
        else:
            yield context.command_path, command, context


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
