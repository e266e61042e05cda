"""
The exit codes of the command line, and the exit code of each error.
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
    A command began its work and stopped before it was done.
    """

    detail: str

    def __str__(self) -> str:
        return self.detail


class Exit(enum.IntEnum):
    """
    The exit codes.
    """

    CLEAN = 0
    """The command did its work, and there is nothing to report."""

    FINDINGS = 1
    """The command did its work, and there are findings."""

    USAGE = 2
    """The command line, a setting or the kubeconfig is not valid."""

    UNREADABLE = 3
    """The cluster or a file could not be read."""

    INCOMPLETE = 4
    """The command stopped before its work was done."""


def exit_of(error: EspalierError) -> Exit:
    """
    Return the exit code for an error that ends a command.
    """
    match error:
        case ConfigurationError():
            return Exit.USAGE
        case ArchiveFullError() | DefinitionChangedError() | IncompleteError() | LeaseLostError():
            return Exit.INCOMPLETE
        case _:
            return Exit.UNREADABLE
