"""
The test plans of the proposals, item by item: a test's id begins with the item's number.

These items are tested elsewhere, or there is nothing to test:

=============  ====================================================================================
T4, T5, T6     Defaults in requests, after webhooks, from storage: ``tests/contract`` holds the
               sandbox and a real server to the same answers, ``tests/e2e`` uses them.
T25            Conversion webhooks are called by servers alone.
T47, T48, T49  Pruning in requests, from storage, after webhooks: as T4 to T6.
T55            How servers show a definition: ``tests/contract/test_definitions.py``.
T73 to T82     Value validation: ``tests/schema/test_plan_of_validation.py``.
=============  ====================================================================================
"""

import copy
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import assume, given

from espalier import crd, schema
from espalier.paths import JSON
from espalier.schema import Nulls, Profile, Structural
from espalier.schema.normalization.pruned_defaults import pruned_defaults
from espalier.schema.publishing.openapi import strip_defaults
from tests import vectors
from tests.effort import calls_of
from tests.properties.test_values import pairs, thorough
from tests.vectors import Vector

VECTORS = {
    vector.id: vector
    for vector in vectors.read_vectors(vectors.DEFAULT_FILE)
    if isinstance(vector, Vector)
}

BY_VECTORS: Mapping[str, str] = MappingProxyType(
    {
        "T1": r"default-",
        "T8": r"defaults-check-embedded-(inner-unknown-metadata/apiserver|unknown-metadata/kep)",
        "T12": r"defaults-check-embedded-(inner|spanning)-invalid-metadata",
        "T13": r"crd-update-invalid-metadata-default-does-not-ratchet",
        "T16": r"defaults-check-unknown-field-preserved",
        "T17": r"defaults-check-unknown(-field/apiserver|/kep)",
        "T18": r"crd-default-with-preserve-true",
        "T20": r"default-seed000-ex1/",
        "T21": r"default-seed000-ex2/",
        "T22": r"default-seed000-ex3-(undefined|null|empty)/",
        "T23": r"default-seed000-ex4-top-down/",
        "T24": r"default-zero-values-are-not-undefined/",
        "T26": r"(defaults-check-root-metadata|crd-metadata-default|crd-kind-default)/",
        "T28": r"defaults-check-(enum|required-not-filled|null-inside|inside-items)",
        "T29": r"(default|normalize)-seed001-nonptr-",
        "T30": r"(default|normalize)-seed001-ptr-",
        "T31": r"(default|normalize)-seed001-scalar-",
        "T32": r"(default|normalize)-seed001-list-default/",
        "T33": r"(default|normalize)-seed001-list-nodefault/",
        "T34": r"(default|normalize)-seed001-map-default/",
        "T35": r"(default|normalize)-seed001-map-nodefault/",
        "T36": r"normalize-property-null-(default|nodefault)/",
        "T37": r"normalize-property-null-nullable",
        "T39": r"crd-map-key-(optional-without-default|defaulted-ok)/",
        "T40": r"default-(seed000|000)-.*/kep",
        **{f"T41.{n}": rf"(prune|normalize)-seed002-ex{n:02}/" for n in range(1, 12)},
        "T46": r"prune-(.*embedded|.*preserve)",
        "T51": r"prune-strict-",
        "T52": r"prune-.*additional",
        "T53": r"(crd-preserve-false|parse-x-kubernetes-preserve-unknown-fields)/",
        "T54": r"crd-update-preserve-false-to-true/",
        "T57": r"condition-",
        "T58": r"crd-(two-versions|second-version)",
        "T60": r"publish-v2-",
        "T62": r"structural-completeness-",
        "T63": r"structural-(junctor-|union-in-junctor)",
        "T64": r"structural-ios-",
        "T65": r"structural-(metadata-|ordinary-nested-metadata)",
        "T66": r"(structural-seed003-litmus|structural-union-ok|strip-litmus|unfold-union-litmus)",
        "T67": r"unfold-",
        "T70": r"crd-update-(nonstructural-stays|structural-to-nonstructural|unpruned-default)",
        "T71": r"crd-(update-nonstructural-but-pruning-enabled|no-schema|default-with-preserve)",
    }
)


