import pytest

from espalier import crd, schema
from espalier.paths import JSON
from espalier.schema import Profile, Structural

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
    assert crd.specified_paths(parsed(SCHEMA)) == SPECIFIED


def test_no_schema_specifies_nothing() -> None:
    assert crd.specified_paths(None) == frozenset()
    assert not crd.specifies(None, ".spec")
    assert crd.specifies(None, ".metadata.labels.a")


@pytest.mark.parametrize("path", sorted(SPECIFIED))
def test_a_schema_specifies_what_it_enumerates(path: str) -> None:
    assert crd.specifies(parsed(SCHEMA), path)


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
    assert crd.specifies(parsed(SCHEMA), path)


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
    assert not crd.specifies(parsed(SCHEMA), path)


@pytest.mark.parametrize("path", ["spec", ".spec[0]", ".spec[", ".a*", "[x]", ".a\\", ".**x"])
def test_a_text_that_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="not a path"):
        crd.specifies(parsed(SCHEMA), path)


FIELDS: JSON = {
    "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
    "f:apiVersion": {},
    "f:spec": {
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
        "f:grid": {"i:0": {"i:1": {}}},
    },
    "f:status": {"f:ready": {}},
}


def test_managed_fields_name_paths() -> None:
    entry: JSON = {"manager": "m", "operation": "Update", "fieldsV1": FIELDS}
    other: JSON = {"subresource": "status", "fieldsV1": {"f:status": {"f:phase": {}}}}

    assert crd.named_paths([entry, other]) == {
        ".spec",
        ".spec.replicas",
        ".spec.atomic",
        ".spec.granular",
        r".spec.granular.app\.kubernetes\.io/name",
        ".spec.ports",
        ".spec.ports[*]",
        ".spec.ports[*].name",
        ".spec.ports[*].port",
        ".spec.ports[*].tls.metadata",
        ".spec.set[*]",
        ".spec.grid[*][*]",
        ".status.ready",
        ".status.phase",
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
    assert crd.named_paths([entry]) == frozenset()


def test_named_fields_may_nest_as_deeply_as_they_like() -> None:
    fields: JSON = {}
    for _ in range(20_000):
        fields = {"f:a": fields}

    (path,) = crd.named_paths([{"fieldsV1": fields}])

    assert path == ".a" * 20_000
    assert not crd.specifies(parsed(SCHEMA), path)
    assert crd.unspecified(parsed(SCHEMA), {path}) == (path,)


def test_an_object_written_whole_is_specified_as_a_whole() -> None:
    named = crd.named_paths([{"fieldsV1": {"f:spec": {"f:labels": {}, "f:raw": {}}}}])

    assert crd.unspecified(parsed(SCHEMA), named) == ()


def test_what_a_schema_specifies_it_does_not_lose() -> None:
    assert crd.unspecified(parsed(SCHEMA), crd.specified_paths(parsed(SCHEMA))) == ()


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
    assert crd.unspecified(spec(after), crd.specified_paths(spec(before))) == lost
