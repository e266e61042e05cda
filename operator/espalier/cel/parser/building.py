"""
The visit of what was read: names and constants are checked, and macros are expanded.

The server stops visiting where calls, selections and operators of two operands are in each other
deeper than the limit.

Source:
    cel-go, ``parser/parser.go``, ``Visit``, and ``parser/helper.go``.
"""

import math
from collections.abc import Callable, Sequence
from typing import Final

from espalier.cel.expr import (
    Call,
    Entry,
    Ident,
    Issue,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
    Select,
    StructLiteral,
)
from espalier.cel.parser import tokens
from espalier.cel.parser.escapes import EscapeError, bytes_of, text_of
from espalier.cel.parser.grammar import MAX_DEPTH, DepthError, Tree
from espalier.cel.parser.macros import MacroError, Maker
from espalier.cel.parser.standard_macros import MACROS
from espalier.cel.values import INT64_MAX, INT64_MIN, UINT64_MAX, Uint

_RESERVED: Final = frozenset(
    (
        *("as", "break", "const", "continue", "else", "false", "for", "function", "if", "import"),
        *("in", "let", "loop", "package", "namespace", "null", "return", "true", "var", "void"),
        "while",
    )
)
_COUNTED: Final = frozenset(("conditional", "binary", "select", "member call", "index"))


def build(tree: Tree) -> tuple[Node, list[Issue]]:
    """
    Make the nodes of an expression.

    Returns:
        The expression, and what is wrong with it; it means nothing if there is something.

    Raises:
        DepthError: It nests too deep.
    """
    builder = _TreeVisit()
    return builder.visit(tree), builder.issues


class _TreeVisit:
    """
    Visits the parts of an expression.
    """

    def __init__(self) -> None:
        self.issues: list[Issue] = []
        self._maker = Maker(0, 0)
        self._depth = 0

    def visit(self, tree: Tree) -> Node:
        if tree.kind not in _COUNTED:
            return _VISITS[tree.kind](self, tree)
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise DepthError("max recursion depth exceeded", self.issues)
        node = _VISITS[tree.kind](self, tree)
        self._depth -= 1
        return node

    def _id(self) -> int:
        return self._maker.new_id()

    def _parts(self, tree: Tree) -> list[Node]:
        nodes = []
        for part in tree.parts:
            nodes.append(self.visit(part))  # noqa: PERF401 - a frame less for each level
        return nodes

    def _problem(self, at: int, text: str) -> Node:
        self.issues.append(Issue(at, text))
        return Literal(self._id(), at, None)

    def _called(self, tree: Tree, function: str, target: Node | None, args: Sequence[Node]) -> Node:
        macro = MACROS.get((function, len(args), target is not None))
        if macro is None:
            return Call(self._id(), tree.at, function, target, tuple(args))
        self._maker.at = tree.at
        try:
            return macro(self._maker, target or args[0], tuple(args))
        except MacroError as error:
            return self._problem(error.at, error.text)

    def conditional(self, tree: Tree) -> Node:
        return Call(self._id(), tree.at, "_?_:_", None, tuple(self._parts(tree)))

    def binary(self, tree: Tree) -> Node:
        name = "@in" if tree.text == "in" else f"_{tree.text}_"
        return Call(self._id(), tree.at, name, None, tuple(self._parts(tree)))

    def unary(self, tree: Tree) -> Node:
        name = "!_" if tree.text == "!" else "-_"
        return Call(self._id(), tree.at, name, None, tuple(self._parts(tree)))

    def chain(self, tree: Tree) -> Node:
        return self._balanced(f"_{tree.text}_", self._parts(tree), tree.ats, 0, len(tree.ats) - 1)

    def _balanced(
        self, name: str, terms: list[Node], ats: tuple[int, ...], low: int, high: int
    ) -> Node:
        middle = (low + high + 1) // 2
        left = terms[middle] if middle == low else self._balanced(name, terms, ats, low, middle - 1)
        right = (
            terms[middle + 1]
            if middle == high
            else self._balanced(name, terms, ats, middle + 1, high)
        )
        return Call(self._id(), ats[middle], name, None, (left, right))

    def select(self, tree: Tree) -> Node:
        (operand,) = self._parts(tree)
        name = tree.text.strip("`")
        if tree.optional:
            field = Literal(self._id(), tree.begin, name)
            return Call(self._id(), tree.at, "_?._", None, (operand, field))
        return Select(self._id(), tree.at, operand, name)

    def index(self, tree: Tree) -> Node:
        name = "_[?_]" if tree.optional else "_[_]"
        return Call(self._id(), tree.at, name, None, tuple(self._parts(tree)))

    def member_call(self, tree: Tree) -> Node:
        target, *args = self._parts(tree)
        return self._called(tree, tree.text, target, args)

    def call(self, tree: Tree) -> Node:
        if tree.text.removeprefix(".") in _RESERVED:
            return self._reserved(tree)
        return self._called(tree, tree.text, None, self._parts(tree))

    def ident(self, tree: Tree) -> Node:
        if tree.text.removeprefix(".") in _RESERVED:
            return self._reserved(tree)
        return Ident(self._id(), tree.at, tree.text)

    def _reserved(self, tree: Tree) -> Node:
        return self._problem(tree.begin, f"reserved identifier: {tree.text.removeprefix('.')}")

    def list(self, tree: Tree) -> Node:
        return ListLiteral(self._id(), tree.at, tuple(self._parts(tree)), tree.optional)

    def map(self, tree: Tree) -> Node:
        parts = self._parts(tree)
        pairs = zip(parts[::2], parts[1::2], strict=True)
        entries = [
            Entry(key, value, index in tree.optional, at)
            for index, ((key, value), at) in enumerate(zip(pairs, tree.ats, strict=True))
        ]
        return MapLiteral(self._id(), tree.at, tuple(entries))

    def message(self, tree: Tree) -> Node:
        fields = zip(tree.names, self._parts(tree), tree.ats, strict=True)
        entries = [
            Entry(name.strip("`"), value, index in tree.optional, at)
            for index, (name, value, at) in enumerate(fields)
        ]
        return StructLiteral(self._id(), tree.at, entries=tuple(entries), name=tree.text)

    def literal(self, tree: Tree) -> Node:
        try:
            value = _CONSTANTS[tree.names[0]](tree.text)
        except EscapeError as error:
            return self._problem(tree.at, str(error))
        except OverflowError as error:
            return self._problem(tree.at, f"invalid {error} literal")
        return Literal(self._id(), tree.at, value)


