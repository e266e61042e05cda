import copy
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from espalier import crd
from espalier.crd.manifest_paths import path_in_manifest
from espalier.errors import MalformedDefinitionError
from espalier.findings import ErrorType, FieldError
from espalier.golang.printing import go_json
from espalier.paths import JSON, render_path
from espalier.schema import Structural
from tests import cases
from tests.cases import messages, only_document
from tests.differential.definitions import definitions

CASES = cases.DEFAULT_FOLDER

STRUCTURAL: JSON = {"type": "object"}
AT = "spec.validation.openAPIV3Schema"


def manifest(schema: JSON = None, **spec: JSON) -> dict[str, JSON]:
    version: dict[str, JSON] = {"name": "v1", "served": True, "storage": True}
    version["schema"] = {"openAPIV3Schema": STRUCTURAL if schema is None else schema}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "foos", "kind": "Foo"},
            "versions": [version],
            **spec,
        },
    }


def property_of(schema: JSON) -> dict[str, JSON]:
    return manifest({"type": "object", "properties": {"a": schema}})


def version(name: str, schema: JSON = None, **more: JSON) -> JSON:
    made: dict[str, JSON] = {"name": name, "served": True, "storage": name == "v1", **more}
    made["schema"] = {"openAPIV3Schema": STRUCTURAL if schema is None else schema}
    return made


def rejected(new: JSON, old: JSON = None) -> list[str]:
    return [str(rejection) for rejection in crd.check_definition(new, old)]


