"""
The real kubectl against the sandbox.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import aiohttp
import pytest

from espalier.sandbox import Sandbox
from tests.contract.server import Server
from tests.contract.widgets import NEW, OLD, definition, establish, version
from tests.e2e.controlplane.assets import AssetsError, find_assets

pytestmark = pytest.mark.e2e

GROUP = "example.com"
Kubectl = Callable[..., Awaitable[str]]


@pytest.fixture
async def kubectl(tmp_path: Path) -> AsyncIterator[Kubectl]:
    try:
        binary = find_assets(may_build=False).kubectl
    except AssetsError as error:
        pytest.exit(str(error), returncode=3)
    async with Sandbox() as sandbox, aiohttp.ClientSession() as session:
        server = Server(
            url=sandbox.url, raw=sandbox, session=session, ssl_context=True, group=GROUP
        )
        crd = definition(GROUP, version("v1alpha1", OLD), version("v1", NEW, storage=True))
        await establish(server, crd)
        config = tmp_path / "kubeconfig"
        config.write_text(sandbox.kubeconfig(), encoding="utf-8")

        async def run(*arguments: str, stdin: str = "") -> str:
            process = await asyncio.create_subprocess_exec(
                str(binary),
                f"--kubeconfig={config}",
                f"--cache-dir={tmp_path / 'cache'}",
                *arguments,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            out, err = await process.communicate(stdin.encode())
            assert process.returncode == 0, err.decode()
            return out.decode()

        yield run


async def test_kubectl_applies_shows_and_deletes_objects(kubectl: Kubectl) -> None:
    widget = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Widget",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"size": 4},
    }
    apply = ("apply", "--validate=false", "-f", "-")

    assert await kubectl(*apply, stdin=json.dumps(widget)) == "widget.example.com/a created\n"
    assert await kubectl(*apply, stdin=json.dumps(widget)) == "widget.example.com/a unchanged\n"
    await kubectl(*apply, "--server-side", stdin=json.dumps(widget))
    assert "a " in await kubectl("get", "widgets")
    assert "Color:  red" in await kubectl("describe", "widget", "a")
    patch = '{"spec":{"size":9}}'
    await kubectl("patch", "widget", "a", "--type=merge", "-p", patch)
    shown = json.loads(await kubectl("get", "widget.v1alpha1.example.com", "a", "-o", "json"))
    assert shown["spec"] == {"size": 9}
    await kubectl("delete", "widget", "a")
    assert await kubectl("get", "widgets", "-o", "name") == ""


async def test_kubectl_shows_labels_and_waits_for_definitions(kubectl: Kubectl) -> None:
    name = f"widgets.{GROUP}"

    assert await kubectl("get", "crd", "-o", "name") == (
        f"customresourcedefinition.apiextensions.k8s.io/{name}\n"
    )
    await kubectl("wait", "--for=condition=Established", f"crd/{name}")
    await kubectl("label", "crd", name, "espalier.dev/mode=enforce")
    labels = await kubectl("get", "crd", name, "-o", "jsonpath={.metadata.labels}")
    assert json.loads(labels) == {"espalier.dev/mode": "enforce"}
    assert "Stored Versions:" in await kubectl("describe", "crd", name)


async def test_kubectl_creates_namespaces_and_leaves_validation_to_the_server(
    kubectl: Kubectl,
) -> None:
    assert await kubectl("create", "namespace", "team-a") == "namespace/team-a created\n"
    widget = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Widget",
        "metadata": {"name": "a", "namespace": "team-a"},
        "spec": {"size": 4},
    }
    apply = ("apply", "-f", "-")

    assert await kubectl(*apply, stdin=json.dumps(widget)) == "widget.example.com/a created\n"
    widget["spec"] = {"size": 5}
    assert await kubectl(*apply, stdin=json.dumps(widget)) == "widget.example.com/a configured\n"
    widget["spec"] = {"size": 5, "unknown": 1}
    with pytest.raises(
        AssertionError, match=r'strict decoding error: unknown field "spec.unknown"'
    ):
        await kubectl(*apply, stdin=json.dumps(widget))
    await kubectl(
        "create", "-f", "-", stdin=json.dumps(definition("x.org", version("v1", NEW, storage=True)))
    )
