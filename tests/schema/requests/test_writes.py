"""
Whole objects, created and updated; ``tests/e2e/test_validation.py`` asks a real server the same.
"""

import pytest

from espalier import schema
from espalier.findings import ErrorType
from espalier.paths import JSON
from espalier.schema import NO_JUDGE, Profile, Resource, ScalePaths, Standing
from espalier.schema.values import copy_json, equal_json

SPEC: JSON = {
    "type": "object",
    "properties": {
        "a": {"type": "string", "maxLength": 1},
        "n": {"type": "integer"},
        "any": {"x-kubernetes-preserve-unknown-fields": True},
    },
}
RULED: JSON = {
    "type": "object",
    "properties": {"n": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 5"}]}},
}


def resource(spec: JSON = SPEC, **more: object) -> Resource:
    status: JSON = {"type": "object", "properties": {"n": {"type": "integer"}}}
    raw: JSON = {"type": "object", "properties": {"spec": spec, "status": status}}
    described: dict[str, object] = {
        "api_version": "example.com/v1",
        "kind": "Foo",
        "structural": schema.parse(raw, profile=Profile.APISERVER),
        "has_status": True,
        **more,
    }
    return Resource(**described)  # type: ignore[arg-type]


def foo(metadata: dict[str, JSON] | None = None, **members: JSON) -> dict[str, JSON]:
    own: JSON = {"name": "foo", "namespace": "default", "resourceVersion": "1", **(metadata or {})}
    return {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": own, **members}


def created(obj: dict[str, JSON], of: Resource | None = None) -> list[str]:
    return [str(one) for one in schema.check_creation(obj, of or resource()).errors]


def updated(new: dict[str, JSON], old: dict[str, JSON], of: Resource | None = None) -> list[str]:
    return [str(one) for one in schema.check_update(new, old, of or resource()).errors]


def test_another_kind_or_version_ends_the_checks_of_metadata_and_schema() -> None:
    obj = foo({"name": "UPPER"}, spec=1) | {"kind": "Bar", "apiVersion": "example.com/v2"}

    assert created(obj) == [
        'kind: Invalid value: "Bar": must be Foo',
        'apiVersion: Invalid value: "example.com/v2": must be example.com/v1',
    ]


@pytest.mark.parametrize(
    ("metadata", "error"),
    [
        ({"name": ""}, "metadata.name: Required value: name or generateName is required"),
        ({"namespace": ""}, "metadata.namespace: Required value"),
        ({"generation": -1}, "metadata.generation: Invalid value: -1: must be greater than"),
        ({"finalizers": ["a b"]}, 'metadata.finalizers: Invalid value: "a b": name part must'),
        ({"generateName": "a_"}, 'metadata.generateName: Invalid value: "a_": a lowercase RFC'),
        ({"labels": 1}, 'metadata: Invalid value: {"labels":1,"name":"foo"'),
    ],
)
def test_metadata_is_checked(metadata: dict[str, JSON], error: str) -> None:
    [found] = created(foo(metadata))

    assert found.startswith(error)


def test_a_generated_name_may_end_with_a_dash() -> None:
    assert created(foo({"generateName": "a-"})) == []


def test_a_resource_of_the_cluster_has_no_namespace() -> None:
    error = "metadata.namespace: Forbidden: not allowed on this type"

    assert created(foo(), resource(is_namespaced=False)) == [error]


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        ({"n": -1}, ".spec.n: Invalid value: -1: should be a non-negative integer"),
        ({"n": 2**31}, ".spec.n: Invalid value: 2147483648: should be less than or equal to"),
        ({"n": "x"}, ".spec.n: Invalid value: 0: .spec.n accessor error: x is of the type string"),
        (
            {"n": True},
            ".spec.n: Invalid value: 0: .spec.n accessor error: true is of the type bool",
        ),
        ({"n": 1.0}, ".spec.n: Invalid value: 0: .spec.n accessor error: 1 is of the type float64"),
        ({"n": None}, ".spec.n: Invalid value: 0: .spec.n accessor error: <nil> is of the type"),
        ([], ".spec.n: Invalid value: 0: .spec.n accessor error: [] is of the type []interface {}"),
        ({}, None),
        (None, None),
    ],
)
def test_replicas_are_small_natural_numbers(spec: JSON, error: str | None) -> None:
    loose: JSON = {"x-kubernetes-preserve-unknown-fields": True}
    scaled = resource(loose, scale=ScalePaths(".spec.n", ".status.n", ".status.s"))

    found = created(foo(spec=spec), scaled)

    assert [one[: len(error or "")] for one in found] == ([error] if error else [])