@pytest.mark.parametrize(
    "case",
    sorted(CASES.iterdir()),
    ids=lambda path: path.name,
)
def test_a_case_is_refused_as_the_server_refuses_it(case: Path) -> None:
    expect = only_document(case / "expect.yaml")["crd"]
    assert isinstance(expect, dict)

    assert sorted(rejected(only_document(case / "crd.yaml"))) == messages(
        expect["createRejections"]
    )


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string", "nullable": True}, []),
        (
            {"type": "array", "items": {"type": "string"}, "x-kubernetes-map-type": "atomic"},
            ['.type: Invalid value: "array": must be object if x-kubernetes-map-type is specified'],
        ),
        (
            {"type": "object", "x-kubernetes-map-type": "odd"},
            [
                (
                    '.x-kubernetes-map-type: Unsupported value: "odd":'
                    ' supported values: "atomic", "granular"'
                )
            ],
        ),
        (
            {"type": "object", "x-kubernetes-list-type": "set"},
            [
                (
                    '.type: Invalid value: "object": must be array if x-kubernetes-list-type is'
                    " specified"
                )
            ],
        ),
        (
            {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["k", "k"],
                "items": {
                    "type": "object",
                    "required": ["k"],
                    "properties": {"k": {"type": "object"}},
                },
            },
            [
                (
                    '.items.properties[k].type: Invalid value: "object": must be a scalar type if'
                    " parent array's x-kubernetes-list-type is map"
                ),
                (
                    '.items.properties[k].type: Invalid value: "object": must be a scalar type if'
                    " parent array's x-kubernetes-list-type is map"
                ),
                (
                    '.x-kubernetes-list-map-keys: Invalid value: ["k","k"]: must not contain'
                    " duplicate"
                    " entries"
                ),
            ],
        ),
        (
            {
                "type": "array",
                "x-kubernetes-list-type": "set",
                "x-kubernetes-list-map-keys": ["k"],
                "items": {
                    "type": "array",
                    "x-kubernetes-list-type": "set",
                    "items": {"type": "string"},
                },
            },
            [
                (
                    '.items.x-kubernetes-list-type: Invalid value: "set": must be atomic as'
                    " item of a"
                    " list with x-kubernetes-list-type=set"
                ),
                (
                    '.x-kubernetes-list-type: Invalid value: "set": must be map if'
                    " x-kubernetes-list-map-keys is non-empty"
                ),
            ],
        ),
        (
            {
                "type": "object",
                "x-kubernetes-embedded-resource": True,
                "x-kubernetes-preserve-unknown-fields": True,
                "properties": {
                    "metadata": {
                        "type": "object",
                        "properties": {
                            "annotations": {
                                "type": "object",
                                "x-kubernetes-embedded-resource": True,
                                "x-kubernetes-preserve-unknown-fields": True,
                            }
                        },
                    }
                },
            },
            [
                (
                    ".properties[metadata].properties[annotations].x-kubernetes-embedded-resource:"
                    " Forbidden: must not be used inside of resource meta"
                )
            ],
        ),
    ],
)
def test_a_schema_is_refused_for_its_keywords(schema: JSON, expected: list[str]) -> None:
    assert rejected(property_of(schema)) == [f"{AT}.properties[a]{text}" for text in expected]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"rule": "size(self.m) == 1"}, []),
        ({"rule": " "}, [".rule: Required value: rule is not specified"]),
        (
            {"rule": "true", "message": " "},
            ['.message: Invalid value: " ": must be non-empty if specified'],
        ),
        (
            {"rule": "true", "message": "a\nb"},
            ['.message: Invalid value: "a\\nb": must not contain line breaks'],
        ),
        (
            {"rule": "true &&\ntrue"},
            [".message: Required value: message must be specified if rule contains line breaks"],
        ),
        (
            {"rule": "true", "messageExpression": " ", "reason": "Odd"},
            [
                (
                    ".messageExpression: Required value: messageExpression must be non-empty if"
                    " specified"
                ),
                (
                    '.reason: Unsupported value: "Odd": supported values: "FieldValueDuplicate",'
                    ' "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"'
                ),
            ],
        ),
        (
            {"rule": "true", "fieldPath": ".nothing"},
            ['.fieldPath: Invalid value: ".nothing": must be a valid path'],
        ),
        ({"rule": "true", "fieldPath": ".m['any']"}, []),
        (
            {"rule": "true", "fieldPath": "m"},
            ['.fieldPath: Invalid value: "m": must be a valid path'],
        ),
        (
            {"rule": "true", "fieldPath": ".m['\\q']"},
            [".fieldPath: Invalid value: \".m['\\\\q']\": must be a valid path"],
        ),
    ],
)
def test_what_belongs_to_a_rule_is_judged(rule: JSON, expected: list[str]) -> None:
    schema: JSON = {
        "type": "object",
        "x-kubernetes-validations": [rule],
        "properties": {"m": {"type": "object", "additionalProperties": {"type": "string"}}},
    }

    path = f"{AT}.properties[a].x-kubernetes-validations[0]"
    assert rejected(property_of(schema)) == [f"{path}{text}" for text in expected]


WEBHOOK: JSON = {"service": {"name": "n", "namespace": "s"}}


