import pytest

from espalier import schema
from espalier.errors import MalformedValueError
from espalier.golang.rfc3339 import TimeError, canonical_time
from espalier.paths import JSON
from espalier.schema import Profile
from espalier.schema.metadata.decoding import decode_metadata

STRUCT = "json: cannot unmarshal {} into Go struct field {} of type {}"


@pytest.mark.parametrize(
    ("metadata", "detail"),
    [
        ({"name": []}, STRUCT.format("array", "ObjectMeta.name", "string")),
        ({"uid": 5}, STRUCT.format("number", "ObjectMeta.uid", "types.UID")),
        ({"generation": True}, STRUCT.format("bool", "ObjectMeta.generation", "int64")),
        (
            {"generation": 1e30},
            STRUCT.format("number 1e+30", "ObjectMeta.generation", "int64"),
        ),
        (
            {"labels": []},
            STRUCT.format("array", "ObjectMeta.labels", "map[string]string"),
        ),
        ({"finalizers": {}}, STRUCT.format("object", "ObjectMeta.finalizers", "[]string")),
        ({"finalizers": [1]}, STRUCT.format("number", "ObjectMeta.finalizers", "string")),
        (
            {"ownerReferences": {}},
            STRUCT.format("object", "ObjectMeta.ownerReferences", "[]v1.OwnerReference"),
        ),
        (
            {"ownerReferences": [5]},
            STRUCT.format("number", "ObjectMeta.ownerReferences", "v1.OwnerReference"),
        ),
        (
            {"ownerReferences": [{"controller": "x"}]},
            STRUCT.format("string", "OwnerReference.ownerReferences.controller", "bool"),
        ),
        (
            {"managedFields": [{"manager": 1}]},
            STRUCT.format("number", "ManagedFieldsEntry.managedFields.manager", "string"),
        ),
        (
            {"creationTimestamp": 5},
            STRUCT.format("number", "ObjectMeta.creationTimestamp", "string"),
        ),
        # Of several the first by name, as Go encodes maps sorted.
        (
            {"name": 1, "annotations": 1},
            STRUCT.format("number", "ObjectMeta.annotations", "map[string]string"),
        ),
    ],
)
def test_malformed_metadata_is_refused_with_gos_message(metadata: JSON, detail: str) -> None:
    with pytest.raises(MalformedValueError) as caught:
        decode_metadata(metadata, drop_malformed=False)

    assert str(caught.value) == detail
    assert decode_metadata(metadata, drop_malformed=True).value == {}


def test_unknown_fields_are_reported_at_all_levels() -> None:
    metadata: JSON = {
        "name": "a",
        "zz": 1,
        "Name": "b",
        "ownerReferences": [{"name": "x", "junk": 1}],
        "managedFields": [None, {"manager": "m", "junk": 1, "fieldsV1": {"f:a": {}}}],
    }

    decoded = decode_metadata(metadata, drop_malformed=False)

    assert decoded.unknown == (
        ("Name",),
        ("managedFields", 1, "junk"),
        ("ownerReferences", 0, "junk"),
        ("zz",),
    )
    assert decoded.value == {
        "name": "a",
        "managedFields": [{}, {"fieldsV1": {"f:a": {}}, "manager": "m"}],
        "ownerReferences": [{"apiVersion": "", "kind": "", "name": "x", "uid": ""}],
    }


def test_unknown_fields_of_what_is_dropped_are_not_reported() -> None:
    metadata: JSON = {"ownerReferences": [{"name": 5, "junk": 1}]}

    assert decode_metadata(metadata, drop_malformed=True) == ({}, ())


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z"),
        ("2020-01-01T02:00:00+02:00", "2020-01-01T00:00:00Z"),
        ("2019-12-31T23:30:00-01:00", "2020-01-01T00:30:00Z"),
        ("2020-02-29T23:59:59.999999999Z", "2020-02-29T23:59:59Z"),
        ("2020-02-29T3:59:59,5Z", "2020-02-29T03:59:59Z"),
        ("2020-02-29T23:59:59-00:00", "2020-02-29T23:59:59Z"),
        ("0000-02-29T00:00:00Z", "0000-02-29T00:00:00Z"),
        ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
    ],
)
def test_a_time_becomes_utc_in_whole_seconds(text: str, canonical: str) -> None:
    assert canonical_time(text) == canonical


