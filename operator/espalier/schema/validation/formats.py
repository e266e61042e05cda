"""
The values of ``format`` that API servers know.
"""

from espalier.golang.strfmt import predicate_of
from espalier.schema.model import Structural


def format_of(node: Structural) -> str:
    """
    Return the format that an API server checks at a node; empty if it checks none.

    Source:
        apiextensions-apiserver, ``pkg/apiserver/validation/formats.go``,
        ``StripUnsupportedFormatsPostProcessorForVersion``.
    """
    name = node.value_validation.format
    return name if recognizes_format(name, "" if node.int_or_string else node.type) else ""


def recognizes_format(name: str, type_: str) -> bool:
    """
    Report whether an API server recognizes a format for a type, which may be empty.

    Source:
        apiextensions-apiserver, ``pkg/apiserver/validation/formats.go``,
        ``GetUnrecognizedFormats``.
    """
    match type_:
        case "" | "string":
            return predicate_of(name) is not None
        case "integer":
            return name in ("int32", "int64")
        case "number":
            return name in ("float", "double")
        case _:
            return False
