"""
YAML that is read line by line is read as the parser reads it, or left to the parser.
"""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from espalier.cli.input.built_document import UnreadableDocumentError
from espalier.cli.input.positions import Mark
from espalier.cli.input.yaml_events import parse_documents
from espalier.cli.input.yaml_lines import read_lines
from espalier.paths import JSON, Path, Step

PLAIN: list[tuple[str, str]] = [
    ("maps and lists", "a:\n  b: 1\n  c:\n  - d\n  -   e: 2\n      f: 3\n  - {}\ng: x\n"),
    ("a list at the column of its key", "a:\n- b:\n  - c\nd: e\n"),
    ("a list as the document", "- a: 1\n- b\n"),
    ("keys without a value", "a:\nb:\n  c:\n- d\n"[:-4]),
    ("a value below its key", "a:\n  'b'\nc:\n  d e\n    f\n"),
    ("numbers and booleans", "a: 010\nb: 0x1F\nc: 1e3\nd: yes\ne: ~\nf: 1_0\ng: -.5\nh: 12:30\n"),
    ("quoted keys", "'a b': 1\n\"c: d\": 2\n"),
    ("quotes", "a: 'it''s'\nb: \"x\\n\\\"\\u00e9\\x41\\\\\"\nc: ''\n"),
    ("plain text over lines", "a: b\n  c, [d]\n   - 'e'\nf:\n- g\n  h\n- i: j\n    k\n"),
    ("quoted text over lines", "a: 'b\n  c\n\n\n d '\ne: \"f\\\n   g  \n\n h\"\n"),
    ("literal blocks", "a: |\n  # b\n    c\n\n  d\n\n\ne: |-\n  f\n   \n\ng: |+\n  h\n\n"),
    ("a literal block in a list", "- |-\n  a: b\n- c: |\n    d\n  e: f\n"),
    ("lists in one line", "a: [b, 'c, d', \"e\", 1, true]\nf: []\ng:\n- [ h ]\n"),
    ("maps in one line", "a: {b: 1}\nc: { 'd': yes, \"e f\": [g, {h: -1}, []], i: {} }  # j\n"),
    ("lists of lists in one line", "- [[a, [b]], {c: 'd, e: f'}]\n- g: {h: [010, ~], i/k: 0x1F}\n"),
    ("comments", "# a\nb: c # d\ne: # f\n  # g\n\n  h: i#j\nk: 'l' # m\n"),
    ("several documents", "---\na: 1\n---   \nb: 2\n---\n- c\n"),
    ("text that is not ASCII", "a: é ü\nb: 'ß'\nc: 漢字\n"),
    ("lines that occur again", "a: b\nc:\n- a: b\n- a: b\n    c\n- d\n- d\n   - e\nf:\n  a: b\n"),
    ("many documents of the same lines", "a: b\n---\na: b\nc: []\n---\n# d: e\nc: []\n"),
    ("no line break at the end", "a: 1\nb: c"),
]  # fmt: skip

