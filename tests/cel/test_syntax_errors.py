"""
Syntax errors, as a kube-apiserver 1.37.2 was seen to write them.
"""

import pytest

from espalier.cel.expr import Source
from espalier.cel.parser.parse import ParseError, parse

NO_FIELD = "Syntax error: mismatched input '{}' expecting IDENTIFIER"
NO_OPTIONAL = "Syntax error: mismatched input '{}' expecting {{IDENTIFIER, ESC_IDENTIFIER}}"
NO_TEST = "invalid argument to has() macro"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("self.true == 1", [(5, NO_FIELD.format("true"))]),
        ("self.a.false", [(7, NO_FIELD.format("false"))]),
        ("self.null", [(5, NO_FIELD.format("null"))]),
        ("self.true()", [(5, NO_FIELD.format("true"))]),
        ("self.true.false", [(5, NO_FIELD.format("true"))]),
        ("{'a': 1}.true", [(9, NO_FIELD.format("true"))]),
        ("self.a(true.b).true", [(15, NO_FIELD.format("true"))]),
        ("has(self.true)", [(4, NO_TEST), (9, NO_FIELD.format("true"))]),
        ("self.?true", [(6, NO_OPTIONAL.format("true")), (6, "unsupported ident kind")]),
    ],
)
def test_a_literal_is_no_field(text: str, expected: list[tuple[int, str]]) -> None:
    with pytest.raises(ParseError) as caught:
        parse(Source(text))

    assert sorted((issue.at, issue.text) for issue in caught.value.issues) == expected


def test_other_reserved_words_are_reported_as_before() -> None:
    with pytest.raises(ParseError) as caught:
        parse(Source("self.in"))

    assert caught.value.issues[0].text == "Syntax error: no viable alternative at input '.in'"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1e400 > 1.0", [(0, "invalid double literal")]),
        ("1.0 < -1e400", [(6, "invalid double literal")]),
        (r"'\ud800'", [(0, "invalid unicode code point")]),
        (r"'a' + '\U00110000'", [(6, "invalid unicode code point")]),
        (r"b'\u0041'", [(0, "unable to unescape string")]),
    ],
)
def test_a_constant_that_stands_for_nothing_is_refused(
    text: str, expected: list[tuple[int, str]]
) -> None:
    with pytest.raises(ParseError) as caught:
        parse(Source(text))

    assert [(issue.at, issue.text) for issue in caught.value.issues] == expected


def test_an_expression_that_is_too_long_is_refused_as_a_whole() -> None:
    source = Source("a" * 100_001)
    with pytest.raises(ParseError) as caught:
        parse(source)

    detail = "expression code point size exceeds limit: size: 100001, limit 100000"
    assert source.display(caught.value.issues) == f"ERROR: <input>:-1:0: {detail}"


@pytest.mark.parametrize("count", [99, 100, 101, 120])
def test_of_many_errors_the_number_is_right(count: int) -> None:
    source = Source(" || ".join(["[1].all(1, true)"] * count))
    with pytest.raises(ParseError) as caught:
        parse(source)

    assert len(caught.value.issues) == count
    last = source.display(caught.value.issues).rpartition("\n")[2]
    assert (last == f"{count - 100} more errors were truncated") == (count > 100)
