"""
Definitions: what is accepted, what the server keeps, what it refuses.
"""

from copy import deepcopy

import pytest

from tests.contract.server import CRDS, MERGE, Answer, Object, Server, eventually
from tests.contract.widgets import NEW, OLD, Widgets, definition, version

UNTYPED: Object = {"spec": {"type": "object", "properties": {"x": {}}}}


def _without_schema(name: str, *, storage: bool) -> Object:
    return {"name": name, "served": True, "storage": storage}


async def _put(widgets: Widgets, change: Object) -> Answer:
    crd = await widgets.server.get(widgets.crd)
    crd["spec"] |= deepcopy(change)
    return await widgets.server.call("PUT", widgets.crd, crd)


async def test_a_definition_is_defaulted_and_established(widgets: Widgets) -> None:
    crd = await widgets.server.get(widgets.crd)

    assert crd["metadata"]["generation"] == 1
    assert crd["spec"]["names"] == {
        "plural": "widgets",
        "singular": "widget",
        "kind": "Widget",
        "listKind": "WidgetList",
    }
    assert crd["spec"]["conversion"] == {"strategy": "None"}
    assert "preserveUnknownFields" not in crd["spec"]
    assert crd["status"]["acceptedNames"] == crd["spec"]["names"]
    assert crd["status"]["storedVersions"] == ["v1alpha1"]
    assert [
        (c["type"], c["status"], c["reason"], c["message"]) for c in crd["status"]["conditions"]
    ] == [
        ("NamesAccepted", "True", "NoConflicts", "no conflicts found"),
        ("Established", "True", "InitialNamesAccepted", "the initial names have been accepted"),
    ]
    managers = {entry["manager"]: entry for entry in crd["metadata"]["managedFields"]}
    assert managers["author"]["fieldsV1"] == {
        "f:spec": {
            "f:conversion": {".": {}, "f:strategy": {}},
            "f:group": {},
            "f:names": {"f:kind": {}, "f:listKind": {}, "f:plural": {}, "f:singular": {}},
            "f:scope": {},
            "f:versions": {},
        }
    }
    assert managers["kube-apiserver"]["subresource"] == "status"


async def test_discovery(widgets: Widgets) -> None:
    server, group = widgets.server, widgets.group

    versions = [{"groupVersion": f"{group}/{v}", "version": v} for v in ("v1", "v1alpha1")]
    assert await server.get(f"/apis/{group}") == {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": group,
        "versions": versions,
        "preferredVersion": versions[0],
    }
    resources = (await server.get(f"/apis/{group}/v1"))["resources"]
    assert {key: value for key, value in resources[0].items() if key != "storageVersionHash"} == {
        "name": "widgets",
        "singularName": "widget",
        "namespaced": True,
        "kind": "Widget",
        "verbs": [
            "delete",
            "deletecollection",
            "get",
            "list",
            "patch",
            "create",
            "update",
            "watch",
        ],
    }
    assert resources[1] == {
        "name": "widgets/status",
        "singularName": "",
        "namespaced": True,
        "kind": "Widget",
        "verbs": ["get", "patch", "update"],
    }
    assert (await server.get("/version"))["gitVersion"] == "v1.37.2"
    names = [entry["name"] for entry in (await server.get("/apis"))["groups"]]
    assert {"apiextensions.k8s.io", "coordination.k8s.io", group} <= set(names)
    assert await server.call("GET", "/apis/nowhere.example.com/v1") == (
        404,
        "404 page not found\n",
    )


async def test_a_flip_of_the_storage_version_is_remembered(widgets: Widgets) -> None:
    versions = [version("v1alpha1", OLD), version("v1", NEW, storage=True)]

    flipped = (await _put(widgets, {"versions": versions})).body
    labelled = await widgets.server.merge(widgets.crd, {"metadata": {"labels": {"a": "b"}}})

    assert flipped["status"]["storedVersions"] == ["v1alpha1", "v1"]
    assert flipped["metadata"]["generation"] == 2
    assert labelled["metadata"]["generation"] == 2


