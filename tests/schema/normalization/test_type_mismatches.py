import pytest

from espalier import schema
from espalier.paths import JSON
from espalier.schema import Profile
from espalier.schema.normalization.type_mismatches import TypeMismatch, type_mismatches

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
        ([], (TypeMismatch((), "object", "array"),)),
        ({"port": "http"}, ()),
        ({"port": 1.5}, (TypeMismatch(("port",), "integer or string", "number"),)),
        (
            {"names": ["x", 1, {}]},
            (
                TypeMismatch(("names", 1), "string", "integer"),
                TypeMismatch(("names", 2), "string", "object"),
            ),
        ),
        ({"sizes": {"a": True, "b": 1}}, (TypeMismatch(("sizes", "a"), "integer", "boolean"),)),
        ({"names": {"x": 1}}, (TypeMismatch(("names",), "array", "object"),)),
    ],
    ids=str,
)
def test_values_of_a_wrong_type_are_found(value: JSON, expected: tuple[TypeMismatch, ...]) -> None:
    assert type_mismatches(value, schema.parse(RAW, profile=Profile.APISERVER)) == expected


def test_without_a_schema_nothing_is_wrong() -> None:
    assert type_mismatches([1], None) == ()
