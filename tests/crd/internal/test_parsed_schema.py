"""
A schema is parsed once, and reads under each profile as if it were parsed for that one alone.
"""

import pytest

from espalier import schema
from espalier.crd.internal.parsed_schema import ParsedSchema
from espalier.errors import SchemaParseError
from espalier.paths import JSON
from espalier.schema import Profile, Structural


def _rendered(structural: Structural | None, profile: Profile) -> JSON:
    assert structural is not None
    told = (structural.read_only, structural.unions, structural.empty_lists)
    return [schema.render(structural, profile=profile), repr(told)]


def _in_property(raw: JSON) -> JSON:
    return {"type": "object", "properties": {"a": raw}}


@pytest.mark.parametrize("order", [[*Profile], [*reversed(Profile)]])
@pytest.mark.parametrize(
    "raw",
    [
        _in_property({"type": "string"}),
        _in_property({"type": "string", "readOnly": True}),
        _in_property({"type": "object", "properties": {"readOnly": {"type": "boolean"}}}),
        _in_property({"type": "object", "required": []}),
        _in_property({"type": "array", "x-kubernetes-list-map-keys": []}),
        _in_property({"type": "string", "x-kubernetes-validations": []}),
        _in_property({"type": "object", "x-kubernetes-unions": [{"discriminator": "type"}]}),
        _in_property({"type": "object", "allOf": [{"required": []}, {"readOnly": True}]}),
        _in_property({"type": "object", "default": {"readOnly": True, "required": []}}),
    ],
)
def test_each_profile_reads_what_it_would_read_alone(order: list[Profile], raw: JSON) -> None:
    parsed = ParsedSchema(raw)
    for profile in order:
        node, alone = parsed.under(profile), schema.parse(raw, profile=profile)
        assert node is not None
        assert alone is not None
        child, lone = node.properties["a"], alone.properties["a"]
        assert _rendered(child, profile) == _rendered(lone, profile)
        inner = [_rendered(one, profile) for _, one in child.value_validation.junctors()]
        assert inner == [_rendered(one, profile) for _, one in lone.value_validation.junctors()]


def test_nothing_is_parsed_twice() -> None:
    parsed = ParsedSchema(_in_property({"type": "string"}))
    assert parsed.under(Profile.KEP) is parsed.under(Profile.KEP)
    assert parsed.under(Profile.APISERVER) is parsed.under(Profile.KEP)


def test_what_one_profile_cannot_read_another_may() -> None:
    parsed = ParsedSchema(_in_property({"type": "string", "readOnly": {}}))
    for _ in range(2):
        with pytest.raises(SchemaParseError, match="readOnly"):
            parsed.under(Profile.KEP)
        assert parsed.under(Profile.APISERVER) is not None


def test_no_schema_stays_none() -> None:
    parsed = ParsedSchema(None)
    assert [parsed.under(profile) for profile in Profile] == [None, None]
