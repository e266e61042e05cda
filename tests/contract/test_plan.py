"""
The items of the proposals' test plans that are about requests to a server, by their numbers.

Seed 000: T4 to T6. Seed 002: T47 to T49. T5 and T49 are for a real server alone, since the sandbox
calls no webhooks.
"""

import base64
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.contract.server import Object, Server, eventually
from tests.contract.widgets import Widgets, definition, establish, version
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
