"""
The test plan of the proposal of validation, T73 to T82; the others are in ``test_plan.py``.
"""

import pytest

from espalier import crd, schema
from espalier.errors import SchemaParseError
from espalier.paths import JSON
from espalier.schema import Profile, Resource, Standing, Structural
from espalier.schema.model import ValueValidation
from tests import vectors
from tests.schema.test_plan import definition, rejections
from tests.vectors import Vector

VECTORS = {
    vector.id: vector
    for vector in vectors.read_vectors(vectors.DEFAULT_FILE)
    if isinstance(vector, Vector)
}
KEP, SERVER = Profile.KEP, Profile.APISERVER

MESSAGES = (
    ("data.foo in body should be at least 4 chars long",),
    ("data.foo in body should be greater than or equal to 10",),
    ("data.foo in body should be one of [bar baz]",),
    ('data.foo in body must be of type integer: "string"',),
    ("data.foo in body should match '^[a-zA-Z0-9_]*$'",),
    ("data.foo in body is required",),
    (
        "data.foo in body should be a multiple of 5",
        "data.foo in body should be a multiple of 3",
        "must validate all the schemas (allOf)",
    ),
)


@pytest.mark.parametrize("number", range(1, 8))
def test_t73_the_messages_are_those_of_the_proposal(number: int) -> None:
    vector = VECTORS[f"validate-seed004-{number}/kep"]

    assert tuple(map(str, _texts(vectors.run(vector)))) == MESSAGES[number - 1]
    assert vectors.agrees(vector, vectors.run(vector))


def _texts(answer: dict[str, JSON]) -> list[JSON]:
    errors = answer["errors"]
    assert isinstance(errors, list)
    return errors


@pytest.mark.parametrize("number", range(1, 8))
def test_t73_the_servers_messages_are_its_own(number: int) -> None:
    vector = VECTORS[f"validate-seed004-{number}/apiserver"]

    assert vectors.agrees(vector, vectors.run(vector))


def refused(raw: dict[str, JSON]) -> list[str]:
    return [str(one) for one in rejections(definition({"type": "object", "properties": raw}))]


def test_t74_unique_items_are_forbidden() -> None:
    [error] = refused({"l": {"type": "array", "uniqueItems": True, "items": {"type": "string"}}})

    assert "uniqueItems cannot be set to true since the runtime complexity" in error


@pytest.mark.parametrize("profile", Profile)
def test_t75_references_and_so_recursion_are_forbidden(profile: Profile) -> None:
    with pytest.raises(SchemaParseError, match=r"\$ref' is not supported"):
        schema.parse({"type": "object", "properties": {"a": {"$ref": "#"}}}, profile=profile)

    assert any("$ref is not supported" in error for error in refused({"a": {"$ref": "#"}}))


def test_t76_properties_and_additional_properties_exclude_each_other() -> None:
    both: JSON = {
        "type": "object",
        "properties": {"b": {"type": "string"}},
        "additionalProperties": False,
    }
    alone: JSON = {"type": "object", "additionalProperties": False}

    [error] = refused({"a": both})

    assert error.endswith("additionalProperties and properties are mutual exclusive")
    assert refused({"a": alone}) == []


def test_t76_the_proposals_forbid_maps_without_members() -> None:
    closed: JSON = {"type": "object", "additionalProperties": False}

    [warning] = crd.lint(
        crd.read_definition(definition({"type": "object", "properties": {"a": closed}}))
    )

    assert warning.rule == "closed-map"
    assert "the proposals forbid it" in warning.detail


def resource(raw: JSON, *, has_status: bool = False) -> Resource:
    return Resource(
        api_version="example.com/v1",
        kind="Foo",
        structural=schema.parse(raw, profile=SERVER),
        has_status=has_status,
    )


