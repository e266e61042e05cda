import pytest

from espalier import schema
from espalier.crd.field_sets import (
    Named,
    named_paths,
    specified_paths,
    specifies,
    unspecified,
)
from espalier.paths import JSON
from espalier.schema import Profile, Structural
from espalier.schema.metadata.decoding import METADATA_FIELDS, drop_unknown_metadata

SCHEMA: JSON = {
    "type": "object",
    "properties": {
        "apiVersion": {"type": "string"},
        "metadata": {"type": "object", "properties": {"name": {"type": "string"}}},
        "spec": {
            "type": "object",
            "properties": {
                "replicas": {"type": "integer"},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "anything": {"type": "object", "additionalProperties": True},
                "ports": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"name": {"type": "string"}}},
                },
                "grid": {
                    "type": "array",
                    "items": {"type": "array", "items": {"type": "string"}},
                },
                "raw": {
                    "type": "object",
                    "x-kubernetes-preserve-unknown-fields": True,
                    "properties": {
                        "known": {"type": "object", "properties": {"a": {"type": "string"}}}
                    },
                },
                "list": {
                    "x-kubernetes-preserve-unknown-fields": True,
                    "type": "array",
                    "items": {"type": "object", "properties": {"a": {"type": "object"}}},
                },
                "template": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "properties": {"spec": {"type": "object"}},
                },
                "a.b*[c]\\": {"type": "string"},
                "": {"type": "string"},
            },
        },
    },
}


def parsed(raw: JSON) -> Structural | None:
    return schema.parse(raw, profile=Profile.APISERVER)


def spec(properties: JSON) -> Structural | None:
    below: JSON = {"type": "object", "properties": properties}
    return parsed({"type": "object", "properties": {"spec": below}})


SPECIFIED = {
    ".spec",
    ".spec.replicas",
    ".spec.labels",
    ".spec.labels.*",
    ".spec.anything",
    ".spec.anything.*",
    ".spec.ports",
    ".spec.ports[*]",
    ".spec.ports[*].name",
    ".spec.grid",
    ".spec.grid[*]",
    ".spec.grid[*][*]",
    ".spec.raw",
    ".spec.raw.**",
    ".spec.raw.known",
    ".spec.raw.known.a",
    ".spec.list",
    ".spec.list.**",
    ".spec.list[*]",
    ".spec.list[*].a",
    ".spec.template",
    ".spec.template.apiVersion",
    ".spec.template.kind",
    ".spec.template.metadata",
    ".spec.template.metadata.**",
    ".spec.template.spec",
    r".spec.a\.b\*\[c\]\\",
    ".spec.",
}


def test_every_specified_path_is_enumerated() -> None:
    assert specified_paths(parsed(SCHEMA)) == SPECIFIED


def test_no_schema_specifies_nothing() -> None:
    assert specified_paths(None) == frozenset()
    assert not specifies(None, ".spec")
    assert specifies(None, ".metadata.labels.a")


@pytest.mark.parametrize("path", sorted(SPECIFIED))
def test_a_schema_specifies_what_it_enumerates(path: str) -> None:
    assert specifies(parsed(SCHEMA), path)


@pytest.mark.parametrize(
    "path",
    [
        "",
        ".kind",
        ".metadata.labels.anything",
        ".spec.labels.app",
        r".spec.labels.app\.kubernetes\.io/name",
        ".spec.anything.app",
        ".spec.anything.app[*]",
        ".spec.anything.app[*][*]",
        ".spec.raw.x.y[*].z",
        ".spec.raw.x.**",
        ".spec.raw.*",
        ".spec.list[*].b.c",
        ".spec.template.metadata.labels.x",
        ".spec.template.metadata.**",
        # Pruning looks at no types: an item of a list stays, and so does a scalar.
        ".spec.replicas[*]",
        ".spec.replicas",
    ],
)
def test_a_path_that_pruning_keeps_is_specified(path: str) -> None:
    assert specifies(parsed(SCHEMA), path)


