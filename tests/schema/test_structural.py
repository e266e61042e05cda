import pytest

from espalier import schema
from espalier.findings import ErrorType
from espalier.paths import JSON, Key
from espalier.schema import Profile

INT_OR_STRING: JSON = [{"type": "integer"}, {"type": "string"}]


def texts(raw: JSON, profile: Profile) -> list[str]:
    parsed = schema.parse(raw, profile=profile)
    return [
        schema.render_structural(error, profile=profile)
        for error in schema.check_structural(parsed, profile=profile)
    ]


def test_a_finding_has_type_path_and_origin() -> None:
    parsed = schema.parse({"type": "object", "properties": {"a": {}}}, profile=Profile.APISERVER)

    (error,) = schema.check_structural(parsed, profile=Profile.APISERVER, path=("spec",))

    assert error.type is ErrorType.REQUIRED
    assert error.path == ("spec", "properties", Key("a"), "type")
    assert error.origin == "type"
    assert str(error) == (
        "spec.properties[a].type: Required value: must not be empty for specified object fields"
    )


@pytest.mark.parametrize(
    "metadata",
    [
        {"type": "object"},
        {"type": "object", "default": {}},
        {"type": "object", "properties": {}},
        {"type": "object", "properties": {"generateName": {"type": "string", "maxLength": 5}}},
    ],
    ids=str,
)
def test_root_metadata_may_restrict_names(metadata: JSON) -> None:
    raw: JSON = {"type": "object", "properties": {"metadata": metadata}}

    assert texts(raw, Profile.APISERVER) == []


@pytest.mark.parametrize(
    "metadata",
    [
        {"type": "object", "maxProperties": 0},
        {"type": "object", "nullable": True},
        {"type": "object", "example": 0},
        {"type": "object", "example": False},
        {"type": "object", "x-kubernetes-list-type": ""},
        {"type": "object", "externalDocs": {}},
        {"type": "object", "not": {}},
        {"type": "object", "additionalProperties": False},
        {"type": "object", "x-kubernetes-map-type": "atomic"},
        {"type": "object", "x-kubernetes-validations": [{"rule": "true"}]},
        {"type": "object", "properties": {"name": {"type": "string"}, "uid": {"type": "string"}}},
    ],
    ids=str,
)
@pytest.mark.parametrize("profile", Profile)
def test_root_metadata_may_say_nothing_else(metadata: JSON, profile: Profile) -> None:
    raw: JSON = {"type": "object", "properties": {"metadata": metadata}}

    assert len(texts(raw, profile)) == 1


@pytest.mark.parametrize("profile", Profile)
def test_an_any_of_with_more_in_it_is_not_the_pattern(profile: Profile) -> None:
    members: JSON = [{"type": "integer", "minimum": 0}, {"type": "string"}]
    raw: JSON = {
        "type": "object",
        "properties": {"a": {"x-kubernetes-int-or-string": True, "anyOf": members}},
    }

    assert len(texts(raw, profile)) == 2


def test_the_rest_of_the_first_all_of_is_checked() -> None:
    node: JSON = {
        "x-kubernetes-int-or-string": True,
        "allOf": [{"title": "t", "anyOf": INT_OR_STRING}],
    }
    raw: JSON = {"type": "object", "properties": {"a": node}}

    assert texts(raw, Profile.KEP) == [
        ".properties[a].allOf[0].title must be empty to be structural"
    ]
    assert texts(raw, Profile.APISERVER) == [
        "properties[a].allOf[0].title: Forbidden: must be empty to be structural"
    ]


def test_completeness_is_told_once_and_at_the_top_in_the_proposals_words() -> None:
    named: JSON = {"properties": {"x": {"properties": {"y": {"minimum": 1}}}}}
    raw: JSON = {"type": "object", "anyOf": [named, named]}

    assert texts(raw, Profile.KEP) == [".properties[x].type must be non-empty"]


def test_additional_properties_satisfy_a_named_property_in_the_proposals_only() -> None:
    node: JSON = {"type": "object", "additionalProperties": {"type": "string"}}
    raw: JSON = {
        "type": "object",
        "properties": {"m": node},
        "allOf": [{"properties": {"m": {"properties": {"k": {"minLength": 1}}}}}],
    }

    assert texts(raw, Profile.KEP) == []
    assert texts(raw, Profile.APISERVER) == [
        (
            "properties[m].properties[k]: Required value: because it is defined in"
            " allOf[0].properties[m].properties[k]"
        )
    ]


@pytest.mark.parametrize("profile", Profile)
def test_junctors_within_junctors_are_checked(profile: Profile) -> None:
    raw: JSON = {
        "type": "object",
        "properties": {"a": {"type": "string", "not": {"anyOf": [{"not": {"title": "t"}}]}}},
    }

    (text,) = texts(raw, profile)
    assert "properties[a].not.anyOf[0].not.title" in text


def test_a_union_must_fit_its_object() -> None:
    raw: JSON = {
        "type": "object",
        "properties": {"type": {"type": "integer"}},
        "x-kubernetes-unions": ["x", {"discriminator": "type"}, {"discriminator": 5}],
    }

    assert texts(raw, Profile.KEP) == [
        ".x-kubernetes-unions[0] must be an object",
        ".x-kubernetes-unions[1].discriminator must name a property of type string",
        ".x-kubernetes-unions[2].discriminator must name a property of the object",
    ]
    assert texts(raw, Profile.APISERVER) == []
