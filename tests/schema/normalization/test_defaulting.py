import pytest

from espalier import schema
from espalier.paths import JSON, Path
from espalier.schema import Nulls, Profile, Structural
from espalier.schema.normalization.pruned_defaults import pruned_defaults
from espalier.schema.normalization.pruning import Pruned

STRING: JSON = {"type": "string"}


def parsed(raw: JSON) -> Structural:
    found = schema.parse(raw, profile=Profile.APISERVER)
    assert found is not None
    return found


NULLS: JSON = {
    "type": "object",
    "properties": {
        "plain": STRING,
        "nullable": {"type": "string", "nullable": True},
        "defaulted": {"type": "string", "default": "d"},
        "list": {"type": "array", "items": {"type": "object", "properties": {"plain": STRING}}},
    },
}


def test_dropped_nulls_are_reported() -> None:
    value: JSON = {
        "plain": None,
        "nullable": None,
        "defaulted": None,
        "unknown": None,
        "list": [None, {"plain": None}],
    }

    dropped = schema.drop_nulls(value, parsed(NULLS))

    assert dropped.value == {
        "nullable": None,
        "defaulted": None,
        "unknown": None,
        "list": [None, {}],
    }
    assert dropped.dropped == (("plain",), ("list", 1, "plain"))


@pytest.mark.parametrize(
    ("profile", "nulls", "expected", "filled", "dropped"),
    [
        (Profile.APISERVER, Nulls.NORMALIZE, {"plain": None, "defaulted": "d"}, True, False),
        (Profile.KEP, Nulls.NORMALIZE, {"defaulted": "d"}, True, True),
        (Profile.KEP, Nulls.KEEP, {"plain": None, "defaulted": None}, False, False),
    ],
)
def test_filled_and_dropped_fields_are_reported(
    profile: Profile, nulls: Nulls, expected: JSON, *, filled: bool, dropped: bool
) -> None:
    value: JSON = {"plain": None, "defaulted": None}

    found = schema.default(value, parsed(NULLS), profile=profile, nulls=nulls)

    assert found.value == expected
    assert found.filled == ((("defaulted",),) if filled else ())
    assert found.dropped == ((("plain",),) if dropped else ())


@pytest.mark.parametrize(
    ("raw", "profile", "nulls", "expected", "filled"),
    [
        ({"type": "object", "default": {}}, Profile.KEP, Nulls.NORMALIZE, {}, ((),)),
        ({"type": "object", "default": {}}, Profile.KEP, Nulls.KEEP, None, ()),
        ({"type": "object", "default": {}}, Profile.APISERVER, Nulls.NORMALIZE, None, ()),
        (
            {"type": "object", "default": {}, "nullable": True},
            Profile.KEP,
            Nulls.NORMALIZE,
            None,
            (),
        ),
        ({"type": "object"}, Profile.KEP, Nulls.NORMALIZE, None, ()),
        (None, Profile.KEP, Nulls.NORMALIZE, None, ()),
        (
            {
                "type": "object",
                "default": {},
                "properties": {"a": {"type": "string", "default": "d"}},
            },
            Profile.KEP,
            Nulls.NORMALIZE,
            {"a": "d"},
            ((),),
        ),
    ],
    ids=str,
)
def test_a_null_root_is_filled_by_the_proposals_only(
    raw: JSON, profile: Profile, nulls: Nulls, expected: JSON, filled: tuple[Path, ...]
) -> None:
    structural = None if raw is None else parsed(raw)

    found = schema.default(None, structural, profile=profile, nulls=nulls)

    assert (found.value, found.filled) == (expected, filled)


def test_unknown_fields_of_own_fields_are_reported_but_never_own_fields() -> None:
    pruned = Pruned({}, (("metadata", "odd"), ("kind",), ("b",), ("a", "kind")))

    assert pruned.unknown() == ("a.kind", "b", "metadata.odd")


def embedded(**properties: JSON) -> JSON:
    return {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
        "properties": properties,
    }


def defaulted(value: JSON, **properties: JSON) -> JSON:
    return {"type": "object", "default": value, "properties": properties}


# A schema, and for the paths to its defaults what is left of them.
DEFAULTS: tuple[tuple[JSON, dict[tuple[str, ...], JSON]], ...] = (
    (
        {
            "type": "object",
            "properties": {
                "a": defaulted({"x": "1", "z": 1}, x=STRING),
                "b": defaulted({"z": 1}, x={"type": "string", "default": "d"}),
                "c": {"type": "array", "items": defaulted({"z": 1})},
                "d": {"type": "object", "additionalProperties": defaulted({"z": 1})},
                "e": {"type": "integer", "default": 0},
                "f": {"type": "array", "items": {"type": "object"}, "default": [{"z": 1}]},
            },
        },
        {
            ("a",): {"x": "1"},
            ("b",): {},
            ("b", "x"): "d",
            ("c", "[]"): {},
            ("d", "*"): {},
            ("e",): 0,
            ("f",): [{}],
        },
    ),
    (
        defaulted({"apiVersion": "v1", "kind": "K", "metadata": {"odd": 1}, "z": 1}),
        {(): {"apiVersion": "v1", "kind": "K", "metadata": {}}},
    ),
    (
        {
            "type": "object",
            "properties": {
                "a": {
                    "type": "object",
                    "x-kubernetes-preserve-unknown-fields": True,
                    "properties": {"b": {"type": "object"}},
                    "default": {"b": {"z": 1}, "c": {"z": 1}},
                }
            },
        },
        {("a",): {"b": {}, "c": {"z": 1}}},
    ),
    (
        {"type": "object", "properties": {"kind": {"type": "integer", "default": 5}}},
        {("kind",): None},
    ),
    (
        {
            "type": "object",
            "properties": {
                "metadata": {
                    "type": "object",
                    "properties": {"name": {"type": "string", "default": ""}},
                }
            },
        },
        {("metadata", "name"): None},
    ),
    (
        {
            "type": "object",
            "properties": {
                "e": embedded(
                    kind={"type": "object", "properties": {"x": {"default": 1}}},
                    apiVersion={"type": "array", "items": {"default": 1}},
                )
            },
        },
        {("e", "kind", "x"): None, ("e", "apiVersion", "[]"): None},
    ),
)


@pytest.mark.parametrize(("raw", "expected"), DEFAULTS, ids=str)
def test_defaults_are_pruned_by_the_whole_schema(
    raw: JSON, expected: dict[tuple[str, ...], JSON]
) -> None:
    structural = parsed(raw)

    pruned = pruned_defaults(structural)

    assert {path: pruned[node_at(structural, path)] for path in expected} == expected
    assert len(pruned) == len(expected)


def node_at(structural: Structural, path: tuple[str, ...]) -> Structural:
    found: Structural | bool | None = structural
    for step in path:
        assert isinstance(found, Structural)
        match step:
            case "[]":
                found = found.items
            case "*":
                found = found.additional_properties
            case _:
                found = found.properties[step]
    assert isinstance(found, Structural)
    return found
