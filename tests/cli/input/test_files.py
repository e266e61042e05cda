"""
Reading of files: YAML as kubectl reads it, JSON, lists, and everything that is none of them.
"""

import io
import json
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from espalier.cli.input.files import Document, expand, read_documents
from espalier.cli.input.json_positions import JsonMarks
from espalier.cli.input.positions import Mark, TextPositions
from espalier.errors import SourceError
from espalier.paths import JSON, Key

# What sigs.k8s.io/yaml makes of each scalar.
SCALARS: list[tuple[str, JSON]] = [
    ("=", "="),
    ("y", True),
    ("Yes", True),
    ("on", True),
    ("N", False),
    ("Off", False),
    ("yEs", "yEs"),
    ("2222:22", "2222:22"),
    ("12:30:45", "12:30:45"),
    ("2020-01-01", "2020-01-01"),
    ("2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z"),
    ("1e3", 1000),
    ("1.5e3", 1500),
    ("010", 8),
    ("0o17", 15),
    ("08", 8),
    ("1_000", 1000),
    ("0x1F", 31),
    ("-0x1F", -31),
    ("0b11", 3),
    ("-0b11", -3),
    (".5", 0.5),
    ("-.5", -0.5),
    ("5.", 5),
    ("1.0", 1),
    ("-0.0", 0),
    ("+5", 5),
    ("1e", "1e"),
    ("1e999", "1e999"),
    (".", "."),
    ("-", None),
    ("9223372036854775807", 9223372036854775807),
    ("9223372036854775808", 9223372036854775808.0),
    ("-9223372036854775808", -9223372036854775808),
    ("123456789012345678901234567890", 123456789012345678901234567890.0),
    ("4611686018427387904.0", 4611686018427388000),
    ('"1"', "1"),
    ("'~'", "~"),
    ("~", None),
    ("Null", None),
    ("!!str 1", "1"),
    ("!!int '1'", 1),
    ("!!float 1", 1),
    ("!own 1", "1"),
    ("!!binary aGk=", "hi"),
]

# Of each broken text: the line and a piece of the message.
BROKEN: list[tuple[str, str, int | None, str]] = [
    ("a bracket that is not closed", "a: [1\nb: 2\n", 2, "not YAML: did not find expected"),
    ("a tab as indentation", "a:\n\tb: 1\n", 2, "not YAML: found character that cannot start"),
    ("a key that occurs twice", "a: 1\nb: 2\na: 3\n", 3, "the key 'a' occurs twice in one map"),
    ("keys that become equal", "on: 1\ntrue: 2\n", 2, "the key 'true' occurs twice"),
    ("an unknown anchor", "a: *b\n", 1, "not YAML: unknown anchor 'b'"),
    ("an anchor that contains itself", "a: &b\n  - *b\n", 2, "anchor 'b' contains itself"),
    ("a merge of a scalar", "a:\n  <<: 1\n", 2, "map merge requires map"),
    ("a null as a key", "~: 1\n", 1, "a key must be a string, a number or a boolean"),
    ("a list as a key", "? [a]\n: 1\n", 1, "a key must be a string, a number or a boolean"),
    ("a number that JSON lacks", "a: .nan\n", 1, "JSON has no number nan"),
    ("a tag that does not fit", "a: !!int x\n", 1, "'x' is not of the type !!int"),
    ("binary that is none", 'a: !!binary "?"\n', 1, "invalid base64"),
    ("a control character", "a: \x01\n", None, "not YAML"),
    ("a deep nesting", "[" * 300, 1, "nested deeper than 256 levels"),
    ("JSON with a key twice", '{"a": 1, "a": 2}', None, "the key 'a' occurs twice"),
    ("JSON with a number that it lacks", '{"a": NaN}', None, "JSON has no number NaN"),
    ("deep JSON", '{"a":' + "[" * 300 + "]" * 300 + "}", None, "nested deeper than 256 levels"),
    ("very deep JSON", "[" * 100_000 + "]" * 100_000, None, "nested deeper than 256 levels"),
    ("broken JSON", '{"a": 1,\n "b": }x', 2, "not YAML"),
]


def read(tmp_path: Path, text: str | bytes) -> list[Document]:
    file = tmp_path / "file.yaml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return list(read_documents(str(file)))


@pytest.mark.parametrize(("text", "value"), SCALARS, ids=[text for text, _ in SCALARS])
def test_scalars_are_read_as_kubectl_reads_them(tmp_path: Path, text: str, value: JSON) -> None:
    (document,) = read(tmp_path, f"a: {text}\n" if text != "-" else "a:\n")

    assert document.value == {"a": value}
    assert isinstance(document.value, dict)
    assert type(document.value["a"]) is type(value)


def test_keys_become_the_text_that_they_are_in_json(tmp_path: Path) -> None:
    (document,) = read(tmp_path, "n: 1\non: 2\n1: 3\n1.5: 4\n0.1: 5\n1e7: 6\n=: 7\n2020-01-01: 8\n")

    assert document.value == {
        "false": 1, "true": 2, "1": 3, "1.5": 4, "0.1": 5, "10000000": 6, "=": 7, "2020-01-01": 8
    }  # fmt: skip


def test_merged_maps_come_first_and_later_keys_win(tmp_path: Path) -> None:
    text = "x: &x {a: 1, b: 1}\ny: &y {a: 2, c: 2}\nz:\n  <<: [*x, *y]\n  b: 3\n"

    (document,) = read(tmp_path, text)

    assert isinstance(document.value, dict)
    assert document.value["z"] == {"a": 1, "b": 3, "c": 2}