@pytest.mark.parametrize(
    ("conversion", "expected"),
    [
        ({"strategy": "None"}, []),
        ({"strategy": ""}, [".strategy: Required value"]),
        (
            {"strategy": "Odd"},
            ['.strategy: Unsupported value: "Odd": supported values: "None", "Webhook"'],
        ),
        (
            {"strategy": "Webhook"},
            [
                ".webhookClientConfig: Required value: required when strategy is set to Webhook",
                ".conversionReviewVersions: Required value",
            ],
        ),
        (
            {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1", "v1"]}},
            [
                ".webhookClientConfig: Required value: required when strategy is set to Webhook",
                '.conversionReviewVersions[1]: Invalid value: "v1": duplicate version',
            ],
        ),
        (
            {
                "strategy": "Webhook",
                "webhook": {"clientConfig": WEBHOOK, "conversionReviewVersions": ["v1"]},
            },
            [],
        ),
        (
            {
                "strategy": "None",
                "webhook": {"clientConfig": WEBHOOK, "conversionReviewVersions": ["v1"]},
            },
            [
                (
                    ".webhookClientConfig: Forbidden: should not be set when strategy is not set to"
                    " Webhook"
                ),
                (
                    ".conversionReviewVersions: Forbidden: should not be set when strategy is"
                    " not set"
                    " to Webhook"
                ),
            ],
        ),
        (
            {
                "strategy": "Webhook",
                "webhook": {
                    "clientConfig": {"url": "http://user@host/?q#f"},
                    "conversionReviewVersions": ["v2"],
                },
            },
            [
                (
                    ".webhookClientConfig.url: Invalid value: \"http\": 'https' is the only"
                    " allowed URL"
                    " scheme; desired format: https://host[/path]"
                ),
                (
                    '.webhookClientConfig.url: Invalid value: "user": user information is not'
                    " permitted"
                    " in the URL"
                ),
                (
                    '.webhookClientConfig.url: Invalid value: "f": fragments are not permitted'
                    " in the"
                    " URL"
                ),
                (
                    '.webhookClientConfig.url: Invalid value: "q": query parameters are not'
                    " permitted"
                    " in the URL"
                ),
                (
                    '.conversionReviewVersions: Invalid value: ["v2"]: must include at least'
                    " one of v1,"
                    " v1beta1"
                ),
            ],
        ),
        (
            {
                "strategy": "Webhook",
                "webhook": {
                    "clientConfig": {"service": {"port": 0, "path": "a//"}},
                    "conversionReviewVersions": ["v1"],
                },
            },
            [
                ".webhookClientConfig.service.name: Required value",
                ".webhookClientConfig.service.namespace: Required value",
                (
                    ".webhookClientConfig.service.port: Invalid value: 0: port is not valid:"
                    " must be"
                    " between 1 and 65535, inclusive"
                ),
                ".webhookClientConfig.service.path: Invalid value: \"a//\": must start with a '/'",
                (
                    '.webhookClientConfig.service.path: Invalid value: "a//": segment[0] may not be'
                    " empty"
                ),
                (
                    '.webhookClientConfig.service.path: Invalid value: "a//": segment[1] may not be'
                    " empty"
                ),
            ],
        ),
    ],
)
def test_conversion_is_refused_on_the_servers_paths(conversion: JSON, expected: list[str]) -> None:
    assert rejected(manifest(conversion=conversion)) == [
        f"spec.conversion{text}" for text in expected
    ]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"names": {"plural": "Foos", "kind": "Foo", "listKind": "Foo", "shortNames": ["f_"]}},
            [
                "metadata.name",
                "spec.names.plural",
                "spec.names.listKind",
                "spec.names.shortNames[0]",
            ],
        ),
        (
            {"names": {}},
            [
                "metadata.name",
                "spec.names.plural",
                "spec.names.singular",
                "spec.names.kind",
                "spec.names.listKind",
            ],
        ),
        ({"group": "example"}, ["metadata.name", "spec.group"]),
        ({"group": ""}, ["metadata.name", "spec.group"]),
        ({"scope": ""}, ["spec.scope"]),
        ({"versions": [version("v1"), version("v1")]}, ["spec.versions", "spec.versions"]),
        ({"versions": []}, ["spec.versions", "status.storedVersions"]),
        ({"versions": [version("V1")]}, ["spec.versions[0].name", "spec.versions", "spec.version"]),
        (
            {"group": "foo.k8s.io"},
            ["metadata.name", "metadata.annotations[api-approved.kubernetes.io]"],
        ),
        (
            {
                "preserveUnknownFields": True,
                "conversion": {
                    "strategy": "Webhook",
                    "webhook": {"clientConfig": WEBHOOK, "conversionReviewVersions": ["v1"]},
                },
            },
            ["spec.conversion.strategy", "spec.preserveUnknownFields"],
        ),
    ],
)
def test_names_and_versions_are_refused(spec: dict[str, JSON], expected: list[str]) -> None:
    found = crd.check_definition(manifest(**spec))

    stored = [rejection for rejection in found if "storedVersions" in str(rejection)]
    assert [render_path(r.error.path) for r in found if r not in stored] == [
        path for path in expected if "storedVersions" not in path
    ]


