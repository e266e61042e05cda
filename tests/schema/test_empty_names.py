"""
Properties with an empty name: their paths, as the packages of the API server wrote them.
"""

import pytest

from espalier import schema
from espalier.errors import MalformedValueError
from espalier.paths import JSON, render_path, render_unknown
from espalier.schema import Profile
from espalier.schema.validation.walk import check_value

INTEGER: JSON = {"type": "integer"}
RESOURCE: JSON = {
    "type": "object",
    "x-kubernetes-embedded-resource": True,
    "x-kubernetes-preserve-unknown-fields": True,
}


def an_object(**keywords: JSON) -> dict[str, JSON]:
    return {"type": "object", **keywords}


def a_property(name: str, node: JSON) -> dict[str, JSON]:
    return an_object(properties={name: node})


def wrong_type(path: str, name: str) -> str:
    return f'{path}: Invalid value: "string": {name} in body must be of type integer: "string"'


@pytest.mark.parametrize(
    ("raw", "value", "errors"),
    [
        (
            a_property("", a_property("g", a_property("h", INTEGER))),
            {"": {"g": {"h": "x"}}},
            [wrong_type("g.h", "g.h")],
        ),
        (a_property("a", a_property("", INTEGER)), {"a": {"": "x"}}, [wrong_type("a.", "a.")]),
        (a_property("", INTEGER), {"": "x"}, [wrong_type("<nil>", "")]),
        (
            an_object(additionalProperties=an_object(additionalProperties=INTEGER)),
            {"": {"g": "x", "": "y"}},
            [wrong_type(".", ".."), wrong_type(".g", "..g")],
        ),
        (
            a_property("", an_object(additionalProperties=an_object(additionalProperties=INTEGER))),
            {"": {"g": {"": "x", "k": "z"}}},
            [wrong_type("g.", ".g."), wrong_type("g.k", ".g.k")],
        ),
        (
            a_property("", an_object(required=["k", ""])),
            {"": {}},
            ["k: Required value", "<nil>: Required value"],
        ),
        (
            a_property("a", an_object(required=["k", ""])),
            {"a": {}},
            ["a.k: Required value", "a.: Required value"],
        ),
        (
            a_property("", {"type": "array", "items": INTEGER}),
            {"": ["x"]},
            [wrong_type("[0]", "[0]")],
        ),
        (
            a_property("", {"type": "array", "items": INTEGER, "x-kubernetes-list-type": "set"}),
            {"": [1, 1]},
            ["[][1]: Duplicate value: 1"],
        ),
        (
            a_property("", RESOURCE),
            {"": {"apiVersion": "v1", "metadata": {}}},
            ["[].kind: Required value"],
        ),
    ],
)
def test_findings_below_an_empty_name_have_the_servers_paths(
    raw: JSON, value: JSON, errors: list[str]
) -> None:
    structural = schema.parse(raw, profile=Profile.APISERVER)

    assert [str(one) for one in check_value(value, structural).errors] == errors


def test_metadata_below_an_empty_name_that_does_not_decode_is_named_in_brackets() -> None:
    structural = schema.parse(a_property("", RESOURCE), profile=Profile.APISERVER)
    resource: JSON = {"apiVersion": "v1", "kind": "K", "metadata": 7}

    with pytest.raises(MalformedValueError, match=r"^\[\]\.metadata: Invalid value: 7: json: "):
        schema.normalize({"": resource}, structural, profile=Profile.APISERVER)


def test_unknown_fields_below_an_empty_name_have_the_servers_paths() -> None:
    raw = a_property("", a_property("a", an_object()))
    structural = schema.parse(raw, profile=Profile.APISERVER)
    value: JSON = {"": {"x": 1, "": 2, "a": {"": {}, "y": 1}}, "z": 1}

    pruned = schema.prune(value, structural, profile=Profile.APISERVER)

    assert pruned.unknown() == (".", ".a.", ".a.y", ".x", "z")


def test_unknown_metadata_below_an_empty_name_is_named_in_brackets() -> None:
    structural = schema.parse(a_property("", RESOURCE), profile=Profile.APISERVER)
    resource: JSON = {"apiVersion": "v1", "kind": "K", "metadata": {"name": "a", "bogus": 1}}

    normalized = schema.normalize({"": resource}, structural, profile=Profile.APISERVER)

    assert [render_unknown(path) for path in normalized.removed] == ["[].metadata.bogus"]
    assert [render_path(path) for path in normalized.removed] == ["[].metadata.bogus"]
