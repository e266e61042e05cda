"""
Expressions from their text, by Google's parser; then the macros that it does not know.

What nests deeper than that parser goes is read by the grammar beside this module, which is slower,
and whose syntax errors may have another text than the server's.
"""

import functools
import math
import re
from typing import Final

from cel_expr_python import cel
from cel_expr_python.ext import ext_optional

from espalier.cel.expr import MAX_ERRORS, NOWHERE, Issue, Literal, Node, Source, walk
from espalier.cel.parser.building import build
from espalier.cel.parser.grammar import DepthError, ExpressionSyntaxError, read
from espalier.cel.parser.macros import MacroError, expand
from espalier.cel.parser.wire import decode_parsed
from espalier.cel.stack import reserve

MAX_CODE_POINTS: Final = 100_000
"""The longest expression that either parser reads."""

_HEAD = re.compile(r"^ERROR: <input>:(-?[0-9]+):(-?[0-9]+): (.*)$")
# The parser's message about a macro's argument, and the API server's.
_MESSAGES: Final = {
    "has() argument must be a field selection": "invalid argument to has() macro",
    "all() variable name must be a simple identifier": "argument must be a simple name",
    "exists() variable name must be a simple identifier": "argument must be a simple name",
    "exists_one() variable name must be a simple identifier": "argument must be a simple name",
    "map() variable name must be a simple identifier": "argument is not an identifier",
    "filter() variable name must be a simple identifier": "argument is not an identifier",
}
_ESCAPES: Final = (
    (
        re.compile(
            r"^Invalid (?:string|bytes) literal: "
            r".*(?:Unicode value \S+ is invalid|Value of \S+ exceeds Unicode limit .*)$"
        ),
        "invalid unicode code point",
    ),
    (
        re.compile(r"^Invalid bytes literal: .* cannot be used in bytes literals$"),
        "unable to unescape string",
    ),
)
_COPYING: Final = re.compile("optMap|optFlatMap")
_MAX_COPYING: Final = 8
_MAX_PARSED_BYTES: Final = 1024 * 1024
_ACCUMULATOR_NAME: Final = "variable name cannot be __result__"
_ESCAPED_MARK: Final = r"'\u003F'"
_NO_TREE: Final = "<<nil>> parsetree"
_TOO_DEEP: Final = "recursion"
_AFTER_A_DOT: Final = re.compile(
    r"^(Syntax error: )no viable alternative at input '\.(?: |\\[tnrf])*(true|false|null)'$"
)
_TRUNCATED: Final = re.compile(r"^([0-9]+) more errors were truncated\.$")
_NO_FIELD: Final = "expecting {IDENTIFIER, ESC_IDENTIFIER}"


class ParseError(Exception):
    """
    An expression is none.

    Attributes:
        issues: What is wrong with it, with the messages of API servers.
    """

    def __init__(self, issues: list[Issue]) -> None:
        super().__init__(f"{len(issues)} syntax errors")
        self.issues = issues


class UnreadableError(Exception):
    """
    The parser cannot read an expression that API servers may be able to read.
    """


@functools.cache
def _environment() -> "cel.Env":
    return cel.NewEnv(extensions=[ext_optional.ExtOptional()])


def parse(source: Source) -> Node:
    """
    Parse an expression and expand its macros.

    Raises:
        ParseError: It is no expression.
        UnreadableError: It is too large.
    """
    if len(source.text) > MAX_CODE_POINTS:
        detail = f"expression code point size exceeds limit: size: {len(source.text)}"
        raise ParseError([Issue(NOWHERE, f"{detail}, limit {MAX_CODE_POINTS}")])
    # Each of these copies what it is called on: a chain of them grows exponentially.
    if len(_COPYING.findall(source.text)) > _MAX_COPYING:
        raise UnreadableError("it has too many macros of optionals")
    try:
        parsed = _environment().compile(source.text, disable_check=True).serialize()
    except RuntimeError as error:
        if _TOO_DEEP in str(error):
            return parse_deep(source)
        raise _translated(str(error), source) from None
    if len(parsed) > _MAX_PARSED_BYTES:
        raise UnreadableError("it is too large")
    root = decode_parsed(parsed)
    infinite = [node.at for node in walk(root) if _is_infinite(node)]
    if infinite:
        raise ParseError([Issue(at, "invalid double literal") for at in infinite])
    return _expanded(root)


def parse_deep(source: Source) -> Node:
    """
    Parse an expression of any depth, and expand its macros.

    Raises:
        ParseError: It is no expression, or nests deeper than API servers go.
    """
    reserve()
    try:
        root, issues = build(read(source.text))
    except ExpressionSyntaxError as error:
        raise ParseError([Issue(error.at, f"Syntax error: {error.text}")]) from None
    except DepthError as error:
        raise ParseError([*error.before, Issue(NOWHERE, error.text)]) from None
    if issues:
        raise ParseError(issues)
    return _expanded(root)


def _is_infinite(node: Node) -> bool:
    return isinstance(node, Literal) and isinstance(node.value, float) and math.isinf(node.value)


def _expanded(root: Node) -> Node:
    try:
        return expand(root)
    except MacroError as error:
        raise ParseError([Issue(error.at, error.text)]) from None


def _translated(message: str, source: Source) -> Exception:
    issues: list[Issue] = []
    for line in message.removeprefix("INVALID_ARGUMENT: ").split("\n"):
        match = _HEAD.match(line.removesuffix(" [INVALID_ARGUMENT]"))
        if match:
            at = _offset(source, int(match.group(1)), int(match.group(2)) - 1)
            text = match.group(3).replace(_ESCAPED_MARK, "'?'")
            if more := _TRUNCATED.match(text):
                # Only their number counts: of so many the server lists no more either.
                total = MAX_ERRORS + int(more.group(1))
                return ParseError([*issues, *issues[-1:] * total][:total])
            if text == _NO_TREE and issues:
                # The server stays silent where something else was wrong before.
                continue
            if text.endswith(_ACCUMULATOR_NAME):
                text = "iteration variable overwrites accumulator variable"
                at = source.text.find(_ACCUMULATOR_NAME.split()[-1])
            # The server's parser knows by now that only a field can follow the dot.
            text = _AFTER_A_DOT.sub(r"\1mismatched input '\2' expecting IDENTIFIER", text)
            for pattern, wanted in _ESCAPES:
                text = pattern.sub(wanted, text)
            issues.append(Issue(at, _MESSAGES.get(text, text)))
            if text.endswith(_NO_FIELD):
                issues.append(Issue(at, "unsupported ident kind"))
    return ParseError(issues) if issues else UnreadableError(message.split("\n", maxsplit=1)[0])


def _offset(source: Source, line: int, column: int) -> int:
    return sum(len(each) + 1 for each in source.lines[: line - 1]) + column