@pytest.mark.parametrize(
    ("annotation", "accepted"),
    [
        ("https://github.com/kubernetes/kubernetes/pull/1", True),
        ("unapproved, testing", True),
        ("yes", False),
        ("http://[", False),
    ],
)
def test_protected_groups_need_an_approval(annotation: str, *, accepted: bool) -> None:
    made = manifest(group="foo.k8s.io")
    made["metadata"] = {
        "name": "foos.foo.k8s.io",
        "annotations": {"api-approved.kubernetes.io": annotation},
    }

    assert (rejected(made) == []) is accepted


@pytest.mark.parametrize(
    ("server", "v1"),
    [
        ({"versions": [version("v1", {})]}, ("spec", "versions", 0, "schema", "openAPIV3Schema")),
        (
            {"versions": [version("v1", subresources={"scale": {}})]},
            ("spec", "versions", 0, "subresources", "scale"),
        ),
        (
            {"versions": [version("v1", additionalPrinterColumns=[{"name": "a", "type": "date"}])]},
            ("spec", "versions", 0, "additionalPrinterColumns", 0, "jsonPath"),
        ),
        (
            {"versions": [version("v1", selectableFields=[{"jsonPath": ""}])]},
            ("spec", "versions", 0, "selectableFields", 0, "jsonPath"),
        ),
        (
            {"versions": [version("v1"), version("v2", {})]},
            ("spec", "versions", 1, "schema", "openAPIV3Schema"),
        ),
        (
            {"conversion": {"strategy": "Webhook", "webhook": {"clientConfig": WEBHOOK}}},
            ("spec", "conversion", "webhook", "conversionReviewVersions"),
        ),
    ],
)
def test_a_rejection_names_the_path_in_the_manifest(
    server: dict[str, JSON], v1: tuple[str | int, ...]
) -> None:
    first = crd.check_definition(manifest(**server))[0]

    assert first.v1_path[: len(v1)] == v1


UNPRUNED: JSON = {"type": "object", "properties": {"b": {"type": "string"}}, "default": {"c": 1}}
GRANULAR_SET: JSON = {
    "type": "array",
    "x-kubernetes-list-type": "set",
    "items": {"type": "object"},
}
NULLABLE_ITEMS: JSON = {
    "type": "array",
    "x-kubernetes-list-type": "set",
    "items": {"type": "string", "nullable": True},
}


@pytest.mark.parametrize("fault", [UNPRUNED, GRANULAR_SET, NULLABLE_ITEMS], ids=go_json)
def test_an_update_may_keep_a_fault_that_the_old_definition_has(fault: JSON) -> None:
    before, after = property_of(fault), property_of(fault)

    assert rejected(after)
    assert rejected(after, property_of({"type": "string"}))
    assert rejected(after, before) == []


def test_an_unknown_type_may_be_kept_but_not_be_new() -> None:
    odd: JSON = {"type": "object", "properties": {"a": {"type": "odd"}}}
    before = manifest(odd, preserveUnknownFields=True)

    assert rejected(before, before) == []
    assert rejected(manifest(odd))


def test_a_schema_may_stay_away_only_while_nothing_is_pruned() -> None:
    bare: JSON = {"name": "v1", "served": True, "storage": True}
    kept = manifest(versions=[bare], preserveUnknownFields=True)
    pruned = manifest(versions=[bare])

    path = "spec.versions[0].schema.openAPIV3Schema"
    assert rejected(kept, kept) == []
    assert rejected(pruned, kept) == [
        f"{path}: Required value: because otherwise all fields are pruned"
    ]
    assert rejected(pruned, manifest()) == [f"{path}: Required value"]


