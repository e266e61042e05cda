"""
Decorators that add options to a command.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

Command: TypeAlias = Callable[..., None]
Decorator: TypeAlias = Callable[[Command], Command]


def with_options(command: Command, options: Sequence[Decorator]) -> Command:
    """
    Add options to a command, in the order of its help text.
    """
    for option in reversed(options):
        command = option(command)
    return command
