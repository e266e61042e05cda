"""
The items of the proposals' test plans that are about definitions, by their numbers.

Seed 003: T57 to T61, T69 and T70. T59 and T60 are for a real server alone, since the sandbox
publishes no schemas; what the library would publish is held to what that one does.
"""

import json
from typing import Any

import pytest

from espalier import crd as crds
from tests.contract.server import CRDS, MERGE, Answer, Object, Server, eventually
from tests.contract.test_legacy import legacy
from tests.contract.test_plan import RED, real, reds
from tests.contract.widgets import Widgets, definition, establish, served, version

STRUCTURAL: Object = {"type": "object", "properties": RED}
SIZED: Object = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}},
}
NON_STRUCTURAL: Object = {"properties": {"spec": {"properties": {"size": {"type": "integer"}}}}}
WEBHOOK: Object = {
    "strategy": "Webhook",
    "webhook": {
        "clientConfig": {"url": "https://127.0.0.1:9/convert"},
        "conversionReviewVersions": ["v1"],
    },
}


async def put_legacy(server: Server, crd: Object) -> Widgets:
    name = crd["metadata"]["name"]
    server.created.append(name)
    server.raw.raw_put(
        f"/registry/apiextensions.k8s.io/customresourcedefinitions/{name}",
        json.dumps(crd).encode(),
    )
    await served(server, crd)
    return Widgets(server=server)


async def condition(widgets: Widgets) -> Object | None:
    crd = await widgets.server.get(widgets.crd)
    conditions = crd["status"]["conditions"]
    return next((one for one in conditions if one["type"] == "NonStructuralSchema"), None)


async def violations(widgets: Widgets) -> str:
    async def probe() -> Object | None:
        return await condition(widgets)

    found = await eventually(probe)
    assert (found["status"], found["reason"]) == ("True", "Violations")
    return str(found["message"])


async def until_structural(widgets: Widgets) -> None:
    async def probe() -> bool:
        return await condition(widgets) is None

    await eventually(probe)


ROOT = "spec.versions[0].schema.openAPIV3Schema"


@pytest.mark.parametrize(
    ("schema", "preserve", "said"),
    [
        (NON_STRUCTURAL, False, f"{ROOT}.type: Required value: must not be empty at the root"),
        (NON_STRUCTURAL, True, "spec.preserveUnknownFields: Invalid value: true: must be false"),
        (STRUCTURAL["properties"]["spec"], True, "spec.preserveUnknownFields"),
        (None, True, "spec.preserveUnknownFields: Invalid value: true: must be false"),
    ],
)
async def test_t57_a_definition_that_is_not_structural_carries_the_condition(
    server: Server, schema: Object | None, *, preserve: bool, said: str
) -> None:
    widgets = await put_legacy(server, legacy(server.group, schema, preserve=preserve))
    assert said in await violations(widgets)


async def test_t57_the_condition_follows_updates(server: Server) -> None:
    widgets = await put_legacy(server, legacy(server.group, NON_STRUCTURAL, preserve=True))
    assert ROOT in await violations(widgets)

    crd = await server.get(widgets.crd)
    crd["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": SIZED}
    assert (await server.call("PUT", widgets.crd, crd)).status == 200

    async def only_preserving() -> bool:
        return ROOT not in await violations(widgets)

    await eventually(only_preserving)
    await server.merge(widgets.crd, {"spec": {"preserveUnknownFields": False}})
    await until_structural(widgets)


async def test_t57_a_structural_definition_carries_none(server: Server) -> None:
    assert await condition(await reds(server)) is None


def with_versions(group: str, *schemas: Object, preserve: bool = False) -> Object:
    crd = legacy(group, None, preserve=preserve)
    crd["spec"]["versions"] = [
        {
            "name": f"v{number}",
            "served": True,
            "storage": number == 1,
            "schema": {"openAPIV3Schema": schema},
        }
        for number, schema in enumerate(schemas, 1)
    ]
    return crd