def test_too_many_selectable_fields_may_be_kept() -> None:
    properties: dict[str, JSON] = {f"f{index}": {"type": "string"} for index in range(9)}
    schema: JSON = {"type": "object", "properties": properties}
    nine: JSON = [{"jsonPath": f".f{index}"} for index in range(9)]
    many = manifest(versions=[version("v1", schema, selectableFields=nine)])

    assert rejected(many) == ["spec.selectableFields: Too many: 9: must have at most 8 items"]
    assert rejected(many, many) == []
    assert rejected(many, manifest(schema))


def test_names_are_immutable_once_established() -> None:
    new = manifest(scope="Cluster", names={"plural": "foos", "kind": "Bar"})
    old = manifest()
    established: JSON = {"conditions": [{"type": "Established", "status": "True"}]}

    assert rejected(new, old) == []
    assert rejected(new, old | {"status": established}) == [
        'spec.scope: Invalid value: "Cluster": field is immutable',
        'spec.names.kind: Invalid value: "Bar": field is immutable',
    ]


def test_group_and_plural_are_always_immutable() -> None:
    new = manifest(group="other.example.com", names={"plural": "bars", "kind": "Bar"})

    assert rejected(new, manifest()) == [
        'spec.group: Invalid value: "other.example.com": field is immutable',
        'spec.names.plural: Invalid value: "bars": field is immutable',
    ]


def test_a_stored_version_must_stay() -> None:
    old = manifest(versions=[version("v1"), version("v0", served=False)])
    old["status"] = {"storedVersions": ["v0", "v1"]}

    (found,) = crd.check_definition(manifest(), old)

    assert render_path(found.error.path) == "status.storedVersions[0]"
    assert found.error.value == "v0"


def test_a_name_that_two_versions_have_is_stored_once() -> None:
    twice = manifest(versions=[version("v1", storage=False), version("v1", storage=True)])

    assert 'status.storedVersions: Invalid value: ["v1"]: must have the storage version v1' in (
        rejected(twice)
    )


def test_an_empty_list_at_the_root_counts_where_there_is_a_status() -> None:
    with_status: JSON = {"status": {}}
    schema: JSON = {"type": "object", "allOf": []}

    (found,) = rejected(manifest(versions=[version("v1", schema, subresources=with_status)]))

    assert "fields are allowed at the root of the schema if the status subresource" in found
    assert rejected(manifest(schema)) == []


def test_the_values_of_defaults_are_judged_by_whoever_is_handed_in() -> None:
    def refuse(
        value: JSON, structural: Structural, path: tuple[str | int, ...]
    ) -> Iterable[FieldError]:
        yield FieldError(type=ErrorType.INVALID, path=path, value=value, detail=structural.type)

    found = crd.check_definition(property_of({"type": "string", "default": 5}), judge=refuse)

    assert [str(rejection) for rejection in found] == [
        f"{AT}.properties[a].default: Invalid value: 5: string"
    ]


BETA: dict[str, JSON] = {
    "apiVersion": "apiextensions.k8s.io/v1beta1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "foos.example.com"},
}


def test_a_v1beta1_definition_is_judged_as_its_v1_form() -> None:
    spec: JSON = {
        "group": "example.com",
        "version": "v1",
        "names": {"plural": "foos", "kind": "Foo"},
        "validation": {"openAPIV3Schema": {"type": "object", "nullable": True}},
        "additionalPrinterColumns": [{"name": "a", "type": "date", "JSONPath": "x"}],
    }

    assert [str(r.error.path[-1]) for r in crd.check_definition({**BETA, "spec": spec})] == [
        "nullable",
        "JSONPath",
        "preserveUnknownFields",
    ]