@pytest.mark.parametrize(
    ("text", "line", "detail"), [b[1:] for b in BROKEN], ids=[b[0] for b in BROKEN]
)
def test_what_cannot_be_read_is_named_with_its_line(
    tmp_path: Path, text: str, line: int | None, detail: str
) -> None:
    with pytest.raises(SourceError) as caught:
        read(tmp_path, text)

    assert caught.value.line == line
    assert detail in caught.value.detail
    assert "\n" not in str(caught.value)


def test_aliases_cannot_multiply_without_bound(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]

    with pytest.raises(SourceError, match="aliases stand for more than 1,000,000 values"):
        read(tmp_path, "\n".join(lines))


def test_text_that_is_no_utf8_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="not YAML"):
        read(tmp_path, b"a: \xff\xfe\n")


def test_documents_are_numbered_and_empty_ones_passed_over(tmp_path: Path) -> None:
    documents = read(tmp_path, "# nothing\n---\na: 1\n---\n---\nb: 2\n")

    assert [(document.number, document.value) for document in documents] == [
        (1, {"a": 1}),
        (3, {"b": 2}),
    ]


def test_values_are_found_by_line_and_column(tmp_path: Path) -> None:
    text = "---\na:\n  - b: 1\n    c:\n      d: 2\n"
    (document,) = read(tmp_path, text)

    assert document.mark(("a", 0, "c", Key("d"))) == Mark(5, 7)
    assert document.mark(("a", 0)) == Mark(3, 5)
    assert document.mark(("a", 0, "missing", "deeper")) == Mark(3, 5)
    assert document.where(("a", 1)).endswith("file.yaml:2:1")


def test_json_knows_lines_and_columns(tmp_path: Path) -> None:
    text = ' {"a": [1, {"é": "}]:,\\"", "b": {}}],\n  "c": -1e3}\n{"d": 18446744073709551616}'

    first, second = read(tmp_path, text)

    assert first.value == {"a": [1, {"é": '}]:,"', "b": {}}], "c": -1e3}
    assert first.mark(()) == Mark(1, 2)
    assert first.mark(("a",)) == Mark(1, 3)
    assert first.mark(("a", 0)) == Mark(1, 9)
    assert first.mark(("a", 1)) == Mark(1, 12)
    assert first.mark(("a", 1, Key("é"))) == Mark(1, 13)
    assert first.mark(("a", 1, "b", "missing")) == Mark(1, 28)
    assert first.mark(("c",)) == Mark(2, 3)
    assert second.where(("d",)).endswith("file.yaml:3:2")
    assert second.value == {"d": 18446744073709551616.0}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ).filter(lambda value: isinstance(value, (dict, list))),
    st.sampled_from([None, 1]),
)
def test_everything_in_json_stands_where_it_begins(value: JSON, indent: int | None) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    lines = text.split("\n")

    for (_, step), mark in JsonMarks(TextPositions(text), value, 0).items():
        at = lines[mark.line - 1][mark.column - 1 :]
        if isinstance(step, str):
            assert at.startswith(f"{json.dumps(step, ensure_ascii=False)}:")
        else:
            assert re.match(r'["\[{\w-]', at)


def test_yaml_in_flow_style_may_start_with_a_brace(tmp_path: Path) -> None:
    (document,) = read(tmp_path, "{a: 1}\n")

    assert document.value == {"a": 1}


def test_items_of_lists_come_one_by_one(tmp_path: Path) -> None:
    text = "kind: List\nitems:\n- {kind: A}\n---\napiVersion: x/v1\nkind: BList\nitems:\n- {b: 1}\n"

    documents = read(tmp_path, text)

    assert [document.value for document in documents] == [
        {"kind": "A"},
        {"apiVersion": "x/v1", "kind": "B", "b": 1},
    ]
    assert documents[0].mark(("kind",)) == Mark(3, 4)


def test_standard_input_is_a_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps([1]).encode())))

    (document,) = read_documents("-")

    assert (document.source, document.value) == ("-", [1])


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(SourceError) as caught:
        list(read_documents("no/such/file.yaml"))

    assert str(caught.value) == "no/such/file.yaml: cannot be read: No such file or directory"


def test_a_folder_stands_for_the_files_in_it(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for name in ("b.yaml", "a.json", "deep/c.yml", "notes.txt"):
        (tmp_path / name).touch()

    assert list(expand([str(tmp_path), "-"])) == [
        str(tmp_path / "a.json"),
        str(tmp_path / "b.yaml"),
        str(tmp_path / "deep" / "c.yml"),
        "-",
    ]


def test_a_folder_without_such_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"has no \.yaml"):
        list(expand([str(tmp_path)]))


def test_a_mounted_config_map_is_read_once(tmp_path: Path) -> None:
    data = tmp_path / "..2026_01_02_03_04_05.678"
    data.mkdir()
    (data / "a.yaml").write_text("kind: A\n")
    (tmp_path / "..data").symlink_to(data.name)
    (tmp_path / "a.yaml").symlink_to("..data/a.yaml")

    assert list(expand([str(tmp_path)])) == [str(tmp_path / "a.yaml")]


def test_half_a_pair_of_surrogates_is_read_as_go_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    escapes = r"\ud800 \uDFFF\ud800 \ud83d\ude00 \\ud800 \u00e9 \ud83d\u0041"
    file.write_text(f'{{"\\udc00": "{escapes}", "b": 1}}')

    (document,) = read_documents(str(file))

    texts = "\ufffd \ufffd\ufffd \U0001f600 \\ud800 \u00e9 \ufffdA"
    assert document.value == {"\ufffd": texts, "b": 1}
    assert document.where(("\ufffd",)).endswith(":1:2")