def planned() -> Iterator[object]:
    for item, pattern in BY_VECTORS.items():
        for name, vector in VECTORS.items():
            if re.match(pattern, name):
                yield pytest.param(vector, id=f"{item}-{name}")


@pytest.mark.parametrize("vector", list(planned()))
def test_the_item_holds(vector: Vector) -> None:
    got = vectors.run(vector)

    assert vectors.agrees(vector, got), got


@pytest.mark.parametrize("item", BY_VECTORS)
def test_every_item_has_a_vector(item: str) -> None:
    assert any(re.match(BY_VECTORS[item], name) for name in VECTORS)


BROKEN: JSON = {"type": "object", "properties": {"a": {"properties": {"b": {"type": "string"}}}}}
SOUND: JSON = {"type": "object", "properties": {"a": {"type": "string"}}}


def parsed(raw: JSON) -> Structural:
    structural = schema.parse(raw, profile=Profile.APISERVER)
    assert structural is not None
    return structural


def definition(*schemas: JSON, preserve: bool = False, **spec: JSON) -> dict[str, JSON]:
    versions: list[JSON] = [
        {
            "name": f"v{number}",
            "served": True,
            "storage": number == 1,
            "schema": {"openAPIV3Schema": raw},
        }
        for number, raw in enumerate(schemas, 1)
    ]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"plural": "foos", "kind": "Foo", "singular": "foo", "listKind": "FooList"},
            "scope": "Namespaced",
            "preserveUnknownFields": preserve,
            "versions": versions,
            **spec,
        },
    }


def rejections(new: JSON, old: JSON = None) -> list[str]:
    return [str(found) for found in crd.check_definition(new, old)]


def embedding(metadata: JSON, **more: JSON) -> JSON:
    resource: JSON = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
        "default": {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, **more},
    }
    return {"type": "object", "properties": {"pod": resource}}


def held_default(raw: JSON) -> JSON:
    structural = parsed(raw)
    return pruned_defaults(structural)[structural.properties["pod"]]


def test_t2_defaults_in_a_schema_that_is_not_structural_are_refused() -> None:
    broken: JSON = {"type": "object", "properties": {"a": {"default": "x"}}}

    assert any(
        "must not be empty for specified object fields" in text
        for text in rejections(definition(broken))
    )


def test_t3_without_defaults_nothing_is_filled_in() -> None:
    value: JSON = {"b": 1, "a": None}

    for profile in Profile:
        filled = schema.default(value, parsed(SOUND), profile=profile, nulls=Nulls.KEEP)
        assert filled.value is value


DEFAULTED: JSON = {"type": "object", "properties": {"a": {"type": "string", "default": "x"}}}


def test_t7_while_the_gate_is_closed_defaults_may_stay_and_not_be_new() -> None:
    def refusals(new: JSON, old: JSON = None) -> list[str]:
        return [str(found) for found in crd.check_definition(new, old, allow_defaults=False)]

    with_default, without = definition(DEFAULTED), definition(SOUND)
    [refused] = refusals(with_default)

    assert refused.endswith("properties[a].default: Forbidden: must not be set")
    assert refusals(with_default, without) == [refused]
    assert refusals(with_default, with_default) == []
    assert refusals(without) == refusals(without, with_default) == []


def test_t18_v1beta1_may_keep_defaults_and_not_begin_with_them() -> None:
    beta: Any = copy.deepcopy(definition(DEFAULTED))
    beta["apiVersion"] = "apiextensions.k8s.io/v1beta1"
    # A schema that all versions share has its place at the top level there.
    beta["spec"]["validation"] = beta["spec"]["versions"][0].pop("schema")

    assert crd.check_definition(beta, allow_defaults=False) != ()
    assert crd.check_definition(beta, definition(DEFAULTED), allow_defaults=False) == ()


def test_t9_unknown_metadata_in_a_default_may_stay_when_a_definition_is_updated() -> None:
    old = definition(embedding({"name": "x", "junk": 1}))

    assert rejections(old, old) == []


