import pytest

from espalier import schema
from espalier.errors import SchemaParseError
from espalier.paths import JSON
from espalier.schema import Profile

UNSUPPORTED = "OpenAPIV3Schema '{}' is not supported"


def nested(levels: int) -> JSON:
    node: JSON = {"type": "string"}
    for _ in range(levels):
        node = {"type": "object", "properties": {"a": node}}
    return node


def parse_error(raw: JSON, profile: Profile = Profile.APISERVER) -> str:
    with pytest.raises(SchemaParseError) as caught:
        schema.parse(raw, profile=profile)
    return str(caught.value)


@pytest.mark.parametrize("profile", Profile)
def test_no_schema_is_no_structural_schema(profile: Profile) -> None:
    assert schema.parse(None, profile=profile) is None
    assert schema.check_structural(None, profile=profile) == ()


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ({"id": "x", "$ref": "y"}, UNSUPPORTED.format("id")),
        ({"$ref": "y", "definitions": {"a": {}}}, UNSUPPORTED.format("$ref")),
        ({"$schema": "x"}, UNSUPPORTED.format("schema")),
        ({"additionalItems": False}, UNSUPPORTED.format("additionalItems")),
        ({"properties": {"a": {"$ref": "x"}}, "not": {"id": "x"}}, UNSUPPORTED.format("id")),
        (
            {"oneOf": [{"id": "x"}], "allOf": [{"$ref": "x"}], "anyOf": [{"id": "x"}]},
            UNSUPPORTED.format("$ref"),
        ),
        (
            {"x-kubernetes-preserve-unknown-fields": False, "items": [{}]},
            "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined",
        ),
        (
            {"items": [{}], "properties": {"a": {"id": "x"}}},
            "OpenAPIV3Schema 'items' must be a schema, but is an array",
        ),
    ],
)
def test_the_first_failure_in_the_servers_order_is_reported(raw: JSON, text: str) -> None:
    assert parse_error(raw) == text


@pytest.mark.parametrize(
    "raw",
    [
        {"$ref": ""},
        {"definitions": {}},
        {"patternProperties": {}},
        {"additionalItems": None},
        {"items": []},
        {"type": None, "properties": None, "anyOf": None, "not": None, "maximum": None},
        {"x-unknown": [1], "readOnly": True},
    ],
)
def test_what_is_not_set_does_not_matter(raw: JSON) -> None:
    assert schema.parse(raw, profile=Profile.APISERVER) is not None


def test_a_null_among_schemas_is_an_empty_schema() -> None:
    parsed = schema.parse({"properties": {"a": None}, "allOf": [None]}, profile=Profile.APISERVER)

    assert parsed is not None
    assert parsed.properties["a"].differs_only_in()
    assert parsed.value_validation.all_of[0].differs_only_in()


WRONG: JSON = 5


@pytest.mark.parametrize(
    "raw",
    [
        WRONG,
        "x",
        [{}],
        True,
        {"type": ["string", "null"]},
        {"type": 5},
        {"properties": [{"a": {}}]},
        {"properties": {"a": "string"}},
        {"properties": {"a": [{}]}},
        {"items": "x"},
        {"items": 5},
        {"additionalProperties": "x"},
        {"additionalProperties": [{}]},
        {"allOf": {}},
        {"anyOf": [5]},
        {"oneOf": ["x"]},
        {"not": []},
        {"required": "a"},
        {"required": [1]},
        {"enum": "a"},
        {"maximum": "5"},
        {"minimum": True},
        {"maxLength": 1.5},
        {"minItems": "1"},
        {"pattern": 1},
        {"format": {}},
        {"nullable": "true"},
        {"uniqueItems": 1},
        {"id": 5},
        {"definitions": []},
        {"dependencies": "x"},
        {"x-kubernetes-preserve-unknown-fields": "true"},
        {"x-kubernetes-embedded-resource": 1},
        {"x-kubernetes-int-or-string": []},
        {"x-kubernetes-list-type": True},
        {"x-kubernetes-list-map-keys": "name"},
        {"x-kubernetes-map-type": 5},
        {"x-kubernetes-validations": {"rule": "true"}},
    ],
    ids=str,
)
@pytest.mark.parametrize("profile", Profile)
def test_a_keyword_of_a_wrong_type_is_a_parse_error(raw: JSON, profile: Profile) -> None:
    text = parse_error(raw, profile)

    assert "json: cannot unmarshal" in text or "expected" in text or "must be a schema" in text
    below: JSON = {"type": "object", "properties": {"a": {"anyOf": [raw]}}}
    assert (
        "json: cannot unmarshal" in parse_error(below, profile)
        or text in parse_error(below, profile)
        or "expected" in text
    )


def test_a_shape_error_names_the_place() -> None:
    raw: JSON = {"properties": {"a": {"items": {"type": ["string"]}}}}

    assert parse_error(raw) == (
        "json: cannot unmarshal array into Go struct field"
        " JSONSchemaProps.properties[a].items.type of type string"
    )


@pytest.mark.parametrize("profile", Profile)
def test_a_deep_schema_is_read_and_used(profile: Profile) -> None:
    parsed = schema.parse(nested(200), profile=profile)

    assert schema.check_structural(parsed, profile=profile) == ()
    assert schema.prune({"a": {"b": 1}}, parsed, profile=profile).value == {"a": {}}
    assert schema.normalize({"a": {}}, parsed, profile=profile).filled == ()


@pytest.mark.parametrize("profile", Profile)
@pytest.mark.parametrize("levels", [201, 5000, 100_000])
def test_a_schema_that_nests_too_deeply_is_refused(levels: int, profile: Profile) -> None:
    assert parse_error(nested(levels), profile) == "the schema nests deeper than 200 levels"


def test_a_default_that_nests_too_deeply_is_refused() -> None:
    default: JSON = 1
    for _ in range(10_000):
        default = [default]

    assert parse_error({"default": default}) == "default: nests deeper than 200 levels"


def test_a_default_is_not_shared_with_the_schema_as_read() -> None:
    raw: dict[str, JSON] = {"type": "object", "properties": {"a": {"default": {"b": [1]}}}}
    parsed = schema.parse(raw, profile=Profile.APISERVER)

    first = schema.default({}, parsed, profile=Profile.APISERVER).value
    assert isinstance(first, dict)
    assert isinstance(first["a"], dict)
    first["a"]["b"] = "changed"

    again = schema.default({}, parsed, profile=Profile.APISERVER).value
    assert again == {"a": {"b": [1]}}
    assert raw == {"type": "object", "properties": {"a": {"default": {"b": [1]}}}}


@pytest.mark.parametrize(
    ("keyword", "go_type"),
    [("maxLength", "int64"), ("minItems", "int64"), ("maximum", "float64")],
)
def test_a_text_is_no_number_of_the_keyword_s_type(keyword: str, go_type: str) -> None:
    with pytest.raises(SchemaParseError) as caught:
        schema.parse({"type": "string", keyword: "5"}, profile=Profile.APISERVER)

    field = f"Go struct field JSONSchemaProps.{keyword}"
    assert str(caught.value) == f"json: cannot unmarshal string into {field} of type {go_type}"


@pytest.mark.parametrize("bound", [10**400, -(10**400)])
def test_a_number_beyond_all_floats_is_refused(bound: int) -> None:
    with pytest.raises(SchemaParseError, match=r"JSONSchemaProps\.minimum of type float64"):
        schema.parse({"type": "number", "minimum": bound}, profile=Profile.APISERVER)