def _integer(text: str) -> int:
    value = _whole(text)
    if not INT64_MIN <= value <= INT64_MAX:
        raise OverflowError("int")
    return value


def _unsigned(text: str) -> Uint:
    value = _whole(text[:-1])
    if value > UINT64_MAX:
        raise OverflowError("uint")
    return Uint(value)


def _whole(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        text = text[:1] + text[1:].lstrip("0")
        if len(text) > _MAX_DIGITS:
            return UINT64_MAX + 1
    return int(text, 16 if text.removeprefix("-").startswith("0x") else 10)


_MAX_DIGITS: Final = 200


def _double(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise OverflowError("double")
    return value


_CONSTANTS: Final[dict[str, "Callable[[str], bool | int | Uint | float | str | bytes | None]"]] = {
    tokens.INT: _integer,
    tokens.UINT: _unsigned,
    tokens.FLOAT: _double,
    tokens.STRING: text_of,
    tokens.BYTES: lambda text: bytes_of(text[1:]),
    "true": lambda _: True,
    "false": lambda _: False,
    "null": lambda _: None,
}
_VISITS: Final[dict[str, Callable[[_TreeVisit, Tree], Node]]] = {
    "conditional": _TreeVisit.conditional,
    "binary": _TreeVisit.binary,
    "unary": _TreeVisit.unary,
    "chain": _TreeVisit.chain,
    "select": _TreeVisit.select,
    "index": _TreeVisit.index,
    "member call": _TreeVisit.member_call,
    "call": _TreeVisit.call,
    "ident": _TreeVisit.ident,
    "list": _TreeVisit.list,
    "map": _TreeVisit.map,
    "message": _TreeVisit.message,
    "literal": _TreeVisit.literal,
}
