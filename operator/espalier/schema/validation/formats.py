"""
Which values of ``format`` a schema may name, and which check each has.
"""

from espalier.golang.strfmt import predicate_of
from espalier.schema.model import Structural


def format_of(node: Structural) -> str:
    """
    Name the format that an API server heeds at a node; empty where it heeds none.

    Source:
        apiextensions-apiserver, ``pkg/apiserver/validation/formats.go``,
        ``StripUnsupportedFormatsPostProcessorForVersion``.
    """
    name = node.value_validation.format
    return name if recognizes_format(name, "" if node.int_or_string else node.type) else ""


def recognizes_format(name: str, type_: str) -> bool:
    """
    Tell whether an API server recognises a format at a type, be it empty.

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