@pytest.mark.parametrize(
    "spec",
    [
        {"group": 5},
        {"versions": {}},
        {"versions": [5]},
        {"versions": [{"name": "v1", "served": "yes"}]},
        {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"type": ["object"]}}}]},
        {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"maxLength": 1.5}}}]},
        {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"required": [1]}}}]},
        {"versions": [{"name": "v1", "additionalPrinterColumns": [{"priority": True}]}]},
        {"names": {"shortNames": [1]}},
    ],
    ids=str,
)
def test_what_the_server_cannot_decode_is_malformed(spec: dict[str, JSON]) -> None:
    with pytest.raises(MalformedDefinitionError):
        crd.check_definition(manifest(**spec))


@pytest.mark.parametrize("other", [None, 5, {"kind": "Pod"}, {"kind": "CustomResourceDefinition"}])
def test_something_else_is_malformed(other: JSON) -> None:
    with pytest.raises(MalformedDefinitionError):
        crd.check_definition(other)


def test_malformed_metadata_is_malformed() -> None:
    with pytest.raises(MalformedDefinitionError, match=r"ObjectMeta\.labels"):
        crd.check_definition(manifest() | {"metadata": {"labels": 5}})


def test_a_schema_that_nests_too_deep_is_malformed() -> None:
    deep: JSON = {"type": "object"}
    for _ in range(5000):
        deep = {"type": "object", "not": deep}

    with pytest.raises(MalformedDefinitionError, match="nests deeper"):
        crd.check_definition(manifest(deep))


@given(st.data())
def test_an_update_that_changes_nothing_is_refused_for_nothing_new(data: st.DataObject) -> None:
    made = data.draw(definitions())
    before = copy.deepcopy(made)

    first, again = crd.check_definition(made), crd.check_definition(made, made)

    # That a schema cannot be read is told only where nothing else is.
    unreadable = [r for r in again if r.error.value == "" and r.error.path[-1] == "openAPIV3Schema"]
    known = {r.error.path for r in first} | {r.error.path for r in unreadable if first}
    assert {r.error.path for r in again} <= known
    assert go_json(made) == go_json(before)


@pytest.mark.parametrize(
    ("path", "spec", "expected"),
    [
        (("schema", "openAPIV3Schema"), {"validation": {}}, ("validation", "openAPIV3Schema")),
        (("name",), {"version": "v1"}, ("version",)),
        (
            ("additionalPrinterColumns", 0, "jsonPath"),
            {"additionalPrinterColumns": []},
            ("additionalPrinterColumns", 0, "JSONPath"),
        ),
        (("schema",), {"versions": [{"schema": {}}], "validation": {}}, None),
        (("subresources",), {"versions": [{}]}, None),
        (
            ("additionalPrinterColumns", 1, "jsonPath"),
            {"versions": [{"additionalPrinterColumns": []}]},
            ("versions", 0, "additionalPrinterColumns", 1, "JSONPath"),
        ),
    ],
)
def test_a_path_leads_to_what_a_v1beta1_manifest_has_above_its_versions(
    path: tuple[str | int, ...], spec: JSON, expected: tuple[str | int, ...] | None
) -> None:
    beta: JSON = {"apiVersion": "apiextensions.k8s.io/v1beta1", "spec": spec}
    whole = ("spec", "versions", 0, *path)

    assert path_in_manifest(whole, beta) == (whole if expected is None else ("spec", *expected))
    assert path_in_manifest(whole, {"apiVersion": "x", "spec": spec}) == whole


def test_a_path_leads_into_the_flat_conversion_of_v1beta1() -> None:
    beta: JSON = {"apiVersion": "apiextensions.k8s.io/v1beta1", "spec": {}}
    webhook = ("spec", "conversion", "webhook")

    assert path_in_manifest((*webhook, "clientConfig", "url"), beta) == (
        *("spec", "conversion", "webhookClientConfig", "url"),
    )
    assert path_in_manifest((*webhook, "conversionReviewVersions"), beta) == (
        *("spec", "conversion", "conversionReviewVersions"),
    )
