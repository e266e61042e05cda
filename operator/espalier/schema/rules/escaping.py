"""
Escape names of properties as CEL identifiers, and unescape them.
"""

import functools
import re

RESERVED = frozenset(
    (
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for"),
        *("function", "if", "import", "let", "loop", "package", "namespace", "return", "var"),
        *("void", "while"),
    )
)
"""The reserved words, which cannot be identifiers."""

_PLAIN = re.compile(r"[A-Za-z0-9_]+")
_ESCAPED = re.compile(r"__|[-./]|[^A-Za-z0-9_]")
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_NAMES = {name.strip("_"): char for char, name in _ESCAPES.items()}
_SEQUENCE = re.compile(r"__([^_]+)__")


@functools.lru_cache(maxsize=8192)
def escape(name: str) -> str | None:
    """
    Escape a property's name as an identifier.

    Returns:
        The identifier; None if the name cannot be escaped.

    Source:
        apiserver, ``pkg/cel/escaping.go``, ``Escape``.
    """
    if not name or name[0] in "0123456789":
        return None
    if name in RESERVED:
        return f"__{name}__"
    if "__" not in name and _PLAIN.fullmatch(name):
        return name
    parts = [match.group() for match in _ESCAPED.finditer(name)]
    if any(part not in _ESCAPES for part in parts):
        return None
    return _ESCAPED.sub(lambda match: _ESCAPES[match.group()], name)


@functools.lru_cache(maxsize=8192)
def unescape(identifier: str) -> str | None:
    """
    Return the name of the property that an identifier stands for.

    Returns:
        The name; None if the identifier has an unknown escape sequence.

    Source:
        apiserver, ``pkg/cel/escaping.go``, ``Unescape``.
    """
    if "__" not in identifier:
        return identifier
    parts: list[str] = []
    end = 0
    for match in _SEQUENCE.finditer(identifier):
        word = match.group(1)
        if word in RESERVED and match.group() == identifier:
            return word
        if word not in _NAMES:
            return None
        parts += (identifier[end : match.start()], _NAMES[word])
        end = match.end()
    return "".join((*parts, identifier[end:]))
