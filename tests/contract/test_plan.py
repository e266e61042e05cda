"""
The items of the proposals' test plans that are about requests to a server, by their numbers.

Seed 000: T4 to T6. Seed 002: T47 to T49. Seed 003: T57 to T61, T69 and T70. What only a real server
has, webhooks and published schemas, is asked of that one alone.
"""

import base64
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.contract.server import CRDS, MERGE, Object, Server, eventually
from tests.contract.test_legacy import legacy
from tests.contract.widgets import Widgets, definition, establish, served, version
from tests.e2e.webhooks import Webhook, admitting

real = pytest.mark.parametrize(
    "server", [pytest.param("control_plane", marks=pytest.mark.e2e)], indirect=True
)

RED: Object = {
    "spec": {
        "type": "object",
        "properties": {
            "size": {"type": "integer"},
            "color": {"type": "string", "default": "red"},
        },
    }
}
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


async def reds(server: Server) -> Widgets:
    crd = definition(server.group, version("v1", RED, storage=True, status=False))
    await establish(server, crd)
    return Widgets(server=server)


# Seed 000, defaulting.


async def test_t4_defaults_are_applied_when_requests_are_decoded(server: Server) -> None:
    widgets = await reds(server)
    made = await widgets.create("a", version="v1", spec={"size": 1})
    assert made["spec"] == {"size": 1, "color": "red"}
    assert server.stored(widgets.key("a"))["spec"] == {"size": 1, "color": "red"}

    emptied = await server.merge(widgets.path("a", version="v1"), {"spec": {"color": None}})
    assert emptied["spec"] == {"size": 1, "color": "red"}
    changed = {**emptied, "spec": {"size": 2}}
    put = await server.call("PUT", widgets.path("a", version="v1"), changed)
    assert put.body["spec"] == {"size": 2, "color": "red"}
    assert server.stored(widgets.key("a"))["spec"] == {"size": 2, "color": "red"}


Mutate = Callable[[str, list[Object]], Any]


@pytest.fixture
async def mutate(server: Server, tmp_path: Path) -> AsyncIterator[Mutate]:
    """
    Has a webhook apply a JSON patch to whatever is created in the server's group.
    """
    served_hooks: list[Webhook] = []
    path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
    name = f"contract.{server.group}"

    async def start(kind: str, patch: list[Object]) -> None:
        encoded = base64.b64encode(json.dumps(patch).encode()).decode()

        def admit(_: Object) -> Object:
            return {"allowed": True, "patchType": "JSONPatch", "patch": encoded}

        hook = Webhook(tmp_path / kind, admitting(admit))
        served_hooks.append(hook)
        rule = {
            "apiGroups": [server.group],
            "apiVersions": ["*"],
            "operations": ["CREATE", "UPDATE"],
            "resources": ["*"],
        }
        webhook = {
            "name": name,
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "clientConfig": hook.client_config(),
            "rules": [rule],
        }
        body = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": name},
            "webhooks": [webhook],
        }
        await server.post(path, body)

    yield start
    await server.call("DELETE", f"{path}/{name}")
    for hook in served_hooks:
        hook.close()


async def created_with(widgets: Widgets, is_patched: Callable[[Object], bool]) -> Object:
    """
    Create objects until one was patched by the webhook, which is not in force at once.
    """
    numbers = iter(range(1000))

    async def probe() -> Object | None:
        name = f"o{next(numbers)}"
        made = await widgets.create(name, version="v1", spec={"size": 1})
        return made if is_patched(made) else None

    return await eventually(probe)


@real
async def test_t5_defaults_are_applied_after_mutating_admission(
    server: Server, mutate: Mutate
) -> None:
    widgets = await reds(server)
    await mutate("t5", [{"op": "replace", "path": "/spec", "value": {"size": 5}}])
    made = await created_with(widgets, lambda made: bool(made["spec"]["size"] == 5))
    assert made["spec"] == {"size": 5, "color": "red"}
    stored = server.stored(widgets.key(made["metadata"]["name"]))
    assert stored["spec"] == {"size": 5, "color": "red"}


async def test_t6_defaults_are_applied_when_storage_is_read(server: Server) -> None:
    widgets = await reds(server)
    made = await widgets.create("a", version="v1", spec={"size": 1})
    stored = server.stored(widgets.key("a"))
    del stored["spec"]["color"]
    server.raw.raw_put(widgets.key("a"), json.dumps(stored).encode())

    async def is_filled_in() -> bool:
        # The real server's watch has to see the write past it.
        read = await server.get(widgets.path("a", version="v1"))
        listed = await server.get(widgets.path(version="v1"))
        assert read["spec"] == listed["items"][0]["spec"] == {"size": 1, "color": "red"}
        return bool(read["metadata"]["uid"] == made["metadata"]["uid"])

    await eventually(is_filled_in)
    assert server.stored(widgets.key("a"))["spec"] == {"size": 1}


# Seed 002, pruning.


