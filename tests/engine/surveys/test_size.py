"""
The size of an object in etcd, and what of it is named.
"""

import json

import pytest

from espalier.engine.surveys.size import (
    MAX_REQUEST_BYTES,
    NEAR,
    NEAR_BYTES,
    OVER,
    band_of,
    owned_bytes,
    stored_bytes,
)
from espalier.paths import JSON


def as_go_writes_it(value: JSON) -> int:
    """
    Return the size of what Go's encoder writes: UTF-8, some characters escaped, a line break.
    """
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return len(f"{text}\n".encode())


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"a": [1, True, None, "b"]},
        {"html": "<a href='x'>&</a>", "é": "\u2028\u2029 ü"},
        {"quoted": '"\\\n\t'},
    ],
)
def test_an_object_has_the_size_that_go_writes(value: JSON) -> None:
    assert stored_bytes(value) == as_go_writes_it(value)


def test_what_cannot_be_measured_has_no_size() -> None:
    deep: JSON = {}
    for _ in range(2000):
        deep = {"a": deep}

    assert stored_bytes(deep) == 0
    assert band_of(0) == ""


@pytest.mark.parametrize(
    ("size_bytes", "band"),
    [
        (1, ""),
        (NEAR_BYTES - 1, ""),
        (NEAR_BYTES, NEAR),
        (MAX_REQUEST_BYTES - 1024, NEAR),
        (MAX_REQUEST_BYTES - 1023, OVER),
        (2 * MAX_REQUEST_BYTES, OVER),
    ],
)
def test_an_object_near_the_limit_is_named(size_bytes: int, band: str) -> None:
    assert band_of(size_bytes) == band


def test_owned_fields_have_a_size_of_their_own() -> None:
    entries: JSON = [{"manager": "a", "fieldsV1": {"f:a": {}}}, {"manager": "b"}, 3]

    assert owned_bytes({"managedFields": entries}) == stored_bytes({"f:a": {}})
    assert owned_bytes({"name": "a"}) == owned_bytes(None) == 0
