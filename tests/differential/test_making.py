"""
The generators generate what their names say.
"""

from random import Random

import pytest

from espalier import schema
from espalier.schema import Profile
from tests.differential import making, objects, schemas
from tests.differential.answering import OPS, Group
from tests.differential.dice import Dice
from tests.differential.shrinking import shrunk


def dice(seed: int) -> Dice:
    return Dice(Random(seed))  # noqa: S311 - a seed must give the same


def test_mended_schemas_are_structural() -> None:
    for seed in range(500):
        raw = schemas.root(dice(seed), sound_one_in=1)

        structural = schema.parse(raw, profile=Profile.APISERVER)

        assert schema.check_structural(structural, profile=Profile.APISERVER) == (), raw


@pytest.mark.parametrize("op", OPS)
def test_a_seed_always_makes_the_same(op: str) -> None:
    assert making.groups(op, 50, "a") == making.groups(op, 50, "a")
    assert making.groups(op, 50, "a") != making.groups(op, 50, "b")


def test_objects_of_sound_schemas_are_often_but_not_always_valid() -> None:
    valid = 0
    for seed in range(500):
        thrown = dice(seed)
        raw = schemas.root(thrown, sound_one_in=1)
        structural = schema.parse(raw, profile=Profile.APISERVER)
        made = objects.obj(thrown, raw)
        valid += not schema.validate(made, structural, profile=Profile.APISERVER)

    assert 100 < valid < 400


def test_updates_are_often_but_not_always_another_object() -> None:
    same = 0
    for seed in range(300):
        thrown = dice(seed)
        raw = schemas.root(thrown)
        old = objects.obj(thrown, raw)
        same += objects.updated(thrown, raw, old) == old

    assert 5 < same < 150


def test_a_difference_is_shrunk_to_what_makes_it() -> None:
    group = Group(
        "prune",
        {"type": "object", "properties": {"a": {"type": "array", "items": {"nullable": True}}}},
        [{"a": [1, {"b": "long text"}, None], "c": {"d": 2}}],
    )

    def differs(smaller: Group) -> bool:
        return "nullable" in str(smaller.raw) and "'b'" in str(smaller.values)

    least = shrunk(group, differs)

    assert least.raw == {"properties": {"a": {"items": {"nullable": True}}}}
    assert least.values == [{"a": [{"b": "l"}]}]