@pytest.mark.parametrize(
    "path",
    [
        ".status",
        ".spec.other",
        ".spec.*",
        ".spec.**",
        ".**",
        ".spec.replicas.x",
        ".spec.replicas[*].x",
        ".spec.labels.app.x",
        ".spec.labels.**",
        ".spec.anything.app.x",
        ".spec.anything.app[*].x",
        ".spec.anything.**",
        ".spec.ports[*].port",
        ".spec.ports.name",
        ".spec.raw.known.b",
        ".spec.raw.known.**",
        ".spec.list[*].a.b",
        ".spec.template.status",
        ".spec.template.spec.x",
        r".spec.a\.b",
        ".spec.a",
        r".spec.\*",
    ],
)
def test_a_path_that_pruning_removes_is_not_specified(path: str) -> None:
    assert not specifies(parsed(SCHEMA), path)


@pytest.mark.parametrize("path", ["spec", ".spec[0]", ".spec[", ".a*", "[x]", ".a\\", ".**x"])
def test_a_text_that_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="not a path"):
        specifies(parsed(SCHEMA), path)


NOTHING = Named(frozenset(), frozenset())
SPEC_FIELDS: dict[str, JSON] = {
    ".": {},
    "f:replicas": {},
    "f:atomic": {},
    "f:granular": {".": {}, "f:app.kubernetes.io/name": {}},
    "f:ports": {
        ".": {},
        'k:{"port":80}': {".": {}, "f:name": {}, "f:port": {}},
        'k:{"port":443}': {"f:tls": {"f:metadata": {}}},
    },
    "f:set": {'v:"a"': {}, "v:1": {}},
    "f:list": {},
    "f:grid": {"i:0": {"i:1": {}}},
}
FIELDS: dict[str, JSON] = {
    "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
    "f:apiVersion": {},
    "f:spec": SPEC_FIELDS,
    "f:status": {"f:ready": {}},
}


def test_managed_fields_name_what_no_schema_specifies_topmost_only() -> None:
    entry: JSON = {"manager": "m", "operation": "Update", "fieldsV1": FIELDS}
    other: JSON = {"subresource": "status", "fieldsV1": {"f:status": {"f:phase": {}}}}
    knows_nothing = parsed({"type": "object", "properties": {"other": {"type": "string"}}})

    assert named_paths(knows_nothing, [entry, other]) == Named(
        frozenset({".spec", ".status"}), frozenset()
    )
    assert named_paths(None, [other]) == Named(frozenset({".status"}), frozenset())


PORT: JSON = {"type": "object", "properties": {"port": {"type": "integer"}}}
NARROW: dict[str, JSON] = {
    "replicas": {"type": "integer"},
    "atomic": {"type": "object", "x-kubernetes-map-type": "atomic"},
    "granular": {"type": "object", "additionalProperties": {"type": "string"}},
    "ports": {
        "type": "array",
        "items": PORT,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["port"],
    },
    "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
    "list": {"type": "array", "items": PORT},
}


def test_managed_fields_name_wholes_and_parts_that_go() -> None:
    entry: JSON = {"fieldsV1": FIELDS}

    lost, wholes = named_paths(spec(NARROW), [entry])

    assert lost == {".spec.ports[*].name", ".spec.ports[*].tls", ".spec.grid", ".status"}
    assert wholes == {
        ".spec.replicas",
        ".spec.atomic",
        ".spec.granular.*",
        ".spec.ports[*].port",
        ".spec.set[*]",
        ".spec.list",
    }


@pytest.mark.parametrize(
    "entry",
    [
        None,
        "x",
        [],
        {},
        {"fieldsV1": None},
        {"fieldsV1": "x"},
        {"fieldsV1": {}},
        {"fieldsV1": {".": {}}},
        {"fieldsV1": {"spec": {}, "x:spec": {}, "": {}}},
        {"fieldsV1": {"f:spec": 5}},
    ],
    ids=str,
)
def test_entries_of_another_form_name_nothing(entry: JSON) -> None:
    assert named_paths(None, [entry]) == NOTHING


def test_named_fields_may_nest_as_deeply_and_be_as_long_as_they_like() -> None:
    fields: JSON = {}
    for _ in range(20_000):
        fields = {".": {}, "f:a": fields}
    long: JSON = {f"f:{'x' * 500_000}": {f"f:{n}": {} for n in range(1000)}, "f:m": {}}

    named = named_paths(
        parsed(SCHEMA), [{"fieldsV1": {"f:spec": {"f:raw": fields, "f:deep": fields}}}]
    )
    assert named == Named(frozenset({".spec.deep"}), frozenset())
    assert named_paths(None, [{"fieldsV1": long}]) == Named(frozenset({".*", ".m"}), frozenset())


