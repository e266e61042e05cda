"""
To recognise that an object is normal must change no answer: each small schema, with each small
value, and all vectors and cases. The other tests of recognition take what hypothesis makes up.
"""

from collections.abc import Iterator
from itertools import product

import pytest

from espalier import schema
from espalier.paths import JSON
from espalier.schema import Normalizer, Nulls, Profile, Structural
from espalier.schema.values import equal_json
from tests import cases, vectors
from tests.properties.test_normal_forms import normalized
from tests.vectors import Vector

TEXT: JSON = {"type": "string"}
NODES: tuple[dict[str, JSON], ...] = (
    {"type": "string"},
    {"type": "string", "nullable": True},
    {"type": "string", "default": "d"},
    {"type": "string", "default": "d", "nullable": True},
    {"x-kubernetes-int-or-string": True},
    {"x-kubernetes-preserve-unknown-fields": True},
    {"x-kubernetes-preserve-unknown-fields": True, "nullable": True},
    {"type": "object"},
    {"type": "object", "default": {}},
    {"type": "object", "properties": {"b": TEXT}},
    {"type": "object", "properties": {"b": TEXT}, "default": {"b": "d"}},
    {"type": "object", "properties": {"b": {"type": "string", "default": "d"}}},
    {"type": "object", "properties": {"b": {"type": "object", "properties": {"b": TEXT}}}},
    {
        "type": "object",
        "properties": {"b": TEXT, "c": {"type": "object"}},
        "x-kubernetes-preserve-unknown-fields": True,
    },
    {"type": "object", "additionalProperties": TEXT},
    {"type": "object", "additionalProperties": True},
    {"type": "object", "additionalProperties": False},
    {"type": "object", "additionalProperties": {"type": "object", "properties": {"b": TEXT}}},
    {"type": "object", "additionalProperties": {"x-kubernetes-preserve-unknown-fields": True}},
    {"type": "object", "properties": {"b": TEXT}, "additionalProperties": {"type": "object"}},
    {"type": "array"},
    {"type": "array", "items": TEXT},
    {"type": "array", "items": {"type": "string", "nullable": True}},
    {"type": "array", "items": {"type": "string", "default": "d"}},
    {"type": "array", "items": {"type": "object", "properties": {"b": TEXT}}},
    {"type": "array", "items": TEXT, "x-kubernetes-preserve-unknown-fields": True},
    {"type": "array", "items": {"type": "array", "items": TEXT}},
    {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "properties": {
            "b": TEXT,
            "metadata": {"type": "object", "properties": {"b": TEXT, "name": TEXT}},
        },
    },
)
SCALARS: tuple[JSON, ...] = (None, "x", 1, 1.5, True, 1 << 70)
INNER: tuple[JSON, ...] = (*SCALARS, {}, [], {"b": "x"}, {"z": 1}, [1], [None], [{"z": 1}])


def small_values() -> Iterator[JSON]:
    yield from INNER
    for inner in INNER:
        yield [inner]
        for key in ("b", "z", "metadata"):
            yield {key: inner}
            yield {"b": {key: inner}}
    yield {"b": "x", "c": {"z": 1}}
    yield {"b": "x", "z": {"z": 1}, "metadata": {"name": "x", "b": "y"}}


VALUES = tuple(small_values())


def around(node: JSON) -> tuple[tuple[JSON, JSON], ...]:
    """
    Put a node into schemas; the second of each pair tells how a value is put likewise.
    """
    return (
        ({"type": "object", "properties": {"a": node}}, "field"),
        ({"type": "object", "properties": {"a": {"type": "array", "items": node}}}, "item"),
        (
            {
                "type": "object",
                "properties": {"a": {"type": "object", "additionalProperties": node}},
            },
            "member",
        ),
    )


def put(value: JSON, place: JSON) -> JSON:
    match place:
        case "item":
            return {"a": [value]}
        case "member":
            return {"a": {"k": value}}
        case _:
            return {"a": value}


def normalizers(
    structural: Structural, profile: Profile, nulls: Nulls
) -> tuple[Normalizer, Normalizer]:
    # Past the cache: of one schema, one that walks and one that recognises.
    make = schema.compile_normalizer.__wrapped__
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("espalier.schema.normalization.fast_path._FIRST_PAUSE", 1_000_000)
        walking = make(structural, profile=profile, nulls=nulls)
    return walking, make(structural, profile=profile, nulls=nulls)


@pytest.mark.parametrize("nulls", Nulls)
@pytest.mark.parametrize("profile", Profile)
@pytest.mark.parametrize("node", NODES, ids=str)
def test_each_small_value_is_answered_as_by_a_walk(
    node: JSON, profile: Profile, nulls: Nulls
) -> None:
    for (raw, place), value in product(around(node), VALUES):
        structural = schema.parse(raw, profile=profile)
        assert structural is not None
        walking, recognising = normalizers(structural, profile, nulls)
        given = put(value, place)

        one, other = normalized(walking, given), normalized(recognising, given)

        assert (one is None) == (other is None), (raw, given)
        if one is None or other is None:
            continue
        assert equal_json(one.value, other.value), (raw, given)
        assert (one.value is given) == (other.value is given), (raw, given)
        assert (one.removed, one.dropped, one.filled) == (
            other.removed,
            other.dropped,
            other.filled,
        ), (raw, given)


@pytest.mark.parametrize(
    "vector",
    [
        vector
        for vector in vectors.read_vectors(vectors.DEFAULT_FILE)
        if isinstance(vector, Vector) and vector.op in ("prune", "nulls", "default", "normalize")
    ],
    ids=lambda vector: vector.id,
)
def test_each_vector_holds_while_objects_are_recognised(vector: Vector) -> None:
    got = vectors.run(vector)

    assert vectors.agrees(vector, got), got


def test_each_case_holds_while_objects_are_recognised(capsys: pytest.CaptureFixture[str]) -> None:
    assert cases.main([]) == 0
    assert capsys.readouterr().out.endswith(" passed, 0 failed\n")
