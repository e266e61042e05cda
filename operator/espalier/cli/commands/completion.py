"""
``espalier completion``: print a script for shell completion.
"""

from pathlib import Path

import click
from click.shell_completion import get_completion_class

PROGRAM, PLUGIN = "espalier", "kubectl-espalier"


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, *, shell: str) -> None:
    """
    Print a script with which a shell completes commands and options.

    \b
    Examples:
      source <(espalier completion bash)
      espalier completion zsh > ~/.zfunc/_espalier
      espalier completion fish > ~/.config/fish/completions/espalier.fish

    \b
    Exit codes:
      0  the script is printed
      2  the shell is not one of bash, zsh and fish
    """
    found = get_completion_class(shell)
    assert found is not None  # noqa: S101 - click has a class for each choice
    invoked = Path(ctx.find_root().info_name or "").name
    name = invoked if invoked == PLUGIN else PROGRAM
    variable = f"_{name.replace('-', '_').upper()}_COMPLETE"
    click.echo(found(ctx.find_root().command, {}, name, variable).source())
