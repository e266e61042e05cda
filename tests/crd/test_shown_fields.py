"""
What ``managedFields`` name and a read does not show.
"""

import json

import pytest

from espalier.crd.definition import Version
from espalier.crd.shown_fields import unshown_paths
from espalier.crd.structural import structural_of
from espalier.paths import JSON
from tests.effort import calls_of

TEXT: JSON = {"type": "string"}
PORT: JSON = {"type": "object", "properties": {"name": TEXT, "host": TEXT}}
SPEC: JSON = {
    "size": {"type": "integer"},
    "color": {"type": "string", "default": "red"},
    "ports": {
        "type": "array",
        "items": PORT,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    },
    "tags": {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
    "labels": {"type": "object", "additionalProperties": TEXT},
    "raw": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}


def schema_of(*without: str) -> Version:
    assert isinstance(SPEC, dict)
    spec: JSON = {name: value for name, value in SPEC.items() if name not in without}
    properties: JSON = {"spec": {"type": "object", "properties": spec}}
    return Version(
        name="v1", served=True, storage=True, schema={"type": "object", "properties": properties}
    )


def unshown(fields: JSON, spec: JSON, *, hidden: tuple[str, ...] = ()) -> set[str]:
    entry: JSON = {"fieldsV1": {"f:metadata": {"f:labels": {"f:x": {}}}, "f:spec": fields}}
    return set(
        unshown_paths(
            structural_of(schema_of()),
            [entry],
            {"spec": spec},
            stored_by=[structural_of(schema_of()), structural_of(schema_of(*hidden))],
        )
    )


@pytest.mark.parametrize(
    ("fields", "spec", "paths"),
    [
        ({".": {}, "f:size": {}}, {"size": 1}, set()),
        ({"f:size": {}}, {"size": None}, set()),
        ({"f:size": {}}, {}, {".spec.size"}),
        ({"f:size": {}}, "odd", {".spec.size"}),
        ({"f:gone": {}}, {"gone": 1}, {".spec.gone"}),
        ({"f:labels": {"f:a": {}}}, {"labels": {"a": "x"}}, set()),
        ({"f:labels": {"f:a": {}}}, {"labels": {"b": "x"}}, {".spec.labels.*"}),
        ({"f:raw": {"f:a": {"f:b": {}}}}, {"raw": {"a": {"b": 1}}}, set()),
        ({"f:raw": {"f:a": {"f:b": {}}}}, {"raw": {"a": {}}}, {".spec.raw.a"}),
        ({"f:tags": {'v:"a"': {}}}, {"tags": ["b", "a"]}, set()),
        ({"f:tags": {'v:"a"': {}}}, {"tags": ["b"]}, {".spec.tags[*]"}),
        ({"f:tags": {"i:0": {}}}, {"tags": ["b"]}, set()),
        ({"f:tags": {"i:1": {}, "i:-1": {}}}, {"tags": ["b"]}, {".spec.tags[*]"}),
        ({"f:tags": {"v:[": {}}}, {"tags": ["b"]}, {".spec.tags[*]"}),
        (
            {"f:ports": {'k:{"name":"a"}': {"f:host": {}}}},
            {"ports": [{"name": "b"}, {"name": "a", "host": "x"}]},
            set(),
        ),
        (
            {"f:ports": {'k:{"name":"a"}': {"f:host": {}}}},
            {"ports": [{"name": "b", "host": "x"}, {"name": "a"}]},
            {".spec.ports[*].host"},
        ),
        (
            {"f:ports": {'k:{"name":"a"}': {}, 'k:{"host":"x"}': {}}},
            {"ports": [{"name": "a", "host": "x"}]},
            {".spec.ports[*]"},
        ),
    ],
)
def test_what_is_named_must_be_shown(fields: JSON, spec: JSON, paths: set[str]) -> None:
    assert unshown(fields, spec) == paths


def test_a_default_shows_nothing_where_the_field_may_be_hidden() -> None:
    fields: JSON = {"f:color": {}}
    assert unshown(fields, {"color": "red"}) == set()
    assert unshown(fields, {"color": "red"}, hidden=("color",)) == {".spec.color"}


def test_a_path_ends_with_the_schema_however_deep_the_object_is() -> None:
    fields: JSON = {}
    value: JSON = {}
    for _ in range(5000):
        fields, value = {"f:a": fields}, {"a": value}
    assert unshown({"f:raw": fields}, {"raw": value}) == set()
    assert unshown({"f:raw": fields}, {"raw": {"a": {"a": {}}}}) == {".spec.raw.a"}


def test_a_long_list_with_a_key_for_each_item_is_no_quadratic_work() -> None:
    def effort(count: int) -> int:
        names = [f"n{number}" for number in range(count)]
        fields: JSON = {f"k:{json.dumps({'name': name})}": {"f:host": {}} for name in names}
        ports: JSON = [{"name": name, "host": "x"} for name in names]
        return calls_of(lambda: unshown({"f:ports": fields}, {"ports": ports}))

    assert effort(2000) < 5 * effort(500)