async def test_stored_versions_are_trimmed_at_the_status_endpoint_only(widgets: Widgets) -> None:
    server = widgets.server
    versions = [version("v1alpha1", OLD), version("v1", NEW, storage=True)]
    flipped = (await _put(widgets, {"versions": versions})).body
    trim = {"status": {"storedVersions": ["v1"]}}
    status = f"{widgets.crd}/status"

    stale = await server.call(
        "PATCH", status, {"metadata": {"resourceVersion": "1"}, **trim}, content_type=MERGE
    )
    ignored = await server.merge(widgets.crd, trim)
    guards = {
        "uid": flipped["metadata"]["uid"],
        "resourceVersion": ignored["metadata"]["resourceVersion"],
    }
    trimmed = await server.merge(status, {"metadata": guards, **trim}, fieldManager="espalier")
    again = await server.merge(widgets.crd, {"metadata": {"labels": {"a": "b"}}})

    assert stale.status == 409
    assert ignored["status"]["storedVersions"] == ["v1alpha1", "v1"]
    assert trimmed["status"]["storedVersions"] == ["v1"]
    assert trimmed["metadata"]["generation"] == 2
    assert [c["type"] for c in trimmed["status"]["conditions"]] == ["NamesAccepted", "Established"]
    assert again["status"]["storedVersions"] == ["v1"]


STORED = (
    'status.storedVersions[0]: Invalid value: "v1alpha1": missing from spec.versions; v1alpha1 was '
    "previously a storage version, and must remain in spec.versions until a storage migration "
    "ensures no data remains persisted in v1alpha1 and removes v1alpha1 from status.storedVersions"
)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"versions": [version("v1", NEW, storage=True)]}, STORED),
        ({"group": "e.com"}, 'spec.group: Invalid value: "e.com": field is immutable'),
        (
            {"versions": [version("v1alpha1", UNTYPED, storage=True)]},
            (
                "spec.validation.openAPIV3Schema.properties[spec].properties[x].type: Required "
                "value: must not be empty for specified object fields"
            ),
        ),
        (
            {"versions": [version("v1alpha1", OLD, storage=True), version("v1", UNTYPED)]},
            (
                "spec.versions[1].schema.openAPIV3Schema.properties[spec].properties[x].type: "
                "Required value: must not be empty for specified object fields"
            ),
        ),
        (
            {"versions": [_without_schema("v1alpha1", storage=True)]},
            "spec.versions[0].schema.openAPIV3Schema: Required value",
        ),
        (
            {"preserveUnknownFields": True},
            (
                "[spec.preserveUnknownFields: Invalid value: true: must be false in order to use "
                "defaults in the schema, spec.preserveUnknownFields: Invalid value: true: cannot "
                "set to true, set x-kubernetes-preserve-unknown-fields to true in "
                "spec.versions[*].schema instead]"
            ),
        ),
    ],
    ids=["stored", "group", "untyped", "untyped-second", "no-schema", "preserve"],
)
async def test_an_update_is_refused(widgets: Widgets, change: Object, text: str) -> None:
    answer = await _put(widgets, change)

    assert answer.failure == (
        422,
        "Invalid",
        f'CustomResourceDefinition.apiextensions.k8s.io "{widgets.name}" is invalid: {text}',
    )


async def test_exactly_one_version_is_stored(widgets: Widgets) -> None:
    answer = await _put(widgets, {"versions": [version("v1alpha1", OLD)]})

    assert answer.status == 422
    cause = answer.body["details"]["causes"][0]
    assert cause["field"] == "spec.versions"
    assert cause["message"].endswith("must have exactly one version marked as storage version")


async def test_creates_are_refused(server: Server) -> None:
    good = definition(server.group, version("v1", NEW, storage=True))
    named = {**good, "metadata": {"name": "foo"}}
    untyped = definition(server.group, version("v1", UNTYPED, storage=True))
    bare = definition(server.group, _without_schema("v1", storage=True))

    answers = [await server.call("POST", CRDS, crd) for crd in (named, untyped, bare)]

    kind = "CustomResourceDefinition.apiextensions.k8s.io"
    name = f"widgets.{server.group}"
    assert [answer.failure for answer in answers] == [
        (
            422,
            "Invalid",
            (
                f'{kind} "foo" is invalid: metadata.name: Invalid value: "foo": '
                'must be spec.names.plural+"."+spec.group'
            ),
        ),
        (
            422,
            "Invalid",
            (
                f'{kind} "{name}" is invalid: spec.validation.openAPIV3Schema.properties[spec]'
                ".properties[x].type: Required value: must not be empty for specified object fields"
            ),
        ),
        (
            422,
            "Invalid",
            f'{kind} "{name}" is invalid: spec.versions[0].schema.openAPIV3Schema: Required value',
        ),
    ]


async def test_a_definition_goes_with_its_objects(widgets: Widgets) -> None:
    server = widgets.server
    await widgets.create("a")

    marked = (await server.call("DELETE", widgets.crd)).body

    assert marked["metadata"]["deletionTimestamp"]
    assert marked["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    assert marked["status"]["conditions"][-1]["type"] == "Terminating"

    async def gone() -> bool:
        return (await server.call("GET", widgets.crd)).status == 404

    await eventually(gone)
    assert server.raw.raw_get(widgets.key("a")) is None
