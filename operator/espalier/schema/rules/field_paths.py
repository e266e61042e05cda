"""
Paths to fields in the notation of selectable fields and validation rules.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from espalier.paths import Key, Path
from espalier.schema.model import Structural


class Resolved(NamedTuple):
    """
    The field that a path refers to; if there is none, ``problem`` is the server's message.
    """

    path: Path = ()
    structural: Structural | None = None
    problem: str = ""


def resolve(text: str, structural: Structural | None, *, allow_brackets: bool) -> Resolved:
    """
    Resolve a path in a schema.

    Source:
        apiextensions-apiserver, ``pkg/apiserver/schema/cel/validation.go``, ``ValidFieldPath``.
    """
    path: Path = ()
    node = structural
    tokens = _tokens(text)
    for token in tokens:
        match token:
            case ".":
                name, problem = _dotted(tokens)
            case "[" if allow_brackets:
                name, problem = _bracketed(tokens)
            case "[":
                name, problem = "", "array notation is not allowed"
            case _:
                name, problem = "", f"expected [ or . but got: {token}"
        if problem:
            return Resolved(problem=problem)
        step, node = _step(name, node)
        if step is None:
            return Resolved(problem="does not refer to a valid field")
        path = (*path, step)
    return Resolved(path, node)


_NO_END = "unexpected end of JSON path"
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPES |= {"'": "'", "\\": "\\"}


def _step(name: str, node: Structural | None) -> tuple[str | None, Structural | None]:
    if node is None:
        return None, None
    if node.properties:
        found = node.properties.get(name)
        return (None, None) if found is None else (name, found)
    additional = node.additional_properties
    if additional is None:
        return None, None
    return Key(name), additional if isinstance(additional, Structural) else None


def _dotted(tokens: Iterator[str]) -> tuple[str, str]:
    name = next(tokens, None)
    return ("", _NO_END) if name is None else (name, "")


def _bracketed(tokens: Iterator[str]) -> tuple[str, str]:
    quoted = next(tokens, None)
    if quoted is None:
        return "", _NO_END
    if not re.fullmatch("'.*'", quoted, re.DOTALL):
        return "", f"expected single quoted string but got {quoted}"
    unescaped, problem = _unescaped(quoted[1:-1])
    if problem:
        return "", problem
    closing = next(tokens, None)
    if closing is None:
        return "", _NO_END
    return unescaped, "" if closing == "]" else f"expected ] but got {closing}"


def _unescaped(text: str) -> tuple[str, str]:
    for escape in re.findall(r"\\.", text):
        if escape[1] not in _ESCAPES:
            return "", f"invalid string literal: invalid escape char {escape}"
    return re.sub(r"\\(.)", lambda match: _ESCAPES[match[1]], text), ""


def _tokens(text: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        end = _quote_end(text, at) if text[at] == "'" else _token_end(text, at)
        yield text[at:end]
        at = end


def _quote_end(text: str, start: int) -> int:
    for at in range(start + 1, len(text)):
        if text[at] == "'" and text[at - 1] != "\\":
            return at + 1
    return len(text)


def _token_end(text: str, start: int) -> int:
    for at in range(start, len(text)):
        if text[at] in ".[]":
            return max(at, start + 1)
    return len(text)