NOT_PLAIN: list[tuple[str, str]] = [
    ("an anchor", "a: &b 1\nc: *b\n"),
    ("a tag", "a: !!str 1\n"),
    ("a merge key", "<<: {}\n"),
    ("a folded block", "a: >\n  b\n"),
    ("a literal block with an indentation", "a: |2\n   b\n"),
    ("a literal block that the text ends in", "a: |\n  b"),
    ("a literal block with an empty first line", "a: |\n\n  b\n"),
    ("maps over lines", "a: {b: 1,\n  c: 2}\n"),
    ("a comma at the end", "a: [b, ]\n"),
    ("a key without a value in one line", "a: {b}\nc: {d: }\n"),
    ("a map of one key in a list in one line", "a: [b: c]\n"),
    ("brackets that do not match", "a: [b}\n"),
    ("text after a bracket", "a: [b] c\n"),
    ("words without quotes in one line", "a: {b: c d}\n"),
    ("a key that occurs twice in one line", "a: {b: 1, b: 2}\n"),
    ("a key that is a boolean in one line", "a: {y: 1}\n"),
    ("a comment in brackets", "a: [b #c\n  ]\n"),
    ("a quote in quotes in one line", "a: ['it''s']\n"),
    ("a list in a list", "- - a\n"),
    ("a key that occurs twice", "a: 1\na: 2\n"),
    ("a key that is a number", "1: a\n"),
    ("a key that is a boolean", "on: a\n"),
    ("an escape that is rare", 'a: "\\N"\n'),
    ("half a pair of surrogates", 'a: "\\ud83d"\n'),
    ("a tab", "a:\tb\n"),
    ("another line break", "a: b\u2028c\n"),
    ("a control character", "a: \x01\n"),
    ("a byte order mark", "\ufeffa: 1\n"),
    ("a directive", "%YAML 1.1\n---\na: 1\n"),
    ("the end of a document", "a: 1\n...\n"),
    ("an empty document", "---\n---\na: 1\n"),
    ("no document", "# a\n"),
    ("a scalar as the document", "a\n"),
    ("a map that begins further right", " a: 1\n"),
    ("a comment between parts of a text", "a: b\n  # c\n  d\n"),
    ("a key in a plain text", "a: b: c\n"),
    ("a colon at the start of a line of a text", "a: b\n : c\n"),
    ("a document marker in quotes", "a: 'b\n--- c'\n"),
    ("a text that is not indented far enough", "- a: b\n c\n"),
    ("a place that is not an entry's", "a:\n    b: 1\n  c: 2\n"),
]

# fmt: off
VALUES = (
    "a", "b c", "1", "true", "~", "x.y/z", "'a'", '"x"', "[]", "{}", "[a, 'b']", "|", "|-",
    "|+", "a\n    b", "'a\n\n  b'", '"a\\n\n   c"', "", "", "", "", "- x", "&a b", "*a", "!x",
    "a: b", "a #c", "'it''s'", "|2", ">", "? a", ":x", "a:", "@a", "0x1F", "1e3", "-", "--",
    "---", '"a\\ \n b"', "a\n\n  b", "a\n  # b\n  c", "é", "a\tb", "'a'b", "[a,]", "{a: b}",
    "{a: [b, {c: '1', \"d\": 2}], e: {}}", "[{a: ~}, [b]] # c", "{a: b", "[a: b]", "{a, b}",
    "{a:b}", "{y: 1}", "{a: b, a: c}", "[a b]", "[a:b, c]", "[-1, - 2]", "{a: -}", "[#a]",
    "{a: 'b''c'}",
)
# fmt: on
KEYS = ("a", "b", "c", "d", "e", "'q'", '"r"', "on", "1", "<<", "a.b/c", "e f", "- g", "? h", "a:b")
ODD_LINES = ("", "   ", "# c", "  # c", "---", "--- ", "--- # c", "...", "  text", "      text")

lines = st.one_of(
    st.builds(
        lambda spaces, dash, key, value: f"{' ' * spaces}{dash}{key}:{' ' if value else ''}{value}",
        st.sampled_from([0, 0, 2, 2, 4, 4, 6, 1, 3]),
        st.sampled_from(["", "", "- ", "-   "]),
        st.sampled_from(KEYS),
        st.sampled_from(VALUES),
    ),
    st.builds(
        lambda spaces, dash, value: f"{' ' * spaces}{dash}{value}",
        st.sampled_from([0, 2, 4]),
        st.sampled_from(["- ", "- ", ""]),
        st.sampled_from(VALUES),
    ),
    st.sampled_from(ODD_LINES),
)
texts = st.builds(
    lambda body, end: "\n".join(body) + end,
    st.lists(lines, max_size=9),
    st.sampled_from(["\n", ""]),
)


