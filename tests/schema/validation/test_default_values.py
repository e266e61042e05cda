"""
Values of defaults; what is expected is what the API server's packages answer.
"""

import pytest

from espalier import schema
from espalier.paths import JSON
from espalier.schema import NO_JUDGE, Profile
from espalier.schema.validation.default_values import default_judge
from espalier.schema.validation.defaults import check_defaults

SERVER = Profile.APISERVER


def checked(raw: JSON) -> list[str]:
    whole = schema.parse({"type": "object", "properties": {"a": raw}}, profile=SERVER)
    judge = default_judge(profile=SERVER)
    found = check_defaults(whole, profile=SERVER, judge=judge, path=("s",))
    return [str(one).removeprefix("s.properties[a].default") for one in found]


def test_an_int_or_string_may_have_a_default_of_any_type() -> None:
    assert checked({"x-kubernetes-int-or-string": True, "default": True}) == []


@pytest.mark.parametrize(
    ("raw", "error"),
    [
        ({"type": "boolean", "format": "foo", "default": 5}, 'foo: "int64"'),
        ({"type": "string", "format": "int64", "default": 5}, 'string: "integer"'),
        ({"type": "boolean", "format": "date", "default": "x"}, 'date: "x"'),
    ],
)
def test_formats_count_that_objects_are_not_held_to(raw: JSON, error: str) -> None:
    [found] = checked(raw)

    assert found.endswith(f" in body must be of type {error}")


def test_a_text_passes_for_any_type_with_an_unknown_format() -> None:
    assert checked({"type": "boolean", "format": "foo", "default": "x"}) == []


def test_additional_properties_of_junctors_are_forgotten() -> None:
    junctor: JSON = {"additionalProperties": {"maxLength": 1}}
    spine: JSON = {"type": "object", "additionalProperties": {"type": "string"}}
    assert isinstance(spine, dict)

    assert checked({**spine, "allOf": [junctor], "default": {"k": "long"}}) == []


def ruled(*rules: JSON, default: JSON) -> JSON:
    return {"type": "integer", "x-kubernetes-validations": [*rules], "default": default}


def test_a_default_keeps_the_rules_of_its_node() -> None:
    assert checked(ruled({"rule": "self > 5"}, default=6)) == []
    assert checked(ruled({"rule": "self > 5"}, default=5)) == [
        ": Invalid value: 5: failed rule: self > 5"
    ]


def test_a_default_is_judged_as_its_own_successor_and_as_new() -> None:
    is_new: JSON = {"rule": "!oldSelf.hasValue()", "optionalOldSelf": True}
    was_there: JSON = {"rule": "oldSelf.hasValue()", "optionalOldSelf": True}

    assert checked(ruled({"rule": "self != oldSelf"}, default=1)) != []
    assert checked(ruled(is_new, default=1)) != []
    assert checked(ruled(was_there, default=1)) != []


def test_rules_that_are_not_evaluated_count_as_kept() -> None:
    whole = schema.parse(
        {"type": "object", "properties": {"a": ruled({"rule": "self > 5"}, default=1)}},
        profile=SERVER,
    )
    judge = default_judge(profile=SERVER, rules=NO_JUDGE)

    assert check_defaults(whole, profile=SERVER, judge=judge) == ()


def test_the_proposals_judge_values_with_their_own_messages() -> None:
    whole = schema.parse(
        {"type": "object", "properties": {"a": {"type": "string", "default": 5}}},
        profile=Profile.KEP,
    )

    [found] = check_defaults(whole, profile=Profile.KEP, judge=default_judge(profile=Profile.KEP))

    assert found.detail == 'default in body must be of type string: "integer"'
