"""
Read YAML documents, with the line and column of every value.

What is plain is read line by line, all else from the events of a parser, which is loaded only then.
A key that occurs twice in one map is an error, or it is recorded: kubectl would keep the last one
silently, which hides a mistake.
"""

from collections.abc import Iterator

from espalier.cli.input.built_document import BuiltDocument
from espalier.cli.input.yaml_lines import read_lines


def build_documents(
    data: bytes | str, *, keeps_duplicates: bool = False
) -> Iterator[BuiltDocument]:
    """
    Yield every document of a YAML stream; the value of an empty one is None.

    Args:
        keeps_duplicates: Record a key that occurs twice in one map, instead of raising.

    Raises:
        UnreadableDocumentError: It is not YAML, a key occurs twice, or it is too deep or too large.
    """
    plain = read_lines(data)
    if plain is None:
        from espalier.cli.input.yaml_events import parse_documents

        yield from parse_documents(data, keeps_duplicates=keeps_duplicates)
    else:
        yield from (BuiltDocument(*document) for document in plain)
