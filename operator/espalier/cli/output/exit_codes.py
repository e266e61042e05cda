"""
What the command line's exit codes mean, and which error ends with which.
"""

import enum
from dataclasses import dataclass

from espalier.errors import (
    ArchiveFullError,
    ConfigurationError,
    DefinitionChangedError,
    EspalierError,
    LeaseLostError,
)


@dataclass(unsafe_hash=True)
class IncompleteError(EspalierError):
    """
    A command was begun, and did not get through.
    """

    detail: str

    def __str__(self) -> str:
        return self.detail


class Exit(enum.IntEnum):
    """
    The exit codes; one meaning each.
    """

    CLEAN = 0
    """What was asked for was done, and there is nothing to report."""

    FINDINGS = 1
    """It was done, and there are findings."""

    USAGE = 2
    """The command line, a setting or the kubeconfig makes no sense."""

    UNREADABLE = 3
    """The cluster or a file could not be read."""

    INCOMPLETE = 4
    """It was begun, and is not done in full."""


def exit_of(error: EspalierError) -> Exit:
    """
    Tell the exit code for an error that ends a command.
    """
    match error:
        case ConfigurationError():
            return Exit.USAGE
        case ArchiveFullError() | DefinitionChangedError() | IncompleteError() | LeaseLostError():
            return Exit.INCOMPLETE
        case _:
            return Exit.UNREADABLE