@pytest.mark.parametrize(
    ("schemas", "expected"),
    [((SIZED, NON_STRUCTURAL), {1}), ((NON_STRUCTURAL, SIZED), {0})],
)
async def test_t58_each_version_with_its_own_schema_is_judged(
    server: Server, schemas: tuple[Object, ...], expected: set[int]
) -> None:
    widgets = await put_legacy(server, with_versions(server.group, *schemas))
    message = await violations(widgets)
    named = {index for index in range(2) if f"spec.versions[{index}].schema" in message}
    assert named == expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ((SIZED, NON_STRUCTURAL), (NON_STRUCTURAL, SIZED), {0}),
        ((SIZED, NON_STRUCTURAL), (NON_STRUCTURAL, NON_STRUCTURAL), {0, 1}),
        ((NON_STRUCTURAL, NON_STRUCTURAL), (SIZED, NON_STRUCTURAL), {1}),
        ((SIZED, NON_STRUCTURAL), (SIZED, SIZED), set()),
    ],
)
async def test_t58_the_condition_follows_updates_of_each_version(
    server: Server, before: tuple[Object, ...], after: tuple[Object, ...], expected: set[int]
) -> None:
    # What preserves unknown fields may stay without structure, and so may get another schema.
    widgets = await put_legacy(server, with_versions(server.group, *before, preserve=True))
    await violations(widgets)
    versions = (await server.get(widgets.crd))["spec"]["versions"]
    for entry, schema in zip(versions, after, strict=True):
        entry["schema"] = {"openAPIV3Schema": schema}
    await server.merge(widgets.crd, {"spec": {"versions": versions}})

    async def follows() -> bool:
        message = await violations(widgets)
        return expected == {n for n in range(2) if f"spec.versions[{n}].schema" in message}

    await eventually(follows)
    if not expected:
        await server.merge(widgets.crd, {"spec": {"preserveUnknownFields": False}})
        await until_structural(widgets)


async def test_t58_several_structural_versions_carry_none(server: Server) -> None:
    crd = definition(
        server.group, version("v1", RED, storage=True), version("v2", SIZED["properties"])
    )
    await establish(server, crd)
    assert await condition(Widgets(server=server)) is None


async def published(server: Server, openapi: crds.OpenAPI) -> Object | None:
    """
    Read what the server publishes for widgets at v1; None before it does.
    """
    if openapi is crds.OpenAPI.V3:
        answer = await server.call("GET", f"/openapi/v3/apis/{server.group}/v1")
        schemas = answer.body["components"]["schemas"] if answer.status == 200 else {}
    else:
        schemas = (await server.get("/openapi/v2"))["definitions"]
    return dict(schemas[name_of(server)]) if name_of(server) in schemas else None


def name_of(server: Server) -> str:
    return ".".join([*reversed(server.group.split(".")), "v1", "Widget"])


async def as_published(widgets: Widgets, openapi: crds.OpenAPI) -> Object:
    """
    Read what the server publishes, and see that the library would publish the very same.
    """
    manifest = await widgets.server.get(widgets.crd)
    ours = crds.publish(manifest, "v1", openapi=openapi)[name_of(widgets.server)]

    async def probe() -> Object | None:
        return await published(widgets.server, openapi)

    found = await eventually(probe)
    assert without_descriptions(found) == without_descriptions(ours)
    return found


