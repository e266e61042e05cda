"""
The exit code of each error.
"""

from dataclasses import dataclass

from espalier.cli.output.exit_codes import Exit
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
