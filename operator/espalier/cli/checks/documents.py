"""
Questions about documents that need no schema.
"""

from espalier.cli.input.files import Document
from espalier.cli.result import Problem
from espalier.errors import SourceError
from espalier.paths import JSON

_GROUP = "apiextensions.k8s.io/"


def is_definition(document: Document) -> bool:
    """
    Report whether a document is a CustomResourceDefinition, of any version.
    """
    match document.value:
        case {"kind": "CustomResourceDefinition", "apiVersion": str(api_version)}:
            return api_version.startswith(_GROUP)
        case _:
            return False


def problem_of(error: SourceError) -> Problem:
    """
    Return the problem that a result reports for an unreadable source.
    """
    return Problem(source=error.source, message=error.detail, line=error.line)


def problem_in(document: Document, message: str) -> Problem:
    """
    Return the problem that a result reports for a document that was read.
    """
    return Problem(source=document.source, message=message, line=line_of(document))


def line_of(document: Document) -> int | None:
    """
    Return the line on which a document begins; None if it is not known.
    """
    return document.root.line if document.root else None


def kind_of(document: Document) -> str:
    """
    Return the kind of a document, such as ``apps/v1 Deployment``.
    """
    match document.value:
        case {"kind": str(kind), "apiVersion": str(api_version)}:
            return f"{api_version} {kind}"
        case {"kind": str(kind)}:
            return kind
        case _:
            return "a document without a kind"


def name_of(manifest: JSON) -> str:
    """
    Return the name of an object; empty if it has none.
    """
    match manifest:
        case {"metadata": {"name": str(name)}}:
            return name
        case _:
            return ""
