"""
Texts of field errors; the expectations were printed by apimachinery's own ``field.Invalid``.
"""

import orjson
import pytest

from espalier.findings import ErrorType, FieldError
from espalier.golang.printing import aggregate, go_json, render_value
from espalier.paths import JSON, Key, render_path, render_pointer

VALUES: list[tuple[JSON, str]] = [
    (1, "1"),
    (1.0, "1"),
    (1.5, "1.5"),
    (1000000.0, "1e+06"),
    (100000.5, "100000.5"),
    (1234567.5, "1.2345675e+06"),
    (123456789.0, "1.23456789e+08"),
    (1e20, "1e+20"),
    (1e21, "1e+21"),
    (0.0001, "0.0001"),
    (0.00001, "1e-05"),
    (-0.0, "-0"),
    (0.0, "0"),
    (9223372036854775807, "9223372036854775807"),
    (9223372036854775808.0, "9.223372036854776e+18"),
    ('a\x7f\x00\u00a0é\u2028😀"\\\t', '"a\\x7f\\x00\\u00a0é\\u2028😀\\"\\\\\\t"'),
    (True, "true"),
    (None, "null"),
    (
        [1.0, 1e20, 1e21, 1.5, 0.000001, 0.0000001, -0.0, 100000000.0],
        "[1,100000000000000000000,1e+21,1.5,0.000001,1e-7,-0,100000000]",
    ),
    (["<&>\u2028\b\f\x01\x7f"], '["\\u003c\\u0026\\u003e\\u2028\\b\\f\\u0001\x7f"]'),
    (
        {"b": 1, "a": {"z": [], "y": {}}, "é": None, "<": 1},
        '{"\\u003c":1,"a":{"y":{},"z":[]},"b":1,"é":null}',
    ),
    (
        [9223372036854775808.0, 1e-7, 1.7976931348623157e308, 5e-324],
        "[9223372036854776000,1e-7,1.7976931348623157e+308,5e-324]",
    ),
]


@pytest.mark.parametrize(("value", "text"), VALUES, ids=[text[:30] for _, text in VALUES])
def test_values_are_written_as_the_api_server_writes_them(value: JSON, text: str) -> None:
    assert render_value(value) == text


def test_nesting_of_any_depth_is_written() -> None:
    deep: JSON = []
    for _ in range(100_000):
        deep = [deep]

    assert go_json(deep) == "[" * 100_001 + "]" * 100_001


def test_compact_json_reads_back_as_the_same_value() -> None:
    value: JSON = {"a": [1, {"b": "x"}, [], {}], "c": {"d": False}}

    assert orjson.loads(go_json(value)) == value


def test_a_field_error_names_path_kind_value_and_detail() -> None:
    error = FieldError(
        type=ErrorType.INVALID,
        path=("spec", "versions", 0, "properties", Key("a.b"), "type"),
        value="x",
        detail="must be object",
    )

    assert str(error) == 'spec.versions[0].properties[a.b].type: Invalid value: "x": must be object'


def test_a_required_value_is_not_printed() -> None:
    error = FieldError(type=ErrorType.REQUIRED, path=("a",), value="x", detail="must be there")

    assert str(error) == "a: Required value: must be there"


def test_several_messages_stand_in_brackets_and_equal_ones_once() -> None:
    assert aggregate(["b", "a", "b"]) == "[b, a]"
    assert aggregate(["b", "b"]) == "b"


def test_the_root_is_written_as_go_writes_a_nil_path() -> None:
    assert render_path(()) == "<nil>"


def test_pointers_escape_tildes_and_slashes() -> None:
    assert render_pointer(("a/b", 0, "c~d")) == "/a~1b/0/c~0d"
