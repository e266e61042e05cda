"""
The grammar of expressions, to the depth of API servers.

The server counts how often each rule of its grammar is entered and not left yet. Of all rules,
three can reach the limit first: ``expr``, ``relation`` and ``calc``. Chains (``a == b == c``,
``a.b.c``) do not nest here, but they do when the tree is visited.

Source:
    cel-go, ``parser/gen/CEL.g4`` and ``recursionListener`` in ``parser/parser.go``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from espalier.cel.expr import Issue
from espalier.cel.parser import tokens
from espalier.cel.parser.tokens import END, ESCAPED, IDENTIFIER, Token, TokenError

MAX_DEPTH: Final = 250
"""The deepest nesting of a rule of the grammar, and of the visit of its tree."""

LITERALS: Final = frozenset(
    (
        *(tokens.INT, tokens.UINT, tokens.FLOAT, tokens.STRING, tokens.BYTES),
        *("true", "false", "null"),
    )
)
_SIGNED: Final = frozenset((tokens.INT, tokens.FLOAT))
_RELATIONS: Final = frozenset(("<", "<=", ">=", ">", "==", "!=", "in"))
_PRODUCTS, _SUMS = frozenset("*/%"), frozenset("+-")
_BEGINNINGS: Final = LITERALS | {"[", "{", "(", ".", "-", "!", IDENTIFIER}
_OPERAND: Final = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING,"
    " BYTES, IDENTIFIER}"
)


class DepthError(Exception):
    """
    An expression nests deeper than API servers parse.

    Attributes:
        text: The server's message.
        before: What was found wrong before.
    """

    def __init__(self, text: str, before: Sequence[Issue] = ()) -> None:
        super().__init__(text)
        self.text = text
        self.before = before


class ExpressionSyntaxError(Exception):
    """
    A text is no expression.
    """

    def __init__(self, at: int, text: str) -> None:
        super().__init__(text)
        self.at = at
        self.text = text


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """
    A part of an expression as written, without parentheses.

    Attributes:
        kind: The form: ``binary``, ``select`` and so on.
        at: The offset of the token that stands for the whole.
        text: The operator, the name, or the text of a constant.
        begin: The offset of the first token, where it differs.
        parts: The parts in the order in which they are visited.
        ats: The offsets of the operators of a chain, or of the colons of entries.
        names: The names of fields.
        optional: The indices of optional parts.
    """

    kind: str
    at: int
    text: str = ""
    begin: int = 0
    parts: tuple["Tree", ...] = ()
    ats: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    optional: frozenset[int] = frozenset()


def read(text: str) -> Tree:
    """
    Read an expression.

    Raises:
        DepthError: It nests too deep.
        ExpressionSyntaxError: It is no expression.
    """
    try:
        found = [*tokens.tokens(text)]
    except TokenError as error:
        raise ExpressionSyntaxError(error.at, str(error)) from None
    reader = _Grammar(found)
    tree = reader.expr()
    reader.expect(END)
    return tree


class _Grammar:
    """
    Reads tokens by recursive descent; each method is a rule of the grammar.
    """

    def __init__(self, found: list[Token]) -> None:
        self._tokens = found
        self._index = 0
        self._depths = {"expr": 0, "relation": 0, "calc": 0}

    def expr(self) -> Tree:
        self._enter("expr")
        tree = self._chain("||")
        if self._kind == "?":
            at = self._take().at
            truthy = self._chain("||")
            self.expect(":")
            falsy = self.expr()
            tree = Tree("conditional", at, parts=(tree, truthy, falsy))
        self._depths["expr"] -= 1
        return tree

    def expect(self, kind: str) -> Token:
        if self._kind != kind:
            raise self._problem(kind if kind in (END, IDENTIFIER) else f"'{kind}'", wanted=kind)
        return self._take()

    @property
    def _kind(self) -> str:
        return self._tokens[self._index].kind

    def _ahead(self, by: int) -> str:
        return self._tokens[min(self._index + by, len(self._tokens) - 1)].kind

    def _take(self) -> Token:
        token = self._tokens[self._index]
        if token.kind != END:
            self._index += 1
        return token

    def _takes(self, kind: str) -> bool:
        if self._kind != kind:
            return False
        self._take()
        return True

    def _enter(self, rule: str) -> None:
        self._depths[rule] += 1
        if self._depths[rule] > MAX_DEPTH:
            raise DepthError(f"expression recursion limit exceeded: {MAX_DEPTH}")

    def _problem(self, expected: str, *, wanted: str = "") -> ExpressionSyntaxError:
        token = self._tokens[self._index]
        is_extra = self._ahead(1) == wanted if wanted else self._ahead(1) in _BEGINNINGS
        is_last = token.kind != END or self._depths["expr"] == 1
        if wanted == ")" and not is_extra and is_last:
            return ExpressionSyntaxError(token.at, f"missing {expected} at '{token.text}'")
        what = "extraneous" if is_extra else "mismatched"
        return ExpressionSyntaxError(token.at, f"{what} input '{token.text}' expecting {expected}")

    def _chain(self, operator: str) -> Tree:
        is_or = operator == "||"
        terms, ats = [self._chain("&&") if is_or else self._relation(0)], []
        while self._kind == operator:
            ats.append(self._take().at)
            terms.append(self._chain("&&") if is_or else self._relation(0))
        if not ats:
            return terms[0]
        return Tree("chain", ats[0], operator, parts=tuple(terms), ats=tuple(ats))

    def _relation(self, precedence: int) -> Tree:
        self._enter("relation")
        left = self._calc(0)
        while precedence == 0 and self._kind in _RELATIONS:
            operator = self._take()
            left = Tree("binary", operator.at, operator.text, parts=(left, self._relation(1)))
        self._depths["relation"] -= 1
        return left

    def _calc(self, precedence: int) -> Tree:
        self._enter("calc")
        left = self._unary()
        while self._kind in _PRODUCTS or (self._kind in _SUMS and precedence == 0):
            if precedence > 1:
                break
            operator = self._take()
            right = self._calc(2 if operator.kind in _PRODUCTS else 1)
            left = Tree("binary", operator.at, operator.text, parts=(left, right))
        self._depths["calc"] -= 1
        return left

    def _unary(self) -> Tree:
        kind = self._kind
        if kind not in ("!", "-") or (kind == "-" and self._ahead(1) in _SIGNED):
            return self._member()
        operators = []
        while self._kind == kind:
            operators.append(self._take())
        member = self._member()
        if len(operators) % 2 == 0:
            return member
        return Tree("unary", operators[0].at, kind, parts=(member,))

    def _member(self) -> Tree:
        tree = self._primary()
        while True:
            if self._kind == ".":
                tree = self._after_dot(tree, self._take().at)
            elif self._kind == "[":
                at = self._take().at
                is_optional = self._takes("?")
                index = self.expr()
                self.expect("]")
                optional = frozenset((1,)) if is_optional else frozenset[int]()
                tree = Tree("index", at, parts=(tree, index), optional=optional)
            else:
                return tree

    def _after_dot(self, target: Tree, at: int) -> Tree:
        if self._takes("?"):
            name = self._name()
            return Tree("select", at, name.text, name.at, parts=(target,), optional=frozenset((0,)))
        if self._kind == IDENTIFIER and self._ahead(1) == "(":
            name = self._take()
            opened = self._take().at
            parts = (target, *self._arguments())
            return Tree("member call", opened, name.text, parts=parts)
        name = self._name()
        return Tree("select", at, name.text, name.at, parts=(target,))

    def _name(self) -> Token:
        if self._kind not in (IDENTIFIER, ESCAPED):
            raise self._problem("{IDENTIFIER, ESC_IDENTIFIER}")
        return self._take()

    def _arguments(self) -> list[Tree]:
        if self._takes(")"):
            return []
        found = [self.expr()]
        while self._takes(","):
            found.append(self.expr())
        self.expect(")")
        return found

    def _primary(self) -> Tree:
        kind = self._kind
        if kind == "(":
            self._take()
            tree = self.expr()
            self.expect(")")
            return tree
        if kind in LITERALS or kind == "-":
            return self._literal()
        opening = _OPENINGS.get(kind)
        if opening is not None:
            return opening(self)
        raise self._problem(_OPERAND)

    def _literal(self) -> Tree:
        at = self._tokens[self._index].at
        sign = "-" if self._takes("-") else ""
        if self._kind not in LITERALS or (sign and self._kind not in _SIGNED):
            raise self._problem(_OPERAND)
        token = self._take()
        return Tree("literal", at, sign + token.text, names=(token.kind,))

    def _named(self) -> Tree:
        begin = self._tokens[self._index].at
        dot = "." if self._takes(".") else ""
        if self._is_message():
            return self._message(begin, dot)
        name = self.expect(IDENTIFIER)
        if self._kind == "(":
            opened = self._take().at
            return Tree("call", opened, dot + name.text, begin, parts=(*self._arguments(),))
        return Tree("ident", name.at, dot + name.text, begin)

    def _is_message(self) -> bool:
        by = 0
        while self._ahead(by) == IDENTIFIER and self._ahead(by + 1) == ".":
            by += 2
        return self._ahead(by) == IDENTIFIER and self._ahead(by + 1) == "{"

    def _message(self, begin: int, dot: str) -> Tree:
        parts = [self._take().text]
        while self._takes("."):
            parts.append(self._take().text)
        self.expect("{")
        names: list[str] = []
        values, ats, optional = [], [], set()
        while self._has_more("}", is_first=not names):
            if self._takes("?"):
                optional.add(len(names))
            names.append(self._name().text)
            ats.append(self.expect(":").at)
            values.append(self.expr())
        return Tree(
            *("message", begin, dot + ".".join(parts), begin, tuple(values), tuple(ats)),
            names=tuple(names),
            optional=frozenset(optional),
        )

    def _has_more(self, closing: str, *, is_first: bool) -> bool:
        # A comma may stand before what closes, even alone.
        if is_first and self._kind not in (",", closing):
            return True
        if not is_first and self._kind == "," and self._ahead(1) != closing:
            self._take()
            return True
        self._takes(",")
        self.expect(closing)
        return False

    def _list(self) -> Tree:
        at = self._take().at
        elements: list[Tree] = []
        optional = set()
        while self._has_more("]", is_first=not elements):
            if self._takes("?"):
                optional.add(len(elements))
            elements.append(self.expr())
        return Tree("list", at, parts=tuple(elements), optional=frozenset(optional))

    def _map(self) -> Tree:
        at = self._take().at
        parts: list[Tree] = []
        ats: list[int] = []
        optional = set()
        while self._has_more("}", is_first=not parts):
            if self._takes("?"):
                optional.add(len(ats))
            parts.append(self.expr())
            ats.append(self.expect(":").at)
            parts.append(self.expr())
        return Tree("map", at, parts=tuple(parts), ats=tuple(ats), optional=frozenset(optional))


_OPENINGS: Final[dict[str, Callable[[_Grammar], Tree]]] = {
    IDENTIFIER: _Grammar._named,  # noqa: SLF001 - a table of its own methods
    ".": _Grammar._named,  # noqa: SLF001
    "[": _Grammar._list,  # noqa: SLF001
    "{": _Grammar._map,  # noqa: SLF001
}