def test_t10_unknown_metadata_in_a_default_may_be_new_when_a_definition_is_updated() -> None:
    new = definition(embedding({"name": "x", "junk": 1}))

    assert rejections(new, definition(embedding({"name": "x"}))) == []


def test_t11_unknown_metadata_in_a_default_is_dropped_when_it_begins_to_serve() -> None:
    held = held_default(embedding({"name": "x", "junk": 1}))

    assert held == {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}


def test_t14_invalid_metadata_in_a_default_must_not_be_new() -> None:
    new = definition(embedding({"finalizers": 1}))

    [refused] = rejections(new, definition(embedding({"name": "x"})))

    assert "cannot unmarshal number into Go struct field ObjectMeta.finalizers" in refused


def test_t15_invalid_metadata_in_a_default_is_dropped_when_it_begins_to_serve() -> None:
    held = held_default(embedding({"name": "x", "finalizers": 1}))

    assert held == {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}


def test_t19_t50_an_object_that_is_normal_is_less_work_than_its_copy() -> None:
    item: JSON = {"type": "object", "properties": {"a": {"type": "string", "default": "x"}}}
    raw: JSON = {"type": "object", "properties": {"l": {"type": "array", "items": item}}}
    normalizer = schema.compile_normalizer(parsed(raw), profile=Profile.APISERVER)
    value: JSON = {"l": [{"a": str(number)} for number in range(200)]}

    copying = calls_of(lambda: copy.deepcopy(value))

    assert 3 * calls_of(lambda: normalizer(value)) < copying


def test_t27_metadata_of_embedded_resources_in_defaults_is_pruned_at_every_depth() -> None:
    inner: JSON = {
        "type": "object",
        "properties": {"pod": {"type": "object", "x-kubernetes-embedded-resource": True}},
        "default": {"pod": {"apiVersion": "v1", "kind": "Pod", "metadata": {"junk": 1}}},
    }
    structural = parsed({"type": "object", "properties": {"a": inner}})

    held = pruned_defaults(structural)[structural.properties["a"]]

    assert held == {"pod": {"apiVersion": "v1", "kind": "Pod", "metadata": {}}}


def test_t38_the_v2_form_has_no_defaults() -> None:
    structural = parsed({"type": "object", "properties": {"a": {"type": "string", "default": "x"}}})

    published = schema.render(
        schema.convert_to_v2(strip_defaults(structural)), profile=Profile.APISERVER
    )

    assert published == {"type": "object", "properties": {"a": {"type": "string"}}}


def test_t42_nothing_is_pruned_while_unknown_fields_are_preserved() -> None:
    value: JSON = {"b": {"c": None}, "a": None}

    for profile in Profile:
        normalized = schema.normalize(
            value, parsed(SOUND), profile=profile, nulls=Nulls.KEEP, preserve_unknown_fields=True
        )
        assert normalized.value is value


def test_t43_unknown_fields_are_preserved_by_default_in_v1beta1_only() -> None:
    new = definition(SOUND)
    spec = new["spec"]
    assert isinstance(spec, dict)
    del spec["preserveUnknownFields"]
    old = new | {"apiVersion": "apiextensions.k8s.io/v1beta1"}

    assert not crd.read_definition(new).preserve_unknown_fields
    assert crd.read_definition(old).preserve_unknown_fields


def test_t44_each_version_prunes_by_its_own_schema() -> None:
    other: JSON = {"type": "object", "properties": {"b": {"type": "string"}}}
    value: JSON = {"a": "x", "b": "y"}

    pruned = [
        schema.prune(value, crd.structural_of(version), profile=Profile.APISERVER).value
        for version in crd.read_definition(definition(SOUND, other)).versions
    ]

    assert pruned == [{"a": "x"}, {"b": "y"}]


@pytest.mark.parametrize("profile", Profile)
def test_t45_own_fields_stay_without_any_schema(profile: Profile) -> None:
    own: JSON = {"apiVersion": "v1", "kind": "Foo", "metadata": {"name": "x"}}
    assert isinstance(own, dict)

    assert schema.prune(own | {"spec": {}}, None, profile=profile).value == own


