import copy
from pathlib import Path

import orjson
import pytest

from espalier import crd
from espalier.crd import OpenAPI
from espalier.errors import UnknownVersionError
from espalier.paths import JSON
from espalier.schema import Profile
from espalier.schema.values import equal_json
from tests.crd.manifests import manifest, property_of, version

PUBLISHED = orjson.loads(Path(__file__).parents[1].joinpath("data", "published.json").read_bytes())
FOO, FOOS = "com.example.v1.Foo", "com.example.v1.FooList"


def undescribed(value: JSON) -> JSON:
    if isinstance(value, dict):
        described = isinstance(value.get("description"), str)
        return {
            name: undescribed(inner)
            for name, inner in value.items()
            if not (name == "description" and described)
        }
    return [undescribed(item) for item in value] if isinstance(value, list) else value


def shown(
    new: JSON, openapi: OpenAPI = OpenAPI.V3, profile: Profile = Profile.APISERVER
) -> dict[str, JSON]:
    found = undescribed(crd.publish(new, "v1", openapi=openapi, profile=profile)[FOO])
    assert isinstance(found, dict)
    return found


def property_in(written: JSON, *names: str) -> dict[str, JSON]:
    for name in names:
        assert isinstance(written, dict)
        properties = written["properties"]
        assert isinstance(properties, dict)
        written = properties[name]
    assert isinstance(written, dict)
    return written


@pytest.mark.parametrize("openapi", OpenAPI)
@pytest.mark.parametrize("recorded", PUBLISHED, ids=lambda recorded: str(recorded["id"]))
def test_a_definition_is_published_as_a_server_published_it(
    recorded: dict[str, JSON], openapi: OpenAPI
) -> None:
    before = copy.deepcopy(recorded["definition"])
    published: dict[str, JSON] = {}
    for name in crd.published_versions(recorded["definition"]):
        published |= crd.publish(recorded["definition"], name, openapi=openapi)

    expected = recorded["v2" if openapi is OpenAPI.V2 else "v3"]
    assert equal_json(undescribed(published), undescribed(expected)), published
    assert recorded["definition"] == before


@pytest.mark.parametrize("profile", Profile)
@pytest.mark.parametrize("openapi", OpenAPI)
@pytest.mark.parametrize(
    "schema",
    [
        None,
        {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}]}}},
        {"type": "object", "properties": {"a": {"type": "array", "items": {}}}},
        {"type": "object", "properties": {"a": {"type": "strin"}}},
        {"type": "object", "$ref": "#/a"},
    ],
)
def test_what_is_not_structural_is_an_object_and_no_more(
    schema: JSON, openapi: OpenAPI, profile: Profile
) -> None:
    only: dict[str, JSON] = {"name": "v1", "served": True, "storage": True}
    if schema is not None:
        only["schema"] = {"openAPIV3Schema": schema}
    written = shown(manifest(versions=[only]), openapi, profile)

    identity: JSON = {"group": "example.com", "version": "v1", "kind": "Foo"}
    assert written == {"type": "object", "x-kubernetes-group-version-kind": [identity]}


def test_in_v2_whatever_preserves_unknown_fields_at_the_root_means_nothing() -> None:
    legacy = property_of({"type": "string"})
    spec = legacy["spec"]
    assert isinstance(spec, dict)
    spec["preserveUnknownFields"] = True
    opened = manifest({"type": "object", "x-kubernetes-preserve-unknown-fields": True})

    for new in (legacy, opened):
        assert "properties" not in shown(new, OpenAPI.V2)
        assert property_in(shown(new), "kind") == {"type": "string"}


def test_defaults_and_nullable_are_for_v3_only() -> None:
    new = property_of({"type": "string", "default": "x", "nullable": True})

    assert property_in(shown(new), "a") == {"type": "string", "default": "x", "nullable": True}
    assert property_in(shown(new, OpenAPI.V2), "a") == {}


EMBEDDED: JSON = {
    "type": "object",
    "x-kubernetes-embedded-resource": True,
    "properties": {
        "kind": {"type": "string", "enum": ["Pod"]},
        "metadata": {"type": "object", "properties": {"name": {"type": "string"}}},
        "spec": {"type": "object"},
    },
    "required": ["kind"],
}


@pytest.mark.parametrize(
    "holder",
    [
        {"type": "array", "items": EMBEDDED},
        {"type": "object", "additionalProperties": EMBEDDED},
        {"type": "object", "properties": {"b": EMBEDDED}},
    ],
)
def test_own_fields_of_embedded_resources_are_overwritten_wherever_they_are(
    holder: dict[str, JSON],
) -> None:
    written = property_in(shown(property_of(holder)), "a")
    inner = written.get("items") or written.get("additionalProperties")
    embedded = property_in(written, "b") if inner is None else inner
    assert isinstance(embedded, dict)

    assert embedded["required"] == ["kind", "apiVersion"]
    assert property_in(embedded, "kind") == {"type": "string"}
    reference = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
    assert property_in(embedded, "metadata") == {"allOf": [{"$ref": reference}]}
    assert property_in(embedded, "spec") == {"type": "object"}


def test_the_proposals_and_what_is_implied_beside_what_is_stated() -> None:
    written = property_in(shown(property_of(EMBEDDED), profile=Profile.KEP), "a")

    assert property_in(written, "kind") == {
        "allOf": [{"type": "string"}, {"type": "string", "enum": ["Pod"]}]
    }
    assert written["required"] == ["kind", "apiVersion"]


def test_the_proposals_publish_unions_in_v3_and_not_in_v2() -> None:
    union: JSON = {
        "type": "object",
        "properties": {"kind": {"type": "string"}, "a": {"type": "object"}},
        "x-kubernetes-unions": [{"discriminator": "kind", "fields": {"a": "A"}}],
    }
    new = property_of(union)

    v3 = property_in(shown(new, OpenAPI.V3, Profile.KEP), "a")
    v2 = property_in(shown(new, OpenAPI.V2, Profile.KEP), "a")

    assert v3["oneOf"] == [{"required": ["a"]}]
    assert "oneOf" not in v2
    assert v2["x-kubernetes-unions"] == v3["x-kubernetes-unions"]


def test_selectable_fields_are_given_for_the_resource_and_its_list() -> None:
    new = manifest(
        {"type": "object", "properties": {"a": {"type": "string"}}},
    )
    spec = new["spec"]
    assert isinstance(spec, dict)
    versions = spec["versions"]
    assert isinstance(versions, list)
    first = versions[0]
    assert isinstance(first, dict)
    first["selectableFields"] = [{"jsonPath": ".a"}]

    for written in crd.publish(new, "v1", openapi=OpenAPI.V3).values():
        assert isinstance(written, dict)
        assert written["x-kubernetes-selectable-fields"] == [{"fieldPath": "a"}]


def test_only_served_versions_of_what_is_established_are_published() -> None:
    new = manifest(versions=[version("v1"), version("v2", served=False)])
    established: JSON = {"conditions": [{"type": "Established", "status": "True"}]}

    assert crd.published_versions(new) == ()
    assert crd.published_versions(new | {"status": established}) == ("v1",)


def test_a_version_that_is_not_there_cannot_be_published() -> None:
    with pytest.raises(UnknownVersionError):
        crd.publish(manifest(), "v2", openapi=OpenAPI.V3)
