"""
What holds for the normal form of every object, by every schema.
"""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from espalier import schema
from espalier.errors import MalformedValueError
from espalier.paths import JSON
from espalier.schema import Normalized, Normalizer, Nulls, Profile, Structural
from espalier.schema.values import equal_json
from tests.properties.test_values import contains, pairs, profiles, thorough


def normalized(normalizer: Normalizer, value: JSON) -> Normalized | None:
    try:
        return normalizer(value)
    except MalformedValueError:
        return None


def in_any_order(value: JSON, random: Any) -> JSON:
    # The same value with the keys of its objects shuffled.
    if isinstance(value, list):
        return [in_any_order(item, random) for item in value]
    if not isinstance(value, dict):
        return value
    names = list(value)
    random.shuffle(names)
    return {name: in_any_order(value[name], random) for name in names}


def nodes_of(node: Structural) -> list[Structural]:
    nodes = [node]
    for each in nodes:
        nodes += each.properties.values()
        nodes += [] if each.items is None else [each.items]
        if isinstance(each.additional_properties, Structural):
            nodes.append(each.additional_properties)
    return nodes


def defaults_own_fields(root: Structural) -> bool:
    # Servers refuse such a default, or its value: it may make an object that nobody can decode.
    return any(
        below.default is not None
        for node in nodes_of(root)
        if node is root or node.embedded_resource
        for name in ("apiVersion", "kind", "metadata")
        if (child := node.child(name)) is not None
        for below in nodes_of(child)
    )


@thorough
@given(pairs(), profiles, st.sampled_from(Nulls))
def test_what_is_normal_stays_as_it_is(
    pair: tuple[Structural, JSON], profile: Profile, nulls: Nulls
) -> None:
    structural, value = pair
    assume(not defaults_own_fields(structural))
    normalizer = schema.compile_normalizer(structural, profile=profile, nulls=nulls)
    once = normalized(normalizer, value)
    assume(once is not None)
    assert once is not None
    # A default may hold what the next reading drops again: nulls and unknown fields, which no
    # definition with checked defaults has.
    settled = normalizer(once.value)

    again = normalizer(settled.value)

    assert again.value is settled.value
    assert (again.removed, again.dropped, again.filled) == ((), (), ())
    assert normalizer.is_normal(settled.value)


@thorough
@given(pairs(), profiles, st.sampled_from(Nulls))
def test_an_object_is_normal_exactly_if_it_comes_back_itself(
    pair: tuple[Structural, JSON], profile: Profile, nulls: Nulls
) -> None:
    structural, value = pair
    normalizer = schema.compile_normalizer(structural, profile=profile, nulls=nulls)

    found = normalized(normalizer, value)

    same = found is not None and found.value is value
    assert normalizer.is_normal(value) == same
    assert same == (found is not None and equal_json(found.value, value))


@thorough
@given(pairs(), profiles, st.randoms(use_true_random=False))
def test_the_order_of_keys_does_not_matter(
    pair: tuple[Structural, JSON], profile: Profile, random: Any
) -> None:
    structural, value = pair
    normalizer = schema.compile_normalizer(structural, profile=profile)
    shuffled = in_any_order(value, random)

    one, other = normalized(normalizer, value), normalized(normalizer, shuffled)

    assert (one is None) == (other is None)
    if one is not None and other is not None:
        assert equal_json(one.value, other.value)
        assert set(one.removed) == set(other.removed)
        assert set(one.dropped) == set(other.dropped)
        assert set(one.filled) == set(other.filled)


@thorough
@given(pairs(), profiles)
def test_recognition_changes_no_answer(pair: tuple[Structural, JSON], profile: Profile) -> None:
    structural, value = pair
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("espalier.schema.normalization.fast_path._FIRST_PAUSE", 1_000_000)
        walking = schema.compile_normalizer.__wrapped__(structural, profile=profile)
    recognising = schema.compile_normalizer.__wrapped__(structural, profile=profile)

    one, other = normalized(walking, value), normalized(recognising, value)

    assert (one is None) == (other is None)
    if one is not None and other is not None:
        assert equal_json(one.value, other.value)
        assert (one.value is value) == (other.value is value)
        assert one.removed == other.removed
        assert one.dropped == other.dropped
        assert one.filled == other.filled


def test_metadata_that_a_schema_specifies_more_of_is_filtered_all_the_same() -> None:
    metadata: JSON = {"type": "object", "properties": {"extra": {"type": "string"}}}
    properties: JSON = {"metadata": metadata, "a": {"type": "string"}}
    resource: JSON = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "properties": properties,
    }
    raw: JSON = {"type": "object", "properties": {"r": resource}}
    structural = schema.parse(raw, profile=Profile.KEP)
    normalizer = schema.compile_normalizer(structural, profile=Profile.KEP)

    for _ in range(3):
        assert normalizer({"r": {"metadata": {"extra": "x"}}}).value == {"r": {"metadata": {}}}


@thorough
@given(pairs(), profiles)
def test_the_pruned_value_has_no_path_that_pruning_removes(
    pair: tuple[Structural, JSON], profile: Profile
) -> None:
    structural, value = pair
    assume(not defaults_own_fields(structural))
    normalizer = schema.compile_normalizer(structural, profile=profile)
    found = normalized(normalizer, value)
    assume(found is not None)
    assert found is not None

    assert not any(contains(found.value, path) for path in found.removed if path[0] != "metadata")
    left = schema.prune(found.value, structural, profile=profile)
    filled = set(found.filled)
    # What a default brought in is only pruned where the server holds it so.
    assert all(any(path[:end] in filled for end in range(len(path))) for path in left.removed)


def agree(node: Structural) -> bool:
    # Where the profiles prune alike: no node preserves unknown fields and specifies some, nothing
    # specifies any value for additional properties, no embedded resource.
    if node.embedded_resource or node.additional_properties is True:
        return False
    children = [*node.properties.values()]
    if node.items is not None:
        children.append(node.items)
    if isinstance(node.additional_properties, Structural):
        children.append(node.additional_properties)
    if node.preserve_unknown_fields and children:
        return False
    return all(map(agree, children))


@thorough
@given(pairs())
def test_both_profiles_prune_alike_where_nothing_preserves_unknown_fields_around_specified_ones(
    pair: tuple[Structural, JSON],
) -> None:
    structural, value = pair
    assume(agree(structural))
    body = value
    if isinstance(value, dict):
        body = {name: member for name, member in value.items() if name != "metadata"}

    one = schema.prune(body, structural, profile=Profile.APISERVER)
    other = schema.prune(body, structural, profile=Profile.KEP)

    assert equal_json(one.value, other.value)
    assert one.removed == other.removed


def has_null(value: JSON) -> bool:
    match value:
        case None:
            return True
        case dict():
            return any(map(has_null, value.values()))
        case list():
            return any(map(has_null, value))
        case _:
            return False


@thorough
@given(pairs())
def test_both_profiles_default_alike_where_nothing_is_null(pair: tuple[Structural, JSON]) -> None:
    structural, value = pair
    defaults = [node.default for node in nodes_of(structural) if node.default is not None]
    assume(not any(map(has_null, [value, *defaults])))

    one = schema.default(value, structural, profile=Profile.APISERVER)

    for nulls in Nulls:
        other = schema.default(value, structural, profile=Profile.KEP, nulls=nulls)
        assert equal_json(one.value, other.value)
        assert one.filled == other.filled
