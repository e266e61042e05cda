from collections.abc import Iterable

import pytest

from espalier import schema
from espalier.findings import ErrorType, FieldError
from espalier.paths import JSON, Path
from espalier.schema import Profile, Structural
from espalier.schema.metadata.validation import check_embedded
from espalier.schema.validation.defaults import accept_any_value, check_defaults

KEP, SERVER = Profile.KEP, Profile.APISERVER


def checked(
    raw: JSON, profile: Profile = SERVER, *, require_pruned: bool = True
) -> tuple[FieldError, ...]:
    return check_defaults(
        schema.parse(raw, profile=profile),
        profile=profile,
        judge=accept_any_value,
        require_pruned=require_pruned,
    )


def refuse(value: JSON, structural: Structural, path: Path) -> Iterable[FieldError]:
    detail = structural.type
    yield FieldError(type=ErrorType.INVALID, path=path, value=value, detail=detail)


def embedded(**properties: JSON) -> JSON:
    resource: JSON = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "properties": dict(properties),
    }
    return {"type": "object", "properties": {"e": resource}}


UNPRUNED: JSON = {
    "type": "object",
    "properties": {"a": {"type": "object", "properties": {}, "default": {"c": 1}}},
}


def test_no_schema_has_no_defaults() -> None:
    assert checked(None) == ()


def test_only_the_server_may_let_unknown_fields_pass() -> None:
    assert [error.detail for error in checked(UNPRUNED)] == ["must not have unknown fields"]
    assert checked(UNPRUNED, require_pruned=False) == ()
    assert checked(UNPRUNED, KEP, require_pruned=False)


def test_only_the_proposals_look_below_additional_properties() -> None:
    below: JSON = {"type": "object", "default": {"b": 1}}
    raw: JSON = {
        "type": "object",
        "properties": {"m": {"type": "object", "additionalProperties": below}},
    }

    assert checked(raw) == ()
    assert [str(error) for error in checked(raw, KEP)] == [
        (
            "properties[m].additionalProperties.default: Invalid value: "
            '{"b":1}: must not have unknown fields'
        )
    ]


@pytest.mark.parametrize("profile", Profile)
def test_a_default_that_is_in_order_is_given_to_the_judge(profile: Profile) -> None:
    raw: JSON = {
        "type": "object",
        "properties": {
            "list": {"type": "array", "items": {"type": "string", "default": "x"}},
            "bad": {"type": "object", "default": {"unknown": 1}},
        },
    }

    found = check_defaults(schema.parse(raw, profile=profile), profile=profile, judge=refuse)

    assert [(error.path[-2:], error.detail) for error in found] == [
        (("items", "default"), "string"),
        (("bad", "default"), "must not have unknown fields"),
        (("bad", "default"), "object"),
    ]


def test_a_default_of_an_own_field_is_given_to_the_judge_if_the_resource_is_valid() -> None:
    raw = embedded(
        kind={"type": "string", "default": "Foo"}, apiVersion={"type": "string", "default": "a/b/c"}
    )

    found = check_defaults(schema.parse(raw, profile=SERVER), profile=SERVER, judge=refuse)

    assert [error.detail for error in found] == [
        "string",
        (
            "must result in valid metadata: apiVersion: Invalid value: "
            '"a/b/c": unexpected GroupVersion string: a/b/c'
        ),
    ]


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"name": ".."}, "name: Invalid value: \"..\": may not be '..'"),
        ({"generateName": "a/%"}, "generateName: Invalid value: \"a/%\": may not contain '/'"),
        ({"namespace": "a.b"}, 'namespace: Invalid value: "a.b": must not contain dots'),
        ({"generation": -1}, "generation: Invalid value: -1: must be greater than or equal to 0"),
        ({"labels": {"": "v"}}, 'labels: Invalid value: "": name part must be non-empty'),
        ({"labels": {"a": "b" * 64}}, "must be no more than 63 bytes"),
        ({"labels": {"/a": "b"}}, "prefix part must be non-empty"),
        ({"labels": {"a/b/c": "b"}}, "a valid label key must consist of"),
        ({"labels": {"-.b/c": "b"}}, "prefix part a lowercase RFC 1123 subdomain must consist of"),
        ({"annotations": {"a": "b" * (256 << 10)}}, "Too long: may not be more than 262144 bytes"),
        ({"finalizers": ["a b"]}, 'finalizers: Invalid value: "a b": name part must consist'),
        (
            {"finalizers": ["orphan", "foregroundDeletion"]},
            "finalizer orphan and foregroundDeletion cannot be both set",
        ),
        ({"ownerReferences": [{}]}, "ownerReferences[0].apiVersion: Required value"),
        (
            {"ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "n", "uid": "u"}]},
            "/v1, Kind=Event is disallowed from being an owner",
        ),
        ({"managedFields": [{"operation": "Odd"}]}, 'supported values: "Apply", "Update"'),
        ({"managedFields": [{"operation": "Apply", "manager": "é\n"}]}, "U+000A (at position 2)"),
        (
            {"managedFields": [{"operation": "Apply", "manager": "m" * 129}]},
            "manager: Too long: may not be more than 128 bytes",
        ),
        (
            {"managedFields": [{"operation": "Apply", "subresource": "m" * 257}]},
            "subresource: Too long: may not be more than 256 bytes",
        ),
        (
            {"managedFields": [{"operation": "Apply", "fieldsType": "V2"}]},
            'fieldsType: Invalid value: "V2": must be `FieldsV1`',
        ),
    ],
)
def test_a_default_must_not_make_invalid_metadata(metadata: JSON, expected: str) -> None:
    raw = embedded(
        metadata={
            "type": "object",
            "default": metadata,
            "x-kubernetes-preserve-unknown-fields": True,
        }
    )

    found = checked(raw)

    assert expected in str(found[0])
    assert len(found) == 1


def test_only_one_owner_may_control() -> None:
    owner: JSON = {"apiVersion": "v1", "kind": "A", "name": "b", "uid": "u", "controller": True}
    value: JSON = {"apiVersion": "v1", "kind": "B", "metadata": {"ownerReferences": [owner, owner]}}

    (found,) = check_embedded(value, None, is_resource=True)

    assert found.detail.endswith("references for A/b and A/b")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({}, ["apiVersion: Required value", "kind: Required value"]),
        (
            {"apiVersion": 5, "kind": 5},
            [
                "apiVersion: Invalid value: 5: must be a string",
                "kind: Invalid value: 5: must be a string",
            ],
        ),
        (
            {"apiVersion": "", "kind": ""},
            [
                'apiVersion: Invalid value: "": must not be empty',
                'kind: Invalid value: "": must not be empty',
            ],
        ),
        ({"apiVersion": "v1", "kind": "A"}, []),
        (
            {"apiVersion": "v1", "kind": "A", "metadata": {"name": 5}},
            [
                (
                    'metadata: Invalid value: {"name":5}: json: cannot unmarshal number into Go'
                    " struct"
                    " field ObjectMeta.name of type string"
                )
            ],
        ),
    ],
)
def test_a_resource_is_judged(value: JSON, expected: list[str]) -> None:
    found = [str(error) for error in check_embedded(value, None, is_resource=True)]

    assert found == expected


def test_embedded_resources_are_found_at_every_depth() -> None:
    resource: JSON = {"type": "object", "x-kubernetes-embedded-resource": True}
    structural = schema.parse(
        {"properties": {"l": {"items": {"additionalProperties": resource}}}}, profile=SERVER
    )

    found = check_embedded({"l": [{"k": {"kind": "A"}}]}, structural)

    assert [str(error) for error in found] == ["l[0][k].apiVersion: Required value"]
