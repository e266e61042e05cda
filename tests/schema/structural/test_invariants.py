import pytest

from espalier import schema
from espalier.findings import ErrorType
from espalier.paths import JSON, Key
from espalier.schema import Profile
from espalier.schema.structural.invariants import render_structural

INT_OR_STRING: JSON = [{"type": "integer"}, {"type": "string"}]


def texts(raw: JSON, profile: Profile) -> list[str]:
    parsed = schema.parse(raw, profile=profile)
    return [
        render_structural(error, profile=profile)
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


def test_completeness_is_reported_once_and_at_the_top_in_the_proposals_message() -> None:
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


def with_field(node: JSON) -> JSON:
    return {"type": "object", "properties": {"a": node}}


# What each schema is told in the server's words; one fault each, unless it takes two to show.
SERVER_TEXTS: tuple[tuple[JSON, list[str]], ...] = (
    (
        {"type": "object", "additionalProperties": {}},
        [
            (
                "additionalProperties.type: Required value:"
                " must not be empty for specified object fields"
            ),
            "additionalProperties: Forbidden: must not be used at the root",
        ],
    ),
    (
        with_field(
            {
                "type": "object",
                "x-kubernetes-int-or-string": True,
                "x-kubernetes-embedded-resource": True,
                "properties": {"b": {"type": "string"}},
            }
        ),
        [
            (
                "properties[a].x-kubernetes-embedded-resource: Invalid value: true:"
                " must be false if x-kubernetes-int-or-string is true"
            )
        ],
    ),
    (
        {"type": "object", "properties": {"kind": {"type": "integer"}}},
        ['properties[kind].type: Invalid value: "integer": must be string'],
    ),
    (
        {"type": "object", "properties": {"apiVersion": {"type": "object"}}},
        ['properties[apiVersion].type: Invalid value: "object": must be string'],
    ),
    (
        {"type": "object", "allOf": [{"properties": {"x": {}}}, {"properties": {"y": {}}}]},
        [
            "properties[x]: Required value: because it is defined in allOf[0].properties[x]",
            "properties[y]: Required value: because it is defined in allOf[1].properties[y]",
        ],
    ),
    ({"type": "object", "not": {"additionalProperties": False}}, []),
    (
        {"type": "object", "not": {"additionalProperties": True}},
        ["not.additionalProperties: Forbidden: must be undefined to be structural"],
    ),
    (
        with_field(
            {"type": "array", "items": {"type": "string"}, "not": {"items": {"title": "t"}}}
        ),
        ["properties[a].not.items.title: Forbidden: must be empty to be structural"],
    ),
)


@pytest.mark.parametrize(("raw", "expected"), SERVER_TEXTS, ids=str)
def test_the_server_reports_what_is_wrong_in_this_message(raw: JSON, expected: list[str]) -> None:
    assert texts(raw, Profile.APISERVER) == expected


# Junctors around the one that int-or-string excuses, and where in them a title stands.
EXCUSED: JSON = {"anyOf": INT_OR_STRING}
TITLED: JSON = {"anyOf": [{"title": "t"}]}
AROUND_INT_OR_STRING: tuple[tuple[dict[str, JSON], str], ...] = (
    ({"anyOf": INT_OR_STRING, "oneOf": [{"title": "t"}]}, "oneOf[0].title"),
    ({"anyOf": INT_OR_STRING, "not": {"title": "t"}}, "not.title"),
    ({"anyOf": INT_OR_STRING, "allOf": [TITLED]}, "allOf[0].anyOf[0].title"),
    ({"allOf": [EXCUSED, TITLED]}, "allOf[1].anyOf[0].title"),
    ({"allOf": [TITLED]}, "allOf[0].anyOf[0].title"),
    ({"not": {"allOf": [TITLED]}}, "not.allOf[0].anyOf[0].title"),
    ({"allOf": [EXCUSED | {"not": TITLED}]}, "allOf[0].not.anyOf[0].title"),  # type: ignore[operator]
    ({"allOf": [EXCUSED | {"oneOf": [{"title": "t"}]}]}, "allOf[0].oneOf[0].title"),  # type: ignore[operator]
)


@pytest.mark.parametrize("profile", Profile)
@pytest.mark.parametrize(("junctors", "where"), AROUND_INT_OR_STRING, ids=str)
def test_only_the_pattern_of_int_or_string_is_excused(
    junctors: dict[str, JSON], where: str, profile: Profile
) -> None:
    (text,) = texts(with_field({"x-kubernetes-int-or-string": True, **junctors}), profile)

    assert f"properties[a].{where}" in text


@pytest.mark.parametrize("profile", Profile)
def test_the_pattern_must_stand_in_the_first_of_all(profile: Profile) -> None:
    node: JSON = {"x-kubernetes-int-or-string": True, "allOf": [TITLED, EXCUSED]}

    found = texts(with_field(node), profile)

    assert len(found) == 3
    assert ["allOf[0].anyOf[0].title" in text for text in found] == [True, False, False]


@pytest.mark.parametrize("profile", Profile)
@pytest.mark.parametrize(
    ("named", "where"),
    [
        ({"properties": {"x": TITLED}}, "properties[x].anyOf[0].title"),
        ({"properties": {"l": {"items": TITLED}}}, "properties[l].items.anyOf[0].title"),
    ],
    ids=str,
)
def test_junctors_of_what_a_junctor_names_are_checked(
    named: JSON, where: str, profile: Profile
) -> None:
    raw: JSON = {
        "type": "object",
        "properties": {
            "x": {"type": "string"},
            "l": {"type": "array", "items": {"type": "string"}},
        },
        "allOf": [named],
    }

    (text,) = texts(raw, profile)
    assert f"allOf[0].{where}" in text


# What each schema is told in the proposals' words.
KEP_TEXTS: tuple[tuple[JSON, list[str]], ...] = (
    ({"type": "object", "properties": {"kind": {}, "apiVersion": {}, "metadata": {}}}, []),
    (
        with_field({"type": "object", "properties": {"kind": {}}}),
        [".properties[a].properties[kind].type must be non-empty"],
    ),
    (
        {
            "type": "object",
            "properties": {"metadata": {"properties": {"name": {"type": "string"}}}},
        },
        [],
    ),
    ({"type": "object", "not": {"properties": {"kind": {"pattern": "x"}}}}, []),
    (
        with_field({"type": "object", "not": {"properties": {"kind": {"pattern": "x"}}}}),
        [".properties[a].properties[kind].type must be non-empty"],
    ),
    (
        with_field(
            {
                "type": "object",
                "x-kubernetes-embedded-resource": True,
                "x-kubernetes-preserve-unknown-fields": True,
                "not": {"properties": {"kind": {"pattern": "x"}}},
            }
        ),
        [],
    ),
    (
        {"type": "object", "anyOf": [{"not": {"properties": {"x": {"minimum": 1}}}}]},
        [".properties[x].type must be non-empty"],
    ),
    (
        with_field(
            {
                "type": "array",
                "items": {"type": "object"},
                "not": {"items": {"properties": {"x": {"minimum": 1}}}},
            }
        ),
        [".properties[a].items.properties[x].type must be non-empty"],
    ),
    (
        with_field(
            {
                "type": "object",
                "additionalProperties": {"type": "object"},
                "not": {"properties": {"k": {"properties": {"x": {"minimum": 1}}}}},
            }
        ),
        [".properties[a].additionalProperties.properties[x].type must be non-empty"],
    ),
    (
        with_field(
            {
                "type": "object",
                "properties": {"k": {"type": "object", "properties": {"x": {"type": "integer"}}}},
                "additionalProperties": {"type": "object"},
                "not": {"properties": {"k": {"properties": {"x": {"minimum": 1}}}}},
            }
        ),
        [],
    ),
    (
        {"type": "object", "x-kubernetes-unions": [{}, {"discriminator": ["x"]}]},
        [".x-kubernetes-unions[1].discriminator must name a property of the object"],
    ),
)


@pytest.mark.parametrize(("raw", "expected"), KEP_TEXTS, ids=str)
def test_the_proposals_report_what_is_wrong_in_this_message(raw: JSON, expected: list[str]) -> None:
    assert texts(raw, Profile.KEP) == expected


@pytest.mark.parametrize(
    ("raw", "profile", "type_", "origin"),
    [
        ({"type": "object", "not": {"title": "t"}}, Profile.APISERVER, "FORBIDDEN", "title"),
        ({"type": "string"}, Profile.APISERVER, "INVALID", "type"),
        (with_field({"type": "array"}), Profile.APISERVER, "REQUIRED", "items"),
        (
            {"type": "object", "properties": {"metadata": {"type": "object", "nullable": True}}},
            Profile.APISERVER,
            "FORBIDDEN",
            "properties",
        ),
        ({"type": "object", "not": {"title": "t"}}, Profile.KEP, "INVALID", "title"),
        (with_field({}), Profile.KEP, "INVALID", "type"),
        (
            {"type": "object", "properties": {"metadata": {"type": "object", "nullable": True}}},
            Profile.KEP,
            "INVALID",
            "properties",
        ),
        (
            {"type": "object", "x-kubernetes-unions": ["x"]},
            Profile.KEP,
            "INVALID",
            "properties",
        ),
    ],
    ids=str,
)
def test_a_finding_comes_from_the_last_keyword_of_its_path(
    raw: JSON, profile: Profile, type_: str, origin: str
) -> None:
    parsed = schema.parse(raw, profile=profile)

    (error,) = schema.check_structural(parsed, profile=profile)

    assert (error.type, error.origin) == (ErrorType[type_], origin)
