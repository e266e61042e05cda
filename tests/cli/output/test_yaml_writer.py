"""
YAML that is written reads back as the same values, in kubectl's dialect.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from espalier.cli.input.files import read_whole
from espalier.cli.input.yaml_documents import build_documents
from espalier.cli.output.json_writer import write_json
from espalier.cli.output.yaml_writer import write_yaml
from espalier.paths import JSON

# What YAML 1.1, YAML 1.2, PyYAML or kubectl take for something else than a string.
TRAPS = [
    *("", "~", "null", "Null", "true", "yes", "Yes", "y", "N", "on", "Off", "=", "<<", "-", "?"),
    *("1", "0x1F", "0o17", "010", "1_000", "1e3", ".5", "5.", ".inf", "-.inf", ".nan", "+5"),
    *("12:30:45", "2020-01-01", "2020-01-01T00:00:00Z", "9223372036854775808"),
    *(" lead", "trail ", "a: b", "a #b", "#c", "*a", "&a", "!t", "%d", "@x", "`x", "[a", "{a"),
    *("a\nb", "a\nb\n", "\na", "a\n\n", "  a\n b", "a \nb", "\tx", "a\tb", "\x00", "\x7f", "\x85"),
    *("\u2028", "\ufeff", "é", "😀", "'", '"', "\\", "a'b\"c", "--- a", "...", "- a", "a\r\nb"),
]
# What a lone surrogate becomes is another matter: it is no character.
TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(TRAPS)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(-1e6, 1e6) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


def read(text: str) -> list[JSON]:
    return [built.value for built in build_documents(text.encode())]


@pytest.mark.parametrize("text", TRAPS, ids=repr)
def test_a_string_stays_a_string_wherever_it_stands(text: str) -> None:
    value: JSON = {"value": text, text: [text, {text: text}]}

    assert read(write_yaml([value])) == [value]


@given(VALUES)
def test_values_read_back_as_they_were(value: JSON) -> None:
    documents: list[JSON] = [{"value": value}, [value]]

    assert read(write_yaml(documents)) == documents


@given(VALUES)
def test_json_reads_back_as_it_was(value: JSON) -> None:
    with TemporaryDirectory() as folder:
        file = Path(folder, "x.json")
        file.write_text(write_json([{"value": value}, {"value": value}]))

        assert [document.value for document in read_whole(str(file))] == [{"value": value}] * 2


def test_numbers_are_written_as_servers_write_them() -> None:
    assert write_yaml([{"a": 1.5, "b": 1e21, "c": -7, "d": 1e-7}]) == (
        "a: 1.5\nb: 1e+21\nc: -7\nd: 1e-7\n"
    )


def test_texts_of_several_lines_stay_readable() -> None:
    assert write_yaml([{"script": "set -e\nmake\n"}]) == "script: |\n  set -e\n  make\n"


def test_no_depth_exhausts_the_stack() -> None:
    value: JSON = 1
    for _ in range(5000):
        value = [value]

    assert write_yaml([value]).count("-") == 5000


def test_a_lone_surrogate_becomes_what_a_server_makes_of_it() -> None:
    assert read(write_yaml([{"a": "\ud800"}])) == [{"a": "\ufffd"}]


@pytest.mark.parametrize("text", ["2020-01-02T03:04:05Z", "2020-01-02", "2020-1-2 03:04:05"])
def test_what_other_readers_take_for_a_time_is_quoted(text: str) -> None:
    written = write_yaml([{"at": text}])

    assert yaml.safe_load(written) == {"at": text}
    assert f'"{text}"' in written
