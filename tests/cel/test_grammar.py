"""
The grammar for deep expressions makes the same trees as the parser for all others.
"""

from random import Random
from typing import Any

import pytest

from espalier.cel.expr import (
    Call,
    Comprehension,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
    Select,
    Source,
    StructLiteral,
)
from espalier.cel.parser.parse import ParseError, parse, parse_deep
from tests.differential.dice import Dice
from tests.differential.expressions import BOOL, INT, STRING, Grammar

EXAMPLES = 150
REACHABLE = {BOOL: ["self.a", "has(self.b)"], INT: ["self.i"], STRING: ["self.s"]}

ODD = [
    *("--1", "- 1", "-a", "--a", "!!a", "!a.b", "-1.a", "-1u", "1 - -1", "a -1", "-(1)", "!(-a)"),
    *("a.b.c", "a.?b", "a[?b]", "a.`b-c`", "a.?`b.c`", "a . b", "a.b (c)", "(a)", "a.b.?c.d[?e]()"),
    *("[?a,b,]", "{}", "{,}", "[,]", "[a,,]", "{?a:b,}", "{a}", "{a:}", "A.b.c{d: 1, ?e: 2}"),
    *("A{`x-y`: 1}", ".a.b", ".f(1)", "a.b{c:1}", "a().b{c:1}", "google.protobuf.Any{v: 1}"),
    *("has(a.b)", "has(a)", "a.all(x,x)", "a.exists(x,x)", "a.exists_one(x,x)", "a.filter(x,x>1)"),
    *("a.map(x,x)", "a.map(x,y,z)", "a.optMap(x,x+1)", "{'a':b}.optFlatMap(x,x.?y)"),
    *("a.all(1,x)", "a.map(1,x)", "a.optMap(1,x)", "a.filter(b.c,x)", "a.existsOne(x,x)"),
    *("a.all(i,v,v>i)", "a.sortBy(x,x)", "a.transformList(i,v,v)", "x.all(y, y.all(y, y))"),
    *("for", "a.for", "for(1)", ".for", "a in b in c", "1+2*3-4/5%6", "a<b==c", "a?b:c?d:e"),
    *("a||b||c||d||e", "a&&b&&c||d&&e", "0x1F", "-0x1F", "0x1Fu", "99999999999999999999"),
    *("1e400", "1e5", "1.5e-3", ".5", "18446744073709551616u", "-9223372036854775808", "0x", "00"),
    *("9223372036854775808", r"'a\n\x41\u00e9\U0001F600\101'", r"'\ud800'", r"b'\xff\377é'"),
    *(r"b'\u0041'", r"r'\d'", "R\"a'b\"", r"br'a\n'", "'''a'b\nc'''", '"""x\r\ny"""', "''''''"),
    *("''", r"'a\q'", "a // c\n + b", "\n\n a\n+\tb", "é", "a == 'é' + b", "a = b", "(a", "a)"),
    *("a +", "", "1.a", "f(a,)", "a.b(", "a.`b`(1)", "'a' 'b'", "1 2", "a.true", "1_0", "a?b"),
    *("1", "a[", "-", "!", "-true", 'b"a"', "rb'a'", "a..b", "a.1", "a[1:2]", "a,b", "`a`"),
    "a.?b()",
]  # fmt: skip


def shape(node: Node) -> Any:
    """
    Write an expression without its ids.
    """
    match node:
        case Literal():
            return node.at, type(node.value), repr(node.value)
        case Ident():
            return node.at, node.name
        case Select():
            return node.at, shape(node.operand), node.field, node.is_test
        case Call(function="_?._"):
            # The name of the field is placed otherwise; no error refers to it.
            assert isinstance(node.args[1], Literal)
            return node.at, shape(node.args[0]), node.args[1].value
        case Call():
            target = node.target and shape(node.target)
            return node.at, node.function, target, [shape(each) for each in node.args]
        case ListLiteral():
            return node.at, [shape(each) for each in node.elements], node.optional_indices
        case MapLiteral() | StructLiteral():
            return node.at, getattr(node, "name", None), [entry(each) for each in node.entries]
        case Comprehension():
            parts = (node.iter_range, node.init, node.condition, node.step, node.result)
            names = (node.variable, node.variable2, node.accumulator)
            return node.at, names, [shape(each) for each in parts]
        case _:
            raise TypeError(node)


def entry(each: Any) -> Any:
    key = shape(each.key) if isinstance(each.key, Node) else each.key
    return key, shape(each.value), each.is_optional, each.at


def told(text: str, read: Any) -> Any:
    """
    Write what a parser makes of a text; of a syntax error, that it is one.
    """
    try:
        return shape(read(Source(text)))
    except ParseError as error:
        issues = [(issue.at, issue.text) for issue in error.issues]
        return "syntax" if issues[0][1].startswith("Syntax error") else issues


@pytest.mark.parametrize("text", ODD)
def test_both_make_the_same_of_an_odd_text(text: str) -> None:
    assert told(text, parse_deep) == told(text, parse)


@pytest.mark.parametrize("of", [BOOL, INT, STRING])
def test_both_make_the_same_of_generated_expressions(of: str) -> None:
    dice = Dice(Random(of))  # noqa: S311 - a seed must give the same
    grammar = Grammar(dice, REACHABLE)

    for number in range(EXAMPLES):
        text = grammar.expression(of, 1 + number % 4)
        assert told(text, parse_deep) == told(text, parse), text