LAYOUT = '"2006-01-02T15:04:05Z07:00"'


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("", f' as {LAYOUT}: cannot parse "" as "2006"'),
        ("2020", f' as {LAYOUT}: cannot parse "" as "-"'),
        ("2020-1-1T1:1:1Z", f' as {LAYOUT}: cannot parse "1-1T1:1:1Z" as "01"'),
        ("2020-02-29 23:59:59Z", f' as {LAYOUT}: cannot parse " 23:59:59Z" as "T"'),
        ("2020-02-29T23:59:59", f' as {LAYOUT}: cannot parse "" as "Z07:00"'),
        ("2020-02-29T23:59:59z", f' as {LAYOUT}: cannot parse "z" as "Z07:00"'),
        ("2020-13-01T00:00:00Z", ": month out of range"),
        ("2020-00-01T00:00:00Z", ": month out of range"),
        ("2021-02-29T00:00:00Z", ": day out of range"),
        ("2020-01-00T00:00:00Z", ": day out of range"),
        ("2020-02-29T24:00:00Z", ": hour out of range"),
        ("2020-02-29T23:60:00Z", ": minute out of range"),
        ("2020-02-29T23:59:60Z", ": second out of range"),
        ("2020-02-29T23:59:59+25:00", ": time zone offset hour out of range"),
        ("2020-02-29T23:59:59Zx", ': extra text: "x"'),
        ("0000-01-01T00:00:00+01:00", ": year out of range"),
        ("9999-12-31T23:59:59-01:00", ": year out of range"),
    ],
)
def test_a_malformed_time_is_refused_with_gos_message(text: str, detail: str) -> None:
    with pytest.raises(TimeError) as caught:
        canonical_time(text)

    assert str(caught.value) == f'parsing time "{text}"{detail}'


@pytest.mark.parametrize(
    ("value", "detail"),
    [
        (None, "json: cannot unmarshal null into Go value of type map[string]interface {}"),
        ([], "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        ({"kind": None}, ".kind accessor error: <nil> is of the type <nil>, expected string"),
        (
            {"apiVersion": True},
            ".apiVersion accessor error: true is of the type bool, expected string",
        ),
        ({"apiVersion": "a/b/c"}, "unexpected GroupVersion string: a/b/c"),
    ],
)
def test_a_value_that_is_no_object_is_refused(value: JSON, detail: str) -> None:
    with pytest.raises(MalformedValueError) as caught:
        schema.normalize(value, None, profile=Profile.APISERVER)

    assert str(caught.value) == detail


EMBEDDED: dict[str, JSON] = {
    "type": "object",
    "x-kubernetes-embedded-resource": True,
    "x-kubernetes-preserve-unknown-fields": True,
}


def test_unknown_fields_are_reported_in_the_servers_order() -> None:
    raw: JSON = {
        "type": "object",
        "properties": {
            "m": {"type": "object", "additionalProperties": EMBEDDED},
            "b": {"type": "object"},
        },
    }
    parsed = schema.parse(raw, profile=Profile.APISERVER)
    obj: JSON = {
        "z": 1,
        "b": {"y": 1},
        "m": {"k": {"metadata": {"g": 1}}},
        "metadata": {"zz": 1, "aa": 1},
    }

    normalized = schema.normalize(obj, parsed, profile=Profile.APISERVER)

    assert normalized.removed == (
        ("metadata", "aa"),
        ("metadata", "zz"),
        ("b", "y"),
        ("z",),
        ("m", "k", "metadata", "g"),
    )
    assert normalized.value == {"b": {}, "m": {"k": {"metadata": {}}}, "metadata": {}}


def test_a_default_is_pruned_as_the_server_does_when_it_begins_to_serve() -> None:
    raw: JSON = {
        "type": "object",
        "properties": {
            "a": {
                "type": "object",
                "properties": {"x": {"type": "integer", "default": 1}},
                "default": {"y": 2},
            },
            "e": {**EMBEDDED, "default": {"kind": 5, "metadata": {"g": 1, "name": "n"}}},
            "m": {
                "type": "object",
                "additionalProperties": {"type": "object", "default": {"y": 1}},
            },
        },
    }
    parsed = schema.parse(raw, profile=Profile.APISERVER)

    normalized = schema.normalize({"m": {"k": None}}, parsed, profile=Profile.APISERVER)

    assert normalized.value == {
        "a": {"x": 1},
        "e": {"metadata": {"name": "n"}},
        "m": {"k": {}},
    }
    assert sorted(normalized.filled) == [("a",), ("e",), ("m", "k")]
    assert normalized.removed == ()


@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        ({"annotations": [], "creationTimestamp": ""}, 'parsing time ""'),
        ({"labels": 1, "annotations": []}, "ObjectMeta.annotations of type map[string]string"),
        (
            {"finalizers": 1, "managedFields": [{"manager": 1}, {"time": "x"}]},
            'parsing time "x"',
        ),
        (
            {"creationTimestamp": 1, "annotations": []},
            "cannot unmarshal number into Go struct field ObjectMeta.creationTimestamp",
        ),
    ],
)
def test_a_bad_time_is_reported_before_the_first_wrong_type(metadata: JSON, told: str) -> None:
    with pytest.raises(MalformedValueError) as caught:
        decode_metadata(metadata, drop_malformed=False)

    assert told in str(caught.value)
