"""
Parsed CEL expressions, as trees of frozen records.
"""

from collections.abc import Iterator
from typing import Final, TypeAlias

import msgspec

from espalier.cel.values import Uint


class Node(msgspec.Struct, frozen=True, eq=False):
    """
    Any expression.

    Attributes:
        id: Unique in its expression; types and references are looked up by it.
        at: The offset into the source in code points, by which errors are placed.
    """

    id: int
    at: int


class Literal(Node, frozen=True, eq=False):
    """
    A constant.
    """

    value: "bool | int | Uint | float | str | bytes | None"


class Ident(Node, frozen=True, eq=False):
    """
    A name.
    """

    name: str


class Select(Node, frozen=True, eq=False):
    """
    ``operand.field``, or ``has(operand.field)``.
    """

    operand: Node
    field: str
    is_test: bool = False


class Call(Node, frozen=True, eq=False):
    """
    A call, of an operator too (``_+_``); ``target`` is what stands before the dot.
    """

    function: str
    target: Node | None
    args: tuple[Node, ...]


class ListLiteral(Node, frozen=True, eq=False):
    """
    ``[a, ?b]``.
    """

    elements: tuple[Node, ...]
    optional_indices: frozenset[int] = frozenset()


class Entry(msgspec.Struct, frozen=True):
    """
    An entry of a map or of a message; the key of a message's entry is the name of a field.
    """

    key: "Node | str"
    value: Node
    is_optional: bool
    at: int


class MapLiteral(Node, frozen=True, eq=False):
    """
    ``{key: value}``.
    """

    entries: tuple[Entry, ...]


class StructLiteral(Node, frozen=True, eq=False):
    """
    ``Name{field: value}``.
    """

    name: str
    entries: tuple[Entry, ...]


class Comprehension(Node, frozen=True, eq=False):
    """
    A fold over a list's elements or a map's keys, to which macros expand.

    ``variable2`` is empty where there is but one variable.
    """

    variable: str
    variable2: str
    iter_range: Node
    accumulator: str
    init: Node
    condition: Node
    step: Node
    result: Node


Expression: TypeAlias = (
    Literal | Ident | Select | Call | ListLiteral | MapLiteral | StructLiteral | Comprehension
)


class Source(msgspec.Struct, frozen=True, eq=False):
    """
    The text of an expression, and its errors.

    Source:
        cel-go, ``common/error.go`` and ``common/errors.go``.
    """

    text: str
    lines: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "lines", tuple(self.text.split("\n")))

    def position(self, offset: int) -> tuple[int, int]:
        """
        Find the line, counted from 1, and the column, counted from 0; -1 for both if nowhere.
        """
        if offset == NOWHERE:
            return -1, -1
        for number, line in enumerate(self.lines, 1):
            if offset <= len(line):
                return number, offset
            offset -= len(line) + 1
        return len(self.lines), len(self.lines[-1])

    def display(self, errors: "list[Issue]") -> str:
        """
        Write errors with the lines that they point into.
        """
        ordered = sorted(errors, key=lambda issue: self.position(issue.at))
        shown = [self._display(issue) for issue in ordered[:MAX_ERRORS]]
        if len(errors) > MAX_ERRORS:
            shown.append(f"{len(errors) - MAX_ERRORS} more errors were truncated")
        return "\n".join(shown)

    def _display(self, issue: "Issue") -> str:
        line, column = self.position(issue.at)
        head = f"ERROR: <input>:{line}:{column + 1}: {issue.text}"
        if issue.at == NOWHERE:
            return head
        snippet = self.lines[line - 1].replace("\t", " ")
        # What the last line lacks, an empty one, is not shown.
        if (line == len(self.lines) and not snippet) or len(snippet) > _MAX_SNIPPET:
            return head
        before = "".join("." if ord(char) < _ASCII else "\uff0e" for char in snippet[:column])
        mark = "\uff3e" if snippet[column : column + 1] > "\x7f" else "^"
        return f"{head}\n | {snippet}\n | {before}{mark}"


NOWHERE: Final = -1
"""The offset of errors that concern the whole expression."""

MAX_ERRORS = 100
_MAX_SNIPPET = 16_384
_ASCII = 128


class Issue(msgspec.Struct, frozen=True):
    """
    What is wrong with an expression, and where.
    """

    at: int
    text: str


def children(node: Node) -> Iterator[Node]:
    """
    Yield what an expression consists of, in the order of evaluation.
    """
    match node:
        case Select():
            yield node.operand
        case Call():
            if node.target is not None:
                yield node.target
            yield from node.args
        case ListLiteral():
            yield from node.elements
        case MapLiteral() | StructLiteral():
            for entry in node.entries:
                if isinstance(entry.key, Node):
                    yield entry.key
                yield entry.value
        case Comprehension():
            yield from (node.iter_range, node.init, node.condition, node.step, node.result)
        case _:
            return


def walk(node: Node) -> Iterator[Node]:
    """
    Yield an expression and all that is in it, outermost first.
    """
    waiting = [node]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += [*children(one)][::-1]


def qualified_name(node: Node) -> str | None:
    """
    Read ``a.b.c`` as one name; None if the expression is more than names.
    """
    parts = []
    while isinstance(node, Select) and not node.is_test:
        parts.append(node.field)
        node = node.operand
    return ".".join((node.name, *reversed(parts))) if isinstance(node, Ident) else None