async def test_t47_request_bodies_are_pruned(server: Server) -> None:
    widgets = await reds(server)
    made = await widgets.create("a", version="v1", spec={"size": 1, "junk": 1}, junk={"x": 1})
    assert "junk" not in made
    assert made["spec"] == {"size": 1, "color": "red"}

    path = widgets.path("a", version="v1")
    merged = await server.merge(path, {"spec": {"junk": 2, "size": 2}, "junk": 1})
    assert merged["spec"] == {"size": 2, "color": "red"}
    merged["spec"]["junk"] = 3
    put = await server.call("PUT", path, merged)
    assert put.body["spec"] == {"size": 2, "color": "red"}
    assert "junk" not in json.dumps(server.stored(widgets.key("a")))


async def test_t48_storage_is_pruned_when_it_is_read(server: Server) -> None:
    widgets = await reds(server)
    await widgets.create("a", version="v1", spec={"size": 1})
    stored = server.stored(widgets.key("a"))
    stored["spec"]["junk"] = stored["junk"] = 1
    server.raw.raw_put(widgets.key("a"), json.dumps(stored).encode())

    read = await server.get(widgets.path("a", version="v1"))
    listed = await server.get(widgets.path(version="v1"))

    for seen in (read, listed["items"][0]):
        assert "junk" not in seen
        assert seen["spec"] == {"size": 1, "color": "red"}
    assert server.stored(widgets.key("a"))["junk"] == 1


@real
async def test_t49_what_mutating_webhooks_add_is_never_read(server: Server, mutate: Mutate) -> None:
    widgets = await reds(server)
    patch = [
        {"op": "add", "path": "/spec/junk", "value": 1},
        {"op": "replace", "path": "/spec/size", "value": 5},
    ]
    await mutate("t49", patch)
    made = await created_with(widgets, lambda made: bool(made["spec"]["size"] == 5))
    read = await server.get(widgets.path(made["metadata"]["name"], version="v1"))
    assert made["spec"] == read["spec"] == {"size": 5, "color": "red"}


# Seed 003, structural schemas.


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


def with_versions(group: str, *schemas: Object) -> Object:
    crd = legacy(group, None, preserve=False)
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


async def test_t58_several_structural_versions_carry_none(server: Server) -> None:
    crd = definition(
        server.group, version("v1", RED, storage=True), version("v2", SIZED["properties"])
    )
    await establish(server, crd)
    assert await condition(Widgets(server=server)) is None


async def published(server: Server, version_name: str) -> Object | None:
    """
    Read what the server publishes for widgets of a version; None before it does.
    """
    answer = await server.call("GET", f"/openapi/v3/apis/{server.group}/{version_name}")
    if answer.status != 200:
        return None
    schemas: Object = answer.body["components"]["schemas"]
    return next((s for name, s in schemas.items() if name.endswith(".Widget")), None)


@real
async def test_t59_the_schema_of_a_definition_that_is_not_structural_is_not_published(
    server: Server,
) -> None:
    widgets = await put_legacy(server, legacy(server.group, NON_STRUCTURAL, preserve=False))
    await violations(widgets)

    async def probe() -> Object | None:
        return await published(server, "v1")

    found = await eventually(probe)
    assert "spec" not in found.get("properties", {})
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
@pytest.mark.parametrize("name", sorted(EXTENSIONS))
async def test_t60_extensions_are_published(server: Server, name: str) -> None:
    spec = {"type": "object", "properties": {name: EXTENSIONS[name]}}
    crd = definition(server.group, version("v1", {"spec": spec}, storage=True))
    await establish(server, crd)

    async def probe() -> Object | None:
        return await published(server, "v1")

    found = (await eventually(probe))["properties"]["spec"]["properties"][name]
    extensions = {key: value for key, value in EXTENSIONS[name].items() if key.startswith("x-")}
    assert extensions.items() <= found.items()


async def test_t61_a_webhook_is_refused_where_unknown_fields_are_preserved(
    server: Server,
) -> None:
    new = definition(
        server.group,
        version("v1", SIZED["properties"], storage=True),
        preserveUnknownFields=True,
        conversion=WEBHOOK,
    )
    refused = await server.call("POST", CRDS, new)
    assert refused.status == 422
    assert "must be None if spec.preserveUnknownFields is true" in refused.body["message"]

    widgets = await put_legacy(server, legacy(server.group, SIZED, preserve=True))
    refused = await server.call(
        "PATCH", widgets.crd, {"spec": {"conversion": WEBHOOK}}, content_type=MERGE
    )
    assert refused.status == 422
    assert "must be None if spec.preserveUnknownFields is true" in refused.body["message"]


async def test_t61_one_that_was_there_before_stays_until_it_is_updated(server: Server) -> None:
    crd = legacy(server.group, SIZED, preserve=True)
    crd["spec"]["conversion"] = {
        "strategy": "Webhook",
        "webhookClientConfig": WEBHOOK["webhook"]["clientConfig"],
        "conversionReviewVersions": ["v1"],
    }
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
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"].pop("type")
    refused = await server.call("PUT", widgets.crd, crd)
    assert refused.status == 422
    assert "properties[spec].type: Required value" in refused.body["message"]