def without_descriptions(node: Any) -> Any:
    # The server describes the fields that all objects have; v2 writes no default but an empty one.
    if isinstance(node, list):
        return [without_descriptions(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {key: without_descriptions(value) for key, value in node.items() if key != "description"}


both_documents = pytest.mark.parametrize("openapi", [crds.OpenAPI.V2, crds.OpenAPI.V3])


@real
@both_documents
@pytest.mark.parametrize("preserve", [False, True])
async def test_t59_the_schema_of_a_definition_that_is_not_structural_is_not_published(
    server: Server, openapi: crds.OpenAPI, *, preserve: bool
) -> None:
    widgets = await put_legacy(server, legacy(server.group, NON_STRUCTURAL, preserve=preserve))
    await violations(widgets)
    found = await as_published(widgets, openapi)
    assert "properties" not in found
    assert found["type"] == "object"


EXTENSIONS: Object = {
    "anything": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "either": {"x-kubernetes-int-or-string": True},
    "inner": {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    },
    "listed": {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": {
            "type": "object",
            "required": ["name"],
            "properties": {"name": {"type": "string"}},
        },
    },
    "mapped": {"type": "object", "x-kubernetes-map-type": "atomic"},
    "ruled": {
        "type": "integer",
        "x-kubernetes-validations": [{"rule": "self >= 0", "message": "negative"}],
    },
}


@real
@both_documents
@pytest.mark.parametrize("name", sorted(EXTENSIONS))
async def test_t60_extensions_are_published(
    server: Server, name: str, openapi: crds.OpenAPI
) -> None:
    spec = {"type": "object", "properties": {name: EXTENSIONS[name]}}
    crd = definition(server.group, version("v1", {"spec": spec}, storage=True))
    await establish(server, crd)

    whole = await as_published(Widgets(server=server), openapi)

    found = whole["properties"]["spec"]["properties"][name]
    extensions = {key: value for key, value in EXTENSIONS[name].items() if key.startswith("x-")}
    assert extensions
    assert extensions.items() <= found.items()


PRESERVES = "must be None if spec.preserveUnknownFields is true"
UNTYPED = "openAPIV3Schema.type: Required value: must not be empty at the root"

structural_or_not = pytest.mark.parametrize("schema", [SIZED, NON_STRUCTURAL])


def refused_with(answer: Answer, *said: str) -> None:
    assert answer.status == 422
    for words in said:
        assert words in answer.body["message"]


@pytest.mark.parametrize(
    ("schema", "preserve", "said"),
    [
        (SIZED, True, (PRESERVES,)),
        (NON_STRUCTURAL, True, (PRESERVES, UNTYPED)),
        (NON_STRUCTURAL, False, (UNTYPED,)),
    ],
)
async def test_t61_no_webhook_is_created_without_structure(
    server: Server, schema: Object, said: tuple[str, ...], *, preserve: bool
) -> None:
    entry = version("v1", {}, storage=True)
    entry["schema"] = {"openAPIV3Schema": schema}
    new = definition(server.group, entry, preserveUnknownFields=preserve, conversion=WEBHOOK)
    refused_with(await server.call("POST", CRDS, new), *said)


async def update(widgets: Widgets, spec: Object) -> Answer:
    return await widgets.server.call("PATCH", widgets.crd, {"spec": spec}, content_type=MERGE)


async def test_t61_no_webhook_comes_by_an_update_without_structure(server: Server) -> None:
    widgets = await put_legacy(server, legacy(server.group, NON_STRUCTURAL, preserve=True))
    refused_with(await update(widgets, {"conversion": WEBHOOK}), PRESERVES)
    # Nor does it help not to preserve: then there must be structure.
    pruning = {"preserveUnknownFields": False, "conversion": WEBHOOK}
    refused_with(await update(widgets, pruning), UNTYPED)

    versions = (await server.get(widgets.crd))["spec"]["versions"]
    versions[0]["schema"] = {"openAPIV3Schema": SIZED}
    refused_with(await update(widgets, {"versions": versions, "conversion": WEBHOOK}), PRESERVES)
    assert (await update(widgets, {**pruning, "versions": versions})).status == 200


async def test_t61_no_webhook_comes_by_an_update_while_fields_are_preserved(
    server: Server,
) -> None:
    widgets = await put_legacy(server, legacy(server.group, SIZED, preserve=True))
    refused_with(await update(widgets, {"conversion": WEBHOOK}), PRESERVES)


async def test_t61_one_without_structure_that_prunes_stays_until_it_is_updated(
    server: Server,
) -> None:
    crd = legacy(server.group, NON_STRUCTURAL, preserve=False)
    crd["spec"]["conversion"] = OLD_WEBHOOK
    widgets = await put_legacy(server, crd)
    made = await widgets.create("a", version="v1", spec={"size": 1})
    assert made["spec"] == {"size": 1}
    assert (await server.get(widgets.crd))["spec"]["conversion"]["strategy"] == "Webhook"
    refused_with(await update(widgets, {"names": {"shortNames": ["wd"]}}), UNTYPED)
    # Turning the webhook off is not enough here.
    refused_with(
        await update(widgets, {"conversion": {"strategy": "None", "webhook": None}}), UNTYPED
    )


OLD_WEBHOOK: Object = {
    "strategy": "Webhook",
    "webhookClientConfig": WEBHOOK["webhook"]["clientConfig"],
    "conversionReviewVersions": ["v1"],
}


@structural_or_not
async def test_t61_one_that_was_there_before_stays_until_it_is_updated(
    server: Server, schema: Object
) -> None:
    crd = legacy(server.group, schema, preserve=True)
    crd["spec"]["conversion"] = OLD_WEBHOOK
    widgets = await put_legacy(server, crd)
    made = await widgets.create("a", version="v1", spec={"size": 1})
    assert made["spec"] == {"size": 1}
    assert (await server.get(widgets.crd))["spec"]["conversion"]["strategy"] == "Webhook"

    # Servers do not ratchet here: any update has to turn it off.
    labels = {"metadata": {"labels": {"a": "b"}}}
    refused = await server.call("PATCH", widgets.crd, labels, content_type=MERGE)
    assert refused.status == 422
    turned_off = {**labels, "spec": {"conversion": {"strategy": "None", "webhook": None}}}
    assert (await server.merge(widgets.crd, turned_off))["metadata"]["labels"] == {"a": "b"}


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (NON_STRUCTURAL, "spec.validation.openAPIV3Schema.type: Required value"),
        ({"type": "object", "properties": {"spec": {}}}, "properties[spec].type: Required value"),
        (
            {**SIZED, "anyOf": [{"properties": {"other": {"minimum": 1}}}]},
            "openAPIV3Schema.properties[other]: Required value",
        ),
    ],
)
async def test_t69_what_is_created_must_be_structural(
    server: Server, schema: Object, said: str
) -> None:
    entry = version("v1", {}, storage=True)
    entry["schema"] = {"openAPIV3Schema": schema}
    refused = await server.call("POST", CRDS, definition(server.group, entry))
    assert refused.status == 422
    assert said in refused.body["message"]


async def test_t70_what_was_not_structural_before_may_be_updated(server: Server) -> None:
    widgets = await put_legacy(server, legacy(server.group, NON_STRUCTURAL, preserve=True))
    changed = await server.merge(widgets.crd, {"spec": {"names": {"shortNames": ["wd"]}}})
    assert changed["spec"]["names"]["shortNames"] == ["wd"]

    crd = await server.get(widgets.crd)
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["more"] = {"properties": {"x": {}}}
    # A PUT would meet conditions that the server writes meanwhile.
    worse = await server.merge(widgets.crd, {"spec": {"versions": crd["spec"]["versions"]}})
    kept = worse["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    assert kept["more"] == {"properties": {"x": {}}}


async def test_t70_what_was_structural_must_stay_so(server: Server) -> None:
    widgets = await reds(server)
    crd = await server.get(widgets.crd)
    versions = crd["spec"]["versions"]
    versions[0]["schema"]["openAPIV3Schema"]["properties"]["spec"].pop("type")
    # A PUT would meet conditions that the server writes meanwhile.
    refused = await update(widgets, {"versions": versions})
    assert refused.status == 422
    assert "properties[spec].type: Required value" in refused.body["message"]
