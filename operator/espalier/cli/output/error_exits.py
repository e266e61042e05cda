"""
The exit code of each error, and its text.
"""

from espalier.cli.output.exit_codes import Exit
from espalier.errors import (
    ArchiveFullError,
    ConfigurationError,
    DefinitionChangedError,
    EspalierError,
    LeaseLostError,
    NamespaceGoneError,
    NotFoundError,
)

_DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io "


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


def text_of(error: EspalierError, name: str = "") -> str:
    """
    Return the text of an error for a person at a terminal.

    Args:
        name: The definition that the text is printed after; it is not named again.
    """
    match error:
        case NotFoundError(is_object=True) if error.resource.startswith(_DEFINITIONS):
            text = f"{error.resource.removeprefix(_DEFINITIONS)}: the definition does not exist"
        case NamespaceGoneError() if not error.is_terminating:
            text = (
                f"namespace {error.namespace}, where Espalier keeps its data, does not exist:"
                " create it, or name another one by --operator-namespace"
            )
        case _:
            text = str(error)
    return text.removeprefix(f"{name}: ")
