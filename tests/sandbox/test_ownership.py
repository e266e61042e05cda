"""
Field sets: their algebra, by tables.
"""

import pytest

from espalier.sandbox.ownership import (
    FieldSet,
    applied_set,
    compare,
    difference,
    intersection,
    union,
)
from espalier.sandbox.shapes import DEDUCED, SchemaShape

LIST = SchemaShape(fields={"items": SchemaShape(keys=("name",)), "tags": SchemaShape(is_set=True)})


@pytest.mark.parametrize(
    ("old", "new", "written", "removed"),
    [
        ({}, {"a": 1}, {"f:a": {}}, {}),
        ({"a": 1}, {"a": 1}, {}, {}),
        ({"a": 1}, {"a": 2}, {"f:a": {}}, {}),
        ({"a": 1}, {}, {}, {"f:a": {}}),
        ({}, {"a": {"b": 1}}, {"f:a": {".": {}, "f:b": {}}}, {}),
        ({"a": {}}, {"a": {"b": 1}}, {"f:a": {"f:b": {}}}, {}),
        ({"a": [1]}, {"a": [1, 2]}, {"f:a": {}}, {}),
        ({"a": 1}, {"a": {"b": 1}}, {"f:a": {}}, {}),
        (
            {"tags": ["x"]},
            {"tags": ["y"]},
            {"f:tags": {'v:"y"': {}}},
            {"f:tags": {'v:"x"': {}}},
        ),
        (
            {"items": [{"name": "a", "v": 1}]},
            {"items": [{"name": "a", "v": 2}, {"name": "b"}]},
            {
                "f:items": {
                    'k:{"name":"a"}': {"f:v": {}},
                    'k:{"name":"b"}': {".": {}, "f:name": {}},
                }
            },
            {},
        ),
    ],
)
def test_compare(
    old: dict[str, object],
    new: dict[str, object],
    written: dict[str, object],
    removed: dict[str, object],
) -> None:
    assert compare(old, new, LIST) == (written, removed)


def test_an_applied_set_names_leaves_and_items() -> None:
    value = {"a": {"b": 1, "c": {}}, "items": [{"name": "x"}]}

    assert applied_set(value, LIST) == {
        "f:a": {"f:b": {}, "f:c": {}},
        "f:items": {'k:{"name":"x"}': {".": {}, "f:name": {}}},
    }
    assert applied_set([1], DEDUCED) == {}


def test_sets_are_joined_and_taken_apart() -> None:
    one: FieldSet = {"f:a": {".": {}, "f:b": {}}, "f:c": {}}
    two: FieldSet = {"f:a": {"f:b": {}, "f:d": {}}}

    assert union(one, two) == {"f:a": {".": {}, "f:b": {}, "f:d": {}}, "f:c": {}}
    assert difference(one, two) == {"f:a": {".": {}}, "f:c": {}}
    assert difference(two, one) == {"f:a": {"f:d": {}}}
    assert intersection(one, two) == {"f:a": {"f:b": {}}}
    assert intersection(one, {"f:a": {}}) == {}