def parsed(text: str) -> list[tuple[str, Mark, dict[Path, Mark | None]]]:
    return [
        (repr(one.value), one.root, _marks(one.value, one.marks))
        for one in parse_documents(text.encode())
    ]


def read(text: str) -> list[tuple[str, Mark, dict[Path, Mark | None]]] | None:
    documents = read_lines(text.encode())
    if documents is None:
        return None
    return [(repr(one.value), one.root, _marks(one.value, one.marks)) for one in documents]


def _marks(value: JSON, marks: Mapping[tuple[int, Step], Mark]) -> dict[Path, Mark | None]:
    found: dict[Path, Mark | None] = {}
    waiting: list[tuple[Path, Any]] = [((), value)]
    while waiting:
        path, container = waiting.pop()
        members = enumerate(container) if isinstance(container, list) else ()
        for step, member in container.items() if isinstance(container, dict) else members:
            found[*path, step] = marks.get((id(container), step))
            waiting.append(((*path, step), member))
    assert len(marks) == len(found)
    return found


@pytest.mark.parametrize("text", [text for _, text in PLAIN], ids=[name for name, _ in PLAIN])
def test_plain_text_is_read_as_the_parser_reads_it(text: str) -> None:
    assert read(text) == parsed(text)


@pytest.mark.parametrize("text", [t for _, t in NOT_PLAIN], ids=[name for name, _ in NOT_PLAIN])
def test_what_is_not_plain_is_left_to_the_parser(text: str) -> None:
    assert read(text) is None


def test_empty_containers_are_made_anew() -> None:
    documents = read_lines("a: []\nb: []\nc:\n- {}\n- {}\nd: {}\ne: {}\n") or []
    value: Any = documents[0].value

    made = [*value["c"], *(value[key] for key in "abde")]
    assert len({id(one) for one in made}) == len(made)


def test_text_that_is_not_utf8_is_left_to_the_parser() -> None:
    assert read_lines(b"a: \xff\xfe\n") is None


def test_deep_nesting_is_left_to_the_parser() -> None:
    text = "".join(f"{' ' * level}a:\n" for level in range(120))

    assert read_lines(text) is None
    assert read(text[: text.index(" " * 99)]) is not None


@given(texts)
@settings(max_examples=150)
def test_no_text_is_read_in_another_way(text: str) -> None:
    documents = read(text)

    if documents is not None:
        assert documents == parsed(text)


flow_parts = st.sampled_from([*"[[{{]]}},,:: ", ", ", "a: ", "b: ", "'c': ", '"d": '])
flow_parts |= st.sampled_from(["1", "-1", "e", "'f'", '"g"', "~", "h.i", "- ", "#", "? ", "&a "])


@given(st.lists(flow_parts, max_size=14), st.sampled_from(["x: [", "x: {", "- {a: "]))
@settings(max_examples=200)
def test_no_text_in_one_line_is_read_in_another_way(parts: list[str], start: str) -> None:
    text = start + "".join(parts)
    for bracket in ("", "]", "}", "]}", "}]"):
        documents = read(f"{text}{bracket}\n")

        if documents is not None:
            assert documents == parsed(f"{text}{bracket}\n")


@given(st.data())
@settings(max_examples=100)
def test_no_change_of_a_character_is_read_in_another_way(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from([text for _, text in PLAIN]))
    at = data.draw(st.integers(0, len(text)))
    new = data.draw(st.sampled_from([*" :#-'\"\\[]{}|>&*!,?.~\n0a\t"]))
    length = data.draw(st.integers(0, 1))
    changed = text[:at] + new + text[at + length :]

    documents = read(changed)

    if documents is not None:
        assert documents == parsed(changed)


def test_what_the_parser_refuses_is_not_read_either() -> None:
    for _, text in NOT_PLAIN:
        try:
            parsed(text)
        except UnreadableDocumentError:
            assert read(text) is None