def test_a_path_may_be_as_deep_as_it_likes() -> None:
    path = ".a" * 20_000

    assert not specifies(parsed(SCHEMA), path)
    assert unspecified(parsed(SCHEMA), {path}) == (path,)


def test_what_a_schema_specifies_it_does_not_lose() -> None:
    assert unspecified(parsed(SCHEMA), specified_paths(parsed(SCHEMA))) == ()


OPEN: dict[str, JSON] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
STRING: JSON = {"type": "string"}


@pytest.mark.parametrize(
    ("before", "after", "lost"),
    [
        ({"a": STRING}, {}, (".spec.a",)),
        ({}, {"a": STRING}, ()),
        ({"a": STRING}, {"a": {"type": "integer"}}, ()),
        (
            {"m": {"type": "object", "additionalProperties": STRING}},
            {"m": {"type": "object", "properties": {"x": STRING}}},
            (".spec.m.*",),
        ),
        (
            {"m": {"type": "object", "properties": {"x": STRING}}},
            {"m": {"type": "object", "additionalProperties": STRING}},
            (),
        ),
        ({"l": {"type": "array", "items": STRING}}, {"l": STRING}, ()),
        ({"raw": OPEN}, {"raw": {"type": "object"}}, (".spec.raw.**",)),
        ({"raw": {"type": "object"}}, {"raw": OPEN}, ()),
        ({"a": {"type": "object", "properties": {"b": STRING}}}, {"a": OPEN}, ()),
        ({"raw": OPEN}, {"raw": {**OPEN, "properties": {"x": STRING}}}, ()),
        ({"raw": OPEN}, {"raw": {**OPEN, "properties": {"x": OPEN}}}, ()),
        (
            {"raw": OPEN},
            {"raw": {**OPEN, "properties": {"x": {"type": "object"}}}},
            (".spec.raw.x.**",),
        ),
        (
            {"raw": OPEN},
            {"raw": {**OPEN, "additionalProperties": {"type": "object"}}},
            (".spec.raw.*.**",),
        ),
        (
            {"raw": OPEN},
            {"raw": {**OPEN, "additionalProperties": True}},
            (".spec.raw.*.**",),
        ),
        (
            {"raw": {**OPEN, "properties": {"x": {"type": "object"}}}},
            {"raw": {**OPEN, "properties": {"x": {"type": "object"}}}},
            (),
        ),
    ],
)
def test_a_schema_change_loses_paths(before: JSON, after: JSON, lost: tuple[str, ...]) -> None:
    assert unspecified(spec(after), specified_paths(spec(before))) == lost


def embedded(**more: JSON) -> Structural | None:
    resource: JSON = {"type": "object", "x-kubernetes-embedded-resource": True, **more}
    return spec({"template": resource})


def test_of_the_metadata_of_an_embedded_resource_what_servers_keep_is_specified() -> None:
    resource = embedded(properties={"spec": {"type": "object"}})
    names = (*METADATA_FIELDS, "clusterName", "owner")
    kept, _ = drop_unknown_metadata(dict.fromkeys(names))

    assert [*kept] == [
        name for name in names if specifies(resource, f".spec.template.metadata.{name}")
    ]
    assert specifies(resource, ".spec.template.metadata.labels.a")


@pytest.mark.parametrize(
    ("before", "lost"),
    [
        ({"metadata": {"type": "object", "properties": {"owner": {"type": "string"}}}}, ".owner"),
        ({"metadata": {"type": "object", "properties": {"name": {"type": "string"}}}}, ""),
    ],
)
def test_a_resource_that_becomes_an_embedded_one_loses_what_no_metadata_has(
    before: JSON, lost: str
) -> None:
    known = specified_paths(spec({"template": {"type": "object", "properties": before}}))
    after = embedded(**{"x-kubernetes-preserve-unknown-fields": True})

    assert unspecified(after, known) == ((f".spec.template.metadata{lost}",) if lost else ())


def test_where_anything_was_preserved_metadata_are_narrowed() -> None:
    raw: JSON = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    known = specified_paths(spec({"template": raw}))
    after = embedded(**{"x-kubernetes-preserve-unknown-fields": True})

    assert unspecified(after, known) == (".spec.template.metadata.**",)
    assert unspecified(after, specified_paths(after)) == ()