def test_a_selector_is_a_text() -> None:
    scaled = resource(scale=ScalePaths(".spec.n", ".status.n", ".status.s"))

    [error] = created(foo(status={"n": 1, "s": {}}), scaled)

    assert error == (
        '.status.s: Invalid value: "": .status.s accessor error: map[] is of the type'
        " map[string]interface {}, expected string"
    )


@pytest.mark.parametrize(
    ("new", "old", "error"),
    [
        ({"name": "b"}, {}, 'metadata.name: Invalid value: "b": field is immutable'),
        ({"uid": "u"}, {"uid": "v"}, 'metadata.uid: Invalid value: "u": field is immutable'),
        (
            {"deletionTimestamp": "2020-01-01T00:00:00Z"},
            {},
            'metadata.deletionTimestamp: Invalid value: "2020-01-01T00:00:00Z": field is immutable',
        ),
        (
            {"finalizers": ["b/b", "a/a"]},
            {"deletionTimestamp": "2020-01-01T00:00:00Z", "finalizers": ["c/c"]},
            (
                "metadata.finalizers: Forbidden: no new finalizers can be added if the object is"
                ' being deleted, found new finalizers []string{"a/a", "b/b"}'
            ),
        ),
        (
            {"resourceVersion": ""},
            {},
            'metadata.resourceVersion: Invalid value: "": must be specified for an update',
        ),
    ],
)
def test_what_an_update_of_metadata_may_not_do_is_reported_twice(
    new: dict[str, JSON], old: dict[str, JSON], error: str
) -> None:
    assert updated(foo(new), foo(old)) == [error, error]


@pytest.mark.parametrize(
    "kept",
    [{"generation": 7}, {"creationTimestamp": "2020-01-01T00:00:00Z"}, {"uid": "u"}],
    ids=str,
)
def test_what_an_update_cannot_change_is_taken_from_the_old_object(kept: dict[str, JSON]) -> None:
    assert updated(foo(), foo(kept)) == []


def test_finalizers_without_form_may_stay() -> None:
    assert created(foo({"finalizers": ["a b"]})) != []
    old = foo({"finalizers": ["a b"]})
    common = [one for one in updated(old, old) if "finalizers" in one]

    # The check of all updates looks at them, that of custom resources does not.
    assert len(common) == 1


def test_the_status_is_not_for_an_update_to_change() -> None:
    old, new = foo(status={"n": 1}), foo(status={"n": "x"})

    assert updated(new, old) == []
    assert updated(new, foo()) == []
    assert updated(new, old, resource(has_status=False)) == [
        'status.n: Invalid value: "string": status.n in body must be of type integer: "string"'
    ]


def test_an_update_of_the_status_is_for_nothing_else() -> None:
    old = foo(spec={"a": "xx"}, status={"n": 1})
    new = foo({"name": "b"}, spec={"a": "xxx"}, status={"n": "x"})

    [error] = schema.check_status_update(new, old, resource()).errors

    assert (
        str(error)
        == 'status.n: Invalid value: "string": n in body must be of type integer: "string"'
    )
    assert schema.check_status_update(foo(), old, resource()).errors == ()


