import pytest

from espalier import schema
from espalier.paths import JSON, Path
from espalier.schema import Profile, Structural
from espalier.schema.normalization.conservative_pruning import (
    ConservativelyPruned,
    prune_conservatively,
)
from espalier.schema.values import equal_json

STRING: JSON = {"type": "string"}


def parsed(**properties: JSON) -> Structural:
    spec: JSON = {"type": "object", "properties": properties}
    root: JSON = {"type": "object", "properties": {"spec": spec}}
    found = schema.parse(root, profile=Profile.APISERVER)
    assert found is not None
    return found


def carefully(spec: JSON, *schemas: Structural | None) -> ConservativelyPruned:
    obj: JSON = {"apiVersion": "v", "kind": "K", "metadata": {"odd": 1}, "spec": spec}
    return prune_conservatively(obj, schemas)


def paths(spec: JSON, *schemas: Structural | None) -> list[Path]:
    return [path for path, _ in carefully(spec, *schemas).removed]


def test_what_is_unknown_is_pruned_and_is_handed_out() -> None:
    spec: JSON = {"a": "x", "b": {"c": [1]}}

    found = carefully(spec, parsed(a=STRING))

    assert isinstance(found.value, dict)
    assert found.value["spec"] == {"a": "x"}
    assert found.value["metadata"] == {"odd": 1}
    assert found.removed == ((("spec", "b"), {"c": [1]}),)
    assert found.mistyped == ()
    assert spec == {"a": "x", "b": {"c": [1]}}


def test_the_very_object_comes_back_if_nothing_goes() -> None:
    obj: JSON = {"metadata": {"odd": 1}, "spec": {"a": "x"}}

    assert prune_conservatively(obj, [parsed(a=STRING)]).value is obj


def test_a_field_that_any_version_specifies_stays() -> None:
    assert paths({"a": "x", "b": "y", "c": "z"}, parsed(a=STRING), parsed(b=STRING)) == [
        ("spec", "c")
    ]


def test_a_field_below_one_that_some_version_lacks_goes_alone() -> None:
    nested: JSON = {"type": "object", "properties": {"x": STRING}}

    found = carefully({"o": {"x": "1", "y": "2"}}, parsed(), parsed(o=nested))

    assert found.removed == ((("spec", "o", "y"), "2"),)


@pytest.mark.parametrize(
    "node",
    [
        # Where the profiles differ, the one that keeps wins.
        {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {"in": {"type": "object"}},
        },
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "additionalProperties": {"type": "object"},
        },
    ],
)
def test_what_either_profile_keeps_stays(node: JSON) -> None:
    assert paths({"o": {"in": {"x": 1}}}, parsed(o=node)) == []


def test_items_stay_and_keep_their_indexes() -> None:
    items: JSON = {"type": "object", "properties": {"a": STRING}}
    node: JSON = {"type": "array", "items": items}

    found = carefully({"l": [{"a": "x"}, {"b": 1}, 5, {"b": 2, "a": "y"}]}, parsed(l=node))

    assert found.removed == ((("spec", "l", 1, "b"), 1), (("spec", "l", 3, "b"), 2))
    assert isinstance(found.value, dict)
    assert found.value["spec"] == {"l": [{"a": "x"}, {}, 5, {"a": "y"}]}
    assert found.mistyped == (("spec", "l", 2),)


@pytest.mark.parametrize("value", [{"x": 1}, [{"x": 1}], 5, True])
def test_a_value_of_a_wrong_type_stays_with_all_it_holds(value: JSON) -> None:
    found = carefully({"a": value, "b": 1}, parsed(a=STRING))

    assert found.mistyped == (("spec", "a"),)
    assert found.removed == ((("spec", "b"), 1),)


def test_a_wrong_type_for_any_version_is_enough() -> None:
    nested: JSON = {"type": "object", "properties": {"x": STRING}}

    found = carefully({"a": {"x": "1", "y": 2}}, parsed(a=nested), parsed(a=STRING))

    assert found.removed == ()
    assert found.mistyped == (("spec", "a"),)


@pytest.mark.parametrize(
    ("node", "value"),
    [
        ({"type": "integer"}, 1.0),
        ({"type": "number"}, 1),
        ({"type": "string"}, None),
        ({"x-kubernetes-int-or-string": True}, "80%"),
        ({"x-kubernetes-int-or-string": True}, 80),
        ({"x-kubernetes-preserve-unknown-fields": True}, [{"a": 1}]),
    ],
)
def test_a_value_of_the_right_type_is_not_reported(node: JSON, value: JSON) -> None:
    assert carefully({"a": value}, parsed(a=node)).mistyped == ()


@pytest.mark.parametrize("schemas", [(), (None,), (None, parsed()), (parsed(), None)])
def test_nothing_goes_where_a_schema_is_missing(schemas: tuple[Structural | None, ...]) -> None:
    found = carefully({"a": 1}, *schemas)

    assert found.removed == ()


@pytest.mark.parametrize("value", [None, 5, "x", [], [1, {"a": 1}], {}])
def test_any_json_is_taken(value: JSON) -> None:
    found = prune_conservatively(value, [parsed()])

    assert equal_json(found.value, value) or found.removed