def test_t56_a_field_that_no_value_may_have_passes_pruning_and_fails_validation() -> None:
    raw: JSON = {
        "type": "object",
        "properties": {"a": {"type": "object", "additionalProperties": False}},
    }
    value: JSON = {"a": {"b": 1}}

    for profile in Profile:
        assert schema.prune(value, parsed(raw), profile=profile).value is value
    assert schema.validate(value, parsed(raw), profile=Profile.APISERVER) != ()


def test_t57_t72_the_condition_comes_and_goes_with_what_is_wrong() -> None:
    seen = [
        crd.nonstructural_condition(crd.read_definition(definition(*schemas)))
        for schemas in ([SOUND], [SOUND, BROKEN], [SOUND, SOUND])
    ]

    assert [None if found is None else found.status for found in seen] == [None, "True", None]


def webhook(raw: JSON, *, preserve: bool = False) -> dict[str, JSON]:
    conversion: JSON = {
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": {"url": "https://example.com/convert"},
            "conversionReviewVersions": ["v1"],
        },
    }
    return definition(raw, preserve=preserve, conversion=conversion)


def published(raw: JSON, openapi: crd.OpenAPI, profile: Profile) -> dict[str, JSON]:
    found = crd.publish(definition(raw), "v1", openapi=openapi, profile=profile)
    written = found["com.example.v1.Foo"]
    assert isinstance(written, dict)
    return written


@pytest.mark.parametrize("profile", Profile)
@pytest.mark.parametrize("openapi", crd.OpenAPI)
def test_t59_what_is_not_structural_is_not_published(
    openapi: crd.OpenAPI, profile: Profile
) -> None:
    assert "properties" not in published(BROKEN, openapi, profile)
    assert "a" in str(published(SOUND, openapi, profile)["properties"])


@pytest.mark.parametrize("profile", Profile)
@pytest.mark.parametrize("openapi", crd.OpenAPI)
@pytest.mark.parametrize(
    "extended",
    [
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        {"x-kubernetes-int-or-string": True},
        {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        },
        {"type": "object", "x-kubernetes-map-type": "atomic"},
        {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        {"type": "string", "x-kubernetes-validations": [{"rule": "self != ''"}]},
    ],
    ids=lambda extended: str([*extended][-1]),
)
def test_t60_extensions_are_published_as_they_are(
    extended: dict[str, JSON], openapi: crd.OpenAPI, profile: Profile
) -> None:
    raw: JSON = {"type": "object", "properties": {"a": extended}}
    properties = published(raw, openapi, profile)["properties"]
    assert isinstance(properties, dict)
    shown = properties["a"]
    assert isinstance(shown, dict)

    for keyword, value in extended.items():
        if keyword.startswith("x-kubernetes-"):
            assert shown[keyword] == value


def test_t61_a_conversion_webhook_needs_structural_schemas() -> None:
    plain = definition(BROKEN, preserve=True)

    assert rejections(webhook(SOUND)) == []
    assert rejections(webhook(BROKEN)) != []
    assert rejections(webhook(BROKEN, preserve=True), plain) != []


def test_t68_what_is_valid_stays_valid_without_value_validation() -> None:
    seen: list[bool] = []

    @thorough
    @given(pairs())
    def stripping_weakens(pair: tuple[Structural, JSON]) -> None:
        structural, value = pair
        assume(not schema.validate(value, structural, profile=Profile.APISERVER))
        seen.append(True)

        stripped = schema.strip(structural)
        assert schema.validate(value, stripped, profile=Profile.APISERVER) == ()

    stripping_weakens()
    assert seen


def test_t69_a_new_definition_needs_a_structural_schema() -> None:
    assert rejections(definition(SOUND)) == []
    assert rejections(definition(BROKEN)) != []


def test_t71_unions_need_a_structural_schema() -> None:
    raw: JSON = {"x-kubernetes-unions": [{"discriminator": "kind"}], "type": "object"}
    structural = schema.parse(raw, profile=Profile.KEP)

    [finding] = schema.check_structural(structural, profile=Profile.KEP)

    assert finding.detail == "must name a property of the object"