def test_a_bad_status_may_stay() -> None:
    old = foo(status={"n": "x"})

    assert schema.check_status_update(old, old, resource()).errors == ()


def test_rules_wait_for_errors_that_are_worse() -> None:
    under = resource(RULED)

    assert created(foo(spec={"n": 1}), under) == ["spec.n: Invalid value: 1: failed rule: self > 5"]
    assert created(foo(spec={"n": "x"}), under)[1:] == [
        (
            "<nil>: Invalid value: null: some validation rules were not checked because the object"
            " was invalid; correct the existing errors to complete validation"
        )
    ]
    # An invalid value alone is no reason to skip them.
    assert len(created(foo({"labels": {"-": "a"}}, spec={"n": 1}), under)) == 2


def test_an_update_forgives_a_rule_and_reports_it() -> None:
    old = foo(spec={"n": 1})

    answer = schema.check_update(foo({"labels": {"a": "b"}}, spec={"n": 1}), old, resource(RULED))

    assert answer.errors == ()
    assert [str(one) for one in answer.forgiven] == [
        "spec.n: Invalid value: 1: failed rule: self > 5"
    ]
    assert updated(foo(spec={"n": 2}), old, resource(RULED)) != []


def test_without_a_schema_metadata_is_all_there_is_to_check() -> None:
    bare = resource(structural=None)

    assert created(foo(spec=1), bare) == []
    assert schema.judge_stored(foo(spec=1), bare).standing is Standing.VALID


def standing(obj: dict[str, JSON], of: Resource | None = None) -> Standing:
    return schema.judge_stored(obj, of or resource()).standing


def test_a_stored_object_is_valid_writable_or_blocked() -> None:
    assert standing(foo(spec={"a": "x"})) is Standing.VALID
    assert standing(foo(spec={"a": "xx"})) is Standing.WRITABLE
    assert standing(foo(spec={"n": 1}), resource(RULED)) is Standing.WRITABLE
    assert standing(foo({"labels": {"-": ""}}, spec={"a": "x"})) is Standing.BLOCKED


def test_a_status_may_be_blocked_alone() -> None:
    scaled = resource(scale=ScalePaths(".spec.n", ".status.n"), has_status=True)

    verdict = schema.judge_stored(foo(status={"n": -1}), scaled)

    assert verdict.standing is Standing.BLOCKED
    assert [one.path for one in verdict.status_refusals] == [(".status.n",)]


def test_rules_that_are_not_evaluated_leave_an_object_unchecked() -> None:
    verdict = schema.judge_stored(foo(spec={"n": 9}), resource(RULED), rules=NO_JUDGE)

    assert verdict.standing is Standing.NOT_CHECKED
    assert [one.type for one in verdict.unchecked] == [ErrorType.INTERNAL]
    assert standing(foo(spec={"n": 9}), resource(RULED)) is Standing.VALID


def test_an_object_from_a_file_needs_no_resource_version() -> None:
    obj = foo(spec={"a": "x"})
    metadata = obj["metadata"]
    assert isinstance(metadata, dict)
    del metadata["resourceVersion"]

    assert standing(obj) is Standing.VALID


def test_no_object_is_changed() -> None:
    obj = foo({"uid": "u"}, spec={"a": "xx"}, status={"n": 1})
    before = copy_json(obj)

    schema.judge_stored(obj, resource())
    schema.check_update(foo(), obj, resource())

    assert equal_json(obj, before)


def test_the_deepest_schema_of_all_is_walked() -> None:
    item: JSON = {"type": "object", "properties": {"k": {"type": "string", "maxLength": 1}}}
    value: JSON = {"k": "xx"}
    for _ in range(97):
        listed: JSON = {
            "type": "array",
            "items": item,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
        }
        item = {"type": "object", "properties": {"k": {"type": "string"}, "l": listed}}
        value = {"k": "x", "l": [value]}

    assert standing(foo(spec=value), resource(item)) is Standing.WRITABLE
