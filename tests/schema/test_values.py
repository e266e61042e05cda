from hypothesis import given
from hypothesis import strategies as st

from espalier import schema
from espalier.paths import JSON
from espalier.schema import Profile
from espalier.schema.values import copy_json, equal_json, mark_of
from tests.effort import calls_of

near_scalars: st.SearchStrategy[JSON] = st.sampled_from(
    (None, True, False, 0, 1, 0.0, -0.0, 1.0, "", "a", "1")
)
near_values: st.SearchStrategy[JSON] = st.recursive(
    near_scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=6,
)


@given(near_values, near_values)
def test_values_are_equal_if_and_only_if_their_marks_are(left: JSON, right: JSON) -> None:
    assert (mark_of(left) == mark_of(right)) is equal_json(left, right)


@given(near_values)
def test_an_equal_value_has_an_equal_mark(value: JSON) -> None:
    assert mark_of(copy_json(value)) == mark_of(value)


def test_a_long_list_of_unique_items_takes_linear_work() -> None:
    unique = schema.parse({"type": "array", "uniqueItems": True}, profile=Profile.APISERVER)

    def calls_for(size: int) -> int:
        items: list[JSON] = [{"a": [index]} for index in range(size)]
        return calls_of(lambda: schema.validate(items, unique, profile=Profile.APISERVER))

    # Each with each, twenty times as many would be four hundred times the work.
    assert calls_for(20_000) < 25 * calls_for(1_000)


def test_a_second_item_is_found_whatever_it_is_made_of() -> None:
    unique = schema.parse({"type": "array", "uniqueItems": True}, profile=Profile.APISERVER)
    deep: JSON = 1
    for _ in range(5_000):
        deep = [deep]

    found = schema.validate([1, 1.0, True, deep, [deep]], unique, profile=Profile.APISERVER)
    twice = schema.validate([deep, 1, copy_json(deep)], unique, profile=Profile.APISERVER)

    assert found == ()
    assert [one.origin for one in twice] == ["uniqueItems"]
