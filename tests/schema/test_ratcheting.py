import pytest

from espalier import schema
from espalier.paths import JSON
from espalier.schema import Profile, Structural
from espalier.schema.ratcheting import NO_TOLERANCE, Correlation, Tolerance
from espalier.schema.validation.walk import check_value


def parsed(raw: JSON) -> Structural:
    structural = schema.parse(raw, profile=Profile.APISERVER)
    assert structural is not None
    return structural


def of(properties: dict[str, JSON], **keywords: JSON) -> Structural:
    return parsed({"type": "object", "properties": properties, **keywords})


def errors(structural: Structural, new: JSON, old: JSON) -> list[str]:
    return [str(one) for one in check_value(new, structural, old=old).errors]


SHORT: JSON = {"type": "string", "maxLength": 1}
TOO_LONG = "Too long: may not be more than 1 byte"
ITEM: JSON = {
    "type": "object",
    "properties": {"k": {"type": "string"}, "n": {"type": "number"}, "v": SHORT},
}


def list_map(*keys: str) -> Structural:
    keyed: JSON = {
        "type": "array",
        "items": ITEM,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": [*keys],
    }
    return of({"l": keyed})


def test_items_of_a_map_are_found_by_their_key_wherever_they_stand() -> None:
    old: JSON = {"l": [{"k": "a", "v": "xx"}, {"k": "b", "v": "yy"}]}
    new: JSON = {"l": [{"k": "b", "v": "yy"}, {"k": "c", "v": "zz"}, {"k": "a", "v": "xxx"}]}

    assert errors(list_map("k"), new, old) == [f"l[1].v: {TOO_LONG}", f"l[2].v: {TOO_LONG}"]


def test_of_old_items_with_one_key_the_first_counts() -> None:
    old: JSON = {"l": [{"k": "a", "v": "xx"}, {"k": "a", "v": "yy"}]}

    assert errors(list_map("k"), {"l": [{"k": "a", "v": "xx"}]}, old) == []
    assert errors(list_map("k"), {"l": [{"k": "a", "v": "yy"}]}, old) == [f"l[0].v: {TOO_LONG}"]


@pytest.mark.parametrize("key", [None, ["a"], {"a": 1}], ids=str)
def test_an_item_without_a_scalar_key_is_new(key: JSON) -> None:
    item: JSON = {"k": key, "v": "xx"}

    assert f"l[0].v: {TOO_LONG}" in errors(list_map("k"), {"l": [item], "b": 1}, {"l": [item]})


def test_one_key_distinguishes_integers_from_floats_and_several_keys_do_so_too() -> None:
    for keys in (("n",), ("k", "n")):
        old: JSON = {"l": [{"k": "a", "n": 1, "v": "xx"}]}
        new: JSON = {"l": [{"k": "a", "n": 1.0, "v": "xx"}]}

        assert errors(list_map(*keys), new, old) == [f"l[0].v: {TOO_LONG}"]
        assert errors(list_map(*keys), old, old) == []


def test_several_keys_are_compared_with_six_digits_after_the_point() -> None:
    old: JSON = {"l": [{"k": "a", "n": 1.00000001, "v": "xx"}]}
    new: JSON = {"l": [{"k": "a", "n": 1.00000002, "v": "xx"}]}

    assert errors(list_map("k", "n"), new, old) == []
    assert errors(list_map("n"), new, old) == [f"l[0].v: {TOO_LONG}"]


def test_a_member_that_no_schema_knows_makes_its_object_new() -> None:
    structural = of({"o": {"type": "object", "required": ["z"]}})

    assert errors(structural, {"o": {}, "b": 1}, {"o": {}}) == []
    assert errors(structural, {"o": {"u": 1}}, {"o": {"u": 1}}) == ["o.z: Required value"]


def test_the_root_is_new_as_soon_as_it_has_metadata() -> None:
    structural = of({"metadata": {"type": "object"}}, required=["spec"])
    whole: JSON = {"metadata": {"name": "x"}}

    assert errors(structural, whole, whole) == ["spec: Required value"]


