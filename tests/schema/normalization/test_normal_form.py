import pytest

from espalier import schema
from espalier.errors import MalformedValueError
from espalier.paths import JSON
from espalier.schema import Normalizer, Nulls, Profile

STRING: JSON = {"type": "string"}
PLAIN: JSON = {"type": "object", "properties": {"a": STRING}}


def normalizer(raw: JSON, profile: Profile, *, nulls: Nulls = Nulls.NORMALIZE) -> Normalizer:
    structural = schema.parse(raw, profile=profile)
    return schema.compile_normalizer(structural, profile=profile, nulls=nulls)


@pytest.mark.parametrize("profile", Profile)
@pytest.mark.parametrize(
    ("value", "is_normal"),
    [({"a": "x"}, True), ({"z": "x"}, False), ({"a": None}, False), ({}, True)],
    ids=str,
)
def test_an_object_is_normal_if_nothing_is_to_be_done(
    value: JSON, profile: Profile, *, is_normal: bool
) -> None:
    assert normalizer(PLAIN, profile).is_normal(value) is is_normal


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([], "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        ({"kind": 5}, ".kind accessor error: 5 is of the type int64, expected string"),
        ({"apiVersion": 5}, ".apiVersion accessor error: 5 is of the type int64, expected string"),
        ({"apiVersion": "a/b/c"}, "unexpected GroupVersion string: a/b/c"),
        (
            {"metadata": {"name": 5}},
            "json: cannot unmarshal number into Go struct field ObjectMeta.name of type string",
        ),
    ],
    ids=str,
)
def test_what_cannot_be_decoded_is_not_normal_and_refused(value: JSON, text: str) -> None:
    normalize = normalizer(PLAIN, Profile.APISERVER)

    assert not normalize.is_normal(value)
    with pytest.raises(MalformedValueError) as raised:
        normalize(value)
    assert str(raised.value) == text


def test_malformed_metadata_is_salvaged_only_on_request() -> None:
    value: JSON = {"metadata": {"name": 5, "uid": "u"}, "a": "x"}

    salvaged = normalizer(PLAIN, Profile.APISERVER)(value, drop_malformed_metadata=True)

    assert salvaged.value == {"metadata": {"uid": "u"}, "a": "x"}


def test_unknown_fields_of_metadata_are_reported_first() -> None:
    value: JSON = {"a": "x", "b": 1, "metadata": {"odd": 1, "name": "n"}}

    found = normalizer(PLAIN, Profile.APISERVER)(value)

    assert found.value == {"a": "x", "metadata": {"name": "n"}}
    assert found.removed == (("metadata", "odd"), ("b",))


def test_unknown_fields_are_pruned_unless_the_definition_preserves_them() -> None:
    structural = schema.parse(PLAIN, profile=Profile.APISERVER)
    value: JSON = {"z": {"y": 1}, "a": None}

    pruned = schema.normalize(value, structural, profile=Profile.APISERVER)
    kept = schema.normalize(
        value, structural, profile=Profile.APISERVER, preserve_unknown_fields=True
    )

    assert (pruned.value, pruned.removed, pruned.dropped) == ({}, (("z",),), (("a",),))
    assert kept.value is value


@pytest.mark.parametrize(
    "metadata",
    [
        {"name": "n", "deletionGracePeriodSeconds": 30},
        {"creationTimestamp": "2026-01-31T00:00:00Z"},
        {"labels": {"b": "", "a": ""}},
    ],
    ids=str,
)
def test_metadata_that_decodes_to_itself_leaves_the_very_object(metadata: JSON) -> None:
    value: JSON = {"metadata": metadata, "a": "x"}

    assert normalizer(PLAIN, Profile.APISERVER)(value).value is value


def test_the_proposals_filter_metadata_and_then_apply_its_schema() -> None:
    named: JSON = {"type": "object", "properties": {"name": {"type": "string", "default": "n"}}}
    raw: JSON = {"type": "object", "properties": {"metadata": named}}

    found = normalizer(raw, Profile.KEP)({"metadata": {"odd": 1}})

    assert found.value == {"metadata": {"name": "n"}}
    assert found.removed == (("metadata", "odd"),)
    assert found.filled == (("metadata", "name"),)


def test_the_server_decodes_metadata_and_then_fills_in_its_defaults() -> None:
    named: JSON = {"type": "object", "properties": {"name": {"type": "string", "default": "n"}}}
    raw: JSON = {"type": "object", "properties": {"metadata": named}}

    found = normalizer(raw, Profile.APISERVER)({"metadata": {"odd": 1, "uid": "u", "name": ""}})

    assert found.value == {"metadata": {"uid": "u", "name": "n"}}
    assert found.removed == (("metadata", "odd"),)
    assert found.filled == (("metadata", "name"),)


