import pytest

from espalier import schema
from espalier.paths import JSON
from espalier.schema import Profile
from espalier.schema.normalization.type_mismatches import Mistyped, mistyped_values

RAW: JSON = {
    "type": "object",
    "properties": {
        "port": {"x-kubernetes-int-or-string": True},
        "names": {"type": "array", "items": {"type": "string"}},
        "loose": {"type": "array"},
        "any": {"x-kubernetes-preserve-unknown-fields": True},
        "sizes": {"type": "object", "additionalProperties": {"type": "integer"}},
    },
}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"port": 1, "names": ["x"], "any": [{}], "sizes": {"a": 1.0}, "unknown": {}}, ()),
        ({"port": None, "names": [None], "sizes": None}, ()),
        ({"loose": [1, {}]}, ()),
        (None, ()),
        ([], (Mistyped((), "object", "array"),)),
        ({"port": "http"}, ()),
        ({"port": 1.5}, (Mistyped(("port",), "integer or string", "number"),)),
        (
            {"names": ["x", 1, {}]},
            (
                Mistyped(("names", 1), "string", "integer"),
                Mistyped(("names", 2), "string", "object"),
            ),
        ),
        ({"sizes": {"a": True, "b": 1}}, (Mistyped(("sizes", "a"), "integer", "boolean"),)),
        ({"names": {"x": 1}}, (Mistyped(("names",), "array", "object"),)),
    ],
    ids=str,
)
def test_values_of_a_wrong_type_are_found(value: JSON, expected: tuple[Mistyped, ...]) -> None:
    assert mistyped_values(value, schema.parse(RAW, profile=Profile.APISERVER)) == expected


def test_without_a_schema_nothing_is_wrong() -> None:
    assert mistyped_values([1], None) == ()
