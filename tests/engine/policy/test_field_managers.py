"""
Who has written a field, by the managedFields of an object.
"""

import pytest

from espalier.engine.policy.field_managers import MAX_NAME_LENGTH, MAX_PATHS, managers_of
from espalier.paths import JSON, Key, Path
from tests.fakes.widgets import written_by


def an_object(*entries: JSON) -> dict[str, JSON]:
    return {"metadata": {"managedFields": [*entries]}}


@pytest.mark.parametrize(
    ("fields", "path", "is_named"),
    [
        ({"f:stray": {}}, ("stray",), True),
        ({"f:spec": {"f:junk": {"f:a": {}}}}, ("spec", "junk"), True),
        ({"f:spec": {"f:size": {}}}, ("spec", "junk"), False),
        # Owned as a whole: a list without a type, or a field of which no more is told.
        ({"f:spec": {"f:ports": {}}}, ("spec", "ports", 1, "proto"), True),
        ({"f:spec": {"f:ports": {}}}, ("spec", "paths", 1, "proto"), False),
        ({"f:spec": {"f:ports": {'k:{"port":1}': {".": {}}}}}, ("spec", "ports", 0, "x"), False),
        ({"f:spec": {"f:ports": {'k:{"port":1}': {"f:x": {}}}}}, ("spec", "ports", 0, "x"), True),
        ({"f:spec": {"f:set": {'v:"a"': {}}}}, ("spec", "set", 0), True),
        ({"f:spec": {"f:list": {"i:0": {"f:x": {}}}}}, ("spec", "list", 0, "x"), True),
        ({"f:spec": {"f:map": {".": {}, "f:a.b": {"f:x": {}}}}}, ("spec", "map", "a.b", "x"), True),
        ({"f:spec": {"f:map": {"f:a": {"f:x": {}}}}}, ("spec", "map", Key("b"), "x"), False),
        ({"f:spec": {"f:map": {"f:a": {"f:x": {}}}}}, ("spec", "map", Key("a"), "x"), True),
        ({"f:spec": None}, ("spec", "junk"), False),
        ({"f:spec": "text"}, ("spec", "junk"), False),
    ],
)
def test_who_has_written_a_field_is_named(fields: JSON, path: Path, is_named: bool) -> None:  # noqa: FBT001
    obj = an_object(written_by("someone", fields))
    assert managers_of(obj, [path]) == (("someone",) if is_named else ())


@pytest.mark.parametrize(
    "obj",
    [
        {},
        {"metadata": 1},
        {"metadata": {"managedFields": {}}},
        an_object(None, 1, [], {}, {"manager": 1, "fieldsV1": {"f:stray": {}}}),
        an_object({"manager": "a"}, {"manager": "a", "fieldsV1": []}),
        an_object({"manager": "", "fieldsV1": {"f:stray": {}}}),
    ],
)
def test_what_is_no_managed_fields_names_no_manager(obj: dict[str, JSON]) -> None:
    assert managers_of(obj, [("stray",)]) == ()


def test_names_come_once_each_and_are_safe_to_print() -> None:
    fields: JSON = {"f:stray": {}}
    names = ["a", "b", "a", "c\n\u202e\x07", "d" * 10_000]
    obj = an_object(*(written_by(name, fields) for name in names))
    assert managers_of(obj, [("stray",)]) == (
        "a",
        "b",
        "c\\n\\u202e\\a",
        "d" * MAX_NAME_LENGTH,
    )


def test_of_many_fields_some_are_looked_at() -> None:
    obj = an_object(written_by("first", {"f:f0": {}}), written_by("last", {"f:f100": {}}))
    paths: list[Path] = [(f"f{number}",) for number in range(MAX_PATHS + 1)]
    assert managers_of(obj, paths) == ("first",)
