"""
What servers refuse in a definition.
"""

from collections.abc import Iterable
from pathlib import Path

import pytest

from espalier import crd
from espalier.crd.manifest_paths import path_in_manifest
from espalier.errors import MalformedDefinitionError
from espalier.findings import ErrorType, FieldError
from espalier.paths import JSON, render_path
from espalier.schema import Structural
from tests import cases
from tests.cases import messages, only_document
from tests.crd.manifests import AT, manifest, property_of, rejected, version

CASES = cases.DEFAULT_FOLDER


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

    assert first.manifest_path[: len(v1)] == v1


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


def test_the_values_of_defaults_are_judged_by_the_judge_that_is_passed() -> None:
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