def test_apiversion_and_kind_of_the_root_are_never_forgiven() -> None:
    structural = of({"kind": SHORT, "a": {"type": "object", "properties": {"kind": SHORT}}})
    whole: JSON = {"kind": "xx", "a": {"kind": "xx"}, "unknown": 1}

    assert errors(structural, whole, whole) == [f"kind: {TOO_LONG}"]


def test_a_member_of_a_junctor_is_forgiven_only_with_the_whole() -> None:
    branch: JSON = {"properties": {"a": {"maxLength": 1}}}
    inner: JSON = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
        "allOf": [branch],
    }
    structural = of({"o": inner})
    old: JSON = {"o": {"a": "xx", "b": 1}}

    assert errors(structural, {"o": {"a": "xx", "b": 1}, "c": 1}, old) == []
    assert errors(structural, {"o": {"a": "xx", "b": 2}}, old) == [
        f"o.a: {TOO_LONG}",
        '<nil>: Invalid value: "": "o" must validate all the schemas (allOf). None validated',
    ]


def test_a_null_is_the_same_as_a_null() -> None:
    structural = of({"a": {"type": "string", "enum": ["x"], "nullable": True}})

    assert errors(structural, {"a": None, "b": 1}, {"a": None}) == []
    assert errors(structural, {"a": None}, {}) != []


def test_duplicates_are_forgiven_everywhere_if_there_were_any() -> None:
    unique: JSON = {
        "type": "array",
        "items": {"type": "string"},
        "x-kubernetes-list-type": "set",
    }
    structural = of({"l": unique, "m": unique})

    assert errors(structural, {"m": ["b", "b"]}, {"l": ["a", "a"]}) == []
    assert errors(structural, {"m": ["b", "b"]}, {"l": ["a"]}) == ['m[1]: Duplicate value: "b"']


def test_embedded_resources_are_never_forgiven() -> None:
    structural = of({"e": {"type": "object", "x-kubernetes-embedded-resource": True}})
    whole: JSON = {"e": {"kind": "K"}}

    assert errors(structural, whole, whole) == ["e.apiVersion: Required value"]


def tolerance(raw: JSON, new: JSON, old: JSON) -> Tolerance:
    return Tolerance(Correlation(new, old, parsed(raw)))


OBJECT: JSON = {
    "type": "object",
    "properties": {
        "kind": {"type": "string"},
        "a": {"type": "object", "properties": {"kind": {"type": "string"}}},
        "l": {"type": "array", "items": {"type": "string"}},
    },
}


def test_a_rule_is_forgiven_where_the_value_is_the_same() -> None:
    root = tolerance(OBJECT, {"a": {"kind": "x"}, "l": ["y"]}, {"a": {"kind": "x"}, "l": ["z"]})

    assert not root.forgives()
    assert root.key("a").forgives()
    assert root.key("a").key("kind").forgives()
    assert not root.key("l").forgives()


def test_an_item_that_cannot_be_found_again_is_forgiven_with_its_list() -> None:
    same = tolerance(OBJECT, {"l": ["y"]}, {"l": ["y"]}).key("l").index(0)
    changed = tolerance(OBJECT, {"l": ["y", "z"]}, {"l": ["y"]}).key("l").index(0)

    assert same.forgives()
    assert same.key("whatever").forgives()
    assert not changed.forgives()


def test_kind_of_the_root_forgives_no_rule() -> None:
    root = tolerance(OBJECT, {"kind": "x"}, {"kind": "x"})

    assert not root.key("kind").forgives()
    assert root.key("kind") is NO_TOLERANCE


def test_a_rule_below_all_of_is_forgiven_only_with_the_place_above() -> None:
    root = tolerance(OBJECT, {"a": {"kind": "x"}}, {"a": {"kind": "x"}})

    assert root.key("a").within_all_of().forgives()
    assert not root.within_all_of().forgives()


def test_a_creation_forgives_nothing() -> None:
    assert not NO_TOLERANCE.key("a").index(0).within_all_of().forgives()
