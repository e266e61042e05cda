"""
A sandbox with definitions and objects in it, and commands that speak to it.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner, Result

from espalier import cluster
from espalier.cli import main
from espalier.cli.demo.stage import CRDS, Stage
from espalier.cluster import Cluster
from espalier.cluster.transport.client import ApiRequest
from espalier.crd import Definition
from espalier.sandbox import Sandbox
from tests.cli.stages import SandboxStore, sandbox_and_kubeconfig

NAME = "widgets.example.com"
NAMESPACE = "espalier-system"


class Site:
    """
    One sandbox, as a user sees it.
    """

    def __init__(self, sandbox: Sandbox, kubeconfig: Path, connected: Cluster) -> None:
        self.sandbox = sandbox
        self.kubeconfig = kubeconfig
        self.connected = connected
        self.stage = Stage(connected.client, SandboxStore(sandbox), connected.archive(NAMESPACE))

    async def run(self, *arguments: str, stdin: str | None = None) -> Result:
        """
        Run a command that takes ``--kubeconfig``.
        """
        command = [*arguments, "--kubeconfig", str(self.kubeconfig)]
        return await asyncio.to_thread(CliRunner().invoke, main, command, input=stdin)

    async def define(self, manifest: dict[str, Any]) -> Definition:
        """
        Create a definition, and wait until it is established.
        """
        name = manifest["metadata"]["name"]
        await self.stage.create(CRDS, manifest)
        # Its controllers see to it at once; reading is as good as waiting.
        for _ in range(1000):
            definition = await self.stage.definition(name)
            if definition.established:
                return definition
        raise AssertionError(f"{name} is not established")

    async def create(self, manifest: dict[str, Any]) -> None:
        """
        Create a widget.
        """
        namespace = manifest["metadata"].get("namespace", "default")
        path = f"/apis/{manifest['apiVersion']}/namespaces/{namespace}/widgets"
        await self.stage.create(path, manifest)

    async def change(self, patch: dict[str, Any], name: str = NAME) -> Definition:
        """
        Change a definition by a merge patch.
        """
        await self.stage.change(f"{CRDS}/{name}", patch)
        return await self.stage.definition(name)

    async def delete(self, name: str = NAME) -> None:
        """
        Delete a definition.
        """
        path = f"{CRDS}/{name}"
        call = ApiRequest(verb="delete", resource=path, method="DELETE", path=path)
        await self.connected.client.send(call)


@asynccontextmanager
async def site(
    definition: str = "",
    objects: Sequence[str] = (),
    *,
    structural_delay_seconds: float | None = 0.0,
) -> AsyncIterator[Site]:
    """
    Start a sandbox, define something and create objects.

    Args:
        definition: As YAML; none if empty.
        objects: As YAML.
        structural_delay_seconds: As for the sandbox.
    """
    serving = sandbox_and_kubeconfig(structural_delay_seconds)
    async with serving as (sandbox, file), cluster.connect(file) as connected:
        made = Site(sandbox, file, connected)
        await made.stage.ensure_namespace(NAMESPACE)
        if definition:
            await made.define(yaml.safe_load(definition))
        for text in objects:
            await made.create(yaml.safe_load(text))
        yield made


def widget(name: str, spec: str = "{}", version: str = "v1") -> str:
    """
    Write a widget as YAML.
    """
    head = f"apiVersion: example.com/{version}\nkind: Widget\n"
    return f"{head}metadata: {{name: {name}, namespace: default}}\nspec: {spec}\n"