def foo(**members: JSON) -> dict[str, JSON]:
    metadata: JSON = {"name": "foo", "namespace": "default"}
    return {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": metadata, **members}


def test_t77_type_and_metadata_need_no_schema() -> None:
    answer = schema.check_creation(foo(), resource({"type": "object", "properties": {}}))

    assert answer == schema.Answer()


def test_t78_a_status_subresource_needs_a_root_of_properties() -> None:
    def with_status(**keywords: JSON) -> list[str]:
        raw: JSON = {"type": "object", "properties": {"status": {"type": "object"}}, **keywords}
        manifest = definition(raw)
        spec = manifest["spec"]
        assert isinstance(spec, dict)
        versions = spec["versions"]
        assert isinstance(versions, list)
        for version in versions:
            assert isinstance(version, dict)
            version["subresources"] = {"status": {}}
        return [str(one) for one in crd.check_definition(manifest)]

    assert with_status(required=["status"]) == []
    assert any(
        "fields are allowed at the root of the schema if the status subresource" in error
        for error in with_status(allOf=[{"required": ["status"]}])
    )


@pytest.mark.parametrize("name", ["a-foo", "b-bar", "a-bar"])
def test_t79_a_field_may_distinguish_versions(name: str) -> None:
    vector = VECTORS[f"validate-seed004-versioned-{name}/apiserver"]

    assert vectors.agrees(vector, vectors.run(vector))
    assert bool(_texts(vectors.run(vector))) is (name == "a-bar")


def test_t80_metadata_is_validated_before_the_schema() -> None:
    raw: JSON = {"type": "object", "properties": {"spec": {"type": "object"}}}
    obj = foo(metadata={"name": "foo", "namespace": "default", "labels": {"-": "a"}}, spec=1)

    errors = schema.check_creation(obj, resource(raw)).errors

    assert [".".join(map(str, one.path)) for one in errors] == ["metadata.labels", "spec"]


# The field table: what is written, and the attribute that it comes to.
NODE: dict[str, tuple[JSON, str]] = {
    "type": ("object", "type"),
    "title": ("t", "title"),
    "description": ("d", "description"),
    "nullable": (True, "nullable"),
    "default": ({"a": 1}, "default"),
    "example": (1, "example"),
    "externalDocs": ({"url": "u"}, "external_docs"),
    "properties": ({"a": {"type": "string"}}, "properties"),
    "additionalProperties": (True, "additional_properties"),
    "items": ({"type": "string"}, "items"),
    "x-kubernetes-preserve-unknown-fields": (True, "preserve_unknown_fields"),
    "x-kubernetes-embedded-resource": (True, "embedded_resource"),
    "x-kubernetes-int-or-string": (True, "int_or_string"),
    "x-kubernetes-list-type": ("map", "list_type"),
    "x-kubernetes-list-map-keys": (["a"], "list_map_keys"),
    "x-kubernetes-map-type": ("atomic", "map_type"),
    "x-kubernetes-validations": ([{"rule": "true"}], "validations"),
}
ONLY_PROPOSED: dict[str, tuple[JSON, str]] = {
    "readOnly": (True, "read_only"),
    "x-kubernetes-unions": ([{"fields": []}], "unions"),
}
VALIDATION: dict[str, tuple[JSON, str]] = {
    "format": ("date", "format"),
    "maximum": (0, "maximum"),
    "exclusiveMaximum": (True, "exclusive_maximum"),
    "minimum": (0, "minimum"),
    "exclusiveMinimum": (True, "exclusive_minimum"),
    "maxLength": (0, "max_length"),
    "minLength": (0, "min_length"),
    "pattern": ("a", "pattern"),
    "maxItems": (0, "max_items"),
    "minItems": (0, "min_items"),
    "uniqueItems": (True, "unique_items"),
    "multipleOf": (2, "multiple_of"),
    "enum": (["a"], "enum"),
    "maxProperties": (0, "max_properties"),
    "minProperties": (0, "min_properties"),
    "required": (["a"], "required"),
    "allOf": ([{}], "all_of"),
    "anyOf": ([{}], "any_of"),
    "oneOf": ([{}], "one_of"),
    "not": ({}, "not_"),
}
NOT_WRITTEN = {"value_validation", "empty_lists"}
"""Attributes that no keyword comes to by itself."""
UNSUPPORTED = (
    *("id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems"),
    "definitions",
)


@pytest.mark.parametrize("keyword", [*NODE, *VALIDATION])
def test_t81_a_keyword_of_the_table_is_read_and_written(keyword: str) -> None:
    value, attribute = (NODE | VALIDATION)[keyword]
    read, empty = schema.parse({keyword: value}, profile=SERVER), Structural()
    assert read is not None
    of, unset = (
        (read.value_validation, ValueValidation()) if keyword in VALIDATION else (read, empty)
    )

    assert getattr(of, attribute) != getattr(unset, attribute)
    assert schema.render(read, profile=SERVER) == {keyword: value}


@pytest.mark.parametrize("keyword", ONLY_PROPOSED)
def test_t81_some_keywords_are_the_proposals_alone(keyword: str) -> None:
    value, attribute = ONLY_PROPOSED[keyword]
    proposed = schema.parse({keyword: value}, profile=KEP)
    served = schema.parse({keyword: value}, profile=SERVER)
    assert proposed is not None
    assert served is not None

    assert getattr(proposed, attribute)
    assert not getattr(served, attribute)


@pytest.mark.parametrize("keyword", UNSUPPORTED)
def test_t81_other_keywords_of_the_type_are_not_supported(keyword: str) -> None:
    with pytest.raises(SchemaParseError, match="is not supported"):
        schema.parse(
            {keyword: {"a": {}} if keyword not in ("id", "$schema", "$ref") else "a"},
            profile=SERVER,
        )


def test_t81_the_types_have_no_other_fields() -> None:
    nodes = {attribute for _, attribute in (NODE | ONLY_PROPOSED).values()}

    assert set(Structural.__struct_fields__) == nodes | NOT_WRITTEN
    assert set(ValueValidation.__struct_fields__) == {
        attribute for _, attribute in VALIDATION.values()
    }


def test_t82_what_a_tighter_schema_makes_of_stored_objects_is_reported() -> None:
    spec: JSON = {
        "type": "object",
        "properties": {"a": {"type": "string", "maxLength": 1}, "b": {"type": "integer"}},
    }
    below = resource({"type": "object", "properties": {"spec": spec}})
    at_root = resource({"type": "object", "properties": {"spec": spec}, "required": ["spec"]})

    def standing(obj: dict[str, JSON], under: Resource) -> Standing:
        return schema.judge_stored(obj, under).standing

    assert standing(foo(spec={"a": "x"}), below) is Standing.VALID
    assert standing(foo(spec={"a": "xx"}), below) is Standing.WRITABLE
    assert standing(foo(), at_root) is Standing.BLOCKED