def test_a_null_root_takes_its_default_in_the_proposals() -> None:
    raw: JSON = {"type": "object", "default": {"z": 1}, "properties": {"a": STRING}}

    found = normalizer(raw, Profile.KEP)(None)

    assert (found.value, found.filled, found.removed) == ({}, ((),), (("z",),))
    assert normalizer(raw, Profile.KEP, nulls=Nulls.KEEP)(None).value is None


def test_root_metadata_is_decoded_whatever_its_schema_embeds() -> None:
    embedded: JSON = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    }
    manager: JSON = {"type": "object", "properties": {"fieldsV1": embedded}}
    managers: JSON = {"type": "array", "items": manager}
    metadata: JSON = {"type": "object", "properties": {"managedFields": managers}}
    raw: JSON = {"type": "object", "properties": {"metadata": metadata}}
    value: JSON = {"metadata": {"managedFields": [{"manager": "m", "fieldsV1": {"kind": 5}}]}}

    found = normalizer(raw, Profile.APISERVER)(value, drop_malformed_metadata=True)

    assert found.value == value


@pytest.mark.parametrize("profile", Profile)
@pytest.mark.parametrize("value", [{}, {"a": None}], ids=str)
def test_a_default_is_copied_for_each_object(value: JSON, profile: Profile) -> None:
    holder: JSON = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    raw: JSON = {"type": "object", "properties": {"a": holder | {"default": {"b": [1]}}}}  # type: ignore[operator]
    normalize = normalizer(raw, profile)

    first, second = normalize(value).value, normalize(value).value

    assert first == second == {"a": {"b": [1]}}
    assert isinstance(first, dict)
    assert isinstance(second, dict)
    assert first["a"] is not second["a"]


# A default whose own fields are null, absent, defaulted or unknown; and what fills in.
WITHIN: JSON = {
    "type": "object",
    "properties": {
        "a": {
            "type": "object",
            "default": {"null": None, "defaulted": None, "unknown": 1},
            "properties": {
                "null": STRING,
                "defaulted": {"type": "string", "default": "d"},
                "b": {"type": "object", "default": {"null": None}, "properties": {"null": STRING}},
            },
        }
    },
}


@pytest.mark.parametrize(
    ("profile", "nulls", "expected"),
    [
        (
            Profile.APISERVER,
            Nulls.NORMALIZE,
            {"null": None, "defaulted": "d", "b": {"null": None}},
        ),
        (Profile.KEP, Nulls.NORMALIZE, {"defaulted": "d", "unknown": 1, "b": {}}),
        (
            Profile.KEP,
            Nulls.KEEP,
            {"null": None, "defaulted": None, "unknown": 1, "b": {"null": None}},
        ),
    ],
)
def test_defaults_are_filled_and_cleaned_as_their_profile_has_it(
    profile: Profile, nulls: Nulls, expected: JSON
) -> None:
    found = normalizer(WITHIN, profile, nulls=nulls)({})

    assert found.value == {"a": expected}
    assert found.filled == (("a",),)


def test_what_was_done_is_reported_in_order() -> None:
    item: JSON = {
        "type": "object",
        "properties": {"c": STRING, "d": {"type": "string", "default": "d"}},
    }
    raw: JSON = {
        "type": "object",
        "properties": {
            "list": {"type": "array", "items": item},
            "map": {"type": "object", "additionalProperties": item},
            "bare": STRING,
        },
    }
    value: JSON = {
        "list": [{"c": None, "z": 1, "d": "x"}, {"y": 1}, None, {"c": "x", "d": "x"}],
        "map": {"k": {"c": {"deep": 1}, "d": None}, "n": None},
        "bare": [{"x": 1}, [{"y": 1}], 5, [[[{"w": 1}]]]],
    }

    found = normalizer(raw, Profile.KEP)(value)

    assert found.value == {
        "list": [{"d": "x"}, {"d": "d"}, None, {"c": "x", "d": "x"}],
        "map": {"k": {"c": {}, "d": "d"}},
        "bare": [{}, [{}], 5, [[[{}]]]],
    }
    assert found.removed == (
        ("list", 0, "z"),
        ("list", 1, "y"),
        ("map", "k", "c", "deep"),
        ("bare", 0, "x"),
        ("bare", 1, 0, "y"),
        ("bare", 3, 0, 0, 0, "w"),
    )
    assert found.dropped == (("list", 0, "c"), ("map", "n"))
    assert found.filled == (("list", 1, "d"), ("map", "k", "d"))
