"""
Write JSON values, in pieces where there are many.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from espalier.cli.result import Result, Stream, document_of
from espalier.paths import JSON

_INDENT = 2


def write_json(values: Iterable[JSON]) -> str:
    """
    Return documents as JSON, one after the other.
    """
    return "".join(f"{_text(value)}\n" for value in values)


def write_result_as_json(result: Result) -> Iterator[str]:
    """
    Yield the pieces of a result's document.
    """
    yield from json_pieces(document_of(result))
    yield "\n"


def json_pieces(value: object, level: int = 0) -> Iterator[str]:
    """
    Yield the pieces of a JSON text, as ``json.dumps`` writes it with an indent of 2.

    Args:
        value: A JSON value, in which a ``Stream`` may stand for a list.
        level: The number of containers around it.
    """
    if not _holds_stream(value):
        yield _text(value).replace("\n", "\n" + " " * (_INDENT * level))
        return
    if isinstance(value, Mapping):
        members = ((f"{_text(key)}: ", member) for key, member in value.items())
        yield from _container("{}", members, level)
    elif isinstance(value, (Stream, Sequence)):
        yield from _container("[]", (("", member) for member in value), level)


def _container(brackets: str, members: Iterable[tuple[str, object]], level: int) -> Iterator[str]:
    start, end = brackets[0], brackets[1]
    inner = "\n" + " " * (_INDENT * (level + 1))
    separator = start
    for label, member in members:
        yield f"{separator}{inner}{label}"
        yield from json_pieces(member, level + 1)
        separator = ","
    yield brackets if separator == start else "\n" + " " * (_INDENT * level) + end


def _holds_stream(value: object) -> bool:
    if isinstance(value, Stream):
        return True
    if isinstance(value, dict):
        return any(map(_holds_stream, value.values()))
    return isinstance(value, list) and any(map(_holds_stream, value))


def _text(value: object) -> str:
    return json.dumps(value, indent=_INDENT, ensure_ascii=True)
